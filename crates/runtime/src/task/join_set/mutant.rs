//! Deliberate mistakes for the model checker: see `blitz_io_core::mutant`.

blitz_io_core::mutants! {
    /// A push is not published.
    PushesRelaxed,
    /// The thread that pushes the first does not wake the owner.
    PushesSilently,
    /// The owner announces that it waits even if a link has come.
    WaitsBlindly,
    /// Waits have no numbers, so that one may be taken for another.
    WaitsLookTheSame,
}
