//! The outcome of an operation on a file, which a thread of the pool or a ring has done.

use std::io;

/// The outcome of an operation.
pub(super) enum Outcome {
    Read(io::Result<()>),
    Write(io::Result<()>),
    Seek(io::Result<u64>),
    SetLen(io::Result<()>),
}
