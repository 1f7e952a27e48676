//! Puts threads to sleep on a 32-bit word until it changes, and wakes them.
//!
//! A *futex* is a word of memory that threads can sleep on. A thread says "put me to sleep as
//! long as this word holds 7". The system compares the word and puts the thread to sleep in one
//! step, so a change that is followed by a wake cannot slip in between. Every blocking lock,
//! event or queue can be built on this. The fast path is a handful of atomic instructions. A
//! thread calls the system only when it really has to sleep, or has to wake another.
//!
//! This crate provides that one operation on every system. It has one small file per operating
//! system, and a table of sleepers for systems without a futex. The same table on [loom]'s types
//! lets code that is built on this crate be model-checked unchanged.
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
//! * **A wait may end spuriously.** Check the condition again, in a loop.
//!   [`block_until_different`] does that for you.
//! * **Change the word first, wake afterwards.** A wake that comes before the
//!   change is lost.
//! * **A wait orders no memory.** The comparison is a plain relaxed read. If you depend on the
//!   writes before the change, load the word with [`Acquire`](atomic::Ordering::Acquire) after
//!   the wait.
//! * **A wake never reads its word.** It takes a raw address, and the word may have been
//!   freed by then: a thread that saw the new value is allowed to free the memory before
//!   the wake arrives.
//! * **All waits and wakes on a word use the same [`Scope`].** The free functions use
//!   [`Scope::Private`]: the threads of this process.
//!
//! # Systems
//!
//! [`system`] tells the features of the running system, and the crate's README has a table of all
//! systems.
//!
//! [loom]: https://docs.rs/loom

#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(loom))))]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!(
    "`--cfg loom` needs the feature `loom` too: \
    `blitz-io = { default-features = false, features = [\"loom\"] }`"
);
#[cfg(all(loom, feature = "loom", feature = "_unmodelled"))]
compile_error!(
    "under `--cfg loom`, blitz-io has `futex`, `sync` and `thread` alone: use it with \
    `default-features = false, features = [\"loom\"]`, and keep other features for \
    `[target.'cfg(not(loom))'.dependencies]`"
);

pub mod atomic;
// Not part of the public interface.
#[doc(hidden)]
pub mod fences;
mod macros;
#[cfg(loom)]
pub mod model;
pub mod parking;
// Not part of the public interface.
#[doc(hidden)]
pub mod per_process;
mod result;
mod scope;
#[cfg_attr(loom, path = "source/model.rs")]
// Not part of the public interface.
#[doc(hidden)]
pub mod source;
mod split_word;
mod sys;
pub mod system;
// Not part of the public interface.
#[cfg(unix)]
#[doc(hidden)]
pub mod system_clock;
mod wait;
mod wait_any;
mod word;

pub use result::WaitResult;
pub use scope::{Scope, Unsupported};
pub use split_word::{Group, SplitWord};
pub use wait::{block_until_different, wait, wait_deadline, wake_all, wake_n, wake_one};
pub use wait_any::{WAIT_ANY_MAX, WaitAny, WaitAnyError, wait_any};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
