//! What a program waits for: which thread or task waits for which object, which one holds it, and whether that wait can
//! end. And names for locks and channels, with the trait [`Named`].
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
