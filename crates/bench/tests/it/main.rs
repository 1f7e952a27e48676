//! The tests of this crate that need no more than its interface, in one program.

mod cpu;
mod judgement;
mod latency;
mod report;
mod runner;
mod scenarios;
mod stats;
mod tasks;
mod threads;
mod work;

use blitz_io_bench::CountingAllocator;

// Scenarios about memory fail without this allocator.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
