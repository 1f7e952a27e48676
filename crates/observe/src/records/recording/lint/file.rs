//! The file that the process writes when it exits: one value in JSON, `PID.blitzlint`, which `blitz-io-inspect`
//! reads. It is written under another name first, so that a reader finds whole files only.

use std::fmt::{self, Display, Formatter, Write as _};
use std::process;

use super::edges::{Edge, Event, Side, table};
use super::growth::{Growth, channels};
use super::leaks::leaks;
use super::lock::At;
use super::permits::{Permits, semaphores};
use super::waits::{Storm, storms};
use super::writes::{Write, writes};
use crate::records::Waiter;
use crate::records::recording::json::{Name, Place, Text, command, list};
use crate::records::recording::request_names;

/// Returns the contents of the file.
pub(super) fn text() -> String {
    let table = table();
    let mut text = String::new();
    let lost = &table.lost;
    _ = write!(
        text,
        "{{\"format\":1,\"pid\":{},\"command\":{},\"lost\":{{\"held\":{},\"tasks\":{},\"edges\":{},\"events\":{}}}",
        process::id(),
        Text(&command()),
        lost.held,
        lost.tasks,
        lost.edges,
        lost.events,
    );
    list(&mut text, "edges", table.edges.values());
    list(&mut text, "guards", table.guards.values());
    list(&mut text, "blocked", table.blocked.values());
    list(&mut text, "polls", table.polls.values());
    list(&mut text, "handed", table.handed.values());
    list(&mut text, "sockets", table.sockets.values());
    drop(table);
    list(&mut text, "writes", writes().values().flatten());
    list(&mut text, "permits", semaphores().values());
    list(&mut text, "channels", channels().values());
    list(&mut text, "storms", storms().values());
    list(&mut text, "leaks", leaks().iter());
    text.push_str("}\n");
    text
}

/// A location with its column, as a line may create several locks; or `null`.
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
            "{{\"lock\":{},\"kind\":{},\"made_at\":{},\"at\":{},\"name\":{}",
            Id(self.lock),
            Text(self.kind.name()),
            Exact(self.made_at),
            Place(self.at),
            Name(self.name),
        )?;
        f.write_str("}")
    }
}

impl Display for Edge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{\"from\":{},\"to\":{},\"owner\":{},\"owner_at\":{},\"is_movable\":{},\"is_joined\":{},\"is_beside\":{},\"gates\":[",
            self.from,
            self.to,
            Owner(self.owner),
            Place(self.owner_at),
            self.is_movable,
            self.is_joined,
            self.is_beside,
        )?;
        gates(&self.gates, f)?;
        f.write_str("]}")
    }
}

fn gates(gates: &[(u64, u32)], f: &mut Formatter<'_>) -> fmt::Result {
    let gates = gates.iter().filter(|gate| gate.0 != 0);
    for (at, gate) in gates.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(f, "{comma}{}", Id(*gate))?;
    }
    Ok(())
}

impl Display for Write {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{\"side\":{},\"owner\":{},\"owner_at\":{},\"gates\":[",
            self.side,
            Owner(self.owner),
            Place(self.owner_at),
        )?;
        gates(&self.gates, f)?;
        f.write_str("]}")
    }
}

impl Display for Permits {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{\"side\":{},\"owner\":{},\"owner_at\":{},\"forgotten\":{},\"taken\":{},\"is_awaited\":{},\"is_refilled\":{}}}",
            self.side,
            Owner(self.owner),
            Place(self.owner_at),
            self.forgotten,
            self.taken,
            self.is_awaited,
            self.is_refilled,
        )
    }
}

impl Display for Growth {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{\"side\":{},\"sender\":{},\"sender_at\":{},\"receiver\":{},\"receiver_at\":{},\"longer\":{},\"shorter\":{},\"length\":{}}}",
            self.side,
            Owner(self.sender),
            Place(self.sender_at),
            Owner(self.receiver),
            Place(self.receiver_at),
            self.longer,
            self.shorter,
            self.length,
        )
    }
}

impl Display for Storm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{\"side\":{},\"task_at\":{},\"task\":{},\"tasks\":{},\"again\":{},\"progressed\":{}}}",
            self.side,
            Place(self.task_at),
            Owner(self.task),
            self.tasks(),
            self.again,
            self.progressed,
        )
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
            ",\"holder_at\":{},\"task_at\":{},\"task\":{},\"request\":{},\"between\":[{},{}],\"count\":{},\"longest_ns\":{},\"processor_ns\":{}}}",
            Place(self.holder_at),
            Place(self.task_at),
            Owner(self.task),
            Name(request_names::name(self.request).as_deref()),
            Place(self.between[0]),
            Place(self.between[1]),
            self.count,
            self.longest.as_nanos(),
            self.processor.as_nanos(),
        )
    }
}
