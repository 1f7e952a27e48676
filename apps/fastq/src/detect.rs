//! Properties of the input that are detected before it is processed.

use crate::failure::Failure;
use crate::input::InputFile;
use crate::known;
use crate::options::{Options, Split};
use crate::record::{Block, Blocks};

/// How many reads are examined for the length of the reads.
const READS_FOR_LENGTH: usize = 1000;
/// At most this many reads, and this many times the usual length in bases, are examined for
/// an adapter.
const READS_FOR_ADAPTER: usize = 256 * 1024;
/// Fewer reads say nothing about an adapter.
const FEWEST_FOR_ADAPTER: usize = 10_000;
/// At most this many reads, and this many times the usual length in bases, are examined for
/// the number of reads.
const READS_FOR_NUMBER: usize = 512 * 1024;
/// The usual length of a read, in those limits.
const USUAL_LENGTH: usize = 151;
/// The longest adapter.
const LONGEST: usize = 60;

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

/// How the names of reads start that come from machines with two colours: iSeq, MiniSeq,
/// NextSeq and NovaSeq.
const TWO_COLOURS: [&[u8]; 11] = [
    b"@FS", b"@MN", b"@SH", b"@NS", b"@NB", b"@NDX", b"@VL", b"@VH", b"@A", b"@NA", b"@LH",
];

/// Whether the machine takes a missing signal for G, according to the name of the first
/// read.
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
        let found = found.filter(|found| found.len() <= LONGEST);
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

const SEED: usize = 10;
const SEEDS: usize = 1 << (2 * SEED);
/// The places of a read from this one on can be in an adapter.
const FIRST_PLACE: usize = 20;
/// An adapter is put together from seeds before this place.
const LAST_PLACE: usize = 500;
/// How many times as frequent as the mean a seed must be.
const FOLD: i64 = 20;

fn code(base: u8) -> Option<usize> {
    b"ATCG".iter().position(|&known| known == base)
}

fn bases(seed: usize) -> Vec<u8> {
    (0..SEED)
        .rev()
        .map(|at| b"ATCG"[seed >> (2 * at) & 3])
        .collect()
}

/// Calls `each` with every seed of the read and its place.
fn each_seed(seq: &[u8], tail: usize, mut each: impl FnMut(usize, usize)) {
    let Some(end) = seq.len().checked_sub(tail) else {
        return;
    };
    let (mut seed, mut known) = (0, 0);
    for (at, &base) in seq[..end].iter().enumerate().skip(FIRST_PLACE) {
        match code(base) {
            Some(code) => {
                seed = (seed << 2 | code) & (SEEDS - 1);
                known += 1;
            }
            None => known = 0,
        }
        if known >= SEED {
            each(seed, at + 1 - SEED);
        }
    }
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
    if let Some(known) = known::find(&reads) {
        return Ok((number, Some(known)));
    }
    let tail = tail.max(1) as usize;
    let mut counts = vec![0u32; SEEDS];
    for read in &reads {
        each_seed(read, tail, |seed, _| counts[seed] += 1);
    }
    counts[0] = 0;
    let (top, sum) = most_frequent(&counts);
    for seed in top {
        let count = counts[seed] as i64;
        if seed == 0 {
            continue;
        }
        if count < 10 || count * (SEEDS as i64) < sum * FOLD {
            break;
        }
        if bases(seed)
            .windows(2)
            .filter(|pair| pair[0] != pair[1])
            .count()
            < 3
        {
            continue;
        }
        if let Some(found) = grow(seed, &reads, tail) {
            return Ok((number, Some(found)));
        }
    }
    Ok((number, None))
}

/// Returns the ten most frequent seeds that can belong to an adapter, and how often all
/// such seeds occur.
fn most_frequent(counts: &[u32]) -> ([usize; 10], i64) {
    let mut top = [0usize; 10];
    let mut sum = 0;
    for (seed, &count) in counts.iter().enumerate() {
        let mut each = [0; 4];
        (0..SEED).for_each(|at| each[seed >> (2 * at) & 3] += 1);
        if each.iter().any(|&n| n >= SEED - 4)
            || each[2] + each[3] >= SEED - 2
            || seed >> 12 == 0xff
        {
            continue;
        }
        sum += count as i64;
        // A seed goes before those with the same frequency.
        let place = top
            .iter()
            .rposition(|&other| count < counts[other])
            .map_or(0, |place| place + 1);
        if place < top.len() {
            top[place..].rotate_right(1);
            top[place] = seed;
        }
    }
    (top, sum)
}

/// Returns the adapter around a seed.
fn grow(seed: usize, reads: &[Box<[u8]>], tail: usize) -> Option<String> {
    let (mut after, mut before) = (Tree::default(), Tree::default());
    for read in reads {
        each_seed(read, tail, |found, at| {
            if found == seed && at < LAST_PLACE {
                let len = (read.len() - SEED - tail - at).min(read.len() - at - SEED);
                after.add(read[at + SEED..at + SEED + len].iter().copied());
                before.add(read[..at].iter().rev().copied());
            }
        });
    }
    let (mut leaf, mut adapter) = (true, vec![]);
    let after = after.path(&mut leaf);
    adapter.extend(before.path(&mut leaf).into_iter().rev());
    adapter.extend(bases(seed));
    adapter.extend(after);
    adapter.truncate(LONGEST);
    if let Some(known) = known::all().find(|known| adapter.starts_with(known)) {
        return Some(String::from_utf8_lossy(known).into_owned());
    }
    leaf.then(|| String::from_utf8_lossy(&adapter).into_owned())
}

/// Sequences, counted by their beginnings.
#[derive(Default)]
struct Tree {
    children: [Option<Box<Tree>>; 8],
    base: u8,
    count: u32,
}

impl Tree {
    fn add(&mut self, seq: impl Iterator<Item = u8>) {
        let mut node = self;
        for base in seq.take_while(|&base| base != b'N') {
            let child = node.children[(base & 7) as usize].get_or_insert_default();
            if child.count == 0 {
                child.base = base;
            }
            child.count += 1;
            node = child;
        }
    }

    /// Returns the bases that nearly all sequences have. `leaf` becomes false if they
    /// differ after these.
    fn path(&self, leaf: &mut bool) -> Vec<u8> {
        const SHARE: f64 = 0.95;
        const FEWEST: u32 = 50;
        let (mut node, mut path) = (self, vec![]);
        loop {
            let children = || node.children.iter().flatten();
            let total: u32 = children().map(|child| child.count).sum();
            if total < FEWEST {
                return path;
            }
            match children().find(|child| child.count as f64 / total as f64 >= SHARE) {
                Some(child) => {
                    path.push(child.base);
                    node = child;
                }
                None => {
                    *leaf = false;
                    return path;
                }
            }
        }
    }
}
