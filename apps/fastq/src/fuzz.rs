//! The functions that the fuzz targets of this repository call: the parsers and the work on reads, with
//! bytes instead of files.

use crate::arguments::Arguments;
use crate::collect::{Collect, Collector};
use crate::detect::FEWEST_FOR_ADAPTER;
use crate::done::{STREAMS, Stream};
use crate::known;
use crate::options::Options;
use crate::process::{Batch, Worker};
use crate::record::Blocks;
use crate::report::Report;
use crate::unknown;
use std::io::{Cursor, Read};
use std::sync::Arc;

/// An input of which each read returns at most `most` bytes.
struct Slow {
    bytes: Cursor<Vec<u8>>,
    most: usize,
}

impl Read for Slow {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = self.most.min(into.len());
        self.bytes.read(&mut into[..most])
    }
}

/// A record: its position in the file, and its lines.
type Record = ((u64, u64), [Vec<u8>; 4]);

/// Reads all records, up to `records` in a block and from reads of up to `bytes` bytes.
/// Returns the message of the failure as well, if there is one.
fn read(data: &[u8], bytes: usize, records: usize) -> (Vec<Record>, Option<String>) {
    let input = Slow {
        bytes: Cursor::new(data.to_vec()),
        most: bytes,
    };
    let mut blocks = Blocks::new("x.fq", Box::new(input));
    let mut all = vec![];
    loop {
        match blocks.next(records) {
            Ok(block) if block.len() == 0 => return (all, None),
            Ok(block) => {
                for at in 0..block.len() {
                    let read = block.get(at);
                    let lines = [read.name, read.seq, read.strand, read.qual];
                    all.push((block.locate(at), lines.map(<[u8]>::to_vec)));
                }
                block.recycle();
            }
            Err(failure) => return (all, Some(failure.message)),
        }
    }
}

/// Cuts `data` into records.
///
/// # Panics
///
/// Panics if the records or the failure depend on how the input arrives, or if written
/// records are not read as they were.
pub fn records(data: &[u8]) {
    let (records, failure) = read(data, usize::MAX, 1);
    assert_eq!(read(data, 1, 1), (records.clone(), failure.clone()));
    // A failure also ends the block of the records before it.
    let (many, of_many) = read(data, 3, 1000);
    assert_eq!(of_many, failure);
    assert!(records.starts_with(&many));
    assert!(failure.is_some() || many.len() == records.len());

    let mut written = vec![];
    for (_, [name, seq, strand, qual]) in &records {
        assert_eq!(seq.len(), qual.len());
        for line in [name, seq, strand, qual] {
            written.extend_from_slice(line);
            written.push(b'\n');
        }
    }
    // Of several `\r` at the end of a line, one is removed each time.
    if !data.contains(&b'\r') {
        let (again, failure) = read(&written, usize::MAX, 1000);
        let lines = |records: Vec<Record>| records.into_iter().map(|(_, lines)| lines);
        assert!(failure.is_none());
        assert!(lines(again).eq(lines(records)));
    }
}

/// Reads the options of a command line. Files that it names are read.
pub fn command_line(words: &[String]) {
    if let Ok(arguments) = Arguments::parse(words) {
        let _ = Options::new(&arguments, String::new());
    }
}

/// Searches reads for an adapter. The reads are the lines of `data` after random bases, repeated until
/// there are enough. `data` starts with the logarithm of the length of the last read, and the number of
/// bases at the end of a read that belong to no adapter. Returns the number of bases of the reads.
pub fn adapter(data: &[u8]) -> usize {
    let &[last, tail, ref lines @ ..] = data else {
        return 0;
    };
    let mut state = 1u32;
    let mut base = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b"ACGT"[(state >> 24) as usize % 4]
    };
    let lines: Vec<&[u8]> = lines.split(|&byte| byte == b'\n').collect();
    let mut reads: Vec<Box<[u8]>> = vec![];
    for (which, line) in lines.iter().cycle().take(FEWEST_FOR_ADAPTER).enumerate() {
        let start = 20 + which % 32;
        let start = std::iter::repeat_with(&mut base).take(start);
        reads.push(start.chain(line.iter().copied()).collect());
    }
    if let Some(read) = reads.last_mut() {
        let more = std::iter::repeat_with(base).take(1 << (last % 24));
        *read = read.iter().copied().chain(more).collect();
    }
    let tail = usize::from(tail).max(1);
    known::find(&reads).or_else(|| unknown::find(&reads, tail));
    // The known adapters may hide it.
    unknown::find(&reads, tail);
    reads.iter().map(|read| read.len()).sum()
}

/// Processes the reads in `data` with these options, and makes the reports. Of the options
/// those that name the input and detect duplicates have no effect. Does nothing if the
/// options or the reads are wrong.
///
/// # Panics
///
/// Panics if the output is not FASTQ, or has another number of reads than those that passed.
pub fn process(words: &[String], data: &[u8]) {
    let given = ["--in1=/dev/null", "--out1=o", "--failed_out=f"]
        .into_iter()
        .map(str::to_owned)
        .chain(words.iter().cloned())
        .chain(["--dont_eval_duplication".to_owned()]);
    let Ok(arguments) = Arguments::parse(&given.collect::<Vec<_>>()) else {
        return;
    };
    let Ok(mut options) = Options::new(&arguments, "fuzz <&\"'>".to_owned()) else {
        return;
    };
    let Ok(block) = Blocks::new("x.fq", Box::new(Cursor::new(data.to_vec()))).next(1000) else {
        return;
    };
    let pairs = options.interleaved && block.len().is_multiple_of(2);
    if options.dedup || options.paired() != pairs {
        return;
    }
    // The properties that `detect::look` finds in a file.
    let length = (0..block.len()).map(|at| block.get(at).len()).max();
    options.read_length = [length.unwrap_or(0); 2];
    let hot: Vec<Vec<u8>> = (0..block.len())
        .take(2)
        .map(|at| block.get(at).seq.iter().copied().take(10).collect())
        .filter(|seq: &Vec<u8>| !seq.is_empty())
        .collect();

    let options = Arc::new(options);
    let mut collector = Collector::new(&options, None, &[hot.clone(), hot]);
    let mut worker = Worker::new(options.clone(), [true; STREAMS], None);
    let mut batch = Batch {
        reads: [block, Default::default()],
        duplicate: vec![],
    };
    let done = worker.process(&mut batch);
    collector.add(&done);
    if !data.contains(&b'\r') {
        let mut written = 0;
        for (stream, bytes) in done.out.iter().enumerate() {
            let (records, failure) = read(bytes, usize::MAX, 1000);
            assert_eq!(failure, None, "stream {stream}");
            let passed = [Stream::Out1, Stream::Merged];
            if passed.iter().any(|&passed| passed as usize == stream) {
                written += records.len();
            }
        }
        assert!(pairs || written as u64 == done.passed);
    }
    let report = Report::new(&options, std::mem::take(&mut worker.counts), &collector);
    report.print();
    crate::json::write(&report);
    crate::html::write(&report);
}
