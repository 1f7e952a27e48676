//! Child processes.

use std::ffi::{c_char, c_int};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use blitz_io::net::unix::pipe;
use blitz_io::process::{Child, Command};

use super::stream::blitz_stream;
use crate::args::{arg, check, os_text, put, put_if_wanted};
use crate::error::{Outcome, about, entry, entry_or, in_process, invalid, of_io};
use crate::exclusive::Exclusive;
use crate::fork::{self, OfProcess, Process};
use crate::handle::handle;
use crate::runtime;
use crate::settings::{read, settings};
use crate::wait::Limit;

/// The child has the stream of its parent.
pub const BLITZ_STDIO_INHERIT: u32 = 0;
/// The child reads nothing from the stream, or the system drops its output.
pub const BLITZ_STDIO_NULL: u32 = 1;
/// The parent gets the other end: `blitz_process_take_stream`.
pub const BLITZ_STDIO_PIPE: u32 = 2;

/// Settings of a child process. Initialise them with `BLITZ_PROCESS_SETTINGS_INIT`, or with zeros
/// and `size`, and change the fields that need another value. All texts are copied.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct blitz_process_settings {
    /// The size of this structure, `sizeof(blitz_process_settings)`.
    pub size: usize,
    /// The program: a path, or a name that is looked up in `PATH`.
    pub program: *const c_char,
    /// The arguments after the program's name, and a final NULL. NULL: none.
    pub arguments: *const *const c_char,
    /// The environment as texts "NAME=value", and a final NULL. NULL: that of this process.
    pub environment: *const *const c_char,
    /// The working directory. NULL: that of this process.
    pub directory: *const c_char,
    /// The standard input: `BLITZ_STDIO_…`.
    pub input: u32,
    /// The standard output.
    pub output: u32,
    /// The standard error.
    pub error: u32,
    /// If true, `blitz_process_free` kills a child that has not ended.
    pub kill_on_free: bool,
    /// Must be 0.
    pub reserved: [u64; 4],
}

settings!(blitz_process_settings);

/// A child process. Any thread or fiber may use it; a second call at the same time returns
/// `BLITZ_EBUSY`.
pub struct blitz_process {
    child: Exclusive<Child>,
    process: Process,
}

impl OfProcess for blitz_process {
    fn process(&self) -> Process {
        self.process
    }
}

/// Returns the texts of a list that ends with NULL.
fn texts<'a>(mut list: *const *const c_char) -> Outcome<Vec<&'a std::ffi::OsStr>> {
    let mut texts = Vec::new();
    while !list.is_null() {
        // SAFETY: rule 3 of `args`; the list ends with a NULL, which has not come yet.
        let text = unsafe { list.read() };
        if text.is_null() {
            break;
        }
        texts.push(os_text(text)?);
        // SAFETY: the entry was not the final NULL, so the list has a next one.
        list = unsafe { list.add(1) };
    }
    Ok(texts)
}

fn stdio(choice: u32) -> Outcome<Stdio> {
    match choice {
        BLITZ_STDIO_INHERIT => Ok(Stdio::inherit()),
        BLITZ_STDIO_NULL => Ok(Stdio::null()),
        BLITZ_STDIO_PIPE => Ok(Stdio::piped()),
        _ => Err(invalid("no such choice for a stream of a process")),
    }
}

fn command(settings: &blitz_process_settings) -> Outcome<Command> {
    let mut command = Command::new(os_text(settings.program)?);
    command.args(texts(settings.arguments)?);
    if !settings.environment.is_null() {
        command.env_clear();
        for entry in texts(settings.environment)? {
            use std::os::unix::ffi::OsStrExt;
            let bytes = entry.as_bytes();
            let equals = bytes
                .iter()
                .position(|&byte| byte == b'=')
                .ok_or_else(|| invalid("a variable of the environment has no ="))?;
            let (name, value) = (&bytes[..equals], &bytes[equals + 1..]);
            command.env(
                std::ffi::OsStr::from_bytes(name),
                std::ffi::OsStr::from_bytes(value),
            );
        }
    }
    if !settings.directory.is_null() {
        command.current_dir(os_text(settings.directory)?);
    }
    command.stdin(stdio(settings.input)?);
    command.stdout(stdio(settings.output)?);
    command.stderr(stdio(settings.error)?);
    command.kill_on_drop(settings.kill_on_free);
    Ok(command)
}

/// Starts a child process.
///
/// The caller frees it with `blitz_process_free`. Returns `BLITZ_OK`, `BLITZ_EINVAL` for NULL or an
/// unknown setting, or an error of the system, as `-ENOENT`. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_process_spawn(
    settings: *const blitz_process_settings,
    process: *mut *mut blitz_process,
) -> c_int {
    entry(|| {
        check(process)?;
        let mut command = command(&read(settings)?)?;
        let child = runtime::inside(|| command.spawn().map_err(|error| of_io(&error)))
            .map_err(|error| about(error, command.as_std().get_program().to_string_lossy()))?;
        put(
            process,
            handle(blitz_process {
                child: Exclusive::new(child),
                process: Process::current(),
            }),
        )
    })
}

/// Waits until a child process has ended, until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`, or `BLITZ_NEVER`). Suspends the calling fiber, or blocks the calling thread.
/// Closes the pipe to its standard input before, if it was not taken.
///
/// `status` gets the status that `waitpid` writes: use `WIFEXITED` and the like; it may be NULL. Returns
/// `BLITZ_OK`, `BLITZ_ETIMEDOUT`, `BLITZ_ECANCELED`, `BLITZ_EBUSY`, `BLITZ_EINVAL` for NULL,
/// `BLITZ_EFORKED`, or an error of the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_process_wait(
    process: *mut blitz_process,
    deadline_ns: u64,
    status: *mut c_int,
) -> c_int {
    entry(|| {
        let process = arg(process)?;
        in_process(process.process)?;
        let mut child = process.child.enter()?;
        let ended = runtime::inside(|| super::on(child.wait(), Limit::at(deadline_ns)))?;
        put_if_wanted(status, ended.into_raw());
        Ok(())
    })
}

/// Returns the number of a child process; 0 for NULL, if it has ended and was waited for, or if
/// another call uses it. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_process_id(process: *const blitz_process) -> u32 {
    entry_or(0, || {
        let child = arg(process).and_then(|process| process.child.enter());
        child.ok().and_then(|child| child.id()).unwrap_or(0)
    })
}

/// Kills a child process. Does not wait: see `blitz_process_wait`.
///
/// Returns `BLITZ_OK`, also if it has ended; `BLITZ_EBUSY`; `BLITZ_EINVAL` for NULL; or an error of
/// the system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_process_kill(process: *mut blitz_process) -> c_int {
    entry(|| {
        let mut child = arg(process)?.child.enter()?;
        child.start_kill().map_err(|error| of_io(&error))
    })
}

/// Takes the parent's end of the standard input (0), output (1) or error (2) of a child process
/// that was started with `BLITZ_STDIO_PIPE`. Does not wait.
///
/// The caller frees the stream with `blitz_stream_free`. Returns `BLITZ_OK`, `BLITZ_EBUSY`,
/// `BLITZ_EINVAL` for NULL, another number, or if there is none or it was taken, or an error of the
/// system.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_process_take_stream(
    process: *mut blitz_process,
    number: u32,
    stream: *mut *mut blitz_stream,
) -> c_int {
    entry(|| {
        check(stream)?;
        let mut child = arg(process)?.child.enter()?;
        let taken_before = || invalid("the stream was taken before, or is no pipe");
        let taken = runtime::inside(|| {
            let taken = match number {
                0 => {
                    let input = child.stdin.take().ok_or_else(taken_before)?;
                    let pipe = input.into_owned_fd().and_then(pipe::Sender::from_owned_fd);
                    pipe.map(blitz_stream::pipe_in)
                }
                1 => {
                    let output = child.stdout.take().ok_or_else(taken_before)?;
                    let pipe = output
                        .into_owned_fd()
                        .and_then(pipe::Receiver::from_owned_fd);
                    pipe.map(blitz_stream::pipe_out)
                }
                2 => {
                    let error = child.stderr.take().ok_or_else(taken_before)?;
                    let pipe = error
                        .into_owned_fd()
                        .and_then(pipe::Receiver::from_owned_fd);
                    pipe.map(blitz_stream::pipe_out)
                }
                _ => return Err(invalid("a process has the streams 0, 1 and 2")),
            };
            taken.map_err(|error| of_io(&error))
        })?;
        put(stream, taken)
    })
}

/// Frees a child process. NULL is fine. A child that has not ended keeps running, or is killed with
/// `kill_on_free`; the library awaits its end in the background. Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_process_free(process: *mut blitz_process) {
    entry_or((), || fork::free(process));
}
