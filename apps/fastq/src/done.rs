//! The results of a batch, and the streams to which they are written.

use crate::noted::{Adapters, Bases};

/// The files to which reads are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    Out1,
    Out2,
    Unpaired1,
    Unpaired2,
    Merged,
    Failed,
    Overlapped,
}

/// Number of streams.
pub const STREAMS: usize = Stream::Overlapped as usize + 1;

/// The results of a batch.
#[derive(Default)]
pub struct Done {
    pub reads: u64,
    pub passed: u64,
    pub out: [Vec<u8>; STREAMS],
    /// The bits of each read or pair, for the duplication estimate.
    pub places: Vec<u64>,
    pub adapters: Adapters,
    /// The bases of the reads that passed, for each of the two statistics after the
    /// filters; empty unless overrepresented sequences are counted.
    pub passed_bases: [Bases; 2],
    /// The bases of all reads, in the same way.
    pub all_bases: [Bases; 2],
}
