//! The functions that sleep, without the feature `inspect`: no records.

#[doc(inline)]
pub use blitz_io_futex::{block_until_different, wait, wait_any, wait_deadline};
