//! The file that the process writes when it exits: one value in JSON, `PID.blitzlint`, which `blitz-io-inspect`
//! reads. It is written under another name first, so that a reader finds whole files only.

use std::ffi::{OsString, c_int};
use std::fmt::{self, Display, Formatter, Write as _};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::{fs, process};

use super::edges::{Edge, Event, Side, table};
use super::lock::At;
use crate::records::Waiter;

static EXIT: OnceLock<Exit> = OnceLock::new();

/// What the process does when it exits.
struct Exit {
    folder: PathBuf,
    /// Switches the recorder off.
    stop: fn(),
}

/// Makes the process write its file into this folder when it exits. Returns `false` if it cannot.
pub(super) fn write_at_exit(folder: OsString, stop: fn()) -> bool {
    let folder = folder.into();
    _ = EXIT.set(Exit { folder, stop });
    // SAFETY: the function takes nothing and returns nothing, and does not unwind.
    unsafe { atexit(write) == 0 }
}

unsafe extern "C" {
    // <stdlib.h>, in the C runtime of every system.
    fn atexit(function: extern "C" fn()) -> c_int;
}

extern "C" fn write() {
    // Without this, a panic would end the process in another way than the program did.
    _ = std::panic::catch_unwind(|| {
        let Some(Exit { folder, stop }) = EXIT.get() else {
            return;
        };
        stop();
        let pid = process::id();
        let whole = folder.join(format!("{pid}.blitzlint"));
        let part = folder.join(format!("{pid}.part"));
        // If the folder cannot be written, no other program waits for the file.
        if fs::write(&part, text()).is_ok() {
            _ = fs::rename(part, whole);
        }
    });
}

/// Returns the contents of the file.
fn text() -> String {
    let table = table();
    let mut text = String::new();
    let command: Vec<_> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let lost = &table.lost;
    _ = write!(
        text,
        "{{\"format\":1,\"pid\":{},\"command\":{},\"lost\":{{\"held\":{},\"tasks\":{},\"edges\":{},\"events\":{}}}",
        process::id(),
        Text(&command.join(" ")),
        lost.held,
        lost.tasks,
        lost.edges,
        lost.events,
    );
    list(&mut text, "edges", table.edges.values());
    list(&mut text, "guards", table.guards.values());
    list(&mut text, "blocked", table.blocked.values());
    list(&mut text, "polls", table.polls.values());
    text.push_str("}\n");
    text
}

fn list<T: Display>(text: &mut String, name: &str, all: impl Iterator<Item = T>) {
    _ = write!(text, ",\n\"{name}\":[");
    for (at, one) in all.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        _ = write!(text, "{comma}\n{one}");
    }
    text.push(']');
}

/// A string of JSON.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for letter in self.0.chars() {
            match letter {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('"')
    }
}

/// A location, or `null`.
struct Place(At);

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(at) => Text(&format!("{}:{}", at.file(), at.line())).fmt(f),
            None => f.write_str("null"),
        }
    }
}

/// The same with the column: a line may create several locks.
struct Exact(At);

impl Display for Exact {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(at) => Text(&at.to_string()).fmt(f),
            None => f.write_str("null"),
        }
    }
}

/// A thread or task.
struct Owner(u64);

impl Display for Owner {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(waiter) = Waiter::from_word(self.0) else {
            return f.write_str("null");
        };
        let what = if waiter.is_task() { "task" } else { "thread" };
        write!(f, "{{\"{what}\":{}}}", waiter.number())
    }
}

/// A lock among all that the process has had.
struct Id((u64, u32));

impl Display for Id {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\"{:x}.{}\"", self.0.0, self.0.1)
    }
}

impl Display for Side {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{\"lock\":{},\"kind\":{},\"made_at\":{},\"at\":{},\"name\":",
            Id(self.lock),
            Text(self.kind.name()),
            Exact(self.made_at),
            Place(self.at),
        )?;
        match self.name {
            Some(name) => Text(name).fmt(f)?,
            None => f.write_str("null")?,
        }
        f.write_char('}')
    }
}

impl Display for Edge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{\"from\":{},\"to\":{},\"owner\":{},\"is_movable\":{},\"is_joined\":{},\"gates\":[",
            self.from,
            self.to,
            Owner(self.owner),
            self.is_movable,
            self.is_joined,
        )?;
        let gates = self.gates.iter().filter(|gate| gate.0 != 0);
        for (at, gate) in gates.enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}", Id(*gate))?;
        }
        f.write_str("]}")
    }
}

impl Display for Event {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("{\"side\":")?;
        match &self.side {
            Some(side) => side.fmt(f)?,
            None => f.write_str("null")?,
        }
        write!(
            f,
            ",\"holder_at\":{},\"task_at\":{},\"task\":{},\"count\":{},\"longest_ns\":{},\"processor_ns\":{}}}",
            Place(self.holder_at),
            Place(self.task_at),
            Owner(self.task),
            self.count,
            self.longest.as_nanos(),
            self.processor.as_nanos(),
        )
    }
}
