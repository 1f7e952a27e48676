//! `Command`: a process to start, and its options.

use std::ffi::OsStr;
use std::io;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
#[cfg(windows)]
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{Command as StdCommand, ExitStatus, Output, Stdio};

use blitz_io_runtime::runtime::Handle;

use super::{Child, Waiting};

/// Starts processes, like [`std::process::Command`].
///
/// ```
/// use std::process::Stdio;
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
/// use blitz_io::process::Command;
///
/// # #[blitz_io::main]
/// # async fn main() -> std::io::Result<()> {
/// let mut child = Command::new("cat")
///     .stdin(Stdio::piped())
///     .stdout(Stdio::piped())
///     .kill_on_drop(true)
///     .spawn()?;
/// let mut input = child.stdin.take().unwrap();
/// input.write_all(b"to and fro").await?;
/// drop(input);
/// let mut text = String::new();
/// child.stdout.take().unwrap().read_to_string(&mut text).await?;
/// assert_eq!(text, "to and fro");
/// assert!(child.wait().await?.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Command {
    std: StdCommand,
    kill_on_drop: bool,
}

impl Command {
    /// Creates a command for a program, without arguments, with the environment, the
    /// directory and the standard streams of this process.
    pub fn new<S: AsRef<OsStr>>(program: S) -> Command {
        StdCommand::new(program).into()
    }

    /// Returns the standard library command.
    pub fn as_std(&self) -> &StdCommand {
        &self.std
    }

    /// Returns the standard library command mutably.
    pub fn as_std_mut(&mut self) -> &mut StdCommand {
        &mut self.std
    }

    /// Converts it into the standard library command. The setting of
    /// [`kill_on_drop`](Command::kill_on_drop) is lost.
    pub fn into_std(self) -> StdCommand {
        self.std
    }

    /// Adds an argument.
    pub fn arg<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Command {
        self.std.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<I, S>(&mut self, args: I) -> &mut Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.std.args(args);
        self
    }

    /// Appends text to the command line without quoting it.
    #[cfg(windows)]
    pub fn raw_arg<S: AsRef<OsStr>>(&mut self, text_to_append_as_is: S) -> &mut Command {
        self.std.raw_arg(text_to_append_as_is);
        self
    }

    /// Sets the flags with which the system creates the process, as for
    /// [`CommandExt::creation_flags`].
    #[cfg(windows)]
    pub fn creation_flags(&mut self, flags: u32) -> &mut Command {
        self.std.creation_flags(flags);
        self
    }

    /// Sets an environment variable.
    pub fn env<K, V>(&mut self, key: K, val: V) -> &mut Command
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.env(key, val);
        self
    }

    /// Sets environment variables.
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(vars);
        self
    }

    /// Removes an environment variable.
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Command {
        self.std.env_remove(key);
        self
    }

    /// Removes all environment variables.
    pub fn env_clear(&mut self) -> &mut Command {
        self.std.env_clear();
        self
    }

    /// Sets the directory in which the process starts.
    pub fn current_dir<P: AsRef<Path>>(&mut self, dir: P) -> &mut Command {
        self.std.current_dir(dir);
        self
    }

    /// Sets the source of standard input. For [`spawn`](Command::spawn),
    /// [`status`](Command::status) and [`output`](Command::output) it is that of this
    /// process by default.
    pub fn stdin<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdin(cfg);
        self
    }

    /// Sets the destination of standard output. By default it is that of this process, and
    /// for [`output`](Command::output) a pipe.
    pub fn stdout<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdout(cfg);
        self
    }

    /// Sets the destination of standard error. By default it is that of this process, and
    /// for [`output`](Command::output) a pipe.
    pub fn stderr<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stderr(cfg);
        self
    }

    /// Sets whether dropping a [`Child`] kills it. By default it continues to run.
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Command {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// Returns the setting of [`kill_on_drop`](Command::kill_on_drop).
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Sets the user ID of the process.
    #[cfg(unix)]
    pub fn uid(&mut self, id: u32) -> &mut Command {
        self.std.uid(id);
        self
    }

    /// Sets the group ID of the process.
    #[cfg(unix)]
    pub fn gid(&mut self, id: u32) -> &mut Command {
        self.std.gid(id);
        self
    }

    /// Sets the name that the process sees as its own.
    #[cfg(unix)]
    pub fn arg0<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Command {
        self.std.arg0(arg);
        self
    }

    /// Sets the process group of the process; 0 creates a new one.
    #[cfg(unix)]
    pub fn process_group(&mut self, pgroup: i32) -> &mut Command {
        self.std.process_group(pgroup);
        self
    }

    /// Runs `f` in the child, before the program starts.
    ///
    /// # Safety
    ///
    /// Same as for [`std::os::unix::process::CommandExt::pre_exec`]: `f` may only do what a
    /// signal handler may do.
    #[cfg(unix)]
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the caller guarantees the same.
        unsafe { self.std.pre_exec(f) };
        self
    }

    /// Starts the process.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`std::process::Command::spawn`], and those of opening the
    /// pipes. If the process was started before the error, it continues to run.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        // This can panic, so it comes before there is a child.
        let runtime = Handle::current();
        Waiting::reap();
        Child::new(self.std.spawn()?, self.kill_on_drop, runtime)
    }

    /// Starts the process, at once, and waits for its end. Pipes are closed.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`spawn`](Command::spawn).
    ///
    /// # Panics
    ///
    /// Panics like `spawn`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the [`Child`].
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn();
        async {
            let mut child = child?;
            drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts the process, at once, and returns its status and its output from standard
    /// output and standard error.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`spawn`](Command::spawn).
    ///
    /// # Panics
    ///
    /// Panics like `spawn`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the [`Child`].
    #[track_caller]
    pub fn output(&mut self) -> impl Future<Output = io::Result<Output>> + use<> {
        self.std.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn();
        async { child?.wait_with_output().await }
    }
}

impl From<StdCommand> for Command {
    fn from(std: StdCommand) -> Command {
        Command {
            std,
            kill_on_drop: false,
        }
    }
}
