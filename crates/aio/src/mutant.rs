//! Deliberate mistakes for the model checker: see `mutants!` of `blitz-io-core`.

blitz_io_core::mutants! {
    /// A read that makes room wakes no writer.
    ReadWakesNoWriter,
    /// A write wakes no reader.
    WriteWakesNoReader,
    /// Closing the write half wakes no reader.
    CloseWakesNoReader,
    /// Closing the read half wakes no writer.
    CloseWakesNoWriter,
    /// A reader checks the bytes, and stores its waker only after it has released the lock.
    LooksBeforeItRegisters,
}
