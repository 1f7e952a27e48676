//! Deliberate mistakes in `permits.rs`, for the model checker.

crate::mutants! {
    /// A waiter looks at the permits before it announces itself.
    LooksFirst,
    /// Permits are taken past those who wait.
    Barges,
    /// A release does not serve the queue.
    ServesNobody,
    /// Serving stops after the first waiter.
    ServesOne,
    /// The flag stays when nobody is left in the queue.
    LeavesTheFlag,
    /// A waiter that gives up does not serve those behind it.
    LeavesQuietly,
    /// A waiter that gives up keeps what it was served in the last moment.
    KeepsWhatItGot,
    /// Closing tells nobody.
    ClosesQuietly,
    /// A waiter does not look whether all is closed before it joins.
    JoinsWhatIsClosed,
    /// A waiter that was served and then finds all closed keeps its permits.
    KeepsWhatIsClosed,
    /// Permits that belong to the queue are taken away.
    ForgetsWhatIsQueued,
    /// A release does not publish what was done before it.
    GivesBackRelaxed,
    /// Taking permits does not make visible what was done before they came back.
    TakesRelaxed,
    /// The same for serving others.
    ServesRelaxed,
}
