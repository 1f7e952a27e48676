//! Deliberate mistakes in the queue of waiters. See [`crate::mutant`].

crate::mutants! {
    /// A node is signalled before its waker has been taken out.
    SignalFirst,
    /// The signal does not carry what was done before it.
    RelaxedSignal,
    /// A waker is changed without asking whether the node is still linked.
    ChangesWakerBlindly,
    /// A waiter leaves without asking under the lock whether it has been chosen.
    LeavesBlindly,
    /// A thread goes to sleep without saying so.
    SleepsSilently,
    /// "Everybody" includes waiters that come while the lock is released.
    EverybodyIncludesNewcomers,
}
