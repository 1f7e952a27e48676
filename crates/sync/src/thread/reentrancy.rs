//! Which one-time initialisations is this thread inside of?
//!
//! A closure that waits for the very initialisation it is part of waits for
//! ever. To notice it, each thread keeps a list of the initialisations whose
//! closures it is running, innermost first. The entries live on the stack of
//! the call that runs the closure, so nothing is allocated; an entry costs a
//! few moves on a path that is taken once. The list is read only by a thread
//! that is about to wait.

use std::cell::Cell;
use std::ptr;

use blitz_io_core::OnDrop;

#[cfg(not(loom))]
thread_local! {
    static INNERMOST: Cell<*const Entry> = const { Cell::new(ptr::null()) };
}

// Every thread of a model has its own list here, too.
#[cfg(loom)]
loom::thread_local! {
    static INNERMOST: Cell<*const Entry> = Cell::new(ptr::null());
}

struct Entry {
    /// The address of the cell.
    once: *const (),
    outer: *const Entry,
}

/// Runs `f`, listed as the closure of `once`.
pub(super) fn enter<O, R>(once: &O, f: impl FnOnce() -> R) -> R {
    let outer = INNERMOST.with(Cell::get);
    let entry = Entry {
        once: ptr::from_ref(once).cast(),
        outer,
    };
    INNERMOST.with(|innermost| innermost.set(&entry));
    let _leave = OnDrop(|| INNERMOST.with(|innermost| innermost.set(outer)));
    f()
}

/// Whether this thread is running the closure of `once`.
pub(super) fn is_inside<O>(once: &O) -> bool {
    let mut next = INNERMOST.with(Cell::get);
    // SAFETY: every entry on the list belongs to a call of `enter` that this thread has not left:
    // its guard takes the entry off the list before its stack frame goes. So a pointer on the list
    // is null or points to a live entry, which does not change.
    while let Some(entry) = unsafe { next.as_ref() } {
        if ptr::addr_eq(entry.once, once) {
            return true;
        }
        next = entry.outer;
    }
    false
}
