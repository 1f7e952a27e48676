//! Libraries of C++ against our C++ headers, which call the C interface. The rows and their
//! contenders are written in C++, in `bindings/bench`; `build.rs` compiles them.

use std::ffi::{CStr, c_char};
use std::time::Duration;

// The C++ sources call its functions.
use blitz as _;

use crate::scenario::{Context, Measured, Sample, Scenario, verify};
use crate::threads::Span;

#[repr(C)]
struct Row {
    id: *const c_char,
    title: *const c_char,
    threads: usize,
    ops: usize,
    contenders: usize,
}

// SAFETY: `bindings/bench/rows.cpp` defines these functions so. Any thread may call them, with the
// numbers of rows and contenders that there are.
unsafe extern "C" {
    safe fn cpp_rows() -> usize;
    fn cpp_row_at(index: usize) -> Row;
    fn cpp_contender_at(row: usize, index: usize) -> *const c_char;
    fn cpp_run(row: usize, contender: usize, n: usize, nanos: &mut u64) -> usize;
}

pub(super) fn scenarios() -> Vec<Scenario> {
    (0..cpp_rows()).map(scenario).collect()
}

fn scenario(number: usize) -> Scenario {
    // SAFETY: there is such a row.
    let row = unsafe { cpp_row_at(number) };
    let scenario = Scenario::new(10, text(row.id), text(row.title), row.ops as u64);
    let contenders = (0..row.contenders).map(|contender| {
        // SAFETY: the row has such a contender.
        let name = text(unsafe { cpp_contender_at(number, contender) });
        (name, move |cx: &Context| run(cx, number, contender))
    });
    scenario.threads(row.threads).with_all(contenders)
}

fn run(cx: &Context, row: usize, contender: usize) -> Measured {
    let mut nanos = 0;
    // SAFETY: there is such a row with such a contender.
    let done = unsafe { cpp_run(row, contender, cx.ops as usize, &mut nanos) };
    verify("operations", cx.ops as usize, done)?;
    let span = Span::of(Duration::from_nanos(nanos));
    Ok(Sample::new(span, cx.ops))
}

fn text(pointer: *const c_char) -> &'static str {
    // SAFETY: the texts are constants of the C++ sources, which live as long as the process.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().expect("a text in UTF-8")
}
