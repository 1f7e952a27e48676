//! The protocols, which the model checker runs as they stand: words of shared memory, the ring, the
//! event counts and the waits. Nothing here knows a file, a process or an operating system.

pub mod event_count;
pub mod memory;
#[cfg(loom)]
pub mod model;
pub mod protocol;
pub mod ring;
#[doc(hidden)]
pub mod step;
pub mod wait;
