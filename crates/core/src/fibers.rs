//! The parts of fibers that the crates below them need: whether a fiber runs, and how it waits.

use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;
use std::task::{Context, Poll};

/// The poll of something that a fiber waits for.
pub type Condition<'a> = dyn FnMut(&mut Context<'_>) -> Poll<()> + 'a;

thread_local! {
    static CURRENT: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

static WAIT: OnceLock<fn(&mut Condition<'_>) -> bool> = OnceLock::new();

/// Returns the fiber that runs on this thread, or null: the first of a chain whose nodes only the crate of
/// the fibers knows.
#[inline(always)]
#[must_use]
pub fn current() -> *const () {
    CURRENT.get()
}

/// Makes this the fiber that runs on this thread.
#[inline(always)]
pub fn set_current(fiber: *const ()) {
    CURRENT.set(fiber);
}

/// Returns `true` if a fiber runs on this thread.
#[inline(always)]
#[must_use]
pub fn is_fiber() -> bool {
    !CURRENT.get().is_null()
}

/// Installs the function that [`wait`] calls in a fiber. It suspends the fiber until the condition is met, or
/// returns `false` at once where a wait of the fiber would block the thread.
pub fn set_wait(wait: fn(&mut Condition<'_>) -> bool) {
    WAIT.get_or_init(|| wait);
}

/// Suspends the fiber until the condition is met. Returns `false` at once outside of fibers, and where a
/// wait of the fiber would block the thread.
pub fn wait(condition: &mut Condition<'_>) -> bool {
    match WAIT.get() {
        Some(wait) if is_fiber() => wait(condition),
        _ => false,
    }
}
