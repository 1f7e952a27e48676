//! Where batches come from: one file or two in step.

use crate::duplicates::{Places, Seen};
use crate::failure::Failure;
use crate::options::Options;
use crate::process::Batch;
use crate::record::Blocks;
use std::sync::Arc;

/// Reads or pairs of a batch. fastp counts in packs of as many when it splits the output.
pub const BATCH: usize = 1000;

/// Reads batches, in order.
pub struct Source {
    options: Arc<Options>,
    files: Vec<Blocks>,
    left: u64,
    /// With `--dedup`, the reads before: what is dropped depends on them.
    dedup: Option<(Arc<Places>, Seen)>,
}

impl Source {
    pub fn open(options: &Arc<Options>, places: Option<&Arc<Places>>) -> Result<Self, Failure> {
        let mut files = vec![Blocks::open(&options.in1)?];
        if !options.in2.is_empty() {
            files.push(Blocks::open(&options.in2)?);
        }
        let left = if options.reads_to_process == 0 {
            u64::MAX
        } else {
            options.reads_to_process
        };
        let dedup = places
            .filter(|_| options.dedup)
            .map(|places| (places.clone(), Seen::new(places)));
        Ok(Self {
            options: options.clone(),
            files,
            left,
            dedup,
        })
    }

    /// The next batch; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Batch>, Failure> {
        let most = self.left.min(BATCH as u64) as usize;
        let mut batch = Batch::default();
        if most == 0 {
            return Ok(None);
        }
        match &mut self.files[..] {
            [both] if self.options.interleaved => {
                batch.reads[0] = both.exactly(2 * most)?;
                if batch.reads[0].len() % 2 != 0 {
                    let name = &self.options.in1;
                    return Err(Failure::data(format!(
                        "{name}: record {} is a read 1 without a read 2",
                        both.records()
                    )));
                }
            }
            [one] => batch.reads[0] = one.next(most)?,
            [one, two] => {
                batch.reads[0] = one.next(most)?;
                let records = batch.reads[0].len();
                // At the end of read 1 read 2 must end as well.
                batch.reads[1] = two.exactly(records.max(1))?;
                let [len1, len2] = [records, batch.reads[1].len()];
                if len1 != len2 {
                    let (short, long) = if len1 < len2 {
                        (one, &self.options.in2)
                    } else {
                        (two, &self.options.in1)
                    };
                    let name = if len1 < len2 {
                        &self.options.in1
                    } else {
                        &self.options.in2
                    };
                    let records = short.records();
                    return Err(Failure::data(format!(
                        "{name}: it ends after record {records}, but {long} goes on"
                    )));
                }
            }
            _ => unreachable!("there are one or two input files"),
        }
        let len = batch.len(&self.options);
        if len == 0 {
            return Ok(None);
        }
        self.left -= len as u64;
        if let Some((places, seen)) = &mut self.dedup {
            let mut found = vec![];
            for at in 0..len {
                let (read1, read2) = batch.get(&self.options, at);
                found.clear();
                places.add(&read1, read2.as_ref(), &mut found);
                batch.duplicate.push(seen.add(&found));
            }
        }
        Ok(Some(batch))
    }

    /// Gives the memory of a batch back.
    pub fn recycle(&mut self, batch: Batch) {
        for (file, block) in self.files.iter_mut().zip(batch.reads) {
            file.recycle(block.into_memory());
        }
    }

    /// The reads before, if they were noted.
    pub fn seen(self) -> Option<Seen> {
        self.dedup.map(|(_, seen)| seen)
    }
}
