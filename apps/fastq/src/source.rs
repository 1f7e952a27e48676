//! Sources of batches: one file, or two files in step.

use crate::ahead::{Ahead, Task};
use crate::bitmap::Bitmap;
use crate::duplicates::{Places, Seen};
use crate::failure::Failure;
use crate::input::InputFile;
use crate::names;
use crate::options::{Options, Split};
use crate::parallel::idle_processors;
use crate::process::Batch;
use crate::record::{Block, Blocks};
use std::sync::Arc;

/// Number of reads or pairs of a batch. fastp counts in packs of the same size when it
/// splits the output.
pub const BATCH: usize = 1000;

/// One input file.
pub struct Input {
    blocks: Blocks,
    /// The way to inflate the file ahead of `blocks`.
    ahead: Option<Ahead>,
    left: u64,
    /// All batches need the same number of reads: two files are read in step, or batches
    /// split the output.
    even: bool,
}

impl Input {
    /// Opens a file. `idle`: see [`Blocks::open`].
    fn open(file: &InputFile, idle: usize, options: &Options) -> Result<Self, Failure> {
        let left = match options.reads_to_process {
            0 => u64::MAX,
            reads => reads,
        };
        let (blocks, ahead) = Blocks::open(file, idle)?;
        Ok(Self {
            blocks,
            ahead,
            left,
            even: options.paired() || options.split != Split::No,
        })
    }

    /// Returns the reads of the next batch, each of `records` records, or `None` at the
    /// end.
    fn next(&mut self, records: usize) -> Result<Option<Block>, Failure> {
        let most = self.left.min(BATCH as u64) as usize;
        let block = if self.even {
            self.blocks.next(most * records)?
        } else {
            self.blocks.some(most * records)?
        };
        self.left -= (block.len().div_ceil(records) as u64).min(self.left);
        Ok((block.len() > 0).then_some(block))
    }
}

/// The input of a run.
pub enum Source {
    /// One file. Or two with `--dedup`, where it depends on earlier reads which are dropped, or
    /// with blocked gzip, which all threads inflate.
    One(Box<One>),
    /// Two files, which different threads may read.
    Two(Box<[Input; 2]>),
}

/// Batches that different threads may make, but not in parallel.
pub struct One {
    options: Arc<Options>,
    inputs: Vec<Input>,
    dedup: Option<Dedup>,
}

/// The record of the reads that occurred before.
enum Dedup {
    Seen(Arc<Places>, Seen),
    /// The bits of the plan, in a shard.
    Known(Bitmap),
}

impl Source {
    /// Opens one file, or the two of pairs.
    pub fn open(
        files: &[InputFile],
        options: &Arc<Options>,
        places: Option<&Arc<Places>>,
    ) -> Result<Self, Failure> {
        let idle = idle_processors(options.threads) / files.len().max(1);
        let open = |file| Input::open(file, idle, options);
        let dedup = places.filter(|_| options.dedup);
        let mut inputs = files.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        // Reading data that was inflated ahead takes so little that one thread does it.
        let is_ahead = inputs.iter().any(|input| input.ahead.is_some());
        if inputs.len() == 2
            && dedup.is_none()
            && !is_ahead
            && let (Some(second), Some(first)) = (inputs.pop(), inputs.pop())
        {
            return Ok(Self::Two(Box::new([first, second])));
        }
        let dedup = dedup.map(|places| Dedup::Seen(places.clone(), Seen::new(places)));
        Ok(Self::one(inputs, options, dedup))
    }

    /// Opens the files of a shard, for which the plan has the reads that occurred before.
    pub fn known(
        files: &[InputFile],
        options: &Arc<Options>,
        known: Bitmap,
    ) -> Result<Self, Failure> {
        let idle = idle_processors(options.threads) / files.len().max(1);
        let open = |file| Input::open(file, idle, options);
        let inputs = files.iter().map(open);
        let inputs = inputs.collect::<Result<_, _>>()?;
        Ok(Self::one(inputs, options, Some(Dedup::Known(known))))
    }

    fn one(inputs: Vec<Input>, options: &Arc<Options>, dedup: Option<Dedup>) -> Self {
        Self::One(Box::new(One {
            options: options.clone(),
            inputs,
            dedup,
        }))
    }

    /// Returns the earlier reads, if they were noted.
    pub fn seen(self) -> Option<Seen> {
        match self {
            Self::One(one) => match one.dedup? {
                Dedup::Seen(_, seen) => Some(seen),
                Dedup::Known(_) => None,
            },
            Self::Two(_) => None,
        }
    }
}

impl Input {
    /// Returns the reads of the next batch of two files in step.
    pub fn in_step(&mut self) -> Result<Option<Block>, Failure> {
        self.next(1)
    }

    /// Returns the numbers of the last record and the last line so far.
    pub fn last(&self) -> (u64, u64) {
        self.blocks.last()
    }
}

/// A part of the work that any thread can do.
pub enum Work {
    Batch(Batch),
    Inflate(Task),
}

impl One {
    /// Returns the next work, or `None` at the end. What the next batches are made of is inflated before
    /// them, as much as there are threads.
    pub fn work(&mut self) -> Result<Option<Work>, Failure> {
        let most = self.options.threads + 1;
        let ahead = self.inputs.iter().filter_map(|input| input.ahead.as_ref());
        for ahead in ahead {
            if let Some(task) = ahead.task(most) {
                return Ok(Some(Work::Inflate(task)));
            }
        }
        Ok(self.next()?.map(Work::Batch))
    }

    /// Returns `true` if parts of the input are inflated ahead.
    pub fn is_ahead(&self) -> bool {
        self.inputs.iter().any(|input| input.ahead.is_some())
    }

    /// Returns the next batch, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<Batch>, Failure> {
        let mut batch = Batch::default();
        match &mut self.inputs[..] {
            [one, two] => match (one.in_step()?, two.in_step()?) {
                (None, None) => return Ok(None),
                (Some(first), Some(second)) => batch = pair(&self.options, [first, second])?,
                (_, second) => {
                    let short = second.is_none() as usize;
                    return Err(ended(&self.options, short, self.inputs[short].last()));
                }
            },
            inputs => {
                let interleaved = self.options.interleaved;
                let Some(block) = inputs[0].next(if interleaved { 2 } else { 1 })? else {
                    return Ok(None);
                };
                if interleaved {
                    check_interleaved(&self.options, &block)?;
                }
                batch.reads[0] = block;
            }
        }
        match &mut self.dedup {
            None => {}
            Some(Dedup::Seen(places, seen)) => {
                let mut noted = vec![];
                for at in 0..batch.len(&self.options) {
                    let (read1, read2) = batch.get(&self.options, at);
                    places.note(&read1, read2.as_ref(), &mut noted);
                }
                let duplicate = &mut batch.duplicate;
                seen.add(&noted, |known| duplicate.push(known));
            }
            Some(Dedup::Known(bits)) => {
                let reads = batch.len(&self.options);
                batch.duplicate.extend((0..reads).map(|_| bits.next()));
            }
        }
        Ok(Some(batch))
    }
}

/// Makes a batch of two blocks, which must have the same length.
pub fn pair(options: &Options, reads: [Block; 2]) -> Result<Batch, Failure> {
    let [first, second] = &reads;
    if first.len() != second.len() {
        let short = (first.len() > second.len()) as usize;
        return Err(ended(options, short, reads[short].last()));
    }
    let names = (0..first.len()).map(|at| (first.get(at).name, second.get(at).name));
    if options.pair_names
        && let Some(at) = strangers(names)
    {
        return Err(not_a_pair([
            (&options.in1, first, at),
            (&options.in2, second, at),
        ]));
    }
    Ok(Batch {
        reads,
        duplicate: vec![],
    })
}

/// Checks that every read 1 of the block is followed by its read 2.
fn check_interleaved(options: &Options, block: &Block) -> Result<(), Failure> {
    let file = &options.in1;
    if !block.len().is_multiple_of(2) {
        let (record, line) = block.locate(block.len() - 1);
        return Err(Failure::data(format!(
            "{file}: record {record}, line {line}: a read 1 without a read 2"
        )));
    }
    let names = (0..block.len() / 2).map(|at| (block.get(2 * at).name, block.get(2 * at + 1).name));
    match strangers(names) {
        Some(at) if options.pair_names => Err(not_a_pair([
            (file, block, 2 * at),
            (file, block, 2 * at + 1),
        ])),
        _ => Ok(()),
    }
}

/// Returns the position of the first names that are not those of a pair.
fn strangers<'a>(mut names: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Option<usize> {
    names.position(|(name1, name2)| !names::of_one_pair(name1, name2))
}

/// Returns the error that two records are not a pair.
#[cold]
fn not_a_pair([one, two]: [(&str, &Block, usize); 2]) -> Failure {
    let place = |(file, block, at): (&str, &Block, usize)| {
        let (record, line) = block.locate(at);
        let name = String::from_utf8_lossy(block.get(at).name).into_owned();
        (format!("{file}: record {record}, line {line}"), name)
    };
    let ((place1, name1), (place2, name2)) = (place(one), place(two));
    Failure::data(format!(
        "{place2}: read 2 is {name2:?}, but read 1 is {name1:?} ({place1})"
    ))
}

/// Returns the error that one of two files has no more records.
pub fn ended(options: &Options, short: usize, (record, line): (u64, u64)) -> Failure {
    let names = [&options.in1, &options.in2];
    let (short, long) = (names[short], names[1 - short]);
    Failure::data(format!(
        "{short}: it ends after record {record}, line {line}, but {long} goes on"
    ))
}
