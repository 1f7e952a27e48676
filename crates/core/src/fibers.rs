//! The parts of fibers that the crates below them need: whether a fiber runs, how it waits, and the
//! extents in which a thread has fibers.
//!
//! # Extents
//!
//! Frames on a suspended stack may refer to thread-local values: the closure in
//! `std::thread::LocalKey::with` has a reference, and can give it to other threads. So no stack may be
//! suspended when the thread begins to destroy these values. Therefore a fiber begins only in an *extent*, the
//! run of a closure, and has ended before the closure's caller goes on.
//!
//! 1. [`extent`] calls its closure, and then unwinds each fiber that has begun in it and has not ended.
//! 2. The thread destroys thread-local values one after the other when its functions have returned. So none is
//!    destroyed during an extent, except that an extent may run in one of these destructors. Its fibers can get no
//!    reference to that value: `LocalKey::with` refuses. Nor to one that was destroyed before.
//! 3. By 1 and 2, a value to which a frame of a fiber refers lives until the frame has ended. The frame lends the
//!    reference to others no longer than that.
//! 4. An extent within another one does nothing. So the frame of an extent that ends fibers is not on the
//!    stack of a fiber, which could be suspended or leaked with it.
//! 5. A fiber that has begun belongs to its thread, not to its future. A future that is forgotten, or
//!    dropped on another thread, changes nothing about 1.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::OnceLock;
use std::task::{Context, Poll};

/// The poll of something that a fiber waits for.
pub type Condition<'a> = dyn FnMut(&mut Context<'_>) -> Poll<()> + 'a;

thread_local! {
    static CURRENT: Cell<*const ()> = const { Cell::new(ptr::null()) };
    static EXTENT: Extent = const { Extent { is_in: Cell::new(false), has_fibers: Cell::new(false) } };
}

/// The extent of a thread.
struct Extent {
    is_in: Cell<bool>,
    /// A fiber has begun in it.
    has_fibers: Cell<bool>,
}

static END: OnceLock<fn()> = OnceLock::new();
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

/// Installs the function that ends the fibers of this thread. It does not panic.
pub fn set_end(end: fn()) {
    END.get_or_init(|| end);
}

/// Marks the extent of this thread as one with fibers, which [`set_end`]'s function ends. Returns `false`
/// outside of extents.
#[must_use]
pub fn begin_in_extent() -> bool {
    EXTENT.with(|extent| {
        if extent.is_in.get() {
            extent.has_fibers.set(true);
        }
        extent.is_in.get()
    })
}

/// Runs a closure in which fibers can begin, and then unwinds those that have not ended.
#[inline]
pub fn extent<R>(run: impl FnOnce() -> R) -> R {
    if EXTENT.with(|extent| extent.is_in.replace(true)) {
        return run();
    }
    // The fibers end before a panic continues. A fiber may catch its unwinding and then wait: in a thread that
    // panics, this would be taken for a wait in a destructor, and block the thread.
    let result = catch_unwind(AssertUnwindSafe(run));
    EXTENT.with(Extent::end);
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

impl Extent {
    #[inline]
    fn end(&self) {
        if self.has_fibers.get() {
            Self::end_fibers();
            self.has_fibers.set(false);
        }
        self.is_in.set(false);
    }

    #[cold]
    fn end_fibers() {
        if let Some(end) = END.get() {
            end();
        }
    }
}
