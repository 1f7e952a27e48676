//! Input files: plain and gzip, blocked gzip and several members in a row included.

use crate::failure::Failure;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// What the inflater reads at a time.
const COMPRESSED: usize = 1 << 17;

/// Opens the input file `name` for reading; names that end in `.gz` are inflated.
pub fn open(name: &str) -> Result<Box<dyn Read + Send>, Failure> {
    let file = if name == "/dev/stdin" {
        Box::new(io::stdin()) as Box<dyn Read + Send>
    } else {
        Box::new(File::open(name).map_err(|error| Failure::file(name, "open it", &error))?)
    };
    if name.ends_with(".gz") {
        Ok(Box::new(MultiGzDecoder::new(BufReader::with_capacity(
            COMPRESSED, file,
        ))))
    } else {
        Ok(file)
    }
}
