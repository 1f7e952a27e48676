//! Workers, each on a thread of its own, that steal from each other.
//!
//! | file | what it has |
//! |---|---|
//! | `queue.rs` | a worker's own queue: a ring with stealing, and a slot before it |
//! | `inject.rs` | the queue that belongs to no worker |
//! | `idle.rs` | who sleeps, who searches, who is woken |

pub mod idle;
pub mod inject;
pub mod mutant;
pub mod queue;
