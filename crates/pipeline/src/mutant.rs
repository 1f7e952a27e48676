//! Deliberate mistakes, for the model checker. `docs/pipelines.md` tells their stories.

blitz_sync::mutants! {
    /// A waker changes the sleeper's word only if it sees the sleeper asleep.
    WakesOnlyTheSleeping,
    /// The end of the run is no event: it wakes nobody.
    EndIsNoEvent,
    /// A worker looks for a step, and lists itself as a sleeper after that, without
    /// a second look.
    LooksBeforeItIsListed,
    /// Memory is bounded at a second place: a result, too, waits for room.
    ResultsWaitForRoom,
    /// A worker that publishes more than it can do wakes nobody.
    KeepsWorkToItself,
    /// A task that is polled again leaves the waker of the poll before in the list.
    KeepsTheOldWaker,
    /// The end of the run does not wake tasks that wait for I/O.
    EndForgetsPending,
}
