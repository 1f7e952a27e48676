//! The system's facility to wait for many sources at once.
//!
//! | file | contents |
//! |---|---|
//! | `epoll.rs` | Linux: any number of threads wait at the same time, and the kernel wakes one for each event |
//! | `exclusive.rs` | other systems: mio's poll behind a lock, so that only one thread waits |
//! | `model.rs` | a model of the first for loom |

#[cfg(epoll)]
mod epoll;
#[cfg(not(timer))]
mod exclusive;
#[cfg(loom)]
mod model;
#[cfg(timer)]
mod timer;
#[cfg(epoll)]
mod timer_descriptor;

#[cfg(epoll)]
pub use epoll::{Memory, NO_MEMORY, Selector};
#[cfg(not(timer))]
pub use exclusive::{Memory, NO_MEMORY, Selector};
#[cfg(not(loom))]
pub use mio::{Interest, event::Source as AnySource};
#[cfg(loom)]
pub use model::{AnySource, Interest, Kernel, Memory, NO_MEMORY, Selector, Source};
#[cfg(epoll)]
use timer_descriptor::Kernel;

use std::time::Instant;

use crate::kernel::bits::Bits;

/// A report of a poll.
pub enum Report {
    /// The source with this token is ready for something.
    Source(usize, Bits),
    /// Another thread has requested a wake-up.
    Wake,
    /// The timer has expired.
    #[cfg_attr(not(timer), allow(dead_code, reason = "there is no timer"))]
    Expired,
    /// The ring of completions has some.
    #[cfg_attr(not(io_uring), allow(dead_code, reason = "there is no ring"))]
    Completions,
}

/// The time for which a poll waits for events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The poll collects pending events, without waiting.
    Not,
    /// It waits until there is an event, or until the time has come.
    Until(Option<Instant>),
}
