//! The options of the steps themselves.

use crate::failure::Failure;

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
pub struct Own {
    /// The name of the plan's file.
    pub plan: String,
    pub shards: Option<u64>,
    pub shard_size: Option<u64>,
    pub shard: Option<u64>,
    pub thread: Option<u64>,
    pub keep_shards: bool,
}

/// The name of an option.
#[derive(Clone, Copy)]
pub enum Name {
    Plan,
    Shards,
    ShardSize,
    Shard,
    Thread,
    KeepShards,
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Shards => "shards",
            Self::ShardSize => "shard_size",
            Self::Shard => "shard",
            Self::Thread => "thread",
            Self::KeepShards => "keep_shards",
        }
    }

    fn has_value(self) -> bool {
        !matches!(self, Self::KeepShards)
    }

    /// Reads a value that is a number of at least 1.
    fn number(self, value: &str) -> Result<u64, Failure> {
        let number = value.parse().ok().filter(|&number| number >= 1);
        number.ok_or_else(|| {
            let name = self.text();
            Failure::options(format!(
                "--{name} must be a number of at least 1, not {value:?}"
            ))
        })
    }
}

impl Own {
    /// Takes the options of the step out of the words, and returns the other words. They are an
    /// error unless the step has `others`.
    pub fn parse(
        words: &[String],
        known: &[Name],
        others: bool,
    ) -> Result<(Self, Vec<String>), Failure> {
        let (mut own, mut rest) = (Self::none(), vec![]);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word.as_str(), None),
            };
            let name = name.strip_prefix("--").map(|name| name.replace('-', "_"));
            let is_named = |known: &&Name| name.as_deref() == Some(known.text());
            let Some(&known) = known.iter().find(is_named) else {
                if !others {
                    return Err(Failure::options(format!(
                        "undefined option: {word}\n{USAGE}"
                    )));
                }
                rest.push(word.clone());
                continue;
            };
            let value = match value {
                None if known.has_value() => words.next().map(String::as_str),
                value => Some(value.unwrap_or_default()),
            };
            let value =
                value.ok_or_else(|| Failure::options(format!("option needs value: {word}")))?;
            own.set(known, value)?;
        }
        Ok((own, rest))
    }

    fn none() -> Self {
        Self {
            plan: "plan.json".into(),
            shards: None,
            shard_size: None,
            shard: None,
            thread: None,
            keep_shards: false,
        }
    }

    fn set(&mut self, name: Name, value: &str) -> Result<(), Failure> {
        match name {
            Name::Plan => self.plan = value.into(),
            Name::Shards => self.shards = Some(name.number(value)?),
            Name::ShardSize => self.shard_size = Some(name.number(value)?),
            Name::Shard => self.shard = Some(name.number(value)?),
            Name::Thread => self.thread = Some(name.number(value)?),
            Name::KeepShards => self.keep_shards = true,
        }
        Ok(())
    }
}
