//! `blitz ipc`: inspects the segments of this machine's user, and takes part in them.

mod list;
mod messages;
mod names;
mod remote;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use blitz_io_ipc::{Builder, Channel, Error, Kind, Queue, Route, SegmentInfo};
use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  blitz ipc ls                     what there is, and who takes part
  blitz ipc top                    the same every second, with rates
  blitz ipc tail prices            what is sent on a route or channel, without holding it up
  echo sweep | blitz ipc send jobs send lines to a queue
  blitz ipc clean                  remove what killed processes left behind
  blitz ipc clean --dry-run 'test-*'  what of these would be removed
  blitz ipc ls --json              for scripts; each of these commands has --json

Exit statuses:
  0    it worked; there may be nothing to list or to remove
  1    there is no such segment or directory; it cannot be read, joined or removed; a message found
       no room
  64   the arguments are wrong, or `tail` would take messages of a queue: see --take";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Where the segments are, if not in the user's own directory.
    #[arg(long, global = true, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Prints JSON, and nothing else, on standard output: one value, or one a line.
    #[arg(long, global = true)]
    json: bool,
    /// Takes part in a segment of this user, which can end this program and change messages.
    #[arg(long, global = true, value_name = "NUMBER")]
    allow_owner: Option<u32>,
}

#[derive(Subcommand)]
enum Action {
    /// Lists segments, with their participants and how far receivers are behind.
    #[command(after_help = EXAMPLES)]
    Ls(Names),
    /// Lists segments again and again, with messages per second.
    #[command(after_help = EXAMPLES)]
    Top(list::Top),
    /// Prints the messages of a route or channel as they are sent.
    #[command(after_help = EXAMPLES)]
    Tail(messages::Tail),
    /// Sends the arguments as messages, or the lines of standard input.
    #[command(after_help = EXAMPLES)]
    Send(messages::Send),
    /// Removes segments without a live participant.
    #[command(after_help = EXAMPLES)]
    Clean(Clean),
}

#[derive(Args)]
struct Clean {
    #[command(flatten)]
    names: Names,
    /// Prints what would be removed, and removes nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The segments that a command is about.
#[derive(Args)]
struct Names {
    /// Restricts it to segments of these names, in which * stands for any text.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

impl Names {
    fn includes(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|pattern| fits(pattern, name))
    }
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    if let Some(directory) = &arguments.directory {
        must_exist(directory)?;
    }
    match &arguments.action {
        Action::Ls(names) => list::ls(arguments, names),
        Action::Top(top) => list::top(arguments, top),
        Action::Tail(tail) => messages::tail(arguments, tail),
        Action::Send(send) => messages::send(arguments, send),
        Action::Clean(which) => clean(arguments, which),
    }
}

/// Refuses a directory that is not there: its name is probably wrong.
fn must_exist(directory: &Path) -> Result<(), Exit> {
    let Err(error) = fs::metadata(directory) else {
        return Ok(());
    };
    Err(Exit::unreadable(directory, error).with_advice(
        "--directory: give the one that the programs have, or leave the option out for your own.",
    ))
}

/// Reports that a segment cannot be joined, in the words of this program's options.
fn cannot_join(error: Error, segment: &SegmentInfo) -> Exit {
    match error {
        Error::Untrusted { path, .. } => Exit::Failed(format!(
            "{} belongs to user {}; with --allow-owner={} it is used all the same",
            path.display(),
            segment.owner,
            segment.owner
        )),
        other => failed(other),
    }
}

fn failed(error: impl std::fmt::Display) -> Exit {
    Exit::Failed(error.to_string())
}

fn segments(arguments: &Arguments) -> Result<Vec<SegmentInfo>, Exit> {
    let found = match &arguments.directory {
        Some(directory) => blitz_io_ipc::list_in(directory),
        None => blitz_io_ipc::list(),
    };
    found.map_err(failed)
}

/// Returns why files with names of segments are none.
fn reasons(arguments: &Arguments) -> Result<Vec<Error>, Exit> {
    blitz_io_ipc::left_out(arguments.directory.as_deref()).map_err(failed)
}

/// Returns `true` if this reason is about the file of a segment with this name.
fn is_of(reason: &Error, name: &str) -> bool {
    file_of(reason) == Some(OsStr::new(name))
}

/// Returns the name of the segment that the file of this reason would have.
fn file_of(reason: &Error) -> Option<&OsStr> {
    match reason {
        Error::Foreign { path, .. } | Error::Permission { path } | Error::Io { path, .. } => {
            path.file_stem()
        }
        _ => None,
    }
}

/// Names some of the segments that there are, first those that a live process uses.
fn others(all: &[SegmentInfo]) -> String {
    /// So many are named.
    const NAMED: usize = 5;
    if all.is_empty() {
        return "There is no other one. A program may have its segments elsewhere: --directory."
            .to_owned();
    }
    let is_alive = |segment: &&SegmentInfo| segment.participants.iter().any(|it| it.alive);
    let (alive, dead): (Vec<_>, Vec<_>) = all.iter().partition(is_alive);
    let names = alive.iter().map(|segment| segment.name.clone());
    let dead = dead.iter().map(|it| format!("{} (dead)", it.name));
    let names: Vec<_> = names.chain(dead).take(NAMED).collect();
    match all.len() - names.len() {
        0 => format!("There are: {}.", names.join(", ")),
        more => format!(
            "There are: {}, and {more} more (`blitz ipc ls`).",
            names.join(", ")
        ),
    }
}

/// Returns a builder for the segment `name`, which must exist, and its information.
fn existing(arguments: &Arguments, name: &str) -> Result<(Builder, SegmentInfo), Exit> {
    let mut all = segments(arguments)?;
    let Some(place) = all.iter().position(|segment| segment.name == name) else {
        if let Some(reason) = reasons(arguments)?
            .iter()
            .find(|reason| is_of(reason, name))
        {
            return Err(failed(reason));
        }
        let exit = Exit::Failed(format!("there is no segment {name:?}"));
        return Err(exit.with_advice(others(&all)));
    };
    let segment = all.swap_remove(place);
    let builder = match segment.kind {
        Kind::Route => Route::builder(),
        Kind::Channel => Channel::builder(),
        Kind::Queue => Queue::builder(),
        _ => {
            return Err(Exit::Failed(format!("{name:?} has no messages")));
        }
    };
    // A user that names a segment means it as it is, also if others may write to it.
    let builder = builder.must_exist(true).mode(segment.mode | 0o600);
    let builder = match arguments.allow_owner {
        Some(user) => builder.allow_owner(user),
        None => builder,
    };
    Ok(match &arguments.directory {
        Some(directory) => (builder.directory(directory), segment),
        None => (builder, segment),
    })
}

fn clean(arguments: &Arguments, which: &Clean) -> Result<Exit, Exit> {
    let mut would = Vec::new();
    let cleaned = blitz_io_ipc::clean_where(arguments.directory.as_deref(), |name| {
        let is_named = which.names.includes(name);
        if is_named && which.dry_run {
            would.push(name.to_owned());
        }
        is_named && !which.dry_run
    });
    let cleaned = cleaned.map_err(failed)?;
    let (what, names) = if which.dry_run {
        ("would remove", would)
    } else {
        ("removed", cleaned.removed)
    };
    if arguments.json {
        output::print_json(&names)?;
    } else if names.is_empty() {
        let named = if which.names.names.is_empty() {
            ""
        } else {
            " of these names"
        };
        output::print(&format!(
            "Nothing to remove: no segment{named} is without a live participant.\n"
        ))?;
    } else {
        let lines = names.iter().map(|name| format!("{what} {name}\n"));
        output::print(&lines.collect::<String>())?;
    }
    if !arguments.json {
        let reasons = reasons(arguments)?;
        let named = reasons.iter().filter(|reason| is_about(reason, which));
        output::print(&left_out(named))?;
    }
    let failures = cleaned.failed.iter();
    let failures = failures.filter(|error| is_about(error, which));
    let lines: Vec<_> = failures.map(ToString::to_string).collect();
    if lines.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Exit::Failed(lines.join("\n")))
}

fn is_about(reason: &Error, which: &Clean) -> bool {
    file_of(reason).is_none_or(|name| which.names.includes(&name.to_string_lossy()))
}

/// Says which files have names of segments, and are none.
fn left_out<'a>(reasons: impl Iterator<Item = &'a Error>) -> String {
    let lines: String = reasons.map(|reason| format!("{reason}\n")).collect();
    if lines.is_empty() {
        return lines;
    }
    format!("\nLeft out:\n{lines}")
}

/// Returns `true` if the name fits the pattern, in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    ends.any(|at| fits(rest, &name[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expected) in [
            ("jobs", "jobs", true),
            ("jobs", "jobs-2", false),
            ("jobs*", "jobs", true),
            ("jobs*", "jobs-2", true),
            ("*-2", "jobs-2", true),
            ("*-2", "jobs-22", false),
            ("j*b*2", "jobs-é2", true),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
