//! Panics, whose reports take long: with a backtrace, tens of milliseconds. Code that catches a panic within a poll must
//! not make that poll a long one, so a hook marks the polls that its thread is in.
//!
//! The hook calls the one before it. A program that sets another one afterwards is judged without it.

use std::panic;
use std::thread;

use super::local::with_local;

/// Installs the hook, unless this thread panics: then it must not.
pub(super) fn watch() {
    if thread::panicking() {
        return;
    }
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        with_local(|local| local.frames.panics());
        report(info);
    }));
}

#[cfg(test)]
mod tests {
    use super::super::{Polled, poll_begins, poll_ends};
    use super::*;
    use crate::records::Waiter;

    #[test]
    fn a_poll_in_which_a_panic_is_caught_is_not_judged() {
        let is_judged = || {
            let judged = with_local(|local| local.frames.current().map(|frame| frame.is_judged()));
            judged.flatten()
        };
        watch();
        for _ in 0..2 {
            poll_begins(Waiter::task(7), Polled::Task, None, 0);
            assert_eq!(is_judged(), Some(true));
            let caught = panic::catch_unwind(|| panic!("one that is caught"));
            assert!(caught.is_err());
            assert_eq!(is_judged(), Some(false));
            poll_ends();
        }
    }
}
