//! The waits of a program: the thread or task, the object, its holder, and whether the wait can end. The trait [`Named`]
//! names locks and channels.
//!
//! Three steps, each on plain data:
//!
//! 1. [`snapshot`] copies the records of this process.
//! 2. [`findings`] judges a [`Snapshot`], and is a pure function.
//! 3. [`report`] writes both for people.
//!
//! A runtime answers the same from outside, to
//! [`blitz why`](https://blitz-io.github.io/blitz-io/guides/hangs.html) and `blitz top`.

// A module, and not the crate with another name: rustc suggests the names of crates for the traits in them.
#[doc(inline)]
pub use blitz_io_inspect::*;
