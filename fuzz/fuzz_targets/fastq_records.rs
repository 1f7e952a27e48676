//! FASTQ records, from any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| blitz_io_fastq::fuzz::records(data));
