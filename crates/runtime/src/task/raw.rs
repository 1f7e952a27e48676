//! What is done to a task whose type is not known: the table of its functions.

use std::future::Future;
use std::ptr::NonNull;

use super::harness;
use super::header::Header;
use super::notified::Ran;
use super::owned::Schedule;

/// What depends on the types of future and scheduler.
pub(super) struct Vtable {
    /// Runs a token.
    pub(super) run: unsafe fn(NonNull<Header>) -> Ran,
    /// Gives a token to the scheduler. The caller has a reference meanwhile.
    pub(super) schedule: unsafe fn(NonNull<Header>),
    /// Wakes and gives up a reference.
    pub(super) wake_by_value: unsafe fn(NonNull<Header>),
    /// Drops the future of a task that the caller has shut down, and completes it.
    pub(super) shut_down: unsafe fn(NonNull<Header>),
    /// Takes the output to where the pointer says, a `Poll<Result<T, JoinError>>`.
    pub(super) take: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops the output for a join handle.
    pub(super) drop_output: unsafe fn(NonNull<Header>),
    /// Gives the memory back.
    pub(super) free: unsafe fn(NonNull<Header>),
}

/// The table for a type of task.
pub(super) fn vtable<F: Future, S: Schedule>() -> &'static Vtable {
    &Vtable {
        run: harness::run::<F, S>,
        schedule: harness::schedule::<F, S>,
        wake_by_value: harness::wake_by_value::<F, S>,
        shut_down: harness::shut_down::<F, S>,
        take: harness::take::<F, S>,
        drop_output: harness::drop_output::<F, S>,
        free: harness::free::<F, S>,
    }
}

/// Frees a task.
///
/// # Safety
///
/// The caller has released the last reference.
#[inline]
pub(super) unsafe fn free(task: NonNull<Header>) {
    // SAFETY: nobody else uses the task, and it is of the type that the table is for.
    unsafe { (task.as_ref().vtable.free)(task) }
}

/// Gives up a reference.
///
/// # Safety
///
/// The caller has one, and does not use the task any more.
#[inline]
pub(super) unsafe fn release(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task.
    if unsafe { task.as_ref() }.state.release() {
        // SAFETY: it was the last one.
        unsafe { free(task) }
    }
}

/// Gives up a reference that is probably the last one.
///
/// # Safety
///
/// As for [`release`].
#[inline]
pub(super) unsafe fn release_last(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task.
    if unsafe { task.as_ref() }.state.release_last() {
        // SAFETY: it was the last one.
        unsafe { free(task) }
    }
}

/// Aborts a task.
///
/// # Safety
///
/// The caller has a reference.
pub(super) unsafe fn abort(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task.
    let header = unsafe { task.as_ref() };
    if header.state.cancel() {
        // SAFETY: `cancel` made a token, which is for this call.
        unsafe { (header.vtable.schedule)(task) }
    }
}
