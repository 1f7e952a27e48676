//! The limit and the bytes on which a client and the process that it asks agree.

use std::time::Duration;

/// How long each side waits for the other one.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// The bytes that a client sends.
pub(crate) const WITH_STACKS: u8 = b'?';
/// The same. A version before has no stacks, and answers any byte.
pub(crate) const WITHOUT_STACKS: u8 = b'-';
