//! Deliberate mistakes, for the model checker.

blitz_sync::mutants! {
    /// An idle worker sleeps without counting itself.
    IdleIsNotCounted,
    /// An idle worker does not look for work before it sleeps.
    NoLastLook,
    /// A waker does not move the epoch on.
    EpochStays,
    /// A waiting worker asks to be told of forks after its last look.
    AsksTooLate,
    /// A worker helps with forks that are older than what it waits for.
    HelpsWithAnything,
    /// A participant enters a loop that is closed.
    EntersClosedLoop,
    /// The caller of a loop does not wait for those who entered.
    DoesNotWaitForOthers,
    /// A participant that leaves does not look whether the caller sleeps.
    LeavesSilently,
}
