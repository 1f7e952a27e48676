//! The library that a program for `--atomics` is linked with.
//!
//! The program is compiled with the thread sanitizer's instrumentation, and without its runtime: the compiler
//! then calls a function `__tsan_atomic…` in place of each atomic operation, and others around plain accesses.
//! This library has these functions.
//!
//! - An atomic operation asks the simulator first ([`point`]), which may let other threads run. Then it does the real
//!   operation, sequentially consistent, whatever order the program asks for.
//! - A fence is one, and no point: between two points of one thread, no other thread runs, so that there is nothing
//!   that a fence could order.
//! - The functions for plain accesses do nothing. Copies copy.
//!
//! Without a simulator, the program runs as it would without instrumentation, only slower: it has to list its tests.
//! The library finds the simulator when the program is loaded ([`__tsan_init`]). It is a shared library, so it needs
//! nothing of the program, and can be linked with Rust, C and C++.
//!
//! The compiler does not instrument inline assembly, nor `fetch_min` and `fetch_max`. `blitz sim` lets it make these two loops
//! of compare-exchange before, which it does instrument.

// Every function here is one of C's, which relies on its caller for pointers. A block in each would repeat that.
#![allow(unsafe_op_in_unsafe_fn)]
#![allow(clippy::missing_safety_doc)]
// The names are the compiler's.
#![allow(non_snake_case)]
// In the only ABI for which this is compiled, they are two registers.
#![allow(improper_ctypes_definitions)]

mod operations;
mod plain;
mod wide;

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Is told the name of an operation and the address of its operand, before the operation.
type Point = unsafe extern "C" fn(*const u8, usize, usize);
/// Takes the counter of changes, and returns the function for points.
type Simulator = unsafe extern "C" fn(*const AtomicU64) -> Point;

/// The simulator's function for points; zero: there is no simulator.
static POINT: AtomicUsize = AtomicUsize::new(0);
/// Operations that have changed a value, in a simulation. Only one thread runs there.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// Looks for the simulator. The program calls this for each of its files, before `main`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_init() {
    /// All libraries of the program.
    const ANY: *mut c_void = core::ptr::null_mut();
    let found = dlsym(ANY, c"blitz_sim_atomics".as_ptr());
    if !found.is_null() {
        let simulator = core::mem::transmute::<*mut c_void, Simulator>(found);
        POINT.store(simulator(&CHANGES) as usize, Ordering::Relaxed);
    }
}

/// Lets other threads run, in a simulation.
#[inline]
unsafe fn point(name: &'static str, address: usize) {
    let function = POINT.load(Ordering::Relaxed);
    if function != 0 {
        let function = core::mem::transmute::<usize, Point>(function);
        function(name.as_ptr(), name.len(), address);
    }
}

/// Counts an operation that has changed a value.
#[inline]
fn count(has_changed: bool) {
    if has_changed && POINT.load(Ordering::Relaxed) != 0 {
        let changes = CHANGES.load(Ordering::Relaxed);
        CHANGES.store(changes + 1, Ordering::Relaxed);
    }
}
