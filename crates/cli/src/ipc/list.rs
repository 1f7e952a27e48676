//! `blitz ipc ls` and `blitz ipc top`.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_ipc::{Kind, Participant, SegmentInfo};
use clap::Args;
use serde::Serialize;

use super::remote::{Remote, remotes};
use super::{Arguments, Names, left_out, reasons, segments};
use crate::duration;
use crate::exit::Exit;
use crate::output;

#[derive(Args)]
pub struct Top {
    #[command(flatten)]
    names: Names,
    /// Time between two looks, such as 500ms; a number alone is in seconds.
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = duration::parse_or_zero, allow_negative_numbers = true)]
    every: Duration,
    /// Ends after this many looks.
    #[arg(long, value_name = "NUMBER")]
    count: Option<u64>,
}

/// A segment, as it is printed.
#[derive(Serialize)]
struct Row {
    name: String,
    kind: String,
    capacity: usize,
    max_len: usize,
    when_full: String,
    bytes: u64,
    messages: u64,
    /// The rate since the last look.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages_per_second: Option<f64>,
    participants: Vec<Member>,
    /// Hosts with which a gateway exchanges the messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remote: Vec<Remote>,
}

#[derive(Serialize)]
struct Member {
    role: &'static str,
    pid: u32,
    alive: bool,
    depth: Option<u64>,
}

impl Member {
    fn new(kind: Kind, participant: &Participant) -> Self {
        Self {
            role: match (kind, participant.sends) {
                (Kind::Semaphore | Kind::Barrier, _) => "member",
                (Kind::Event, true) => "notifier",
                (Kind::Event, false) => "listener",
                (_, true) => "sender",
                (_, false) => "receiver",
            },
            pid: participant.pid,
            alive: participant.alive,
            depth: participant.depth,
        }
    }
}

impl Row {
    fn new(segment: &SegmentInfo, messages_per_second: Option<f64>, remotes: &[Remote]) -> Self {
        let kind = format!("{:?}", segment.kind).to_lowercase();
        Self {
            name: segment.name.clone(),
            remote: remotes
                .iter()
                .filter(|remote| remote.is_of(&kind, &segment.name))
                .cloned()
                .collect(),
            kind,
            capacity: segment.capacity,
            max_len: segment.max_len,
            when_full: format!("{:?}", segment.when_full).to_lowercase(),
            bytes: segment.size,
            messages: segment.messages,
            messages_per_second,
            participants: segment
                .participants
                .iter()
                .map(|participant| Member::new(segment.kind, participant))
                .collect(),
        }
    }
}

/// The last observation of each segment: how many messages, and when.
#[derive(Default)]
struct Looks(HashMap<String, (u64, Instant)>);

impl Looks {
    /// Lists the segments again. A segment that was present last time gets a rate.
    fn look(&mut self, arguments: &Arguments, names: &Names) -> Result<Vec<Row>, Exit> {
        let mut found = segments(arguments)?;
        found.retain(|segment| names.includes(&segment.name));
        // All segments of a listing are in one directory.
        let directory = found.first().and_then(|segment| segment.path.parent());
        let remotes = directory.map_or_else(Vec::new, remotes);
        let now = Instant::now();
        let rows = found.iter().map(|segment| {
            let last = self.0.insert(segment.name.clone(), (segment.messages, now));
            let rate = last.map(|(messages, then)| {
                let more = segment.messages.saturating_sub(messages);
                more as f64 / (now - then).as_secs_f64()
            });
            Row::new(segment, rate, &remotes)
        });
        Ok(rows.collect())
    }
}

/// The time between the two looks of `ls`: long enough for a rate, short enough not to be
/// noticed.
const A_MOMENT: Duration = Duration::from_millis(100);

pub fn ls(arguments: &Arguments, names: &Names) -> Result<Exit, Exit> {
    let mut looks = Looks::default();
    let mut rows = looks.look(arguments, names)?;
    if !rows.is_empty() {
        thread::sleep(A_MOMENT);
        rows = looks.look(arguments, names)?;
    }
    if arguments.json {
        output::print_json(&rows)?;
    } else {
        output::print(&text(&rows, output::width()))?;
        output::print(&left_out(reasons(arguments)?.iter()))?;
    }
    Ok(Exit::Done)
}

pub fn top(arguments: &Arguments, top: &Top) -> Result<Exit, Exit> {
    let (mut looks, mut count) = (Looks::default(), 0);
    loop {
        let rows = looks.look(arguments, &top.names)?;
        if arguments.json {
            let line = serde_json::to_string(&rows).expect("every key is a string");
            output::print_next(&format!("{line}\n"))?;
        } else {
            let width = output::width();
            // Moves to the upper left corner, and clears from there.
            let begin = width.map_or("", |_| "\x1b[H\x1b[J");
            output::print_next(&format!("{begin}{}", text(&rows, width)))?;
        }
        count += 1;
        if top.count.is_some_and(|limit| count >= limit) {
            return Ok(Exit::Done);
        }
        thread::sleep(top.every);
    }
}

/// The widest column of names. A longer name shifts its own line.
const WIDEST: usize = 48;

/// Formats the rows. A narrow terminal gets only the columns that fit.
fn text(rows: &[Row], width: Option<usize>) -> String {
    if rows.is_empty() {
        return "No segments.\n".to_owned();
    }
    let names = rows.iter().map(|row| row.name.chars().count());
    let widest = names.max().unwrap_or(0).clamp(24, WIDEST);
    let is_narrow = width.is_some_and(|columns| columns < 80);
    let line = |name: &str, kind: &str, limits: [&str; 2], messages: &str, rate: &str| {
        let limits = if is_narrow {
            String::new()
        } else {
            format!("{:>9} {:>9} ", limits[0], limits[1])
        };
        format!("{name:<widest$} {kind:<9} {limits}{messages:>11} {rate:>11}\n")
    };
    let mut text = line(
        "NAME",
        "KIND",
        ["CAPACITY", "MAX LEN"],
        "MESSAGES",
        "PER SECOND",
    );
    for row in rows {
        let rate = row.messages_per_second;
        let rate = rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
        let limits = [row.capacity, row.max_len].map(|limit| limit.to_string());
        let limits = limits.each_ref().map(String::as_str);
        text += &line(
            &row.name,
            &row.kind,
            limits,
            &row.messages.to_string(),
            &rate,
        );
        for member in &row.participants {
            let state = if member.alive { "alive" } else { "dead" };
            let depth = member.depth;
            let depth = depth.map_or_else(String::new, |depth| format!(", {depth} behind"));
            text += &format!("  {:<8} pid {} {state}{depth}\n", member.role, member.pid);
        }
        for remote in &row.remote {
            let Remote {
                role,
                host,
                messages,
                gaps,
                lag,
                ..
            } = remote;
            let unit = if *role == "receiver" {
                "behind"
            } else {
                "bytes wait"
            };
            text += &format!(
                "  {role:<8} host {host}, {messages} messages, {gaps} missing, {lag} {unit}\n"
            );
        }
    }
    text
}
