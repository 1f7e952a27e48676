//! Workers, each on a thread of its own, that steal from each other.
//!
//! | file | what it has |
//! |---|---|
//! | `queue.rs` | a worker's own queue: a ring with stealing |
//! | `slot.rs` | the place before it |
//! | `tray.rs` | what it has taken from its queue to run next |
//! | `pace.rs` | how many of them, and how often the inject queue goes first |
//! | `inject.rs` | the queue that belongs to no worker |
//! | `idle.rs` | who sleeps, who searches, who is woken |
//! | `sleep.rs` | the steps of going to sleep and getting up |
//! | `shared.rs` | what all threads know of the scheduler |
//! | `reference.rs` | how a task refers to it |
//! | `seat.rs` | a worker's place, which a thread takes |
//! | `worker.rs` | what runs next, and where a task goes that is ready |
//! | `search.rs` | stealing, and sleeping |
//! | `watch.rs` | seeing whether work stands still |
//! | `hand_over.rs` | another thread takes the seat while a task blocks |
//! | `leave.rs` | the end |

#[cfg(not(loom))]
mod hand_over;
pub mod idle;
pub mod inject;
#[cfg(not(loom))]
mod leave;
pub mod mutant;
#[cfg(not(loom))]
mod pace;
pub mod queue;
#[cfg(not(loom))]
mod reference;
#[cfg(not(loom))]
mod search;
#[cfg(not(loom))]
mod seat;
#[cfg(not(loom))]
mod shared;
pub mod sleep;
pub mod slot;
pub mod tray;
#[cfg(not(loom))]
mod watch;
#[cfg(not(loom))]
mod worker;

#[cfg(not(loom))]
pub(crate) use hand_over::{hand_over, number_here, timer_starts};
#[cfg(not(loom))]
pub(crate) use shared::{Shared, launch};
