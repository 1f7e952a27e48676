//! How the end of a job reaches the thread that waits for it.
//!
//! | latch | waits | for |
//! |---|---|---|
//! | [`JoinLatch`] | a worker of the same pool | one job |
//! | [`ThreadLatch`] | any threads, in the futex | one job, or the start or the end of a thread |
//! | [`CountLatch`] | either | many jobs |
//!
//! A latch may be freed as soon as it is set, so the setter reads all that it needs before. A
//! wake-up takes an address and reads nothing.
//!
//! A worker that waits sleeps on its own word ([`Sleeper`](crate::sleep)), because it may
//! also be woken to help. It announces the sleep in the latch (`SLEEPING`). Either the
//! setter's swap returns the announcement, or the swap comes before it, and then the worker
//! does not sleep.
//!
//! A scope's worker must also see a job that only it may run. It announces itself and then
//! looks at the injector, with a fence between; the thread that spawns writes the job and
//! then looks at the announcement, with a fence between. So at least one of them sees the
//! other.
//!
//! The waiter sees the writes of a job: the swap releases them. For a count, every end releases
//! the writes before it, and the last one acquires them.

use std::sync::Arc;

use blitz_io_futex::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use blitz_io_futex::atomic::{AtomicU32, AtomicUsize, fence};

use crate::sleep::{Sleep, Sleeper};

const PENDING: u32 = 0;
const SLEEPING: u32 = 1;
const SET: u32 = 2;

/// The latch of a job, which the job sets when it has run.
pub trait Latch {
    /// # Safety
    ///
    /// `this` is alive until it is set, and it is set once.
    unsafe fn set(this: *const Self);
}

/// A condition for which a worker can wait.
pub trait Probe {
    /// Returns whether it is set. If so, the work of the setter is visible.
    fn is_set(&self) -> bool;
    /// Announces that the worker is about to sleep. Returns whether it may sleep.
    fn announce(&self) -> bool;
    /// Takes the announcement back.
    fn retract(&self);
}

/// One word with three states.
#[derive(Debug)]
struct State(AtomicU32);

impl State {
    fn new() -> Self {
        Self(AtomicU32::new(PENDING))
    }

    fn is_set(&self) -> bool {
        self.0.load(Acquire) == SET
    }

    fn announce(&self) -> bool {
        let announced = self.0.compare_exchange(PENDING, SLEEPING, AcqRel, Acquire);
        fence(SeqCst);
        announced.is_ok()
    }

    fn retract(&self) {
        let _ = self.0.compare_exchange(SLEEPING, PENDING, Relaxed, Relaxed);
    }

    /// # Safety
    ///
    /// `this` is alive until it is set. Returns whether the waiter sleeps.
    unsafe fn set(this: *const Self) -> bool {
        // SAFETY: as the caller promises.
        unsafe { (*this).0.swap(SET, AcqRel) == SLEEPING }
    }
}

/// For a join: the job runs in the pool of the worker that waits.
#[derive(Debug)]
pub struct JoinLatch {
    state: State,
    /// The sleeper of the waiting worker, in its pool, which outlives the thread that sets
    /// the latch.
    sleeper: *const Sleeper,
}

// SAFETY: it is shared between the pool's threads anyway.
unsafe impl Sync for JoinLatch {}

impl JoinLatch {
    #[inline(always)]
    pub fn new(sleeper: &Sleeper) -> Self {
        Self {
            state: State::new(),
            sleeper,
        }
    }
}

impl Latch for JoinLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is alive until the line that sets it.
        unsafe {
            let sleeper = (*this).sleeper;
            if State::set(&raw const (*this).state) {
                (*sleeper).wake();
            }
        }
    }
}

impl Probe for JoinLatch {
    fn is_set(&self) -> bool {
        self.state.is_set()
    }
    fn announce(&self) -> bool {
        self.state.announce()
    }
    fn retract(&self) {
        self.state.retract();
    }
}

/// For a worker that waits for a job in another pool. It runs jobs of its own pool while it
/// waits, and sleeps as an idle worker does. (In a [`CountLatch`], it waits like a join.)
pub struct CrossLatch {
    state: State,
    owner: usize,
    sleep: Arc<Sleep>,
}

impl CrossLatch {
    pub fn new(owner: usize, sleep: &Arc<Sleep>) -> Self {
        Self {
            state: State::new(),
            owner,
            sleep: sleep.clone(),
        }
    }
}

impl Latch for CrossLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: `this` is alive until the line that sets it.
        unsafe {
            let sleep = (*this).sleep.clone();
            if State::set(&raw const (*this).state) {
                sleep.injected_for_all();
            }
        }
    }
}

impl Probe for CrossLatch {
    fn is_set(&self) -> bool {
        self.state.is_set()
    }
    fn announce(&self) -> bool {
        self.state.announce()
    }
    fn retract(&self) {
        self.state.retract();
    }
}

/// For threads that are in no pool, or that must not run anything while they wait.
#[derive(Debug)]
pub struct ThreadLatch(State);

impl ThreadLatch {
    pub fn new() -> Self {
        Self(State::new())
    }

    pub fn wait(&self) {
        while !self.0.is_set() {
            if self.0.announce() || self.0.0.load(Relaxed) == SLEEPING {
                blitz_io_futex::wait(&self.0.0, SLEEPING);
            }
        }
    }

    /// Sets a latch that outlives the call.
    pub(crate) fn open(&self) {
        // SAFETY: the reference keeps it alive.
        unsafe { Self::set_from_anywhere(self) }
    }

    /// # Safety
    ///
    /// As for [`Latch::set`].
    pub(crate) unsafe fn set_from_anywhere(this: *const Self) {
        // SAFETY: `this` is alive until the line that sets it; the wake-up reads nothing.
        unsafe {
            let word = &raw const (*this).0.0;
            if State::set(&raw const (*this).0) {
                blitz_io_futex::wake_all(word);
            }
        }
    }
}

impl Latch for ThreadLatch {
    unsafe fn set(this: *const Self) {
        // SAFETY: as the caller promises.
        unsafe { Self::set_from_anywhere(this) }
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
            fence(SeqCst);
            if latch.state.0.load(Relaxed) == SLEEPING {
                latch.sleep.worker(latch.owner).wake();
            }
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
                Waiter::Worker(latch) => {
                    let (owner, sleep) = (latch.owner, latch.sleep.clone());
                    if State::set(&raw const latch.state) {
                        sleep.worker(owner).wake();
                    }
                }
                Waiter::Thread(latch) => ThreadLatch::set_from_anywhere(latch),
            }
        }
    }

    /// Waits until all jobs have ended: a worker by `wait`, any other thread in the futex.
    pub fn wait(&self, wait: impl FnOnce(&CrossLatch)) {
        match &self.waiter {
            Waiter::Worker(latch) => wait(latch),
            Waiter::Thread(latch) => latch.wait(),
        }
    }
}
