//! The limits and the bytes on which a client and the process that it asks agree.

use std::time::Duration;

/// The time in which a client asks, and in which a process begins to answer.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// The time from the beginning of an answer to its end.
pub(crate) const LIMIT_OF_ANSWER: Duration = Duration::from_secs(30);

/// The byte with which a client asks for an answer with the stacks that can be read without a signal. Older
/// versions send signals for it.
pub(crate) const PLAIN: u8 = b'?';
/// The byte for an answer whose stacks the threads copy when they get a signal.
pub(crate) const WITH_SIGNALS: u8 = b'!';
/// The byte that switches the recorder `trace` on. The answer tells if it was off.
pub(crate) const TRACE_ON: u8 = b'+';
/// The byte that switches it off. The answer is empty JSON.
pub(crate) const TRACE_OFF: u8 = b'0';
/// The byte for the recording.
pub(crate) const TRACE: u8 = b'@';
/// The byte for an answer without stacks. Older versions have no stacks, and answer any byte.
pub(crate) const WITHOUT_STACKS: u8 = b'-';

/// A text in the file of each program that can answer. Where one does not, a client finds out by it whether the
/// program was built without the records.
pub const CAN_ANSWER: &str = "blitz-io: this program can answer `blitz why`";
