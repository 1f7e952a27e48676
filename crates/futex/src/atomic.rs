//! The atomics to use with this crate.
//!
//! They are the standard library's atomics, or loom's if the program is built with `--cfg loom` and the
//! feature `loom`. A primitive that takes them from here compiles unchanged under the model checker:
//! [From a futex wrapper](https://blitz-io.github.io/blitz-io/moving/futex.html#loom) has an example.

#[cfg(target_has_atomic = "64")]
pub use crate::source::atomic::AtomicU64;
pub use crate::source::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicUsize, Ordering, fence,
};
