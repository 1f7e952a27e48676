//! Control over time in a model (only with `--cfg loom`).
//!
//! loom has no clock. In a model, a wait with a deadline sleeps like one
//! without, until [`expire`] is called: then every deadline has passed. The
//! values of the deadlines mean nothing.

use crate::sys;

/// Lets every deadline of this model pass.
///
/// Timed waits that sleep now return [`TimedOut`](crate::WaitResult::TimedOut),
/// and so do those that arrive later and find their word unchanged. Waits
/// without a deadline do not notice. Each execution of the model starts with no
/// deadline passed.
///
/// Call it from a thread of its own to let the model checker try every moment
/// at which a timeout may strike.
pub fn expire() {
    sys::expire();
}
