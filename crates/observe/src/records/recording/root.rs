//! `Root`: a future that a thread drives, such as that of `block_on`. It is a task in reports.
//!
//! Its wakers are counted as a task's are: it gives the future a waker of its own, an `Arc`, and
//! wakes the thread's waker, too.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::Origin;
use super::caller::Caller;
use super::place::{TaskFacts, TaskReading, TaskState};
use super::wait::Wait;
use super::{recorders, trace};

/// Above the numbers of tasks, and below 2^53, so that JSON keeps it.
static LAST: AtomicU64 = AtomicU64::new(1 << 52);

/// A future with a record of its own, which it loses when it is dropped.
pub struct Root<F> {
    // Dropped first: it has a pointer to the state.
    record: Wait,
    /// That of the task or thread which blocks for it.
    blocked: Wait,
    id: u64,
    state: Arc<State>,
    waker: Waker,
    /// The future, in a box so that a move of this value is short. A thread moves it several times before it
    /// polls it. Without optimisation, each move has its own place on the stack.
    future: Pin<Box<F>>,
}

struct State {
    id: u64,
    is_polled: AtomicBool,
    is_woken: AtomicBool,
    /// The waker that drives the future now. In an `Arc`, which is cloned under the lock: the waker itself is
    /// foreign code.
    outer: Mutex<Arc<Waker>>,
}

/// The references that a root has to its own state: a field, and its waker.
const OWN: usize = 2;

impl<F> Root<F> {
    /// Gives a future its record.
    pub fn new(future: F, caller: Caller) -> Self {
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let state = Arc::new(State {
            id,
            is_polled: AtomicBool::new(false),
            is_woken: AtomicBool::new(true),
            outer: Mutex::new(Arc::new(Waker::noop().clone())),
        });
        if recorders::traces() {
            trace::note_spawn(id, caller.location(), false);
        }
        let mut record = Wait::new(caller);
        let facts = TaskFacts {
            state: read,
            name: [0; 32],
            is_root: true,
            is_pinned: false,
            job: None,
            runtime: 0,
            origin: Origin::of_task(),
        };
        record.begin_task(id, facts);
        record.set_header(Arc::as_ptr(&state).cast());
        Self {
            record,
            blocked: Wait::new(caller),
            id,
            waker: state.clone().into(),
            state,
            future: Box::pin(future),
        }
    }

    /// Like [`new`](Self::new), but for a future for which the current task or thread blocks.
    pub fn blocking(future: F, caller: Caller) -> Self {
        let mut this = Self::new(future, caller);
        this.blocked.begin_block_on(this.id);
        this
    }

    /// Returns its number among the tasks.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl<F> Drop for Root<F> {
    fn drop(&mut self) {
        trace::ended(self.id);
    }
}

/// # Safety
///
/// The pointer is to the state of a root that exists.
unsafe fn read(state: *const ()) -> TaskReading {
    // SAFETY: by this function's contract, the pointer is that of an `Arc`, which this does not drop.
    let state = ManuallyDrop::new(unsafe { Arc::from_raw(state.cast::<State>()) });
    let what = if state.is_polled.load(Ordering::Acquire) {
        TaskState::Running
    } else if state.is_woken.load(Ordering::Acquire) {
        TaskState::Scheduled
    } else {
        TaskState::Idle
    };
    TaskReading {
        state: what,
        wakers: Arc::strong_count(&state).saturating_sub(OWN),
        scope: None,
    }
}

impl Wake for State {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        trace::woken(self.id);
        self.outer().wake_by_ref();
    }
}

impl State {
    fn outer(&self) -> Arc<Waker> {
        let outer = self.outer.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&outer)
    }

    /// Replaces the waker, unless it is this one. Only the thread that polls calls this.
    fn set_outer(&self, new: &Waker) {
        if self.outer().will_wake(new) {
            return;
        }
        let new = Arc::new(new.clone());
        let mut outer = self.outer.lock().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *outer, new);
        drop(outer);
        // Foreign code runs without the lock.
        drop(old);
    }
}

impl<F: Future> Future for Root<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        this.state.set_outer(context.waker());
        this.state.is_polled.store(true, Ordering::Release);
        this.state.is_woken.store(false, Ordering::Release);
        let _entered = this.record.enter(this.id);
        let result = this
            .future
            .as_mut()
            .poll(&mut Context::from_waker(&this.waker));
        this.state.is_polled.store(false, Ordering::Release);
        result
    }
}

#[cfg(test)]
mod tests {
    use std::task::{RawWaker, RawWakerVTable};

    use super::*;

    /// Returns a waker whose clone, wake and drop wake the root.
    fn of(root: *const State) -> RawWaker {
        const TABLE: RawWakerVTable = RawWakerVTable::new(
            |root| {
                wake(root);
                of(root.cast())
            },
            wake,
            wake,
            wake,
        );
        fn wake(root: *const ()) {
            // SAFETY: the test keeps the state until its end.
            let state = ManuallyDrop::new(unsafe { Arc::from_raw(root.cast::<State>()) });
            // A lock that is held would make this a deadlock.
            assert!(
                state.outer.try_lock().is_ok(),
                "foreign code under the lock"
            );
        }
        RawWaker::new(root.cast(), &TABLE)
    }

    #[test]
    fn a_foreign_waker_may_wake_the_root_in_its_clone_and_its_drop() {
        let mut root = Root::new(std::future::pending::<()>(), Caller::here());
        let state = root.state.clone();
        // SAFETY: the functions of the table do what a waker's have to.
        let foreign = unsafe { Waker::from_raw(of(Arc::as_ptr(&state))) };
        let mut root = Pin::new(&mut root);
        assert!(
            root.as_mut()
                .poll(&mut Context::from_waker(&foreign))
                .is_pending()
        );
        state.wake_by_ref();
        let other = &mut Context::from_waker(Waker::noop());
        assert!(root.as_mut().poll(other).is_pending());
    }
}
