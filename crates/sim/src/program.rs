//! The program under simulation.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shared::random::extend;

/// The variables that the object reads: children are allowed, files are in memory.
const EXEC: &str = "BLITZ_SIM_EXEC";
const FILES: &str = "BLITZ_SIM_FS";
/// The variables of the libraries that change what a program does: recorders that it starts, how it does input and output, and
/// the simulation that it is itself.
const OF_LIBRARIES: [&str; 12] = [
    "BLITZ_INSPECT",
    "BLITZ_IO_URING",
    "BLITZ_LINT",
    "BLITZ_SIM_EVENTS",
    "BLITZ_SIM_SCHEDULE",
    "BLITZ_SIM_SEED",
    "BLITZ_SIM_SEEDS",
    "BLITZ_SIM_THREADS",
    "BLITZ_SIM_TIME",
    "BLITZ_SIM_TRACE",
    "BLITZ_TRACE",
    "BLITZ_TRACE_EVENTS",
];

/// A program, its arguments and its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Arguments after the name.
    pub arguments: Vec<OsString>,
    /// Folder in which it runs; `None` is the current one.
    pub folder: Option<PathBuf>,
    /// Variables that it gets beside those of this process. One of the libraries (`BLITZ_INSPECT` and so on) whose value is
    /// empty is taken from it.
    pub variables: Vec<(OsString, OsString)>,
}

impl Program {
    /// Creates the description of a program.
    ///
    /// ```
    /// let program = blitz_io_sim::Program::new("/bin/true", ["--help"]);
    /// assert_eq!(program.arguments.len(), 1);
    /// ```
    pub fn new<A: Into<OsString>>(
        path: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Program {
        Program {
            path: path.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            folder: None,
            variables: vec![],
        }
    }

    /// Lets the program start others, which run outside of the simulation. The report of a run names each.
    ///
    /// A run with children is not deterministic, and calls that go round libc are not seen: the filter that
    /// catches them would end the children.
    ///
    /// ```
    /// let program = blitz_io_sim::Program::new("/bin/sh", ["-c", "true"]).allow_exec();
    /// assert_eq!(program.variables.len(), 1);
    /// ```
    #[must_use]
    pub fn allow_exec(mut self) -> Program {
        self.variables.push((EXEC.into(), "1".into()));
        self
    }

    /// Keeps the program's files in memory. It sees the real files, and changes copies of them, which end
    /// with the run. Only then do the faults [`Faults::DISK`](crate::Faults::DISK) occur.
    ///
    /// `/proc`, `/sys` and `/dev` stay real, and so does what the program does before its `main`. Children
    /// ([`allow_exec`](Self::allow_exec)) are not possible then.
    ///
    /// ```
    /// let program = blitz_io_sim::Program::new("/bin/sh", ["-c", "true"]).memory_files();
    /// assert_eq!(program.variables.len(), 1);
    /// ```
    #[must_use]
    pub fn memory_files(mut self) -> Program {
        self.variables.push((FILES.into(), "memory".into()));
        self
    }

    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64")),
        allow(dead_code)
    )]
    pub(crate) fn has_memory_files(&self) -> bool {
        self.variables.iter().any(|(name, _)| name == FILES)
    }

    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64")),
        allow(dead_code)
    )]
    pub(crate) fn may_exec(&self) -> bool {
        self.variables.iter().any(|(name, _)| name == EXEC)
    }

    /// Returns this program with the variables of the libraries as it gets them from this process, so that it does the same where
    /// these variables are others. Those that it has already stay.
    pub(crate) fn with_variables_of_libraries(mut self) -> Program {
        for name in OF_LIBRARIES {
            if !self.variables.iter().any(|(own, _)| own == name) {
                let value = std::env::var_os(name).unwrap_or_default();
                self.variables.push((name.into(), value));
            }
        }
        self
    }

    /// Changes the variables that a process of the program inherits.
    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64")),
        allow(dead_code)
    )]
    pub(crate) fn set_variables(&self, command: &mut Command) {
        for (name, value) in &self.variables {
            if value.is_empty() && OF_LIBRARIES.iter().any(|own| name == own) {
                command.env_remove(name);
            } else {
                command.env(name, value);
            }
        }
    }

    /// Returns the file, looked up in `PATH` if the name has no slash.
    ///
    /// # Errors
    ///
    /// Fails if there is no such file, or if it is a directory.
    pub fn file(&self) -> io::Result<PathBuf> {
        let missing = || {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("{}: no such program", self.path.display()),
            )
        };
        if self.path.components().count() > 1 {
            let file = fs::canonicalize(&self.path).map_err(|_| missing())?;
            if file.is_dir() {
                let problem = format!("{} is a directory, and no program", self.path.display());
                return Err(io::Error::other(problem));
            }
            return Ok(file);
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut files = std::env::split_paths(&folders).map(|folder| folder.join(&self.path));
        files.find(|file| file.is_file()).ok_or_else(missing)
    }

    /// Returns a hash of the file's bytes.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn hash(&self) -> io::Result<u64> {
        let bytes = fs::read(self.file()?)?;
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        Ok(words.fold(bytes.len() as u64, extend))
    }
}

/// Returns why a file cannot be simulated, if the file itself says so.
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code)
)]
pub(crate) fn unsuitable(file: &Path) -> io::Result<Option<&'static str>> {
    let bytes = fs::read(file)?;
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(Some(
            "is no program for this system (a script's interpreter is: name it and the script)",
        ));
    }
    let number = |at: usize, size: usize| {
        let digits = bytes.get(at..at + size).unwrap_or(&[]);
        digits
            .iter()
            .rev()
            .fold(0u64, |all, byte| all << 8 | u64::from(*byte)) as usize
    };
    // A 64-bit program for x86-64.
    if number(4, 1) != 2 || number(18, 2) != 62 {
        return Ok(Some("is not for x86-64"));
    }
    const INTERPRETER: usize = 3;
    let (start, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    let mut headers = (0..count).map(|at| start + at * size);
    let Some(header) = headers.find(|at| number(*at, 4) == INTERPRETER) else {
        return Ok(Some(
            "is linked statically, so no object can be loaded before it",
        ));
    };
    let (at, length) = (number(header + 8, 8), number(header + 32, 8));
    let path = at.checked_add(length).and_then(|end| bytes.get(at..end));
    let name = path.and_then(|path| path.rsplit(|byte| *byte == b'/').next());
    let is_of_musl = name.is_some_and(|name| name.starts_with(b"ld-musl-"));
    Ok(is_of_musl.then_some("is linked with musl, and only programs of glibc can be simulated"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run is repeated with the variables that it had, whatever those of the repeating process are.
    #[test]
    fn a_recorded_program_gets_the_variables_that_it_had() {
        let set = |name: &str, value: &str| (name.into(), value.into());
        let mut program = Program::new("/bin/true", [] as [&str; 0]);
        program.variables = vec![
            set("BLITZ_INSPECT", "1"),
            set("BLITZ_LINT", ""),
            set("A", ""),
        ];
        let program = program.with_variables_of_libraries();
        let of = |wanted: &str| {
            let all = program.variables.iter().filter(|(name, _)| name == wanted);
            all.map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        assert_eq!(of("BLITZ_INSPECT"), ["1"]);
        assert_eq!(of("BLITZ_LINT"), [""]);
        for name in OF_LIBRARIES {
            assert_eq!(of(name).len(), 1, "{name}");
        }
        let mut command = Command::new("true");
        program.set_variables(&mut command);
        let all: Vec<_> = command.get_envs().collect();
        assert!(all.contains(&("BLITZ_INSPECT".as_ref(), Some("1".as_ref()))));
        assert!(all.contains(&("BLITZ_LINT".as_ref(), None)));
        assert!(all.contains(&("A".as_ref(), Some("".as_ref()))));
    }
}
