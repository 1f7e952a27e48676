//! Where the parts come from that a model takes from loom: here, the standard library. `model.rs` has the place of
//! this file in a model.

mod watched;

pub use std::sync::atomic;
pub use std::sync::{Mutex, MutexGuard};
pub use std::thread::yield_now;

pub use watched::Watched;
