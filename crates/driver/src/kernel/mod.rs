//! The driver, which the model checker runs as it stands, with a model of the system's poll.
//!
//! | file | contents |
//! |---|---|
//! | `driver.rs` | the threads that wait in it, and their wake-ups |
//! | `selector/` | the system's poll, or the model of it |
//! | `ring/`, `completion.rs` | the ring of completions, and its operations |
//! | `entries.rs`, `entry.rs` | the sources, and the wakers of each |
//! | `readiness.rs`, `bits.rs` | the readiness of a source, in one word |
//! | `registration.rs` | a source that is registered |
//! | `wakers.rs` | the wakers that an event has taken out |
//! | `current.rs` | the driver of the current runtime |
//! | `metrics.rs` | counters |

pub mod bits;
#[cfg(completions)]
pub mod completion;
pub mod current;
pub mod driver;
pub mod entries;
pub mod entry;
pub mod metrics;
pub mod readiness;
pub mod registration;
pub mod ring;
pub mod selector;
pub mod wakers;
