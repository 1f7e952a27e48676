//! Properties of the input that are detected before it is processed.

use crate::failure::Failure;
use crate::input::InputFile;
use crate::known;
use crate::options::{Options, Split};
use crate::record::{Block, Blocks};
use crate::unknown;

/// Number of reads that are examined for the length of the reads.
const READS_FOR_LENGTH: usize = 1000;
/// At most this many reads, and this many times the usual length in bases, are examined for
/// an adapter.
const READS_FOR_ADAPTER: usize = 256 * 1024;
/// Fewer reads are no evidence of an adapter.
pub const FEWEST_FOR_ADAPTER: usize = 10_000;
/// At most this many reads, and this many times the usual length in bases, are examined for
/// the number of reads.
const READS_FOR_NUMBER: usize = 512 * 1024;
/// The usual length of a read, in those limits.
const USUAL_LENGTH: usize = 151;

/// Calls `each` with every read of the file until it returns false.
fn each_read(file: &InputFile, mut each: impl FnMut(&Block, usize) -> bool) -> Result<(), Failure> {
    let mut blocks = Blocks::look_ahead(file)?;
    loop {
        let block = blocks.some(1000)?;
        if block.len() == 0 || !(0..block.len()).all(|at| each(&block, at)) {
            return Ok(());
        }
        block.recycle();
    }
}

/// Returns the length of the longest of the first reads.
pub fn read_length(file: &InputFile) -> Result<usize, Failure> {
    let (mut longest, mut reads) = (0, 0);
    each_read(file, |block, at| {
        longest = longest.max(block.get(at).len());
        reads += 1;
        reads < READS_FOR_LENGTH
    })?;
    Ok(longest)
}

/// Beginnings of the names of reads from machines with two colours: iSeq, MiniSeq, NextSeq
/// and NovaSeq.
const TWO_COLOURS: [&[u8]; 11] = [
    b"@FS", b"@MN", b"@SH", b"@NS", b"@NB", b"@NDX", b"@VL", b"@VH", b"@A", b"@NA", b"@LH",
];

/// Returns `true` if the machine takes a missing signal for G, according to the name of the
/// first read.
pub fn two_colours(file: &InputFile) -> Result<bool, Failure> {
    let mut found = false;
    each_read(file, |block, at| {
        let name = block.get(at).name;
        found = TWO_COLOURS.iter().any(|start| name.starts_with(start));
        false
    })?;
    Ok(found)
}

/// Returns the number of reads in the file, or an estimate if there are many.
pub fn number_of_reads(file: &InputFile) -> Result<i64, Failure> {
    let (mut reads, mut bases, mut bytes, mut more) = (0, 0, 0, false);
    each_read(file, |block, at| {
        if reads >= READS_FOR_NUMBER || bases >= USUAL_LENGTH * READS_FOR_NUMBER {
            more = true;
            return false;
        }
        let read = block.get(at);
        reads += 1;
        bases += read.len();
        bytes += read.name.len() + 2 * read.len() + read.strand.len() + 4;
        true
    })?;
    if !more {
        return Ok(reads as i64);
    }
    let name = file.name();
    if file.is_stream() {
        return Err(Failure::options(format!(
            "--split needs a file, as the number of reads in {name} is not known"
        )));
    }
    let size = std::fs::metadata(crate::file_names::path(name))
        .map_err(|error| Failure::file(name, "read its size", &error))?
        .len();
    // The size of a compressed file gives its length only if the ratio of compression is
    // known; a quarter is usual.
    let size = if name.ends_with(".gz") {
        size as f64 * 4.0
    } else {
        size as f64
    };
    Ok((size * 1.01 / (bytes as f64 / reads as f64)) as i64)
}

/// Examines the input and completes the options.
pub fn look(options: &mut Options, files: &[InputFile]) -> Result<[Vec<Vec<u8>>; 2], Failure> {
    let mut hot = [vec![], vec![]];
    if !options.seekable() {
        if options.detects_adapter(false) || options.detects_adapter(true) {
            eprintln!("Adapters are not detected in standard input");
        }
        if let Split::Records(records) = options.split {
            options.split_size = records;
        }
        return Ok(hot);
    }
    if options.overrepresented {
        for (which, file) in files.iter().enumerate() {
            options.read_length[which] = read_length(file)?;
            hot[which] = crate::overrepresented::find(file, options.read_length[which])?;
        }
    }
    let mut number = 0;
    for (which, file) in files.iter().enumerate() {
        if !options.detects_adapter(which == 1) {
            continue;
        }
        eprintln!("Detecting adapter sequence for read{}...", which + 1);
        let (reads, found) = adapter(file, options.trim[0].tail)?;
        // fastp means to shorten a longer one, but drops it.
        let found = found.filter(|found| found.len() <= unknown::LONGEST);
        number = reads;
        match &found {
            Some(found) => eprintln!("{found}\n"),
            None => eprintln!("No adapter detected for read{}\n", which + 1),
        }
        *[&mut options.adapter1, &mut options.adapter2][which] = found.unwrap_or_default();
    }
    match options.split {
        Split::No => {}
        Split::Records(records) => options.split_size = records,
        Split::Files(files_wanted) => {
            if number == 0 {
                number = number_of_reads(&files[0])?;
            }
            options.split_size = number / files_wanted;
            if options.split_size == 0 {
                options.split_size = 1;
                eprintln!("WARNING: the input has fewer reads than there are to be files");
            }
        }
    }
    if options.detect_poly_g && two_colours(&files[0])? {
        options.poly_g = true;
    }
    Ok(hot)
}

/// Finds the adapter of the file's reads. Also returns an estimate of the number of reads.
fn adapter(file: &InputFile, tail: i64) -> Result<(i64, Option<String>), Failure> {
    let mut reads: Vec<Box<[u8]>> = vec![];
    let (mut total, mut bytes, mut more) = (0, 0, false);
    each_read(file, |block, at| {
        if reads.len() >= READS_FOR_ADAPTER || total >= USUAL_LENGTH * READS_FOR_ADAPTER {
            more = true;
            return false;
        }
        let read = block.get(at);
        total += read.len();
        bytes += read.name.len() + 2 * read.len() + read.strand.len() + 4;
        reads.push(read.seq.into());
        true
    })?;
    let number = if more {
        number_of_reads(file)?
    } else {
        reads.len() as i64
    };
    if reads.len() < FEWEST_FOR_ADAPTER {
        return Ok((number, None));
    }
    let found = known::find(&reads).or_else(|| unknown::find(&reads, tail.max(1) as usize));
    Ok((number, found))
}
