//! The cores of the locks, for models: `lock_api`'s constants cannot be made of the model checker's
//! atomics.

/// The cores of the locks.
pub mod core {
    pub use crate::thread::notify_queue::{Ended, NotifyQueue};
    pub use crate::thread::shared::Shared;
}
