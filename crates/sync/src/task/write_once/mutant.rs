//! Deliberate mistakes in the cell behind `OnceCell` and `SetOnce`. See
//! [`crate::mutant`].

crate::mutants! {
    /// A task that gives up does not let another one try.
    ForgetsOthers,
    /// The value is published with a relaxed store.
    RelaxedPublish,
    /// A task joins the queue without looking at the state again, under the lock.
    JoinsBlindly,
    /// A future that is dropped keeps the turn it was given.
    KeepsTurn,
    /// A task that gives up lets one try that only waits for the value.
    GivesToAnybody,
}
