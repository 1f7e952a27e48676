//! The typed half of a task: allocation, poll, completion and drop. A task is one
//! allocation.
//!
//! The state says which thread may use the future or the output. The thread that set
//! `RUNNING` has them until it resets `RUNNING` or completes the task. After that, the
//! join handle has them if it exists, else the completer.

use std::any::Any;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

use super::error::JoinError;
use super::header::{self, Header, Id, ListId, Notified, Ran, Schedule, Stage, Vtable};
use super::state::{Complete, End, Start, WakeByValue};
use super::waker;
use crate::kernel::context::{self, TaskGuard};
use blitz_io_core::Watched;
use blitz_io_observe::{decisions, ends_with};

/// A task. The head comes first, and in it the header, so that a pointer to that is one to
/// the task.
#[repr(C)]
struct Cell<F: Future, S> {
    head: Head<S>,
    contents: Watched<Contents<F>>,
}

/// The part of a task whose type does not depend on the future's. The functions that get by
/// with it are compiled once for each scheduler, and not for each future.
#[repr(C)]
struct Head<S> {
    header: Header,
    scheduler: S,
}

/// The future or its outcome. The header's `stage` says which.
union Contents<F: Future> {
    future: ManuallyDrop<F>,
    value: ManuallyDrop<F::Output>,
    panic: ManuallyDrop<Box<dyn Any + Send>>,
}

impl<F: Future, S: Schedule> Cell<F, S> {
    /// Gives the memory back.
    ///
    /// # Safety
    ///
    /// The caller has the only reference to the task, which is complete, and whose
    /// contents have been taken or dropped.
    unsafe fn free(cell: NonNull<Self>) {
        // SAFETY: the memory comes from a box, and is the caller's.
        let cell = unsafe { Box::from_raw(cell.as_ptr()) };
        #[cfg(not(loom))]
        drop(cell);
        // The checker verifies that no thread uses the memory from now on.
        #[cfg(loom)]
        {
            cell.head.header.state.memory.is_released();
            // SAFETY: the caller has the contents.
            let is_empty = unsafe { !cell.head.header.has_contents() };
            assert!(is_empty, "an output was left behind");
            let cell = Box::leak(cell);
            // SAFETY: it is not used any more.
            unsafe { std::ptr::drop_in_place(&raw mut cell.head.scheduler) };
        }
    }

    /// Polls the future.
    ///
    /// # Safety
    ///
    /// The caller has the contents, and they are the future.
    unsafe fn poll(&self, context: &mut Context<'_>) -> Poll<F::Output> {
        #[cfg(any(debug_assertions, loom))]
        // SAFETY: the caller has the contents.
        assert_eq!(unsafe { self.head.header.stage() }, Stage::Future);
        self.contents.with_mut(|contents| {
            // SAFETY: the caller has the contents, which are the future, and the future is not
            // moved before it is dropped.
            let future = unsafe { Pin::new_unchecked(&mut *(*contents).future) };
            future.poll(context)
        })
    }

    /// Drops the future or the output, if there is one. If the drop panics, the contents
    /// are empty nevertheless.
    ///
    /// # Safety
    ///
    /// The caller has the contents.
    unsafe fn drop_contents(&self) {
        // SAFETY: the caller has the contents.
        let stage = unsafe { self.head.header.replace_stage(Stage::Empty) };
        self.contents.with_mut(|contents| {
            // SAFETY: the stage says which value the contents are, and that value is not
            // used again.
            unsafe {
                match stage {
                    Stage::Future => ManuallyDrop::drop(&mut (*contents).future),
                    Stage::Value => ManuallyDrop::drop(&mut (*contents).value),
                    Stage::Panic => ManuallyDrop::drop(&mut (*contents).panic),
                    Stage::Cancelled | Stage::Empty => {}
                }
            }
        });
    }

    /// Puts the output where the future was.
    ///
    /// # Safety
    ///
    /// The caller has the contents, which are empty.
    unsafe fn put_value(&self, value: F::Output) {
        self.contents.with_mut(|contents| {
            let value = ManuallyDrop::new(value);
            // SAFETY: the caller has the contents, which are empty.
            unsafe { (&raw mut (*contents).value).write(value) };
        });
        // SAFETY: the caller has the contents.
        unsafe { self.head.header.replace_stage(Stage::Value) };
    }

    /// Stores the outcome of a task without an output: the panic, or that the task was
    /// cancelled.
    ///
    /// # Safety
    ///
    /// As for [`put_value`](Self::put_value).
    unsafe fn put_failure(&self, panic: Option<Box<dyn Any + Send>>) {
        let stage = match panic {
            Some(panic) => {
                let panic = ManuallyDrop::new(panic);
                self.contents
                    // SAFETY: the caller has the contents, which are empty.
                    .with_mut(|contents| unsafe { (&raw mut (*contents).panic).write(panic) });
                Stage::Panic
            }
            None => Stage::Cancelled,
        };
        // SAFETY: the caller has the contents.
        unsafe { self.head.header.replace_stage(stage) };
    }

    /// Takes the output.
    ///
    /// # Safety
    ///
    /// The caller has the contents, and the task is complete.
    #[track_caller]
    unsafe fn take(&self) -> Result<F::Output, JoinError> {
        // SAFETY: the caller has the contents.
        let stage = unsafe { self.head.header.replace_stage(Stage::Empty) };
        let id = self.head.header.id();
        // SAFETY: the stage said which value the contents are, and is now `Empty`.
        self.contents.with_mut(|contents| unsafe {
            match stage {
                Stage::Value => Ok(ManuallyDrop::take(&mut (*contents).value)),
                Stage::Panic => {
                    let panic = ManuallyDrop::take(&mut (*contents).panic);
                    Err(JoinError::panic(id, panic))
                }
                Stage::Cancelled => Err(JoinError::cancelled(id)),
                Stage::Future | Stage::Empty => panic!("JoinHandle polled after completion"),
            }
        })
    }
}

/// Does something that may panic. In a model, a panic is the end of the model.
#[inline]
fn catch<R>(run: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    if cfg!(loom) {
        return Ok(run());
    }
    // After a panic, the future's parts are only dropped.
    catch_unwind(AssertUnwindSafe(run))
}

/// Calls a closure that may panic. Compiled once and not for each closure, for rare calls: much code
/// surrounds a call that may panic.
#[cold]
fn catch_once(run: &mut dyn FnMut()) -> Result<(), Box<dyn Any + Send>> {
    catch(run)
}

/// Does something whose panic is of no interest.
#[inline]
fn catch_and_forget(run: impl FnOnce()) {
    if let Err(panic) = catch(run) {
        forget_panic(panic);
    }
}

/// Drops a panic's payload, which may panic, too.
#[cold]
fn forget_panic(panic: Box<dyn Any + Send>) {
    if let Err(another) = catch(|| drop(panic)) {
        // There must be an end.
        std::mem::forget(another);
    }
}

/// Returns a new task with a token, as a pointer to its header.
#[inline]
pub fn allocate<F: Future, S: Schedule>(
    future: F,
    scheduler: S,
    id: Id,
    list_id: ListId,
) -> NonNull<Header> {
    let cell = Box::new(Cell {
        head: Head {
            header: Header::new(vtable::<F, S>(), id, list_id),
            scheduler,
        },
        contents: Watched::new(Contents {
            future: ManuallyDrop::new(future),
        }),
    });
    NonNull::from(Box::leak(cell)).cast()
}

/// Returns the functions for a type of task.
fn vtable<F: Future, S: Schedule>() -> &'static Vtable {
    &Vtable {
        run: run::<F, S>,
        schedule: schedule::<S>,
        wake_by_value: wake_by_value::<S>,
        shut_down: shut_down::<S>,
        cancel: cancel::<F, S>,
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

/// # Safety
///
/// The task has this type of scheduler and stays alive while the reference is used.
#[inline]
unsafe fn head<'a, S: Schedule>(task: NonNull<Header>) -> &'a Head<S> {
    // SAFETY: the header is the first part of the head.
    unsafe { task.cast().as_ref() }
}

/// How a poll ended, unless by a panic.
enum Polled {
    Pending,
    /// The future is pending, and the task requests its place at the end of the queue.
    Yielded,
    /// The future was dropped, and its outcome is stored.
    Ready,
}

/// Runs a token.
///
/// # Safety
///
/// The caller has the token, and the task is of this type.
unsafe fn run<F: Future, S: Schedule>(task: NonNull<Header>) -> Ran {
    if const { !S::PINS } {
        // SAFETY: the caller has the token, and the task is of this type.
        return unsafe { run_here::<F, S>(task) };
    }
    // SAFETY: a task with a token is not complete, and so has its own reference.
    let scheduler = unsafe { &head::<S>(task).scheduler };
    let ran = if scheduler.pin() {
        // SAFETY: the caller has the token, and the task is of this type.
        unsafe { run_here::<F, S>(task) }
    } else {
        // SAFETY: the caller has the token, and the task has this scheduler.
        unsafe { run_elsewhere::<S>(task) }
    };
    match ran {
        // The task may be freed.
        ran @ (Ran::Done | Ran::Idle) => ran,
        // With a token it is not complete.
        ran => scheduler.put_back(ran),
    }
}

/// Runs a token on a thread that may not poll the future: the task is pinned to another one.
///
/// A cancelled task ends here: the future that is only dropped knows itself what to do on another thread. Other tasks
/// wait, with a waker for the thread that may poll them. So they have no token, and a later request to cancel makes one.
///
/// # Safety
///
/// The caller has the token. The task has this type of scheduler.
#[cold]
unsafe fn run_elsewhere<S: Schedule>(task: NonNull<Header>) -> Ran {
    // SAFETY: a task with a token is not complete, and so has its own reference.
    let Head { header, scheduler } = unsafe { head::<S>(task) };
    let entered = context::enter_task(task);
    if header.state.start() == Start::Cancel {
        // SAFETY: `start` gave the contents to this call.
        return unsafe { run_cancelled::<S>(task, entered) };
    }
    // SAFETY: the functions of the table follow the contract of wakers. The task's own
    // reference takes the place of this waker's, which is not dropped.
    let waker = ManuallyDrop::new(unsafe { Waker::new(task.as_ptr().cast(), &waker::VTABLE) });
    scheduler.set_aside(header.id(), &waker);
    // SAFETY: the task is running, and its contents are still the future.
    unsafe { end_poll::<S>(task, entered) }
}

/// Runs a token on this thread.
///
/// # Safety
///
/// The caller has the token, and the task is of this type.
#[inline(always)]
unsafe fn run_here<F: Future, S: Schedule>(task: NonNull<Header>) -> Ran {
    // SAFETY: a task with a token is not complete, and so has its own reference.
    let cell = unsafe { cell::<F, S>(task) };
    let entered = context::enter_task(task);
    if cell.head.header.state.start() == Start::Cancel {
        // SAFETY: `start` gave the contents to this call.
        return unsafe { run_cancelled::<S>(task, entered) };
    }
    // SAFETY: the functions of the table follow the contract of wakers. The task's own
    // reference takes the place of this waker's, which is not dropped.
    let waker = ManuallyDrop::new(unsafe { Waker::new(task.as_ptr().cast(), &waker::VTABLE) });
    let mut context = Context::from_waker(&waker);
    let polled = catch(|| {
        // SAFETY: `start` gave the contents to this call, and there was no output before.
        match unsafe { poll(cell, &mut context) } {
            Poll::Pending if context::has_stepped_back(task) => Polled::Yielded,
            Poll::Pending => Polled::Pending,
            Poll::Ready(value) => {
                // SAFETY: this call has the contents, and they are the future.
                unsafe { finish(cell, value) };
                Polled::Ready
            }
        }
    });
    match polled {
        Ok(Polled::Yielded) => {
            drop(entered);
            // SAFETY: the task is left running, so there is no other token.
            Ran::Yielded(unsafe { Notified::of(task) })
        }
        // SAFETY: the task is running, and was polled.
        Ok(Polled::Pending) => unsafe { end_poll::<S>(task, entered) },
        // SAFETY: this call has the contents.
        Ok(Polled::Ready) => unsafe { end::<S>(task, entered) },
        // SAFETY: this call has the contents. `poll` or `finish` has dropped the future, also
        // if it panicked.
        Err(panic) => unsafe {
            fail(cell, panic);
            end::<S>(task, entered)
        },
    }
}

/// Ends a poll after which the task waits.
///
/// # Safety
///
/// The caller has the contents, which are the future.
#[inline(never)]
unsafe fn end_poll<S: Schedule>(task: NonNull<Header>, entered: TaskGuard) -> Ran {
    // SAFETY: the task is not complete, and so has its own reference.
    match unsafe { task.as_ref() }.state.end() {
        End::Idle => Ran::Idle,
        // SAFETY: `end` found that a waker has left us the token.
        End::Again => Ran::Again(unsafe { Notified::of(task) }),
        // SAFETY: the task is still running.
        End::Cancel => unsafe { run_cancelled::<S>(task, entered) },
    }
}

/// Drops the future of a task that was cancelled, and ends the task.
///
/// # Safety
///
/// The caller has the contents, which are the future. The task has this type of scheduler.
#[cold]
unsafe fn run_cancelled<S: Schedule>(task: NonNull<Header>, entered: TaskGuard) -> Ran {
    // SAFETY: the caller has the contents, which are the future. `cancel` replaces it by
    // its outcome, which `end` requires.
    unsafe {
        decisions::cancelled(task.as_ref().id().as_u64());
        (task.as_ref().vtable.cancel)(task);
        end::<S>(task, entered)
    }
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
            // SAFETY: the caller of `poll`, which made the guard, has the contents.
            let dropped = catch_once(&mut || unsafe { self.0.drop_contents() });
            dropped.unwrap_or_else(forget_panic);
        }
    }

    let guard = DropsIfPanicking(cell);
    // SAFETY: the caller of this function has the contents, which are the future.
    let polled = unsafe { cell.poll(context) };
    std::mem::forget(guard);
    polled
}

/// Drops the future and stores the output. If the drop panics, the panic is the task's
/// outcome. A separate function, so that a poll that is not the last one uses little
/// stack.
///
/// # Safety
///
/// The caller has the contents, which are the future.
#[inline(never)]
unsafe fn finish<F: Future, S: Schedule>(cell: &Cell<F, S>, value: F::Output) {
    ends_with::<F::Output>(Some(cell.head.header.id().as_u64()));
    // SAFETY: the contents are the caller's.
    match catch(|| unsafe { cell.drop_contents() }) {
        // SAFETY: the contents are the caller's, and the future was dropped.
        Ok(()) => unsafe { cell.put_value(value) },
        Err(panic) => {
            let mut value = Some(value);
            catch_once(&mut || drop(value.take())).unwrap_or_else(forget_panic);
            // SAFETY: the contents are the caller's. The future was dropped, also if its
            // drop panicked.
            unsafe { fail(cell, panic) };
        }
    }
}

/// Stores the panic of the future, or of its drop.
///
/// # Safety
///
/// The caller has the contents, which are empty.
#[cold]
unsafe fn fail<F: Future, S: Schedule>(cell: &Cell<F, S>, panic: Box<dyn Any + Send>) {
    // SAFETY: the contents are the caller's, and empty.
    unsafe { cell.put_failure(Some(panic)) };
    cell.head.scheduler.unhandled_panic();
}

/// Drops the future of a task that was cancelled.
///
/// # Safety
///
/// The caller has the contents, which are the future of a task of this type.
#[cold]
unsafe fn cancel<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the task has its own reference, which is the caller's.
    let cell = unsafe { cell::<F, S>(task) };
    // SAFETY: the contents are the caller's.
    let dropped = catch_once(&mut || unsafe { cell.drop_contents() });
    // SAFETY: the contents are the caller's. The future was dropped, also if its drop
    // panicked.
    unsafe { cell.put_failure(dropped.err()) };
}

/// Performs the last step of a task, whose future was dropped and whose outcome is stored.
///
/// # Safety
///
/// The caller has the contents. The task has this type of scheduler.
#[inline(never)]
unsafe fn end<S: Schedule>(task: NonNull<Header>, entered: TaskGuard) -> Ran {
    // From here on it may be freed.
    drop(entered);
    // SAFETY: the task has its own reference, which is the caller's.
    let Head { header, scheduler } = unsafe { head::<S>(task) };
    catch_and_forget(|| scheduler.terminated(header.id()));
    // Before the join handle is woken, so that a waiter for the task does not find it in
    // the runtime's list any more.
    scheduler.release(header);
    match header.state.complete() {
        Complete::Nothing => {}
        // SAFETY: `complete` gave us the waker, and left us the task's own reference.
        Complete::Wake => unsafe { wake_join(task) },
        // SAFETY: only we may use the contents.
        Complete::Detached => unsafe {
            (header.vtable.drop_output)(task);
            if header.state.complete_detached() {
                header::free(task);
            }
        },
    }
    Ran::Done
}

/// Releases the task's own reference, and wakes the join handle.
///
/// # Safety
///
/// The caller has the waker and the reference.
#[inline]
unsafe fn wake_join(task: NonNull<Header>) {
    // SAFETY: the reference keeps the task, and the caller has the waker.
    let waker = unsafe { task.as_ref().take_join_waker() };
    // Before the waking, since the join handle then probably has the last one.
    // SAFETY: this is the task's own reference, which is for the completer.
    unsafe { header::release(task) };
    catch_and_forget(|| waker.wake());
}

/// Gives a token to the scheduler.
///
/// # Safety
///
/// The caller has the token and a reference, and the task has this type of scheduler.
unsafe fn schedule<S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task; the token is for this call.
    unsafe { head::<S>(task).scheduler.schedule(Notified::of(task)) }
}

/// Wakes and gives up a reference.
///
/// # Safety
///
/// The caller has a reference and does not use the task any more. The task has this type
/// of scheduler.
unsafe fn wake_by_value<S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task until it is given up.
    let head = unsafe { head::<S>(task) };
    let early = head.scheduler.outlives_call();
    // The task may be freed as soon as its reference and its token are used up. A
    // scheduler that outlives this call may still be used through this copy, which is a
    // loan.
    // SAFETY: the copy is not dropped.
    let scheduler = ManuallyDrop::new(unsafe { ptr::read(&raw const head.scheduler) });
    match head.header.state.wake_by_value(early) {
        WakeByValue::Nothing => {}
        WakeByValue::Schedule => {
            // SAFETY: `wake_by_value` made a token, which is for this call.
            scheduler.schedule(unsafe { Notified::of(task) });
        }
        WakeByValue::ScheduleAndRelease => {
            // SAFETY: `wake_by_value` made a token, which `schedule` queues. The waker's
            // reference still belongs to this call.
            unsafe {
                schedule::<S>(task);
                header::release(task);
            }
        }
        // SAFETY: it was the last reference.
        WakeByValue::Free => unsafe { header::free(task) },
    }
}

/// Drops the future of a task that has been shut down, and completes the task. Schedules
/// the task instead if it is pinned.
///
/// # Safety
///
/// The caller has shut the task down while it was idle, or has the token of a pinned task;
/// it has this type of scheduler.
unsafe fn shut_down<S: Schedule>(task: NonNull<Header>) {
    if const { S::PINS } {
        // The token is given away before the call ends, and the list's task may end then: the
        // scheduler may be used as if by a waker, with a reference.
        // SAFETY: a task with a token is not complete; the token is for this call.
        unsafe {
            head::<S>(task).header.state.acquire();
            schedule::<S>(task);
            header::release(task);
        }
        return;
    }
    // SAFETY: the task is not complete, and so has its own reference. The shut-down has given
    // the contents to this call.
    _ = unsafe { run_cancelled::<S>(task, context::enter_task(task)) };
}

/// Takes the output.
///
/// # Safety
///
/// The caller is the join handle of a task of this type, which is complete; `to` points
/// to a `Poll<Result<F::Output, JoinError>>`.
unsafe fn take<F: Future, S: Schedule>(task: NonNull<Header>, to: *mut ()) {
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
/// The caller has a reference, and the contents, of a task of this type.
unsafe fn drop_output<F: Future, S: Schedule>(task: NonNull<Header>) {
    let _entered = context::enter_task(task);
    // SAFETY: the caller has a reference, and the contents, of a task of this type.
    catch_and_forget(|| unsafe { cell::<F, S>(task).drop_contents() });
}

/// Gives the memory back.
///
/// # Safety
///
/// There is no reference any more, and the task is of this type.
unsafe fn free<F: Future, S: Schedule>(task: NonNull<Header>) {
    // SAFETY: the completer of the task, or its join handle, has removed the contents.
    unsafe { Cell::<F, S>::free(task.cast()) }
}

/// Drops the future of a task that no runtime wants any more, and completes the task.
///
/// # Safety
///
/// The task is new, and only the caller knows it, which has its join handle.
#[cold]
pub unsafe fn never_begun(task: NonNull<Header>) {
    let _entered = context::enter_task(task);
    // SAFETY: the caller is alone with the task.
    unsafe {
        let header = task.as_ref();
        (header.vtable.cancel)(task);
        header.state.complete_unborn();
    }
}
