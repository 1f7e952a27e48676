//! Puts threads to sleep on a 32-bit word until it changes, and wakes them: for primitives of your own.
//!
//! A *futex* is a word of memory that threads can sleep on. [`wait`] says "put me to sleep as long as this word holds 7".
//! The system compares the word and puts the thread to sleep in one step, so a change that is followed by a wake cannot
//! slip in between. The fast path of a lock is then a handful of atomic instructions, and only a thread that has to
//! sleep, or to wake another one, calls the system.
//!
//! ```
//! use blitz_io::futex::atomic::{AtomicU32, Ordering};
//! use blitz_io::futex::{wait, wake_all};
//!
//! static READY: AtomicU32 = AtomicU32::new(0);
//!
//! let waiter = std::thread::spawn(|| {
//!     while READY.load(Ordering::Acquire) == 0 {
//!         wait(&READY, 0); // may return early, hence the loop
//!     }
//! });
//! READY.store(1, Ordering::Release);
//! wake_all(&READY);
//! waiter.join().unwrap();
//! ```
//!
//! # Rules
//!
//! * **A wait may end spuriously.** Check the condition again, in a loop; [`block_until_different`] does.
//! * **Change the word first, wake afterwards.** A wake that comes before the change is lost.
//! * **A wait orders no memory.** Load the word with [`Acquire`](atomic::Ordering::Acquire) after the wait.
//! * **A wake never reads its word**, which may have been freed by then: it takes a raw address.
//! * **All waits and wakes on a word use the same [`Scope`].** The free functions use [`Scope::Private`]: the
//!   threads of this process.
//! * **A wait blocks the thread**, also in a task or a fiber.
//!
//! # Which item
//!
//! | you want to | use |
//! |---|---|
//! | sleep on a word | [`wait`], [`wait_deadline`], [`block_until_different`], [`wait_any`] |
//! | wake its sleepers | [`wake_one`], [`wake_n`], [`wake_all`] |
//! | sleep on a word in shared memory | [`Scope::Shared`] |
//! | wake one of several groups that sleep on one state | [`SplitWord`] |
//! | have locks without room for a word, by address | [`parking`] |
//! | see your primitive in `blitz why`, by its name | [`Observed`] |
//! | check it with loom | the feature `loom`, and the types of [`atomic`] |
//!
//! The book shows [a primitive, its model and its report](https://blitz-io.github.io/blitz-io/moving/futex.html).
//!
//! # In reports
//!
//! With the feature `inspect`, a thread that sleeps in one of the functions of this module leaves a record while it sleeps:
//! the address, the value, the caller's location. [`Observed`] has the name and the holder, too. Methods of [`Scope`] and
//! [`SplitWord`], and [`parking`], leave no record: a report has the address on which such a thread sleeps.

mod observed;
#[cfg_attr(not(feature = "inspect"), path = "plain.rs")]
mod recorded;

#[cfg(loom)]
pub use blitz_io_futex::model;
pub use blitz_io_futex::{
    Group, Scope, SplitWord, Unsupported, WAIT_ANY_MAX, WaitAny, WaitAnyError, WaitResult, atomic,
    parking, system, wake_all, wake_n, wake_one,
};
pub use observed::Observed;
#[doc(inline)]
pub use recorded::{block_until_different, wait, wait_any, wait_deadline};
