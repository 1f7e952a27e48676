/// Describes how a wait ended.
///
/// ```
/// use blitz_io::futex::atomic::AtomicU32;
/// use blitz_io::futex::{WaitResult, wait_deadline};
///
/// let word = AtomicU32::new(1);
/// assert_eq!(wait_deadline(&word, 0, None), WaitResult::ValueChanged);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum WaitResult {
    /// The thread slept and was woken. Waits may end spuriously, so this promises neither
    /// that a wake function was called nor that the word changed.
    Woken,
    /// The word did not hold the expected value, so the thread did not sleep (or, after a
    /// signal, did not go back to sleep).
    ///
    /// Apple's systems and FreeBSD do not report this when the word changes in the last
    /// moment before the sleep; they report [`Woken`](Self::Woken) instead.
    ValueChanged,
    /// The deadline passed, and the word held the expected value when the
    /// thread fell asleep.
    TimedOut,
}
