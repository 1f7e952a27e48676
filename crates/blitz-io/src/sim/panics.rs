//! The messages of panics in simulations.
//!
//! A hook around the process's own one keeps the message of this thread's last panic. It prints nothing in runs that look for
//! a failure or for a shorter trace: a test that fails in a hundred runs would print a hundred times. The run that explains the
//! failure prints. The hook is installed once, and stays.

use std::cell::{Cell, RefCell};
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

static INSTALL: Once = Once::new();

/// The messages of panics after which the process ends, as one has happened while another one unwinds.
const ABORTS: [&str; 2] = [
    "panic in a destructor during cleanup",
    "panic in a function that cannot unwind",
];

thread_local! {
    /// The thread runs a simulation.
    static KEEPS: Cell<bool> = const { Cell::new(false) };
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Stops to keep messages when it is dropped.
pub(super) struct Keeping(bool, bool);

/// Keeps the messages of this thread's panics until the guard is dropped. `quiet`: prints none of them.
pub(super) fn keep(quiet: bool) -> Keeping {
    INSTALL.call_once(|| {
        let outer = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let text = text(info);
            let is_last = IS_QUIET.get() && ABORTS.iter().any(|start| text.starts_with(start));
            if is_last {
                // No later run prints why.
                eprintln!("{}", last());
            }
            if KEEPS.get() {
                LAST.set(Some(text));
            }
            if is_last || !IS_QUIET.get() {
                outer(info);
            }
        }));
    });
    LAST.set(None);
    Keeping(KEEPS.replace(true), IS_QUIET.replace(quiet))
}

impl Drop for Keeping {
    fn drop(&mut self) {
        KEEPS.set(self.0);
        IS_QUIET.set(self.1);
    }
}

fn text(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref()) {
        (Some(text), _) => text,
        (None, Some(text)) => String::as_str(text),
        (None, None) => "a panic without a message",
    };
    match info.location() {
        Some(at) => format!("{message}, at {}:{}", at.file(), at.line()),
        None => message.to_owned(),
    }
}

/// Returns the first line of the message of this thread's last panic, with the location.
pub(super) fn first_line() -> String {
    let text = last();
    let (message, place) = text.rsplit_once(", at ").unwrap_or((&text, ""));
    match (message.lines().next().unwrap_or_default(), place) {
        (line, "") => line.to_owned(),
        (line, place) => format!("{line}, at {place}"),
    }
}

/// Returns the message of this thread's last panic, with its location.
pub(super) fn last() -> String {
    LAST.with_borrow(Clone::clone).unwrap_or_default()
}
