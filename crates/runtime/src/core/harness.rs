//! What happens to a task, for each type of future and scheduler.

use std::any::Any;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll};

use super::cell::Cell;
use super::error::JoinError;
use super::header::{Header, ListId, Vtable};
use super::id::Id;
use super::mutant::{Mutant, active};
use super::schedule::{Notified, Ran, Schedule};
use super::state::{Complete, End, Start, WakeByValue};
use super::waker::Entered;
use super::{header, waker};

/// Does something that may panic.
#[cfg(not(loom))]
#[inline]
fn catch<R>(run: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    // What a future leaves behind when it panics is only dropped.
    catch_unwind(AssertUnwindSafe(run))
}

/// In a model, a panic is the end of the model.
#[cfg(loom)]
fn catch<R>(run: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    Ok(run())
}

/// A new task with a token, as a pointer to its header.
#[inline]
pub(super) fn allocate<F: Future, S: Schedule>(
    future: F,
    scheduler: S,
    id: Id,
    list_id: ListId,
) -> NonNull<Header> {
    let header = Header::new(vtable::<F, S>(), id, list_id);
    Cell::allocate(header, future, scheduler)
}

/// The functions for a type of task.
fn vtable<F: Future, S: Schedule>() -> &'static Vtable {
    &Vtable {
        run: run::<F, S>,
        schedule: schedule::<F, S>,
        wake_by_value: wake_by_value::<F, S>,
        shut_down: shut_down::<F, S>,
        take: take::<F, S>,
        drop_output: drop_output::<F, S>,
        free: free::<F, S>,
    }
}

/// # Safety
///
/// The task is of this type and stays alive while the reference is used.
#[inline]
unsafe fn cell<'a, F: Future, S: Schedule>(task: NonNull<Header>) -> &'a Cell<F, S> {
    // SAFETY: the header is the first part of the cell, and the pointer is to all of it.
    unsafe { task.cast().as_ref() }
}

/// How a poll ended, unless by a panic.
enum Polled {
    Pending,
    /// The same, and the task asks for its place at the end of the queue.
    Yielded,
    /// The future is gone, and what came of it is in its place.
    Ready,
}

/// Runs a token.
///
/// # Safety
///
/// The caller has the token, and the task is of this type.
pub(super) unsafe fn run<F: Future, S: Schedule>(task: NonNull<Header>) -> Ran {
    // SAFETY: a task with a token is not complete, and so has its own reference.
    let cell = unsafe { cell::<F, S>(task) };
    let entered = waker::enter(task);
    if cell.header.state.start() == Start::Cancel {
        // SAFETY: `start` gave the contents to us.
        return unsafe { run_cancelled::<F, S>(task, entered) };
    }
    let waker = waker::borrowed(task);
    let mut context = Context::from_waker(&waker);
    let polled = catch(|| {
        // SAFETY: `start` gave the contents to us, and there was no output before.
        match unsafe { poll(cell, &mut context) } {
            Poll::Pending if waker::has_stepped_back(task) => Polled::Yielded,
            Poll::Pending => Polled::Pending,
            Poll::Ready(value) => {
                // SAFETY: the contents are ours, and they are the future.
                unsafe { finish::<F, S>(task, value) };
                Polled::Ready
            }
        }
    });
    match polled {
        Ok(Polled::Yielded) => {
            drop(entered);
            // SAFETY: the task is left running, so nobody else has a token.
            Ran::Yielded(unsafe { Notified::from_raw(task) })
        }
        // SAFETY: the task is running, and was polled.
        Ok(Polled::Pending) => unsafe { end_poll::<F, S>(task, entered) },
        // SAFETY: the contents are ours.
        Ok(Polled::Ready) => unsafe { end::<F, S>(task, None, entered) },
        // SAFETY: as above.
        Err(panic) => unsafe { end::<F, S>(task, Some(panic), entered) },
    }
}

/// Ends a poll after which the task waits.
///
/// # Safety
///
/// The caller has the contents, which are the future.
#[inline(never)]
unsafe fn end_poll<F: Future, S: Schedule>(task: NonNull<Header>, entered: Entered) -> Ran {
    // SAFETY: the task is not complete, and so has its own reference.
    match unsafe { task.as_ref() }.state.end() {
        End::Idle => Ran::Idle,
        // SAFETY: `end` found that somebody has left us the token.
        End::Again => Ran::Again(unsafe { Notified::from_raw(task) }),
        // SAFETY: the task is still running.
        End::Cancel => unsafe { run_cancelled::<F, S>(task, entered) },
    }
}

/// The same, for a task that was cancelled.
///
/// # Safety
///
/// The caller has the contents, which are the future.
#[cold]
unsafe fn run_cancelled<F: Future, S: Schedule>(task: NonNull<Header>, entered: Entered) -> Ran {
    // SAFETY: as the caller says; the contents are what came of the future then.
    unsafe {
        cancel::<F, S>(task);
        // From here on it may be freed.
        drop(entered);
        complete::<F, S>(task);
    }
    Ran::Done
}

/// The last step of a task, whose future is gone.
///
/// # Safety
///
/// The caller has the contents: what came of the future, or nothing if that is `panic`.
#[inline(never)]
unsafe fn end<F: Future, S: Schedule>(
    task: NonNull<Header>,
    panic: Option<Box<dyn Any + Send>>,
    entered: Entered,
) -> Ran {
    if let Some(panic) = panic {
        // SAFETY: the contents are ours, and the future is gone.
        unsafe { fail::<F, S>(task, panic) };
    }
    // From here on it may be freed.
    drop(entered);
    // SAFETY: the contents are what came of the future.
    unsafe { complete::<F, S>(task) };
    Ran::Done
}

/// Polls the future. If it panics, it is dropped while the panic passes, so that its parts
/// can ask whether the thread panics, as they could anywhere else.
///
/// # Safety
///
/// The caller has the contents, which are the future.
#[inline]
unsafe fn poll<F: Future, S: Schedule>(
    cell: &Cell<F, S>,
    context: &mut Context<'_>,
) -> Poll<F::Output> {
    struct DropsIfPanicking<'a, F: Future, S: Schedule>(&'a Cell<F, S>);

    impl<F: Future, S: Schedule> Drop for DropsIfPanicking<'_, F, S> {
        #[cold]
        fn drop(&mut self) {
            // In a model, a panic is the end of the model.
            if cfg!(loom) {
                return;
            }
            // A second panic must not leave a drop while the first one passes.
            // SAFETY: whoever made the guard has the contents.
            if let Err(another) = catch(|| unsafe { self.0.drop_contents() }) {
                forget_panic(another);
            }
        }
    }

    let guard = DropsIfPanicking(cell);
    // SAFETY: as the caller says.
    let polled = unsafe { cell.poll(context) };
    std::mem::forget(guard);
    polled
}

/// Drops the future and stores the output. If the drop panics, that is what came of the
/// task. Apart, so that a poll which is not the last one keeps little on the stack.
///
/// # Safety
///
/// The caller has the contents, which are the future.
#[inline(never)]
unsafe fn finish<F: Future, S: Schedule>(task: NonNull<Header>, value: F::Output) {
    // SAFETY: the task has its own reference, which is the caller's.
    let cell = unsafe { cell::<F, S>(task) };
    // SAFETY: the contents are the caller's.
    match catch(|| unsafe { cell.drop_contents() }) {
        // SAFETY: as above; the future is gone.
        Ok(()) => unsafe { cell.put_value(value) },
        Err(panic) => {
            if let Err(another) = catch(|| drop(value)) {
                forget_panic(another);
            }
            // SAFETY: as above.
            unsafe { fail::<F, S>(task, panic) };
        }
    }
}

/// Stores what the future, or its drop, has panicked with.
///
/// # Safety
///
/// The caller has the contents, and the future is gone.
#[cold]
unsafe fn fail<F: Future, S: Schedule>(task: NonNull<Header>, panic: Box<dyn Any + Send>) {
    // SAFETY: the task has its own reference, which is the caller's.
    let cell = unsafe { cell::<F, S>(task) };
    // SAFETY: the contents are the caller's, and empty.
    unsafe { cell.put_failure(Some(panic)) };
    cell.scheduler.unhandled_panic();
}

/// Drops the future of a task that was cancelled.
///
/// # Safety
///
/// As for [`finish`].
#[cold]
unsafe fn cancel<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the task has its own reference, which is the caller's.
    let cell = unsafe { cell::<F, S>(task) };
    // SAFETY: the contents are the caller's.
    let dropped = catch(|| unsafe { cell.drop_contents() });
    // SAFETY: as above; the future is gone, also if its drop panicked.
    unsafe { cell.put_failure(dropped.err()) };
}

/// Drops what somebody panicked with and nobody wants, which may panic, too.
#[cold]
fn forget_panic(panic: Box<dyn Any + Send>) {
    if let Err(another) = catch(|| drop(panic)) {
        // There must be an end.
        std::mem::forget(another);
    }
}

/// Ends the task. The future is gone, and what came of it is there.
///
/// # Safety
///
/// The caller has the contents.
#[inline]
unsafe fn complete<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the task has its own reference, which is the caller's.
    let cell = unsafe { cell::<F, S>(task) };
    let header = &cell.header;
    if let Err(panic) = catch(|| cell.scheduler.terminated(header.id())) {
        forget_panic(panic);
    }
    // Before the join handle hears of it, so that whoever waits for a task finds it gone
    // from the runtime.
    if !active(Mutant::LeavesListLate) {
        cell.scheduler.release(header);
    }
    match header.state.complete() {
        Complete::Nothing if active(Mutant::LeavesListLate) => cell.scheduler.release(header),
        Complete::Nothing => {}
        // SAFETY: `complete` gave us the waker, and left us the task's own reference.
        Complete::Wake => unsafe { wake_join(task) },
        // SAFETY: nobody but us may use the contents.
        Complete::Detached => unsafe { complete_detached::<F, S>(task) },
    }
}

/// Releases the task's own reference, and wakes the join handle.
///
/// # Safety
///
/// The caller has the waker and the reference.
#[inline]
unsafe fn wake_join(task: NonNull<Header>) {
    // SAFETY: the reference keeps the task.
    let header = unsafe { task.as_ref() };
    // SAFETY: the waker is ours.
    let waker = unsafe { header.take_join_waker() };
    // Before the waking, since the join handle then probably has the last one.
    // SAFETY: this is the task's own reference, which is for the completer.
    unsafe { header::release(task) };
    if let Err(panic) = catch(|| waker.wake()) {
        forget_panic(panic);
    }
}

/// Drops an output that nobody wants, and releases the task's own reference.
///
/// # Safety
///
/// The caller has the contents and the reference.
unsafe fn complete_detached<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the task has its own reference, which is the caller's.
    let cell = unsafe { cell::<F, S>(task) };
    let entered = waker::enter(task);
    // SAFETY: the contents are ours.
    if let Err(panic) = catch(|| unsafe { cell.drop_contents() }) {
        forget_panic(panic);
    }
    drop(entered);
    if cell.header.state.complete_detached() {
        // SAFETY: it was the last reference.
        unsafe { header::free(task) };
    }
}

/// Gives a token to the scheduler.
///
/// # Safety
///
/// The caller has the token and a reference, and the task is of this type.
pub(super) unsafe fn schedule<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task; the token is for this call.
    unsafe {
        cell::<F, S>(task)
            .scheduler
            .schedule(Notified::from_raw(task))
    }
}

/// Wakes and gives up a reference.
///
/// # Safety
///
/// The caller has a reference and does not use the task any more. The task is of this
/// type.
pub(super) unsafe fn wake_by_value<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task until it is given up.
    let cell = unsafe { cell::<F, S>(task) };
    let early = cell.scheduler.outlives_call();
    // The task may be gone as soon as its reference and its token are. A scheduler that
    // outlives this call may be used all the same, at another place and as a loan.
    // SAFETY: the copy is not dropped.
    let scheduler = ManuallyDrop::new(unsafe { ptr::read(&raw const cell.scheduler) });
    match cell.header.state.wake_by_value(early) {
        WakeByValue::Nothing => {}
        WakeByValue::Schedule => {
            // SAFETY: `wake_by_value` made a token, which is for this call.
            let token = unsafe { Notified::from_raw(task) };
            if active(Mutant::WakesAfterRelease) {
                cell.header.state.load();
            }
            scheduler.schedule(token);
            if active(Mutant::WakesAfterRelease) {
                cell.header.state.load();
            }
        }
        WakeByValue::ScheduleAndRelease => {
            // SAFETY: as above; the reference is still ours.
            unsafe {
                schedule::<F, S>(task);
                header::release(task);
            }
        }
        // SAFETY: it was the last reference.
        WakeByValue::Free => unsafe { header::free(task) },
    }
}

/// Drops the future of a task that has been shut down, and completes the task.
///
/// # Safety
///
/// The caller has shut the task down while it was idle; it is of this type.
pub(super) unsafe fn shut_down<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the task is not complete, and so has its own reference. The contents are
    // ours since the shut-down.
    unsafe {
        let entered = waker::enter(task);
        cancel::<F, S>(task);
        drop(entered);
        complete::<F, S>(task);
    }
}

/// Takes the output.
///
/// # Safety
///
/// The caller is the join handle of a task of this type, which is complete; `to` points
/// to a `Poll<Result<F::Output, JoinError>>`.
pub(super) unsafe fn take<F: Future, S: Schedule>(task: NonNull<Header>, to: *mut ()) {
    // SAFETY: the join handle has a reference, and the contents after completion.
    unsafe {
        let output = cell::<F, S>(task).take();
        *to.cast::<Poll<Result<F::Output, JoinError>>>() = Poll::Ready(output);
    }
}

/// Drops the output, if it has not been taken.
///
/// # Safety
///
/// The caller is the join handle of a task of this type, which is complete.
pub(super) unsafe fn drop_output<F: Future, S: Schedule>(task: NonNull<Header>) {
    let _entered = waker::enter(task);
    // SAFETY: the join handle has a reference, and the contents after completion.
    if let Err(panic) = catch(|| unsafe { cell::<F, S>(task).drop_contents() }) {
        forget_panic(panic);
    }
}

/// Gives the memory back.
///
/// # Safety
///
/// There is no reference any more, and the task is of this type.
pub(super) unsafe fn free<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: whoever completed the task, or its join handle, has removed the contents.
    unsafe { Cell::<F, S>::free(task.cast()) }
}

/// Drops the future of a task that no runtime wants any more, and completes the task.
///
/// # Safety
///
/// The task is new, of this type, and only the caller knows it, who has its join handle.
#[cold]
pub(super) unsafe fn never_begun<F: Future, S: Schedule>(task: NonNull<Header>) {
    let _entered = waker::enter(task);
    // SAFETY: the caller is alone with the task.
    unsafe {
        cancel::<F, S>(task);
        task.as_ref().state.complete_unborn();
    }
}
