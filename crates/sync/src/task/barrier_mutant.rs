//! Deliberate mistakes in the task family's `Barrier`. See [`crate::mutant`].

crate::mutants! {
    /// Who arrives counts himself in one section of the lock, and joins the queue
    /// in another.
    CountsBeforeJoining,
    /// The last of a round wakes the others before he begins a new count.
    WakesBeforeNewRound,
}
