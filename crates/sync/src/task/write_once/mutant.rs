//! Deliberate mistakes in the cell behind `OnceCell` and `SetOnce`. See
//! [`crate::mutant`].

crate::mutants! {
    /// Who gives up does not let another one try.
    ForgetsOthers,
    /// The value is published with a relaxed store.
    RelaxedPublish,
    /// Who joins the queue does not look at the state again, under the lock.
    JoinsBlindly,
    /// A future that is dropped keeps the turn it was given.
    KeepsTurn,
    /// Who gives up lets one try who only waits for the value.
    GivesToAnybody,
}
