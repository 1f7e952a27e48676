//! Deliberate mistakes for the model checker: see `mutants!` of `blitz-sync`.

blitz_sync::mutants! {
    /// A read that makes room wakes no writer.
    ReadWakesNoWriter,
    /// A write wakes no reader.
    WriteWakesNoReader,
    /// The end of the writing wakes no reader.
    CloseWakesNoReader,
    /// The end of the reading wakes no writer.
    CloseWakesNoWriter,
    /// A reader looks at the bytes, and leaves its waker after it has let the lock go.
    LooksBeforeItRegisters,
}
