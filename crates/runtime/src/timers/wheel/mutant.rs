//! Deliberate mistakes for the models of timers: see `blitz_io_core`'s `mutant.rs`.

blitz_io_core::mutants! {
    /// An entry is marked as fired before it is out of the wheel.
    FiresFirst,
    /// The mark of an entry that has fired does not publish the writes to the entry.
    RelaxedFire,
    /// An owner that finds its entry linked takes it out without the lock.
    CancelsBlindly,
    /// An entry that its owner postponed while it fired counts as elapsed.
    IgnoresOvertaking,
    /// A new waker is stored without checking again whether the entry has fired.
    ChangesWakerBlindly,
    /// A thread that links an entry from elsewhere does not check until when the worker
    /// sleeps.
    ForgetsUnpark,
    /// A worker stores until when it sleeps after it has released the lock.
    PromisesLate,
    /// A thread that turns the wheel of another worker leaves that worker's promise as it is.
    KeepsOldPromise,
    /// The end of a runtime leaves its wheels open.
    LeavesWheelOpen,
    /// An entry fires at the tick that it was first linked for.
    FiresPutOff,
}
