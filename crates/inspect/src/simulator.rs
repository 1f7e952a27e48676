//! The report for `blitz sim`, about a run in which no thread can run any more.

use std::panic::catch_unwind;
use std::slice;
use std::sync::Once;

use blitz_io_observe::{Write, explain_deadlocks_by};

use crate::reader::judged_at_rest;
use crate::report::report;

/// Offers the report to the simulator, if the program runs under it.
pub(crate) fn offer() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| explain_deadlocks_by(explain));
}

/// Offers the report when the program is loaded: a program on drop-in packages calls nothing of this crate.
#[cfg(all(
    feature = "sim",
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
mod at_load {
    extern "C" fn run() {
        super::offer();
    }

    // SAFETY: the section is a list of functions, which the loader calls once each before `main`. `offer` needs nothing
    // that `main` prepares: it looks a symbol up, and calls a function that keeps a pointer.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static RUN: extern "C" fn() = run;
}

unsafe extern "C" fn explain(threads: *const u32, count: usize, write: Write) {
    // SAFETY: the simulator gives this many numbers.
    let threads = unsafe { slice::from_raw_parts(threads, count) };
    let text = catch_unwind(|| text(threads)).unwrap_or_else(|_| "nothing: it panics\n".into());
    // SAFETY: the pointer is to this many bytes.
    unsafe { write(text.as_ptr(), text.len()) };
}

fn text(threads: &[u32]) -> String {
    let (snapshot, findings) = judged_at_rest(threads);
    report(&snapshot, &findings)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    static WRITTEN: Mutex<String> = Mutex::new(String::new());

    unsafe extern "C" fn keep(text: *const u8, length: usize) {
        // SAFETY: the caller gives this many bytes.
        let bytes = unsafe { slice::from_raw_parts(text, length) };
        let text = String::from_utf8_lossy(bytes);
        WRITTEN.lock().unwrap().push_str(&text);
    }

    #[test]
    fn the_simulator_gets_a_report() {
        // SAFETY: the pointer is to one number.
        unsafe { explain([1].as_ptr(), 1, keep) };
        let all = WRITTEN.lock().unwrap();
        assert!(all.contains(" tasks, "), "{all}");
    }
}
