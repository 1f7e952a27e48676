//! `Command`: what is to be started, and how.

use std::ffi::OsStr;
use std::io;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
#[cfg(windows)]
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{Command as StdCommand, ExitStatus, Output, Stdio};

use blitz_runtime::runtime::Handle;

use super::{Child, Waiting};

/// Starts processes, as [`std::process::Command`] does.
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
    /// Creates one for a program, without arguments, with the environment, the folder and the
    /// standard streams of this process.
    pub fn new<S: AsRef<OsStr>>(program: S) -> Command {
        StdCommand::new(program).into()
    }

    /// Returns the one of the standard library.
    pub fn as_std(&self) -> &StdCommand {
        &self.std
    }

    /// Returns the one of the standard library, to change it.
    pub fn as_std_mut(&mut self) -> &mut StdCommand {
        &mut self.std
    }

    /// Returns the one of the standard library. What
    /// [`kill_on_drop`](Command::kill_on_drop) has set is lost.
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

    /// Adds to the command line as it is, without quotes.
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

    /// Sets a variable of the environment.
    pub fn env<K, V>(&mut self, key: K, val: V) -> &mut Command
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.env(key, val);
        self
    }

    /// Sets variables of the environment.
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(vars);
        self
    }

    /// Removes a variable of the environment.
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Command {
        self.std.env_remove(key);
        self
    }

    /// Removes all variables of the environment.
    pub fn env_clear(&mut self) -> &mut Command {
        self.std.env_clear();
        self
    }

    /// Sets the folder in which the process starts.
    pub fn current_dir<P: AsRef<Path>>(&mut self, dir: P) -> &mut Command {
        self.std.current_dir(dir);
        self
    }

    /// Sets where standard input comes from. For [`spawn`](Command::spawn),
    /// [`status`](Command::status) and [`output`](Command::output) it is that of this process
    /// by default.
    pub fn stdin<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdin(cfg);
        self
    }

    /// Sets where standard output goes to. By default it is that of this process, and for
    /// [`output`](Command::output) a pipe.
    pub fn stdout<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdout(cfg);
        self
    }

    /// Sets where standard error goes to. By default it is that of this process, and for
    /// [`output`](Command::output) a pipe.
    pub fn stderr<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stderr(cfg);
        self
    }

    /// Sets whether a [`Child`] that is dropped is killed. By default it goes on.
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Command {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// Returns what [`kill_on_drop`](Command::kill_on_drop) has set.
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Sets the user of the process.
    #[cfg(unix)]
    pub fn uid(&mut self, id: u32) -> &mut Command {
        self.std.uid(id);
        self
    }

    /// Sets the group of the process's user.
    #[cfg(unix)]
    pub fn gid(&mut self, id: u32) -> &mut Command {
        self.std.gid(id);
        self
    }

    /// Sets what the process sees as its own name.
    #[cfg(unix)]
    pub fn arg0<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Command {
        self.std.arg0(arg);
        self
    }

    /// Sets the group of processes that the process belongs to; 0 is one of its own.
    #[cfg(unix)]
    pub fn process_group(&mut self, pgroup: i32) -> &mut Command {
        self.std.process_group(pgroup);
        self
    }

    /// Runs `f` in the child, before the program starts.
    ///
    /// # Safety
    ///
    /// As with [`std::os::unix::process::CommandExt::pre_exec`]: it may only do what a signal
    /// handler may do.
    #[cfg(unix)]
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the caller promises the same.
        unsafe { self.std.pre_exec(f) };
        self
    }

    /// Starts the process.
    ///
    /// # Errors
    ///
    /// Those of [`std::process::Command::spawn`], and those of opening the pipes. If the
    /// process has been started before the error, it goes on.
    ///
    /// # Panics
    ///
    /// Outside of a runtime, and in one without I/O.
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        // Before there is a child.
        let runtime = Handle::current();
        Waiting::reap();
        Child::new(self.std.spawn()?, self.kill_on_drop, runtime)
    }

    /// Starts the process, at once, and waits for its end. Pipes are closed.
    ///
    /// # Errors
    ///
    /// Those of [`spawn`](Command::spawn).
    ///
    /// # Panics
    ///
    /// Those of `spawn`.
    ///
    /// # Cancel safety
    ///
    /// A dropped future drops the [`Child`].
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn();
        async {
            let mut child = child?;
            drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts the process, at once, and returns what it writes to standard output and
    /// standard error, and its status.
    ///
    /// # Errors
    ///
    /// Those of [`spawn`](Command::spawn).
    ///
    /// # Panics
    ///
    /// Those of `spawn`.
    ///
    /// # Cancel safety
    ///
    /// A dropped future drops the [`Child`].
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
