//! How the end of a job reaches the thread that waits for it.
//!
//! | latch | waits | for |
//! |---|---|---|
//! | [`JoinLatch`] | a worker of the same pool | one job |
//! | [`CrossLatch`] | a worker of any pool | one job |
//! | [`ThreadLatch`] | any threads, in the futex | one job, or the start or the end of a thread |
//! | [`CountLatch`] | a worker or a thread | many jobs |
//!
//! A latch may be freed as soon as it is set, so the setter reads all that it needs before. A
//! wake-up takes an address and reads nothing.
//!
//! **A worker that waits** sleeps as every worker does ([`Sleep::sleep`]), because it may also be
//! woken to help. To set its latch is to publish something for that worker alone: the setter sets
//! the latch, passes a fence and reads the worker's word. So [`sleep`](crate::sleep) has the proof.
//! It also covers a job that is added to a scope and that only the scope's worker may run.
//!
//! **A thread that waits** announces in the latch that it sleeps (`SLEEPING`). Either the setter's
//! swap returns the announcement, and the setter wakes the thread, or the swap comes first, and the
//! announcement fails.
//!
//! With the feature `inspect`, the latches of single jobs have an object, which the thread that runs the
//! job holds. The thread releases the object before it sets the latch, because a latch that is set is not
//! used any more. So a waiter that was woken and has not run yet waits for no holder.
//!
//! The waiter sees the writes of a job, because the setter releases them. For a count, each end
//! releases the writes before it, and the last one acquires them.

use std::sync::Arc;

use blitz_io_futex::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use blitz_io_futex::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use blitz_io_observe::{self as observe, Blocking, Caller, Kind, Object};

use crate::sleep::{Sleep, Sleeper};

/// The latch of a job, which the job sets when it has run.
pub trait Latch {
    /// Returns the object that the thread holds while it runs the job, if there is one.
    ///
    /// # Safety
    ///
    /// `this` is alive until it is set, and the result is not used afterwards.
    #[inline(always)]
    unsafe fn job<'a>(_this: *const Self) -> Option<&'a Object> {
        None
    }

    /// # Safety
    ///
    /// `this` is alive until it is set.
    unsafe fn set(this: *const Self);
}

/// A condition for which a worker can wait.
pub trait Probe {
    /// Returns `true` if it is set. If so, the work of the setter is visible.
    fn is_set(&self) -> bool;
}

/// Records that this thread may sleep for a job. The thread that runs the job holds it.
fn waits_for(job: &Object, caller: Caller) -> Blocking {
    Blocking::new(Kind::ForkJoin, job, caller, false)
}

/// The latch of a join: the job runs in the pool of the worker that waits.
#[derive(Debug)]
pub struct JoinLatch {
    set: AtomicBool,
    /// The sleeper of the waiting worker, in its pool, which outlives the thread that sets
    /// the latch.
    sleeper: *const Sleeper,
}

// SAFETY: the sleeper is `Sync`: the pool's threads share it.
unsafe impl Sync for JoinLatch {}

impl JoinLatch {
    #[inline(always)]
    pub fn new(sleeper: &Sleeper) -> Self {
        Self {
            set: AtomicBool::new(false),
            sleeper,
        }
    }
}

impl Latch for JoinLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is alive until the store. The sleeper outlives this thread, as its field says.
        unsafe {
            let sleeper = (*this).sleeper;
            (*this).set.store(true, Release);
            (*sleeper).published();
        }
    }
}

impl Probe for JoinLatch {
    fn is_set(&self) -> bool {
        self.set.load(Acquire)
    }
}

/// The latch of a worker that waits for a job in another pool, or for a scope. It keeps the sleepers of its
/// own pool alive.
pub struct CrossLatch {
    set: AtomicBool,
    owner: usize,
    sleep: Arc<Sleep>,
    job: Object,
}

impl CrossLatch {
    pub fn new(owner: usize, sleep: &Arc<Sleep>) -> Self {
        Self {
            set: AtomicBool::new(false),
            owner,
            sleep: sleep.clone(),
            job: Object::new(),
        }
    }

    /// Records that this worker may sleep for the job.
    pub(crate) fn waits(&self, caller: Caller) -> Blocking {
        waits_for(&self.job, caller)
    }
}

impl Latch for CrossLatch {
    unsafe fn job<'a>(this: *const Self) -> Option<&'a Object> {
        // SAFETY: `this` is alive as long as the result is used.
        Some(unsafe { &(*this).job })
    }

    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is alive until the store.
        unsafe {
            let (owner, sleep) = ((*this).owner, (*this).sleep.clone());
            (*this).set.store(true, Release);
            sleep.worker(owner).published();
        }
    }
}

impl Probe for CrossLatch {
    fn is_set(&self) -> bool {
        self.set.load(Acquire)
    }
}

const PENDING: u32 = 0;
const SLEEPING: u32 = 1;
const SET: u32 = 2;

/// The latch of a thread that is in no pool, or that must not run anything while it waits.
#[derive(Debug)]
pub struct ThreadLatch {
    state: AtomicU32,
    job: Object,
}

impl ThreadLatch {
    pub fn new() -> Self {
        Self {
            state: AtomicU32::new(PENDING),
            job: Object::new(),
        }
    }

    pub fn wait(&self, caller: Caller) {
        if self.is_set_else_announce() {
            return;
        }
        let _waits = waits_for(&self.job, caller);
        while !self.is_set_else_announce() {
            let _record = observe::sleeping(&self.state);
            blitz_io_futex::wait(&self.state, SLEEPING);
        }
    }

    /// Returns `true` if the latch is set. If not, announces that the caller will sleep.
    fn is_set_else_announce(&self) -> bool {
        let announced = (self.state).compare_exchange(PENDING, SLEEPING, Relaxed, Acquire);
        announced == Err(SET)
    }

    /// Sets a latch that outlives the call.
    pub(crate) fn open(&self) {
        // SAFETY: the reference keeps it alive.
        unsafe { Self::set(self) }
    }
}

impl Latch for ThreadLatch {
    unsafe fn job<'a>(this: *const Self) -> Option<&'a Object> {
        // SAFETY: `this` is alive as long as the result is used.
        Some(unsafe { &(*this).job })
    }

    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is alive until the swap; the wake-up reads nothing.
        unsafe {
            let word = &raw const (*this).state;
            if (*word).swap(SET, AcqRel) == SLEEPING {
                blitz_io_futex::wake_all(word);
            }
        }
    }
}

/// The thread that waits for a [`CountLatch`].
enum Waiter {
    Worker(CrossLatch),
    Thread(ThreadLatch),
}

/// A latch that is set when all jobs that were started have ended.
pub struct CountLatch {
    count: AtomicUsize,
    waiter: Waiter,
}

impl CountLatch {
    /// Creates a latch with one job begun, which is the body of the scope.
    pub fn new(owner: Option<(usize, &Arc<Sleep>)>) -> Self {
        Self {
            count: AtomicUsize::new(1),
            waiter: match owner {
                Some((worker, sleep)) => Waiter::Worker(CrossLatch::new(worker, sleep)),
                None => Waiter::Thread(ThreadLatch::new()),
            },
        }
    }

    pub fn begin(&self) {
        self.count.fetch_add(1, Relaxed);
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Wakes the waiting worker for a job that was added and that only this worker may be
    /// able to run.
    pub fn wake_for_job(&self) {
        if let Waiter::Worker(latch) = &self.waiter {
            latch.sleep.worker(latch.owner).published();
        }
    }

    /// # Safety
    ///
    /// Called once for each started job. `this` is alive until the last of them.
    pub unsafe fn end(this: *const Self) {
        // SAFETY: `this` is alive until the count is zero and, for the thread that makes it
        // so, until that thread has set the waiter's latch.
        unsafe {
            if (*this).count.fetch_sub(1, AcqRel) != 1 {
                return;
            }
            match &(*this).waiter {
                Waiter::Worker(latch) => CrossLatch::set(latch),
                Waiter::Thread(latch) => ThreadLatch::set(latch),
            }
        }
    }

    /// Waits until all jobs have ended: a worker by `wait`, any other thread in the futex.
    pub fn wait(&self, caller: Caller, wait: impl FnOnce(&CrossLatch)) {
        match &self.waiter {
            Waiter::Worker(latch) => wait(latch),
            Waiter::Thread(latch) => latch.wait(caller),
        }
    }
}
