//! Input files: plain and gzip, including blocked gzip and sequences of members.

use crate::failure::Failure;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};

/// How many bytes the inflater reads at a time.
const COMPRESSED: usize = 1 << 17;

/// Opens the input file `name` for reading; a file whose name ends in `.gz` is inflated.
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
