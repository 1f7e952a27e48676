//! The files of shards, which are beside the plan and the outputs.

use crate::failure::Failure;
use crate::file_names::{path, with_prefix};
use std::fs;
use std::io::ErrorKind;

/// Returns the name of the file of a shard that becomes a part of the file `name`.
pub fn part(name: &str, shard: usize) -> String {
    if name.is_empty() {
        return String::new();
    }
    with_prefix(name, &format!("shard-{shard:04}"))
}

/// Removes a file, if it exists.
pub fn remove(name: &str) -> Result<(), Failure> {
    match fs::remove_file(path(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Failure::file(name, "remove it", &error))
        }
        _ => Ok(()),
    }
}

/// Returns the name of the file with the [`Bitmap`](crate::bitmap::Bitmap) of a plan.
pub fn duplicates(plan: &str) -> String {
    part(plan, 0) + ".duplicates"
}
