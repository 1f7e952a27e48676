//! The options of the steps themselves.

use crate::failure::Failure;
use std::collections::HashMap;

/// What `--help` says of each step.
pub const USAGE: &str = "\
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

/// The options of a step itself.
pub struct Own(HashMap<&'static str, String>);

impl Own {
    /// Takes the options of the step out of the words, and returns the other words. They are an
    /// error unless the step has `others`.
    pub fn parse(
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

    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the number of an option, which must be at least 1.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
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
    pub fn plan(&self) -> &str {
        self.0.get("plan").map_or("plan.json", String::as_str)
    }
}
