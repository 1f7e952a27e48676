//! The trace file of a run.
//!
//! ```text
//! "BLITZSIM"  version
//! program's hash (8 bytes)  hash of the events (8 bytes)  verdict (2 numbers)
//! seed  faults  limit  processors  options            (1: between two calls, 2: at atomic operations, 4: no time-outs)
//! number of loops without a call  their marks
//! folder  path  number of arguments  arguments          (each: length, bytes)
//! number of variables  their names and values
//! records until the end of the file
//! ```
//!
//! Numbers without a size are varints of 7 bits, the lowest first. A record is `kind | number of choices
//! | choice | distance`, where the distance counts the decisions since the record before. Decisions without
//! a record have choice 0. A record with 0 choices is a checkpoint: 8 bytes follow instead of the choice,
//! the hash of all events before the decision at that distance.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Error, ErrorKind};
use std::path::{Path, PathBuf};

use crate::outcome::{Outcome, Verdict};
use crate::plan::{Faults, Plan, Schedule};
use crate::program::Program;
use crate::shared::region::{CHECKPOINT, Scripted, VERSION};

const MAGIC: &[u8; 8] = b"BLITZSIM";

/// Contents of a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The program.
    pub program: Program,
    /// Hash of the program's file.
    pub program_hash: u64,
    /// How the run ended.
    pub verdict: Verdict,
    /// Hash of all its events.
    pub hash: u64,
    /// Plan that repeats it.
    pub plan: Plan,
    /// Hashes before every 1,024th decision.
    pub checkpoints: Vec<u64>,
}

impl Trace {
    /// Creates the trace of a run.
    ///
    /// # Errors
    ///
    /// Fails if the program's file or the folder cannot be read.
    pub fn new(program: &Program, plan: &Plan, outcome: &Outcome) -> io::Result<Trace> {
        let mut named = program.clone().with_variables_of_libraries();
        named.path = program.file()?;
        if named.folder.is_none() {
            named.folder = Some(std::env::current_dir()?);
        }
        Ok(Trace {
            program_hash: program.hash()?,
            program: named,
            verdict: outcome.verdict,
            hash: outcome.hash,
            plan: Plan {
                schedule: Schedule::Script,
                script: outcome.script(),
                strict: true,
                length: None,
                contended: false,
                loops: outcome.loops.clone(),
                ..plan.clone()
            },
            checkpoints: outcome.checkpoints.clone(),
        })
    }

    /// Returns the bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put(&mut bytes, VERSION.into());
        bytes.extend(self.program_hash.to_le_bytes());
        bytes.extend(self.hash.to_le_bytes());
        let (kind, value) = self.verdict.numbers();
        let plan = &self.plan;
        for number in [
            kind,
            value,
            plan.seed,
            plan.faults.0.into(),
            plan.limit,
            plan.processors.into(),
            u64::from(plan.preempt)
                | u64::from(plan.atomics) << 1
                | u64::from(plan.no_timeouts) << 2,
            plan.loops.len() as u64,
        ] {
            put(&mut bytes, number);
        }
        for mark in &plan.loops {
            put(&mut bytes, *mark);
        }
        let folder = self.program.folder.clone().unwrap_or_default();
        put_text(&mut bytes, folder.as_os_str().as_encoded_bytes());
        put_text(&mut bytes, self.program.path.as_os_str().as_encoded_bytes());
        put(&mut bytes, self.program.arguments.len() as u64);
        for argument in &self.program.arguments {
            put_text(&mut bytes, argument.as_encoded_bytes());
        }
        put(&mut bytes, self.program.variables.len() as u64);
        for (name, value) in &self.program.variables {
            put_text(&mut bytes, name.as_encoded_bytes());
            put_text(&mut bytes, value.as_encoded_bytes());
        }
        let mut last = 0;
        let mut checkpoints = self.checkpoints.iter().enumerate().peekable();
        let choices = plan.script.iter().map(Some).chain([None]);
        for scripted in choices {
            let index = scripted.map_or(u64::MAX, |scripted| scripted.index.into());
            while let Some((at, hash)) =
                checkpoints.next_if(|(at, _)| (at * CHECKPOINT) as u64 <= index)
            {
                let at = (at * CHECKPOINT) as u64;
                put(&mut bytes, 0);
                put(&mut bytes, 0);
                bytes.extend(hash.to_le_bytes());
                put(&mut bytes, at - last);
                last = at;
            }
            if let Some(scripted) = scripted {
                for number in [scripted.kind, scripted.count, scripted.choice] {
                    put(&mut bytes, number.into());
                }
                put(&mut bytes, index - last);
                last = index;
            }
        }
        bytes
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    ///
    /// Fails if they are no trace of this version.
    pub fn decode(bytes: &[u8]) -> io::Result<Trace> {
        let mut from = Reader(
            bytes
                .strip_prefix(MAGIC)
                .ok_or_else(|| invalid("this is no trace file"))?,
        );
        let version = from.number()?;
        if version != u64::from(VERSION) {
            return Err(invalid(format!(
                "the trace has version {version}, this is for version {VERSION}"
            )));
        }
        let program_hash = from.word()?;
        let hash = from.word()?;
        let (kind, value) = (from.number()?, from.number()?);
        let verdict =
            Verdict::from_numbers(kind, value).ok_or_else(|| invalid("no such verdict"))?;
        let mut plan = Plan::new(Schedule::Script, from.number()?);
        plan.strict = true;
        plan.length = None;
        plan.faults = Faults(from.small()?);
        plan.limit = from.number()?;
        plan.processors = from.small()?;
        let options = from.number()?;
        (plan.preempt, plan.atomics) = (options & 1 != 0, options & 2 != 0);
        plan.no_timeouts = options & 4 != 0;
        let count = from.number()?;
        plan.loops = (0..count)
            .map(|_| from.number())
            .collect::<io::Result<Vec<_>>>()?;
        let folder = PathBuf::from(from.text()?);
        let path = PathBuf::from(from.text()?);
        let count = from.number()?;
        let arguments = (0..count)
            .map(|_| from.text())
            .collect::<io::Result<Vec<_>>>()?;
        let count = from.number()?;
        let variables = (0..count).map(|_| Ok((from.text()?, from.text()?)));
        let variables = variables.collect::<io::Result<Vec<_>>>()?;
        let mut checkpoints = vec![];
        let mut last = 0u32;
        while !from.0.is_empty() {
            let (kind, count) = (from.small::<u16>()?, from.small::<u16>()?);
            if count == 0 {
                checkpoints.push(from.word()?);
                last = last.checked_add(from.small()?).ok_or_else(too_large)?;
                continue;
            }
            let choice = from.small()?;
            last = last.checked_add(from.small()?).ok_or_else(too_large)?;
            plan.script.push(Scripted {
                index: last,
                kind,
                count,
                choice,
                reserved: 0,
            });
        }
        let program = Program {
            path,
            arguments,
            folder: Some(folder),
            variables,
        };
        Ok(Trace {
            program,
            program_hash,
            verdict,
            hash,
            plan,
            checkpoints,
        })
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        fs::write(path, self.encode())
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read or is no trace.
    pub fn read(path: impl AsRef<Path>) -> io::Result<Trace> {
        Trace::decode(&fs::read(path)?)
    }
}

fn invalid(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, what.into())
}

fn too_large() -> Error {
    invalid("a number in the trace is too large")
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    put(bytes, text.len() as u64);
    bytes.extend(text);
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take(&mut self, count: usize) -> io::Result<&[u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| invalid("the trace is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(too_large())
    }

    fn small<T: TryFrom<u64>>(&mut self) -> io::Result<T> {
        T::try_from(self.number()?).map_err(|_| too_large())
    }

    fn word(&mut self) -> io::Result<u64> {
        let mut word = [0; 8];
        word.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(word))
    }

    fn text(&mut self) -> io::Result<OsString> {
        let count = self.small()?;
        let bytes = self.take(count)?;
        let text = String::from_utf8(bytes.to_vec());
        text.map(OsString::from)
            .map_err(|_| invalid("a name in the trace is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        let mut plan = Plan::new(Schedule::Script, 77);
        plan.strict = true;
        plan.length = None;
        plan.faults = Faults::USUAL;
        plan.preempt = true;
        plan.no_timeouts = true;
        plan.loops = vec![3, 70_000];
        for index in [0u32, 5, 1024, 70_000] {
            plan.script.push(Scripted {
                index,
                kind: 1,
                count: 3,
                choice: 2,
                reserved: 0,
            });
        }
        let mut program = Program::new("/bin/true", ["a", ""]);
        program.folder = Some(PathBuf::from("/"));
        program.variables.push(("A".into(), "b".into()));
        Trace {
            program,
            program_hash: 1,
            verdict: Verdict::Killed(6),
            hash: u64::MAX,
            plan,
            checkpoints: vec![9, 8, 7],
        }
    }

    #[test]
    fn a_trace_survives_its_file() {
        assert_eq!(Trace::decode(&trace().encode()).unwrap(), trace());
    }

    #[test]
    fn bytes_that_are_cut_off_or_changed_are_refused_or_decoded_without_panic() {
        let bytes = trace().encode();
        for end in 0..bytes.len() {
            let _ = Trace::decode(&bytes[..end]);
            for value in [0, 127, 128, 255] {
                let mut changed = bytes.clone();
                changed[end] = value;
                let _ = Trace::decode(&changed);
            }
        }
        assert!(Trace::decode(b"something else").is_err());
    }
}
