//! Deliberate mistakes, for the model checker. `docs/pipelines.md` describes them.

blitz_io_sync::mutants! {
    /// A waker changes the sleeper's word only if it sees the sleeper asleep.
    WakesOnlyTheSleeping,
    /// The end of the run is not an event: it wakes no worker.
    EndIsNoEvent,
    /// A worker looks for a step, and lists itself as a sleeper after that, without a
    /// second look.
    LooksBeforeItIsListed,
    /// Memory is bounded at a second place: a result also waits for room.
    ResultsWaitForRoom,
    /// A worker that publishes more work than it can do itself wakes no other.
    KeepsWorkToItself,
    /// A task that is polled again leaves the waker of its previous poll in the list.
    KeepsTheOldWaker,
    /// The end of the run does not wake tasks that wait for I/O.
    EndForgetsPending,
}
