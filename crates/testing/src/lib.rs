//! Helpers that the tests of this workspace share. Not published.

mod allocations;
mod children;
mod drops;
mod moving;
mod observe;
mod panics;
mod parity;
mod processors;
mod runtimes;
pub mod threads;
mod wakers;
pub mod watch_dog;

pub use allocations::{Counting, fewest};
pub use children::limited;
pub use drops::{Counted, Drops};
pub use moving::{MovingTask, move_at_every_await};
pub use observe::observe;
pub use panics::file_of_panic;
pub use parity::{Dice, assert_same, panic_of};
pub use processors::bind_to_first_processor;
pub use runtimes::{Bare, Runtime, Smol, Task, Tokio, ms};
pub use wakers::{Wakings, poll_once, reentrant_waker, shouting_waker};
