//! Deliberate mistakes in `permits.rs`, for the model checker.

crate::mutants! {
    /// A waiter looks at the permits before it announces itself.
    LooksFirst,
    /// Permits are taken past those who wait.
    Barges,
    /// A release does not serve the queue.
    ServesNobody,
    /// Who serves stops after the first.
    ServesOne,
    /// The flag stays when nobody is left in the queue.
    LeavesTheFlag,
    /// Who gives up does not serve those behind him.
    LeavesQuietly,
    /// Who gives up keeps what he was served in the last moment.
    KeepsWhatItGot,
    /// Closing tells nobody.
    ClosesQuietly,
    /// A waiter does not look whether all is closed before he joins.
    JoinsWhatIsClosed,
    /// Who was served and then finds all closed keeps what he got.
    KeepsWhatIsClosed,
    /// Permits that belong to the queue are taken away.
    ForgetsWhatIsQueued,
    /// A release does not publish what was done before it.
    GivesBackRelaxed,
    /// Who takes permits does not see what was done before they came back.
    TakesRelaxed,
    /// The same for who serves others.
    ServesRelaxed,
}
