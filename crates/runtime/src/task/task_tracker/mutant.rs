//! Deliberate mistakes for the model checker: see `blitz_sync::mutant`.

blitz_sync::mutants! {
    /// The last task to end tells nobody.
    EndsSilently,
    /// What a task did is not published when it ends.
    EndsRelaxed,
    /// Whoever closes a tracker without tasks tells nobody.
    ClosesSilently,
}
