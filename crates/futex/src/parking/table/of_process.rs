//! The table of a process.
//!
//! Each process has its own: in a child after `fork`, the threads that parked in the parent do not
//! exist, and a bucket that another thread had locked would stay locked.

use super::{Bucket, Content, Mutex, Table};
use crate::per_process::StaticPerProcess;

/// Threads of different keys in one bucket only cost each other a little time.
pub const BUCKETS: usize = 256;

static TABLE: StaticPerProcess<Table> = StaticPerProcess::new(empty(), empty);

const fn empty() -> Table {
    [const { Bucket(Mutex::new(Content::new())) }; BUCKETS]
}

pub fn table() -> &'static Table {
    &TABLE
}
