//! A run that is spread over many machines, in three steps.
//!
//! 1. `plan` examines the input once: it detects properties as a run does at its beginning, and finds
//!    where the input can be cut into shards.
//! 2. `run` processes one shard. It writes the reads of that shard, and its *state*: every count
//!    of the reports, and a log of results that depend on the reads before the shard.
//! 3. `merge` concatenates the reads, replays the states in order, and writes the reports. All of
//!    it is what one run would have written.
//!
//! Any shard may run on any machine that sees the files, at any time, and again after a failure.

mod cuts;
mod index;
mod merge;
mod own;
mod parts;
mod plan;
mod run;
mod state;

use crate::failure::Failure;
use own::{Name, Own, USAGE};

/// Runs the step that the first word names, if it names one.
pub fn step(program: &str, words: &[String]) -> Option<Result<Done, Failure>> {
    let (step, words) = words.split_first()?;
    let step: fn(&str, &[String]) -> Result<(), Failure> = match step.as_str() {
        "plan" => |program, words| {
            let known = [Name::Shards, Name::ShardSize, Name::Plan];
            let (own, options) = Own::parse(words, &known, true)?;
            plan::plan(program, &own, &options)
        },
        "run" => |_, words| {
            let known = [Name::Shard, Name::Plan, Name::Thread];
            run::run(&Own::parse(words, &known, false)?.0)
        },
        "merge" => |_, words| {
            let known = [Name::Plan, Name::KeepShards];
            merge::merge(&Own::parse(words, &known, false)?.0)
        },
        _ => return None,
    };
    if words
        .iter()
        .any(|word| ["--help", "-?"].contains(&word.as_str()))
    {
        return Some(Ok(Done::Usage(USAGE)));
    }
    Some(step(program, words).map(|()| Done::Step))
}

/// The end of a step without a failure.
pub enum Done {
    Usage(&'static str),
    Step,
}
