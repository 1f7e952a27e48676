//! Deliberate mistakes, for the model checker.

blitz_sync::mutants! {
    /// An idle worker sleeps without counting itself.
    IdleIsNotCounted,
    /// An idle worker rests without counting itself.
    RestsUncounted,
    /// An idle worker does not look for work before it sleeps.
    NoLastLook,
    /// A worker that was woken for several forks takes one and wakes nobody.
    FindsSilently,
    /// A waker does not move the epoch on.
    EpochStays,
    /// A worker says that it runs a job, and passes no fence.
    BeginsWithoutFence,
    /// A waiting worker asks to be told of forks after its last look.
    AsksTooLate,
    /// A worker helps with forks that are older than what it waits for.
    HelpsWithAnything,
    /// A waiter sleeps without saying so in the latch.
    SleepsUnannounced,
    /// A latch is set without a look whether somebody sleeps.
    SetsSilently,
    /// A job is added without a look whether the scope's worker sleeps.
    AddsSilently,
    /// A job of a scope ends without releasing what it wrote.
    EndsRelaxed,
    /// A participant enters a loop that is closed.
    EntersClosedLoop,
    /// The caller of a loop does not wait for those who entered.
    DoesNotWaitForOthers,
    /// A participant that leaves does not look whether the caller sleeps.
    LeavesSilently,
}
