//! The first step: detects properties of the input, and cuts it into shards.

use super::cuts::{Cuts, Step};
use super::index::Index;
use super::own::Own;
use super::parts;
use crate::arguments::Arguments;
use crate::bitmap::Bitmap;
use crate::cut::Cut;
use crate::detect;
use crate::duplicates::Places;
use crate::failure::Failure;
use crate::file_names::path;
use crate::input::InputFile;
use crate::options::{Options, Split};
use crate::output::Output;
use crate::source::{self, BATCH, Source};
use serde::{Deserialize, Serialize};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Increased when the form of plans and states changes.
const FORMAT: u32 = 2;

/// The result of the first step.
#[derive(Serialize, Deserialize)]
pub struct Plan {
    format: u32,
    /// The version of the program, which all steps must share.
    version: String,
    /// The command of the run that is spread, for the reports.
    command: String,
    arguments: Vec<String>,
    detected: Detected,
    /// The sizes of the input files, in bytes.
    sizes: Vec<u64>,
    /// The number of reads or pairs.
    pub reads: u64,
    /// The number of reads or pairs that occurred before, with `--dedup`.
    pub duplicates: Option<u64>,
    pub shards: Vec<Shard>,
}

/// A part of the input.
#[derive(Serialize, Deserialize)]
pub struct Shard {
    /// The number of reads or pairs.
    pub reads: u64,
    /// The position of its beginning in each input file.
    pub begin: Vec<Cut>,
}

/// The sequences that may be overrepresented, for read 1 and 2.
type Sequences = [Vec<Vec<u8>>; 2];

/// Properties of the input that a run detects before it processes it.
#[derive(Serialize, Deserialize)]
struct Detected {
    adapters: [String; 2],
    poly_g: bool,
    read_length: [usize; 2],
    sequences: Sequences,
}

/// Writes the plan of a run.
pub fn plan(program: &str, own: &Own, words: &[String]) -> Result<(), Failure> {
    let cutting = match (own.shards, own.shard_size) {
        (Some(shards), None) => Cutting::Shards(shards),
        (None, Some(size)) => Cutting::Size(size),
        _ => {
            return Err(Failure::options(
                "a plan needs either --shards or --shard_size",
            ));
        }
    };
    let arguments = Arguments::parse(words).map_err(Failure::options)?;
    let shown = [program]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    let command: String = shown.map(|word| format!("{word} ")).collect();
    let mut options = Options::new(&arguments, command.clone())?;
    refuse(&options)?;
    let files = open(&options)?;
    let sequences = detect::look(&mut options, &files)?;
    let (reads, shards, index) = cut(&options, &files, cutting)?;
    index.write(&own.plan)?;
    let options = Arc::new(options);
    let duplicates = if options.dedup {
        let bitmap = duplicates(&files, &options)?;
        bitmap.write(&parts::duplicates(&own.plan))?;
        Some(bitmap.count())
    } else {
        None
    };
    let plan = Plan {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        arguments: words.to_vec(),
        detected: Detected {
            adapters: [options.adapter1.clone(), options.adapter2.clone()],
            poly_g: options.poly_g,
            read_length: options.read_length,
            sequences,
        },
        sizes: files.iter().map(|file| file.size().unwrap_or(0)).collect(),
        reads,
        duplicates,
        shards,
    };
    plan.write(&own.plan)?;
    let what = if options.paired() { "pairs" } else { "reads" };
    eprintln!(
        "{}: {} shards of {reads} {what}",
        &own.plan,
        plan.shards.len()
    );
    Ok(())
}

/// Opens the input files, which must be files.
fn open(options: &Options) -> Result<Vec<InputFile>, Failure> {
    let names = [&options.in1, &options.in2].into_iter();
    let files = names
        .filter(|name| !name.is_empty())
        .map(|name| InputFile::open(name))
        .collect::<Result<Vec<_>, _>>()?;
    match files.iter().find(|file| file.is_stream()) {
        None => Ok(files),
        Some(stream) => Err(Failure::options(format!(
            "{}: a plan needs files, as every shard reads its part",
            stream.name()
        ))),
    }
}

/// Reads the input, and notes the reads or pairs that occurred before.
fn duplicates(files: &[InputFile], options: &Arc<Options>) -> Result<Bitmap, Failure> {
    let places = Arc::new(Places::new(options.duplication_level));
    let mut source = Source::open(files, options, Some(&places))?;
    let mut bitmap = Bitmap::default();
    let Source::One(one) = &mut source else {
        unreachable!("duplicates are dropped by a source of one thread");
    };
    while let Some(batch) = one.next()? {
        batch.duplicate.iter().for_each(|&known| bitmap.push(known));
    }
    Ok(bitmap)
}

/// Fails if the options cannot be spread.
fn refuse(options: &Options) -> Result<(), Failure> {
    let why = if options.split != Split::No {
        "--split and --split_by_lines number the files of one run: give the size of the shards"
    } else if options.stdout {
        "--stdout has one writer: name output files"
    } else if !options.seekable() {
        "standard input can be read only once: name input files"
    } else {
        return Ok(());
    };
    Err(Failure::options(format!("a plan cannot be made: {why}")))
}

/// The size of the shards.
#[derive(Clone, Copy)]
enum Cutting {
    Shards(u64),
    Size(u64),
}

/// Cuts the files. Returns the number of reads or pairs, the shards, and the points at which
/// inflating begins.
fn cut(
    options: &Options,
    files: &[InputFile],
    cutting: Cutting,
) -> Result<(u64, Vec<Shard>, Index), Failure> {
    let records = if options.interleaved { 2 } else { 1 };
    let found = find(options, files, cutting, records)?;
    let reads = found[0].records.div_ceil(records);
    let known = &found[0].cuts;
    let begins: Vec<usize> = match cutting {
        // An empty input has one shard.
        _ if known.is_empty() => vec![],
        Cutting::Size(_) => (0..known.len()).collect(),
        Cutting::Shards(shards) => {
            let mut begins: Vec<usize> = (0..shards)
                .map(|shard| begin(known, records, reads, shard, shards))
                .collect();
            begins.dedup();
            begins
        }
    };
    let ends = begins.iter().skip(1).map(|&at| known[at].record / records);
    let ends = ends.chain([reads]);
    let mut index = Index::default();
    let mut place = |cuts: &Cuts, at: usize| {
        let cut = cuts.cuts[at];
        let point = cuts.point(&cut).map(|point| index.add(point));
        Cut { point, ..cut }
    };
    let mut shards: Vec<Shard> = begins
        .iter()
        .zip(ends)
        .map(|(&at, end)| Shard {
            reads: end - known[at].record / records,
            begin: found.iter().map(|cuts| place(cuts, at)).collect(),
        })
        .collect();
    if shards.is_empty() {
        shards.push(Shard {
            reads: 0,
            begin: vec![Cut::default(); files.len()],
        });
    }
    Ok((reads, shards, index))
}

/// Finds the places at which each file can be cut: it has `records` records for each read or pair.
fn find(
    options: &Options,
    files: &[InputFile],
    cutting: Cutting,
    records: u64,
) -> Result<Vec<Cuts>, Failure> {
    let step = match cutting {
        Cutting::Shards(_) => Step::Fine(records),
        Cutting::Size(size) => Step::Fixed(size.saturating_mul(records)),
    };
    let most = match options.reads_to_process {
        0 => u64::MAX,
        reads => reads.saturating_mul(records),
    };
    let found: Vec<Cuts> = std::thread::scope(|scope| {
        let threads: Vec<_> = files
            .iter()
            .map(|file| scope.spawn(move || Cuts::find(file, step, most)))
            .collect();
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect::<Result<_, _>>()
    })?;
    if let [first, second] = &found[..]
        && first.records != second.records
    {
        let short = (first.records > second.records) as usize;
        let last = (found[short].records, found[short].lines);
        return Err(source::ended(options, short, last));
    }
    Ok(found)
}

/// Returns the known position at which a shard begins. Large shards begin where a run
/// begins a batch, so that compressed output has the same members.
fn begin(known: &[Cut], records: u64, reads: u64, shard: u64, shards: u64) -> usize {
    let mut ideal = (u128::from(reads) * u128::from(shard) / u128::from(shards)) as u64;
    if reads / shards >= 2 * BATCH as u64 {
        ideal = ideal / BATCH as u64 * BATCH as u64;
    }
    let after = known.partition_point(|cut| cut.record <= ideal * records);
    after.saturating_sub(1)
}

impl Plan {
    /// Reads the plan from its file. Also returns a number that identifies it.
    pub fn read(own: &Own) -> Result<(Self, u64), Failure> {
        let name = &own.plan;
        let text = fs::read(path(name)).map_err(|error| Failure::file(name, "read it", &error))?;
        let plan: Self = serde_json::from_slice(&text)
            .map_err(|error| Failure::data(format!("{name}: this is no plan: {error}")))?;
        let version = env!("CARGO_PKG_VERSION");
        if plan.format != FORMAT || plan.version != version {
            return Err(Failure::data(format!(
                "{name}: the plan was made by version {}, and this is {version}: make it again",
                plan.version
            )));
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Ok((plan, hasher.finish()))
    }

    fn write(&self, name: &str) -> Result<(), Failure> {
        let mut output = Output::create(name)?;
        let text = serde_json::to_string_pretty(self).expect("a plan can be written as JSON");
        output.write(text.as_bytes())?;
        output.write(b"\n")?;
        output.finish()
    }

    /// Returns the options of the run that is spread, with the detected properties, and the
    /// sequences that may be overrepresented.
    pub fn options(&self) -> Result<(Options, &Sequences), Failure> {
        let arguments = Arguments::parse(&self.arguments).map_err(Failure::options)?;
        let mut options = Options::new(&arguments, self.command.clone())?;
        refuse(&options)?;
        let detected = &self.detected;
        [options.adapter1, options.adapter2] = detected.adapters.clone();
        options.poly_g = detected.poly_g;
        options.read_length = detected.read_length;
        Ok((options, &detected.sequences))
    }

    /// Opens the input files at the begin of a shard.
    pub fn open(
        &self,
        own: &Own,
        options: &Options,
        shard: &Shard,
    ) -> Result<Vec<InputFile>, Failure> {
        let names = [&options.in1, &options.in2].into_iter();
        let names = names.filter(|name| !name.is_empty());
        let mut files = vec![];
        for (at, name) in names.enumerate() {
            let (Some(begin), Some(size)) = (shard.begin.get(at), self.sizes.get(at)) else {
                return Err(Failure::data("the plan has too few input files"));
            };
            let file = InputFile::open(name)?;
            if file.size() != Some(*size) {
                return Err(Failure::data(format!(
                    "{name}: it has changed since the plan was made: make it again"
                )));
            }
            let point = match begin.point {
                Some(point) => Index::read(&own.plan, point)?,
                None => None,
            };
            files.push(file.from(*begin, point));
        }
        Ok(files)
    }
}
