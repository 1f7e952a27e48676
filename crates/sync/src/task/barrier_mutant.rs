//! Deliberate mistakes in the task family's `Barrier`. See [`crate::mutant`].

crate::mutants! {
    /// A task counts itself in one section of the lock, and joins the queue in another.
    CountsBeforeJoining,
    /// The last of a round wakes the others before it begins a new count.
    WakesBeforeNewRound,
}
