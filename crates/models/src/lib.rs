//! Helpers that the models of this workspace share, with `--cfg loom` only. Not published.
//!
//! loom cannot drop some of its types after it has found a mistake. So these helpers drop a value only when
//! its model has ended well.

#![cfg(loom)]

mod counter;
mod end;
mod explore;
mod futures;

pub use counter::Counter;
pub use end::End;
pub use explore::{model, model_in_order, model_with_long_runs};
pub use futures::{block_on, block_on_parking, poll, poll_idly};

use std::time::{Duration, Instant};

/// A time that is over only when the model says so.
pub const SOON: Duration = Duration::from_secs(3600);

/// Returns a deadline that passes only when the model says so.
pub fn soon() -> Instant {
    Instant::now() + SOON
}
