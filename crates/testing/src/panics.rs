//! The place that a panic names.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// The thread expects a panic, which is not printed.
    static EXPECTS: Cell<bool> = const { Cell::new(false) };
    /// The file that the last expected panic named.
    static FILE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Runs a closure that panics in this thread, and returns the file that the panic names.
///
/// # Panics
///
/// Panics if the closure does not panic.
#[track_caller]
pub fn file_of_panic<R>(run: impl FnOnce() -> R) -> String {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| match info.location() {
            Some(location) if EXPECTS.get() => FILE.set(Some(location.file().to_owned())),
            _ => before(info),
        }));
    });
    FILE.set(None);
    EXPECTS.set(true);
    let ended = panic::catch_unwind(AssertUnwindSafe(run));
    EXPECTS.set(false);
    assert!(ended.is_err(), "no panic");
    FILE.take().expect("it was a panic of this thread")
}
