//! The third step: the files and reports of the whole run.

use super::index::Index;
use super::own::Own;
use super::parts::{self, remove};
use super::plan::Plan;
use super::run::name_parts;
use super::state::State;
use crate::collect::Collector;
use crate::counts::Counts;
use crate::duplicates::{Places, Seen};
use crate::failure::Failure;
use crate::file_names::path;
use crate::options::Options;
use crate::output::{Output, Outputs};
use crate::report::Report;
use crate::run::finish;

/// Merges all shards.
pub fn merge(own: &Own) -> Result<(), Failure> {
    // If signals cannot be caught, they still end the process.
    #[cfg(unix)]
    let _ = blitz_io::pipeline::atomic_output::remove_on_signals(|| ());
    let (plan, id) = Plan::read(own)?;
    let (options, hot) = plan.options()?;
    let shards = 1..=plan.shards.len();
    let state = |shard| State::name(&own.plan, shard);
    let missing: Vec<_> = shards
        .clone()
        .filter(|&shard| !path(&state(shard)).exists())
        .map(|shard| shard.to_string())
        .collect();
    if !missing.is_empty() {
        return Err(Failure::data(format!(
            "these shards have not been run: {}",
            missing.join(" ")
        )));
    }
    let mut outputs = Outputs::create(&options)?;
    let json = Output::create(&options.json)?;
    let html = Output::create(&options.html)?;
    let places = options
        .duplication
        .then(|| Places::new(options.duplication_level));
    let mut collector = Collector::new(&options, places.as_ref().filter(|_| !options.dedup), hot);
    if options.dedup {
        collector.seen = plan
            .duplicates
            .map(|known| Seen::counted(plan.reads, known));
    }
    let mut counts = Counts::default();
    for shard in shards.clone() {
        let name = state(shard);
        let read = State::read(&name, id, shard)?;
        outputs.append(&part_of(&options, shard), &read.written)?;
        read.replay(&name, &mut counts, &mut collector)?;
    }
    let report = Report::new(&options, counts, &collector);
    finish(&options, &report, json, html, outputs)?;
    if !own.keep_shards {
        for shard in shards {
            remove(&state(shard))?;
            Outputs::names(&part_of(&options, shard)).try_for_each(|name| remove(&name))?;
        }
        remove(&parts::duplicates(&own.plan))?;
        remove(&Index::name(&own.plan))?;
    }
    Ok(())
}

/// Returns the options with the names of the files of a shard.
fn part_of(options: &Options, shard: usize) -> Options {
    let mut part = options.clone();
    name_parts(&mut part, shard);
    part
}
