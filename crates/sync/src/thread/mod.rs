//! Locks, condition variables, semaphores, barriers and other primitives that block threads, with the names of std,
//! parking_lot and crossbeam.
//!
//! ```
//! use blitz_io::thread::{Condvar, Mutex}; // was: std::sync or parking_lot
//!
//! static JOBS: Mutex<Vec<u32>> = Mutex::new(Vec::new());
//! static ADDED: Condvar = Condvar::new();
//!
//! let worker = std::thread::spawn(|| {
//!     let mut jobs = JOBS.lock(); // no `unwrap`: there is no poisoning
//!     ADDED.wait_while(&mut jobs, |jobs| jobs.is_empty());
//!     jobs.pop()
//! });
//! JOBS.lock().push(7);
//! ADDED.notify_one();
//! assert_eq!(worker.join().unwrap(), Some(7));
//! ```
//!
//! # Which primitive
//!
//! | you want to | use |
//! |---|---|
//! | give one thread exclusive use of a value | [`Mutex`]; [`FairMutex`] in the order of arrival; [`ReentrantMutex`] if its owner locks it again |
//! | let many threads read it, or one write it | [`RwLock`] |
//! | wait until the value of a lock has changed | [`Condvar`] |
//! | limit how many threads do something | [`Semaphore`] |
//! | make a value once | [`OnceLock`], [`LazyLock`]; without a value [`Once`] |
//! | wake one thread | [`Parker`] |
//! | wait for something that happens, or happens again | [`Event`] |
//! | wait until a count has come to zero | [`Latch`]; [`WaitGroup`] if the members are not known before |
//! | let threads wait for each other, in rounds | [`Barrier`]; [`SpinBarrier`] if each has a processor |
//! | build a primitive of your own | the module `futex` |
//!
//! For tasks, the module `sync` has primitives that are awaited, and channels for tasks and threads.
//!
//! # Common to all
//!
//! * Waiting allocates nothing, and neither does making one, but for [`Parker`] and [`WaitGroup`]. The others can be in a
//!   `static`. A `Mutex<()>` has four bytes.
//! * The methods with the ending `_for` or `_timeout` take a `Duration`, and those with `_until` or `_deadline` an
//!   [`Instant`](std::time::Instant), after which they return.
//! * The guards are those of [`lock_api`]. A panic releases a lock, and does not poison it.
//! * In a task they block its worker: keep such waits short, and no guard over an `.await`.
//! * With the feature `inspect`, `blitz why` shows each wait, its line, and the holder of a lock.

mod barrier;
mod countdown;
mod event;
mod fiber_waits;
mod latch;
mod lazy_lock;
#[cfg_attr(loom, path = "locks/model.rs")]
mod locks;
mod notify_queue;
mod once;
mod once_lock;
mod parker;
mod rounds;
mod semaphore;
mod shared;
mod spin_barrier;
mod spin_wait;
mod wait_group;

pub use barrier::{Barrier, BarrierTimedOut, BarrierWaitResult};
pub use event::Event;
pub use latch::{CountDownError, Latch};
pub use lazy_lock::LazyLock;
pub use locks::*;
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use parker::{Parker, Unparker};
pub use semaphore::{
    AcquireError, OverRelease, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
pub use spin_barrier::SpinBarrier;
pub use spin_wait::SpinWait;
pub use wait_group::WaitGroup;
