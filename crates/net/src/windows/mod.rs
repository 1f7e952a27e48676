//! Items that only Windows has: named pipes.

pub mod named_pipe;
