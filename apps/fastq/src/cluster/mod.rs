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
mod plan;
mod run;
mod state;

pub use cuts::Cut;
pub use plan::Bitmap;

use crate::failure::Failure;
use crate::file_names::{path, with_prefix};
use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;

/// What `--help` says of each step.
const USAGE: &str = "\
usage: blitz-fastq plan  --shards N | --shard_size READS  [--plan FILE]  OPTIONS
       blitz-fastq run   --shard K  [--plan FILE]  [--thread N]
       blitz-fastq merge [--plan FILE]  [--keep_shards]

Spreads a run over many machines. The reads and the reports are those of
  blitz-fastq OPTIONS

plan   examines the input, and writes the plan: --shards N of equal size, or as many as it takes
       with --shard_size READS (pairs) in each
run    processes shard K, counted from 1. Shards can run at the same time, anywhere that has the
       files, and again after a failure. --thread replaces the number of threads in OPTIONS
merge  writes the files that OPTIONS name, and removes those of the shards unless --keep_shards

FILE is plan.json unless given; files of shards are beside it and beside the outputs.
--split, --stdout and standard input cannot be spread.
";

/// Runs the step that the first word names, if it names one.
pub fn step(program: &str, words: &[String]) -> Option<Result<Done, Failure>> {
    let (step, words) = words.split_first()?;
    let step: fn(&str, &[String]) -> Result<(), Failure> = match step.as_str() {
        "plan" => |program, words| {
            let (own, options) = Own::parse(words, &["shards", "shard_size", "plan"], true)?;
            plan::plan(program, &own, &options)
        },
        "run" => |_, words| run::run(&Own::parse(words, &["shard", "plan", "thread"], false)?.0),
        "merge" => |_, words| merge::merge(&Own::parse(words, &["plan", "keep_shards"], false)?.0),
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

/// The options of a step itself.
struct Own(HashMap<&'static str, String>);

impl Own {
    /// Takes the options of the step out of the words, and returns the other words. They are an
    /// error unless the step has `others`.
    fn parse(
        words: &[String],
        known: &[&'static str],
        others: bool,
    ) -> Result<(Self, Vec<String>), Failure> {
        let (mut own, mut rest) = (HashMap::new(), vec![]);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let name = name.strip_prefix("--").map(|name| name.replace('-', "_"));
            let Some(known) = known.iter().find(|known| name.as_deref() == Some(**known)) else {
                if !others {
                    return Err(Failure::options(format!(
                        "undefined option: {word}\n{USAGE}"
                    )));
                }
                rest.push(word.clone());
                continue;
            };
            let value = match (value, *known) {
                (Some(value), _) => value,
                (None, "keep_shards") => String::new(),
                (None, _) => words
                    .next()
                    .cloned()
                    .ok_or_else(|| Failure::options(format!("option needs value: {word}")))?,
            };
            own.insert(*known, value);
        }
        Ok((Self(own), rest))
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the number of an option, which must be at least 1.
    fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(number) if number >= 1 => Ok(Some(number)),
            _ => Err(Failure::options(format!(
                "--{name} must be a number of at least 1, not {value:?}"
            ))),
        }
    }

    /// Returns the name of the plan's file.
    fn plan(&self) -> &str {
        self.0.get("plan").map_or("plan.json", String::as_str)
    }
}

/// Returns the name of the file of a shard that becomes a part of the file `name`.
fn part(name: &str, shard: usize) -> String {
    if name.is_empty() {
        return String::new();
    }
    with_prefix(name, &format!("shard-{shard:04}"))
}

/// Removes a file, if it exists.
fn remove(name: &str) -> Result<(), Failure> {
    match fs::remove_file(path(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Failure::file(name, "remove it", &error))
        }
        _ => Ok(()),
    }
}
