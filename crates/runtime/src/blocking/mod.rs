//! Work that blocks its thread: a pool of threads for it, and the way to do it in place.

#[cfg(not(loom))]
mod block_in_place;
#[cfg(not(loom))]
pub(crate) mod desk;
#[cfg(loom)]
pub mod desk;
#[cfg(not(loom))]
pub(crate) mod mutant;
#[cfg(loom)]
pub mod mutant;
#[cfg(not(loom))]
mod pool;
#[cfg(not(loom))]
mod roster;
#[cfg(not(loom))]
mod spawn_blocking;
#[cfg(not(loom))]
mod task;

#[cfg(not(loom))]
pub use block_in_place::block_in_place;
#[cfg(not(loom))]
pub(crate) use pool::Spawner;
#[cfg(not(loom))]
pub use spawn_blocking::spawn_blocking;
