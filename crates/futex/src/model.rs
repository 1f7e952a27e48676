//! Controls time in a model (only with `--cfg loom`).
//!
//! loom has no clock. In a model, a wait with a deadline sleeps like one without, until
//! [`expire`] is called; from then on, every deadline has passed. The values of the
//! deadlines mean nothing.

use crate::sys;

/// Makes every deadline of this model pass.
///
/// Timed waits that sleep now return [`TimedOut`](crate::WaitResult::TimedOut), and so do
/// later ones that find their word unchanged. Waits without a deadline are not affected.
/// Each execution of the model starts with no deadline passed.
///
/// Call it from a separate thread to let the model checker try every moment at which a
/// timeout may occur.
pub fn expire() {
    sys::expire();
}
