//! Deliberate mistakes for the model checker: see `blitz_sync::mutant`.

blitz_sync::mutants! {
    /// What is pushed is not published.
    PushesRelaxed,
    /// The thread that pushes the first does not wake the owner.
    PushesSilently,
    /// The owner says that it waits whatever has come meanwhile.
    WaitsBlindly,
    /// Waits have no numbers, so that one may be taken for another.
    WaitsLookTheSame,
}
