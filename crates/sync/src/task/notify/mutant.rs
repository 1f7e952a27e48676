//! Deliberate mistakes in `Notify`. See [`crate::mutant`].

crate::mutants! {
    /// A future that is dropped keeps the notification it was chosen for.
    KeepsNotification,
    /// A notification that finds one stored does not write.
    SilentCoalescing,
    /// A task joins the queue without asking under the lock whether `notify_waiters`
    /// has been called since.
    JoinsBlindly,
    /// What `notify_waiters` covers is decided by the first poll.
    BornAtFirstPoll,
    /// `notify_one` chooses those whom `notify_waiters` is about to wake.
    ChoosesCovered,
    /// A task joins the queue without saying so in the state.
    JoinsSilently,
    /// A task that sees that a call covers it does not wait until it has been counted.
    CoveredTwice,
}
