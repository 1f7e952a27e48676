//! The second step: the reads and the state of one shard.

use super::own::Own;
use super::parts::{self, part};
use super::plan::Plan;
use super::state::{Logger, State};
use crate::bitmap::Bitmap;
use crate::duplicates::Places;
use crate::failure::Failure;
use crate::options::Options;
use crate::output::Outputs;
use crate::run::process;
use crate::source::Source;
use std::sync::Arc;

/// Processes a shard.
pub fn run(own: &Own) -> Result<(), Failure> {
    // If signals cannot be caught, they still end the process.
    #[cfg(unix)]
    let _ = blitz_io::pipeline::atomic_output::remove_on_signals(|| ());
    let (plan, id) = Plan::read(own)?;
    let shard = own.shard.and_then(|shard| usize::try_from(shard).ok());
    let chosen = shard.and_then(|shard| plan.shards.get(shard - 1));
    let (Some(number), Some(chosen)) = (shard, chosen) else {
        return Err(Failure::options(format!(
            "--shard must be a number from 1 to {}",
            plan.shards.len()
        )));
    };
    let (mut options, hot) = plan.options()?;
    if let Some(threads) = own.thread {
        options.threads = usize::try_from(threads).unwrap_or(256).min(256);
    }
    let files = plan.open(own, &options, chosen)?;
    let before = plan.shards[..number - 1]
        .iter()
        .map(|shard| shard.reads)
        .sum();
    options.reads_to_process = chosen.reads;
    name_parts(&mut options, number);
    let outputs = Outputs::create(&options)?;
    let options = Arc::new(options);
    let places = (options.duplication && !options.dedup)
        .then(|| Arc::new(Places::new(options.duplication_level)));
    let source = if options.dedup {
        let known = Bitmap::read(&parts::duplicates(&own.plan), before, chosen.reads)?;
        Source::known(&files, &options, known)?
    } else {
        Source::open(&files, &options, None)?
    };
    let logger = Logger::new(&options, places.as_deref(), hot, before);
    let processed = process(&options, files, source, places.as_ref(), logger, outputs)?;
    let written = processed.outputs.written();
    processed.outputs.finish()?;
    // The shard is done when its state exists.
    let state = State::new(id, number, processed.counts, processed.collector, written);
    state.write(&State::name(&own.plan, number))?;
    eprintln!(
        "shard {number} of {}: {} reads or pairs",
        plan.shards.len(),
        chosen.reads
    );
    Ok(())
}

/// Replaces the names of the outputs by those of the files of a shard.
pub fn name_parts(options: &mut Options, shard: usize) {
    for name in [
        &mut options.out1,
        &mut options.out2,
        &mut options.unpaired1,
        &mut options.unpaired2,
        &mut options.merged_out,
        &mut options.failed_out,
        &mut options.overlapped_out,
    ] {
        *name = part(name, shard);
    }
}
