//! Deliberate mistakes, for the model checker.

blitz_sync::mutants! {
    /// An idle worker sleeps without counting itself.
    IdleIsNotCounted,
    /// A resting worker does not count itself.
    RestsUncounted,
    /// An idle worker does not look for work before it sleeps.
    NoLastLook,
    /// A worker that was woken for several forks takes one and wakes no other worker.
    FindsSilently,
    /// A waker does not advance the epoch.
    EpochStays,
    /// A worker announces that it runs a job, but passes no fence.
    BeginsWithoutFence,
    /// A waiting worker asks to be told of forks after its last look.
    AsksTooLate,
    /// A worker helps with forks that are older than what it waits for.
    HelpsWithAnything,
    /// A waiter sleeps without announcing it in the latch.
    SleepsUnannounced,
    /// Setting a latch does not check whether a waiter sleeps.
    SetsSilently,
    /// Adding a job does not check whether the scope's worker sleeps.
    AddsSilently,
    /// A job of a scope ends without releasing what it wrote.
    EndsRelaxed,
    /// A participant enters a loop that is closed.
    EntersClosedLoop,
    /// The caller of a loop does not wait for the workers that have entered.
    DoesNotWaitForOthers,
    /// A participant that leaves does not check whether the caller sleeps.
    LeavesSilently,
}
