//! The table of a model, in which the keys 0 and 1 have a bucket each.

use super::{Bucket, Content, Mutex, Table};

pub const BUCKETS: usize = 2;

loom::lazy_static! {
    static ref TABLE: Table = [
        Bucket(Mutex::new(Content::new())),
        Bucket(Mutex::new(Content::new())),
    ];
}

pub fn table() -> &'static Table {
    &TABLE
}
