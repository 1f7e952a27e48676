//! Work that blocks its thread: on a thread of the pool, or in place.

mod block_in_place;
mod spawn_blocking;

pub use block_in_place::block_in_place;
pub use spawn_blocking::{spawn_blocking, spawn_mandatory_blocking};
