//! The memory that looking ahead takes, in a program of its own: it counts all that is allocated.

use blitz_io_fastq::fuzz;
use blitz_io_fastq::peak::PeakAllocator;

#[global_allocator]
static ALLOCATOR: PeakAllocator = PeakAllocator;

/// For each base, two copies of its read and a place of a seed in a list that has just grown.
const A_BASE: usize = 16;
/// The counts of the seeds, and other memory that depends on no read.
const FIXED: usize = 8 << 20;

#[test]
fn a_long_read_takes_no_more_memory_than_its_bases_do() {
    // An adapter that is not known, whose seeds a read of 4 MB has as well.
    for line in [
        "ACTGATCAGTTAGGCATCAACTGATTCGTAC",
        "ATATATATATATATATATATATATATATATAT",
    ] {
        let data = [&[22, 0], line.as_bytes()].concat();
        let mut bases = 0;
        let peak = PeakAllocator::of(|| bases = fuzz::adapter(&data));
        assert!(bases > 4 << 20);
        assert!(
            peak < A_BASE * bases + FIXED,
            "{peak} bytes for {bases} bases"
        );
    }
}
