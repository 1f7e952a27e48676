//! The untyped part of a task: its header and number, the token to run it once, and its
//! interface to the scheduler.

use std::cell::Cell;
use std::fmt;
use std::mem::{self, MaybeUninit};
use std::num::NonZeroU64;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use super::state::State;
use crate::kernel::token::Token;
use blitz_io_core::{Watched, coop};
use blitz_io_observe::trace::{self, Abort};
use blitz_io_observe::{Caller, IS_ENABLED, OfScope, TaskSpan, decisions};

/// The first part of a task's memory. All pointers to a task point to it.
///
/// Fields that a poll needs come last, beside the future. Fields that matter only when a
/// task begins or ends come first, and fill a cache line. So tasks that are neighbours in
/// memory and are polled by different workers do not share a line that each poll writes,
/// wherever the allocator puts them.
#[repr(C)]
pub struct Header {
    /// The next one in a queue. Belongs to the holder of the token.
    pub queue_next: Watched<Option<NonNull<Header>>>,
    /// The neighbours in the list of the runtime's tasks. Belongs to the thread that has
    /// the list.
    pub links: Watched<Links>,
    /// Wakes the waiter for the task. Initialised if the state has `JOIN_WAKER`.
    pub join_waker: Watched<MaybeUninit<Waker>>,
    /// The kind of value that the contents are. Belongs to the owner of the contents.
    stage: Watched<Stage>,
    /// The list in which the task is or was.
    pub list_id: ListId,
    id: Id,
    /// The span of the task, for the events of its wakers.
    pub span: TaskSpan,
    /// The scope of which the task is a child, for its record.
    pub of_scope: OfScope,
    /// The time at which the task became ready: nanoseconds since its runtime began. Belongs to the holder of
    /// the token.
    #[cfg(feature = "schedule-latency")]
    ready_at: AtomicU64,
    pub vtable: &'static Vtable,
    pub state: State,
}

/// The list that a task was bound to: its shard, and which of its two.
#[derive(Clone, Copy)]
pub struct ListId(u32);

impl ListId {
    const OWN: u32 = 1 << 31;
    const PINNED: u32 = 1 << 30;

    /// Returns the list with a lock.
    #[inline]
    pub fn shared(shard: usize) -> Self {
        Self(shard as u32)
    }

    /// Returns the owner's list.
    #[inline]
    pub fn own(shard: usize) -> Self {
        Self(shard as u32 | Self::OWN)
    }

    /// Returns the same list, for a task whose future is dropped only where its token is run.
    #[inline]
    pub fn pinned(self) -> Self {
        Self(self.0 | Self::PINNED)
    }

    /// Returns `true` if the task's future is dropped only where its token is run.
    #[inline]
    pub fn is_pinned(self) -> bool {
        self.0 & Self::PINNED != 0
    }

    /// Returns `true` if the list is the owner's.
    #[inline]
    pub fn is_own(self) -> bool {
        self.0 & Self::OWN != 0
    }

    #[inline]
    pub fn shard(self) -> usize {
        (self.0 & !(Self::OWN | Self::PINNED)) as usize
    }
}

/// The place of a task in a list.
#[derive(Clone, Copy, Default)]
pub struct Links {
    pub previous: Option<NonNull<Header>>,
    pub next: Option<NonNull<Header>>,
}

/// The value in a task's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The future.
    Future,
    /// Its output.
    Value,
    /// The payload of its panic.
    Panic,
    /// Nothing: the future was dropped before it had an output.
    Cancelled,
    /// Nothing any more: the output was taken or dropped.
    Empty,
}

// SAFETY: the state and the lists' locks say which thread may use which field.
unsafe impl Send for Header {}
// SAFETY: the state and the lists' locks also order the uses through shared references.
unsafe impl Sync for Header {}

impl Header {
    pub fn new(vtable: &'static Vtable, id: Id, list_id: ListId) -> Self {
        Self {
            state: State::new(),
            vtable,
            id,
            queue_next: Watched::new(None),
            links: Watched::new(Links::default()),
            join_waker: Watched::new(MaybeUninit::uninit()),
            stage: Watched::new(Stage::Future),
            list_id,
            span: TaskSpan::new(),
            of_scope: OfScope::new(),
            #[cfg(feature = "schedule-latency")]
            ready_at: AtomicU64::new(0),
        }
    }

    /// Returns the task's number.
    #[inline]
    pub fn id(&self) -> Id {
        self.id
    }

    /// Returns `true` if there is a future, an output or a panic in the task's memory.
    ///
    /// # Safety
    ///
    /// The caller has the contents.
    #[inline]
    pub unsafe fn has_contents(&self) -> bool {
        // SAFETY: the caller has the contents.
        let stage = unsafe { self.stage() };
        !matches!(stage, Stage::Cancelled | Stage::Empty)
    }

    /// Returns which value is in the task's memory.
    ///
    /// # Safety
    ///
    /// The caller has the contents.
    #[inline]
    pub unsafe fn stage(&self) -> Stage {
        // SAFETY: the caller has the contents.
        self.stage.with(|stage| unsafe { *stage })
    }

    /// Records which value is in the task's memory from now on, and returns the former record.
    ///
    /// # Safety
    ///
    /// The caller has the contents.
    #[inline]
    pub unsafe fn replace_stage(&self, new: Stage) -> Stage {
        // SAFETY: the caller has the contents.
        self.stage
            .with_mut(|stage| unsafe { mem::replace(&mut *stage, new) })
    }

    /// Takes the join handle's waker.
    ///
    /// # Safety
    ///
    /// The waker is stored, and is the caller's.
    #[inline]
    pub unsafe fn take_join_waker(&self) -> Waker {
        // Only read, since the join handle may be comparing it with another.
        self.join_waker
            // SAFETY: the waker is stored, and the caller owns it.
            .with(|waker| unsafe { (*waker).assume_init_read() })
    }

    /// Returns the next task in an intrusive queue.
    ///
    /// # Safety
    ///
    /// The queue holds this task's token, and no other thread changes the queue during
    /// the call.
    #[inline]
    pub unsafe fn queue_next(&self) -> Option<NonNull<Header>> {
        // SAFETY: the caller holds the token.
        self.queue_next.with(|next| unsafe { *next })
    }

    /// Sets the next task in an intrusive queue.
    ///
    /// # Safety
    ///
    /// The queue holds this task's token, and no other thread uses the queue during the
    /// call.
    #[inline]
    pub unsafe fn set_queue_next(&self, next: Option<NonNull<Header>>) {
        // SAFETY: the caller holds the token.
        self.queue_next.with_mut(|place| unsafe { *place = next });
    }
}

/// The functions that depend on the types of future and scheduler.
pub struct Vtable {
    /// Runs a token.
    pub run: unsafe fn(NonNull<Header>) -> Ran,
    /// Gives a token to the scheduler. The caller has a reference during the call.
    pub schedule: unsafe fn(NonNull<Header>),
    /// Wakes and gives up a reference.
    pub wake_by_value: unsafe fn(NonNull<Header>),
    /// Drops the future of a task that the caller has shut down, and completes it.
    pub shut_down: unsafe fn(NonNull<Header>),
    /// Drops the future of a task that was cancelled, and stores this outcome.
    pub cancel: unsafe fn(NonNull<Header>),
    /// Takes the output to where the pointer says, a `Poll<Result<T, JoinError>>`.
    pub take: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops the output for a join handle.
    pub drop_output: unsafe fn(NonNull<Header>),
    /// Gives the memory back.
    pub free: unsafe fn(NonNull<Header>),
}

/// Frees a task.
///
/// # Safety
///
/// The caller has released the last reference.
#[inline]
pub unsafe fn free(task: NonNull<Header>) {
    // SAFETY: the caller alone has the task, and it is of the type that the table is for.
    unsafe { (task.as_ref().vtable.free)(task) }
}

/// Gives up a reference.
///
/// # Safety
///
/// The caller has one, and does not use the task any more.
#[inline]
pub unsafe fn release(task: NonNull<Header>) {
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
pub unsafe fn release_last(task: NonNull<Header>) {
    // SAFETY: the caller's reference keeps the task.
    if unsafe { task.as_ref() }.state.release_last() {
        // SAFETY: it was the last one.
        unsafe { free(task) }
    }
}

/// Aborts a task. `at`: the line of the program that does so, if that is known.
///
/// # Safety
///
/// The caller has a reference.
pub unsafe fn abort(task: NonNull<Header>, why: Abort, at: Caller) {
    // Only records need to know whether this is the call that aborts it.
    if IS_ENABLED {
        // SAFETY: the caller's reference keeps the task.
        let header = unsafe { task.as_ref() };
        let state = header.state.load();
        if !state.is_complete() && !state.is_cancelled() {
            trace::aborted(header.id.as_u64(), why, at);
        }
    }
    // SAFETY: the caller has a reference.
    unsafe { cancel(task) }
}

/// Aborts a task, which is no event of the program.
///
/// # Safety
///
/// The caller has a reference.
pub unsafe fn cancel(task: NonNull<Header>) {
    coop::acted();
    // SAFETY: the caller's reference keeps the task.
    let header = unsafe { task.as_ref() };
    if header.state.cancel() {
        // SAFETY: `cancel` made a token, which is for this call.
        unsafe { (header.vtable.schedule)(task) }
    }
}

/// The right and the duty to run a task once. There is at most one for a task. It needs
/// no reference, since a task does not end before its token has been run. It is handed to
/// another thread with release and acquire, as every queue does.
#[must_use = "a task whose token is lost stays forever"]
pub struct Notified(NonNull<Header>);

/// The result of running a token.
#[must_use]
pub enum Ran {
    /// The task has ended.
    Done,
    /// The task waits for a wake-up.
    Idle,
    /// The task was woken while it was polled.
    Again(Notified),
    /// The task requests a place at the end of the queue.
    Yielded(Notified),
    /// The task runs again at once, on this thread. Only if [`put_back`](Schedule::put_back)
    /// says so.
    Here(Notified),
}

// SAFETY: the token may be run on another thread, since the future of a task may be
// polled on any thread if it has a scheduler that moves it.
unsafe impl Send for Notified {}

impl Notified {
    /// Polls the task's future once, or drops it if the task was cancelled.
    #[inline]
    pub fn run(self) -> Ran {
        let task = self.into_task();
        // SAFETY: a task with a token is not complete, and so has its own reference.
        unsafe { (task.as_ref().vtable.run)(task) }
    }

    /// Drops the task's future instead of polling it.
    pub fn cancel(self) {
        // There is a token: this one.
        let gives_another = self.header().state.cancel();
        debug_assert!(!gives_another);
        let ran = self.run();
        debug_assert!(matches!(ran, Ran::Done));
    }

    /// Gives up the token.
    #[inline]
    pub fn into_task(self) -> NonNull<Header> {
        let task = self.0;
        mem::forget(self);
        task
    }

    /// Creates the token of a task.
    ///
    /// # Safety
    ///
    /// The caller has the right to run the task, and gives it to the token.
    #[inline]
    pub unsafe fn of(task: NonNull<Header>) -> Self {
        Self(task)
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: a task with a token is not complete, and so has its own reference.
        unsafe { self.0.as_ref() }
    }

    /// Returns the task's number.
    pub fn id(&self) -> Id {
        self.header().id()
    }

    /// Returns the time at which the task became ready, as its scheduler has noted it.
    // Only holders of the token use it, which is handed on with release and acquire.
    #[cfg(feature = "schedule-latency")]
    pub fn ready_at(&self) -> u64 {
        self.header().ready_at.load(Ordering::Relaxed)
    }

    /// Notes when the task became ready.
    #[cfg(feature = "schedule-latency")]
    pub fn set_ready_at(&self, nanos: u64) {
        self.header().ready_at.store(nanos, Ordering::Relaxed);
    }
}

// SAFETY: the pointer is the task's.
unsafe impl Token for Notified {
    #[inline]
    fn into_raw(self) -> NonNull<()> {
        self.into_task().cast()
    }

    #[inline]
    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self(raw.cast())
    }
}

impl Drop for Notified {
    fn drop(&mut self) {
        debug_assert!(std::thread::panicking(), "a token was lost");
    }
}

/// The interface of a task to its scheduler. Each task has a copy.
pub trait Schedule: Clone + Send + Sync + 'static {
    /// Queues a task, which is to be run. Called on any thread, by a wake-up or an abort.
    fn schedule(&self, task: Notified);

    /// Takes a task that has ended out of the list it was bound to. The task is still
    /// alive, and its join handle has not heard of it.
    fn release(&self, task: &Header);

    /// Returns whether the scheduler certainly lives until the current function of this
    /// thread has returned, even if the task is freed: for example because the thread is
    /// one of its workers. Waking by value then needs one step less.
    fn outlives_call(&self) -> bool {
        false
    }

    /// Handles the panic of a task's future.
    fn unhandled_panic(&self) {}

    /// Calls the hooks for a task that has ended.
    fn terminated(&self, id: Id) {
        let _ = id;
    }

    /// Its tasks stay on the thread of their first poll: the three functions below have a
    /// meaning, and the tasks' lists are [pinned](ListId::pinned).
    const PINS: bool = false;

    /// Pins the task, whose token is about to be run, to this thread if it is not pinned yet.
    /// Returns `false` if it is pinned to another thread.
    fn pin(&self) -> bool {
        true
    }

    /// Keeps the waker of a task, to wake it on the thread that it is pinned to.
    fn set_aside(&self, id: Id, waker: &Waker) {
        let _ = id;
        waker.wake_by_ref();
    }

    /// Ends a poll: queues the token, if there is one, or leaves that to the caller.
    fn put_back(&self, ran: Ran) -> Ran {
        ran
    }
}

/// A number that identifies a task in this process.
///
/// Numbers are not used again. They say nothing about the order in which tasks were
/// spawned.
///
/// In a simulation, the text of an id has the number of the task in the run, which is that of the report and the same in
/// each replay. Ids of different runs may have the same text, but are not equal.
///
/// See [`JoinHandle::id`](super::JoinHandle::id) and [`id`](crate::task::id).
///
/// # Examples
///
/// ```
/// let runtime = blitz_io::runtime::Runtime::new()?;
/// runtime.block_on(async {
///     use blitz_io::task;
///
///     let (one, two) = (task::spawn(async {}), task::spawn(async {}));
///     assert_ne!(one.id(), two.id());
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Hash, Eq, PartialEq, PartialOrd, Ord)]
pub struct Id(NonZeroU64);

/// Number of ids that a thread takes at once, so that an id costs no shared counter.
const BATCH: u64 = 64;

thread_local! {
    /// This thread's numbers: the next one, and the first that is not its own.
    static NUMBERS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

impl Id {
    /// Returns a number that no task has had.
    #[inline]
    pub(crate) fn next() -> Self {
        NUMBERS.with(|numbers| {
            let (mut next, mut end) = numbers.get();
            if next == end {
                next = take_batch();
                end = next + BATCH;
            }
            numbers.set((next + 1, end));
            // The first number of all is 1, and 2^64 are not reached.
            Self(NonZeroU64::new(next).unwrap_or(NonZeroU64::MAX))
        })
    }

    /// Returns the id of a number; `None` for 0.
    #[cfg(not(loom))]
    pub(crate) fn from_u64(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// Returns the number.
    pub(crate) fn as_u64(self) -> u64 {
        self.0.get()
    }
}

/// Returns the first of a batch of numbers.
#[cold]
fn take_batch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(BATCH, Ordering::Relaxed)
}

impl Id {
    /// Returns the number in texts. In a simulation, it is that among the tasks, or the children of scopes, of the run.
    fn shown(self) -> u64 {
        let number = self.as_u64();
        decisions::number_of(number)
            .or_else(|| decisions::number_of_child(number))
            .unwrap_or(number)
    }

    /// Returns the name before the number in texts. Children of scopes have numbers of their own in a simulation.
    pub(super) fn noun(self) -> &'static str {
        match decisions::number_of_child(self.as_u64()) {
            Some(_) => "child",
            None => "task",
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown().fmt(f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Id").field(&self.shown()).finish()
    }
}
