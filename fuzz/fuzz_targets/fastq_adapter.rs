//! Reads in which `blitz-fastq` looks for an adapter, and the memory that this takes.

#![no_main]

use blitz_io_fastq::fuzz;
use blitz_io_fastq::peak::PeakAllocator;

#[global_allocator]
static ALLOCATOR: PeakAllocator = PeakAllocator;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut bases = 0;
    let peak = PeakAllocator::of(|| bases = fuzz::adapter(data));
    // The bound is that of the test `look_ahead`.
    assert!(
        peak < 16 * bases + (8 << 20),
        "{peak} bytes for {bases} bases"
    );
});
