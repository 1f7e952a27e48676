//! The children of a scope: a small executor within one future.
//!
//! A child that is woken, or new, enters the ready list (`ready_list.rs` of `JoinSet`), once
//! until it is polled, and wakes the scope's future, once until that waits again. The
//! scope's future polls the children in the list, and keeps those that have not ended.
//! The wakers of a child share its memory, but only the scope's future accesses the
//! child's future.
//!
//! Aborting all children sets `aborts`, and then pushes an ended child, which wakes the scope's future. That future reads
//! the flag in its next poll after the push, and drops all children that it has. A child whose `spawn` did not see the flag
//! is pushed later than that child, so it is dropped in the same poll or wakes the scope's future again.

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use blitz_io_core::{Panics, coop};
use blitz_io_observe::decisions::{self, Unfinished};
use blitz_io_observe::{Caller, ChildState, ScopeChild, trace};

use super::member::{Erased, Shared};
use crate::kernel::ready_list::{Link, Pushed, ReadyList};
use crate::kernel::task::Id;

/// One child.
#[repr(C)]
pub(super) struct Child {
    link: Link,
    ready: Arc<ReadyList>,
    /// `true` if it is in the ready list, or about to be.
    queued: AtomicBool,
    aborted: AtomicBool,
    /// `None` when it has ended. Only the scope's future uses it.
    future: UnsafeCell<Option<Erased>>,
    /// Its index among the children; `NEW` if it has not been polled. Only the scope's
    /// future uses it.
    place: Cell<usize>,
    /// Its operations in a simulation. Only the scope's future uses it.
    unfinished: Unfinished,
    /// The part that its record reads.
    state: ChildState,
}

impl ScopeChild for Child {
    fn state(&self) -> &ChildState {
        &self.state
    }

    fn is_woken(&self) -> bool {
        self.queued.load(Ordering::Acquire)
    }
}

/// The child has not been polled.
const NEW: usize = usize::MAX;

// SAFETY: the future is `Send`; it, the place and the operations are used by the scope's future alone.
unsafe impl Send for Child {}
// SAFETY: only the scope's future uses the child's future, the place and the operations. The other fields
// are atomic, or made to be shared.
unsafe impl Sync for Child {}

/// All children, in the scope's future. They must be dropped before `'env` ends: as this
/// has a `Drop`, the compiler ensures that.
pub(super) struct Children<'env> {
    ready: Arc<ReadyList>,
    shared: Arc<Shared>,
    /// The children that have been polled and have not ended.
    all: Vec<Arc<Child>>,
    // Invariant: neither shorter nor longer.
    _env: PhantomData<&'env mut &'env ()>,
}

impl Child {
    /// Makes a child with this id, which is ready. If the scope has ended or aborts all children, its future is dropped.
    pub(super) fn spawn(
        ready: &Arc<ReadyList>,
        future: Erased,
        id: Id,
        shared: &Shared,
    ) -> ChildHandle {
        let child = Self::new(ready, Some(future), id, shared);
        if shared.aborts.load(Ordering::Acquire) || !child.push() {
            // SAFETY: no other thread knows it.
            drop(unsafe { child.future() }.take());
        }
        ChildHandle(child)
    }

    /// Makes the scope's future drop all children, also those that are started later. `at`: the line of the program that
    /// does so.
    pub(super) fn abort_all(ready: &Arc<ReadyList>, shared: &Shared, at: Caller) {
        if shared.aborts.swap(true, Ordering::AcqRel) {
            return;
        }
        shared.members.aborted(trace::Abort::Called, at);
        // If the scope has ended, the list does not take it.
        Self::new(ready, None, Id::next(), shared).push();
    }

    /// Makes a child that is about to be pushed. Without a future, it has ended.
    fn new(ready: &Arc<ReadyList>, future: Option<Erased>, id: Id, shared: &Shared) -> Arc<Self> {
        Arc::new(Self {
            link: Link::new(),
            ready: ready.clone(),
            queued: AtomicBool::new(true),
            aborted: AtomicBool::new(false),
            future: UnsafeCell::new(future),
            place: Cell::new(NEW),
            unfinished: Unfinished::of_child(id.as_u64()),
            state: ChildState::new(id.as_u64(), &shared.members),
        })
    }

    /// Puts it into the ready list. `false` if the scope has ended.
    fn push(self: &Arc<Self>) -> bool {
        let link = Arc::into_raw(self.clone()).cast::<Link>();
        // SAFETY: the thread that sets `queued` owns the link; the child keeps the list
        // alive, and the caller the child.
        match unsafe { self.ready.push(link) } {
            Pushed::Done => true,
            Pushed::Wake(waker) => {
                waker.wake();
                true
            }
            Pushed::Closed => {
                // SAFETY: the list did not take it.
                drop(unsafe { Arc::from_raw(link.cast::<Self>()) });
                false
            }
        }
    }

    /// Makes the scope's future drop it instead of polling it.
    pub(super) fn abort(self: &Arc<Self>) {
        self.aborted.store(true, Ordering::Release);
        self.wake_by_ref();
    }

    /// # Safety
    ///
    /// The caller is the scope's future, or no other thread knows the child.
    #[allow(clippy::mut_from_ref, reason = "only one uses it")]
    unsafe fn future(&self) -> &mut Option<Erased> {
        // SAFETY: the caller is the only user: the scope's future, or the only thread that knows the child.
        unsafe { &mut *self.future.get() }
    }
}

/// The reference of a child's handle.
pub(super) struct ChildHandle(Arc<Child>);

impl ChildHandle {
    /// See [`Child::abort`].
    pub(super) fn abort(&self) {
        self.0.abort();
    }
}

impl Drop for ChildHandle {
    #[inline]
    fn drop(&mut self) {
        // Before its reference.
        self.0.state.handle_dropped();
    }
}

impl Wake for Child {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let is_new = !self.queued.swap(true, Ordering::AcqRel);
        self.state.woken(is_new);
        if is_new {
            self.push();
        }
    }
}

impl Children<'_> {
    pub(super) fn new(ready: Arc<ReadyList>, shared: Arc<Shared>) -> Self {
        Self {
            ready,
            shared,
            all: Vec::new(),
            _env: PhantomData,
        }
    }

    /// Polls the children that are ready, each once. Ready if no child is left.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: this is the owner of the list.
        let batch = Batch(unsafe { self.ready.take() });
        if self.is_aborting() {
            self.drop_all(batch);
        } else if decisions::is_on() {
            self.poll_in_any_order(batch);
        } else {
            for child in batch {
                self.poll_child(&child);
            }
        }
        // SAFETY: this is the owner of the list.
        let waits = unsafe { self.ready.wait(context.waker()) };
        if waits && self.all.is_empty() {
            return Poll::Ready(());
        }
        if !waits {
            // Other tasks of the runtime run first.
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Polls the children, each once, in an order that a simulation chooses: children have no order among each other, as their
    /// wakers have none. If one is preempted, the others are ready as before.
    #[cold]
    fn poll_in_any_order(&mut self, batch: Batch) {
        let mut ready = Ready(batch.collect());
        while !ready.0.is_empty() && !coop::is_preempting() {
            let count = u32::try_from(ready.0.len()).unwrap_or(u32::MAX);
            let next = decisions::meaning(
                || decisions::random(count).unwrap_or(0) as usize,
                |&next| ready.order(next),
            );
            let child = ready.0.remove(next);
            let has_siblings = !ready.0.is_empty();
            decisions::poll_child(has_siblings, &child.unfinished, || {
                self.poll_child(&child);
                coop::has_acted()
            });
        }
    }

    fn poll_child(&mut self, child: &Arc<Child>) {
        child.state.set_polled(true);
        // Before the poll: a wake-up after this asks for another poll.
        child.queued.swap(false, Ordering::AcqRel);
        // SAFETY: this is in the scope's future.
        let slot = unsafe { child.future() };
        let Some(future) = slot else {
            child.state.set_polled(false);
            return;
        };
        if child.place.get() == NEW {
            child.place.set(self.all.len());
            self.all.push(child.clone());
        }
        let is_aborted = child.aborted.load(Ordering::Acquire) || self.is_aborting();
        let ended = is_aborted || {
            let waker = Waker::from(child.clone());
            future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
        };
        if ended {
            self.remove(child);
            *slot = None;
        }
        child.state.set_polled(false);
    }

    fn is_aborting(&self) -> bool {
        self.shared.aborts.load(Ordering::Acquire)
    }

    /// Drops all children; `batch` are those that are ready, some of them new.
    #[cold]
    fn drop_all(&mut self, batch: Batch) {
        let mut panics = Panics::new();
        for child in batch.chain(self.all.drain(..)) {
            // SAFETY: this is in the scope's future.
            panics.put_off(|| drop(unsafe { child.future() }.take()));
        }
        if !thread::panicking() {
            panics.go_on();
        }
    }

    fn remove(&mut self, child: &Child) {
        let place = child.place.get();
        self.all.swap_remove(place);
        if let Some(moved) = self.all.get(place) {
            moved.place.set(place);
        }
    }
}

impl Drop for Children<'_> {
    /// Drops all children, including those that a destructor starts.
    fn drop(&mut self) {
        // SAFETY: this is the owner of the list.
        let batch = Batch(unsafe { self.ready.close() });
        self.drop_all(batch);
    }
}

/// Children that were taken from the ready list.
struct Batch(*const Link);

impl Iterator for Batch {
    type Item = Arc<Child>;

    fn next(&mut self) -> Option<Arc<Child>> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: the list was of children, each with a count of its own.
        let child = unsafe { Arc::from_raw(self.0.cast::<Child>()) };
        // SAFETY: it was taken from the list.
        self.0 = unsafe { child.link.next() };
        Some(child)
    }
}

impl Drop for Batch {
    /// After a panic, puts the children that have not been polled back.
    fn drop(&mut self) {
        for child in self {
            child.push();
        }
    }
}

/// Children that are ready. Those that are left are put back.
struct Ready(Vec<Arc<Child>>);

impl Ready {
    /// Says that the child with this index is polled before the first one.
    fn order(&self, next: usize) -> String {
        let [next, first] = [next, 0].map(|index| self.0[index].unfinished.child());
        format!("child {next} is polled before child {first}")
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        for child in &self.0 {
            child.push();
        }
    }
}

// SAFETY: it is a list of `Arc<Child>`.
unsafe impl Send for Batch {}
