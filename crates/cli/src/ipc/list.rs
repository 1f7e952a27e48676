//! `blitz ipc ls` and `blitz ipc top`.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use blitz_ipc::{Kind, Participant, SegmentInfo};
use clap::Args;
use serde::Serialize;

use super::{Arguments, segments};
use crate::exit::Exit;
use crate::output;

#[derive(Args)]
pub struct Top {
    /// Seconds between two looks.
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    every: f64,
    /// End after this many looks.
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
    /// Since the last look.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages_per_second: Option<f64>,
    participants: Vec<Member>,
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
    fn new(segment: &SegmentInfo, messages_per_second: Option<f64>) -> Self {
        Self {
            name: segment.name.clone(),
            kind: format!("{:?}", segment.kind).to_lowercase(),
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

pub fn ls(arguments: &Arguments) -> Result<Exit, Exit> {
    let found = segments(arguments)?;
    let rows: Vec<_> = found
        .iter()
        .map(|segment| Row::new(segment, None))
        .collect();
    match arguments.json {
        true => output::print_json(&rows)?,
        false => output::print(&text(&rows))?,
    }
    Ok(Exit::Done)
}

pub fn top(arguments: &Arguments, top: &Top) -> Result<Exit, Exit> {
    let every = Duration::try_from_secs_f64(top.every)
        .map_err(|error| Exit::usage(format!("--every: {error}"), "Give it some seconds."))?;
    let mut last: HashMap<String, (u64, Instant)> = HashMap::new();
    let mut looks = 0;
    loop {
        let now = Instant::now();
        let mut rows = Vec::new();
        for segment in segments(arguments)? {
            let before = last.insert(segment.name.clone(), (segment.messages, now));
            let rate = before.map(|(messages, then)| {
                let more = segment.messages.saturating_sub(messages);
                more as f64 / (now - then).as_secs_f64()
            });
            rows.push(Row::new(&segment, rate));
        }
        if arguments.json {
            let line = serde_json::to_string(&rows).expect("every key is a string");
            output::print(&format!("{line}\n"))?;
        } else if output::width().is_some() {
            // To the upper left corner, and clear from there.
            output::print(&format!("\x1b[H\x1b[J{}", text(&rows)))?;
        } else {
            output::print(&text(&rows))?;
        }
        looks += 1;
        if top.count.is_some_and(|count| looks >= count) {
            return Ok(Exit::Done);
        }
        thread::sleep(every);
    }
}

fn text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "No segments.\n".to_owned();
    }
    let mut text = format!(
        "{:<24} {:<9} {:>9} {:>9} {:>12} {:>12}\n",
        "NAME", "KIND", "CAPACITY", "MAX LEN", "MESSAGES", "PER SECOND"
    );
    for row in rows {
        let rate = row.messages_per_second;
        let rate = rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
        text += &format!(
            "{:<24} {:<9} {:>9} {:>9} {:>12} {rate:>12}\n",
            row.name, row.kind, row.capacity, row.max_len, row.messages
        );
        for member in &row.participants {
            let state = if member.alive { "alive" } else { "dead" };
            let depth = member.depth;
            let depth = depth.map_or_else(String::new, |depth| format!(", {depth} behind"));
            text += &format!("  {:<8} pid {} {state}{depth}\n", member.role, member.pid);
        }
    }
    text
}
