//! Deliberate mistakes in the queue of waiters. See [`crate::mutant`].

crate::mutants! {
    /// A node is signalled before its waker has been taken out.
    SignalFirst,
    /// The signal does not carry what was done before it.
    RelaxedSignal,
    /// A waker is changed without asking whether the node is still linked.
    ChangesWakerBlindly,
    /// Who leaves does not ask under the lock whether he has been chosen.
    LeavesBlindly,
    /// "Everybody" includes those who come while the lock is released.
    EverybodyIncludesNewcomers,
}
