//! `blitz ipc`: inspects the segments of this machine's user, and takes part in them.

mod list;
mod messages;
mod names;
mod remote;

use std::path::PathBuf;

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
  blitz ipc clean                  remove what killed processes left behind";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Where the segments are, if not in the user's own directory.
    #[arg(long, global = true, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Print JSON, and nothing else, on standard output: one value, or one a line.
    #[arg(long, global = true)]
    json: bool,
    /// Take part in a segment of this user, which can end this program and change messages.
    #[arg(long, global = true, value_name = "NUMBER")]
    allow_owner: Option<u32>,
}

#[derive(Subcommand)]
enum Action {
    /// Lists segments, with their participants and how far receivers are behind.
    Ls,
    /// Lists segments again and again, with messages per second.
    Top(list::Top),
    /// Prints the messages of a route or channel as they are sent.
    Tail(messages::Tail),
    /// Sends the arguments as messages, or the lines of standard input.
    Send(messages::Send),
    /// Removes segments without a live participant.
    Clean,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    match &arguments.action {
        Action::Ls => list::ls(arguments),
        Action::Top(top) => list::top(arguments, top),
        Action::Tail(tail) => messages::tail(arguments, tail),
        Action::Send(send) => messages::send(arguments, send),
        Action::Clean => clean(arguments),
    }
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

/// Returns a builder for the segment `name`, which must exist, and its information.
fn existing(arguments: &Arguments, name: &str) -> Result<(Builder, SegmentInfo), Exit> {
    let mut all = segments(arguments)?;
    let Some(place) = all.iter().position(|segment| segment.name == name) else {
        let names: Vec<_> = all.iter().map(|segment| segment.name.as_str()).collect();
        let there = if names.is_empty() {
            "There is none.".to_owned()
        } else {
            format!("There are: {}.", names.join(", "))
        };
        return Err(Exit::Failed(format!(
            "there is no segment {name:?}. {there}"
        )));
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

fn clean(arguments: &Arguments) -> Result<Exit, Exit> {
    let removed = match &arguments.directory {
        Some(directory) => blitz_io_ipc::clean_in(directory),
        None => blitz_io_ipc::clean(),
    };
    let removed: Vec<String> = removed.map_err(|error: Error| failed(error))?;
    if arguments.json {
        output::print_json(&removed)?;
    } else {
        let lines = removed.iter().map(|name| format!("removed {name}\n"));
        output::print(&lines.collect::<String>())?;
    }
    Ok(Exit::Done)
}
