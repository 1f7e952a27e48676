//! The points of messages between processes.
//!
//! A message needs no mark for the recorder: the position in the header of its place, and the number of its segment,
//! identify it. The recordings of its sender and its receiver have both, and a report joins them.

use super::event::{Code, Event};
use super::recorder::record;
use crate::records::Waiter;
use crate::records::recording::recorders;

/// The low bits of a position, which an event has room for.
const POSITION: u64 = (1 << 48) - 1;
/// A wait names this many processes at most.
const PROCESSES: usize = 4;

/// The current task or thread is about to publish the message at this position. `segment` returns the number of the
/// segment, and is called only while the recorder is on.
#[inline]
pub fn sent(segment: impl FnOnce() -> u64, position: u64) {
    if recorders::traces() {
        note(Code::Sent, segment(), position & POSITION);
    }
}

/// The current task or thread has received the message at this position.
#[inline]
pub fn received(segment: impl FnOnce() -> u64, position: u64) {
    if recorders::traces() {
        note(Code::Received, segment(), position & POSITION);
    }
}

/// The current task or thread is about to wait for a message, or for room, of the processes with these numbers. `about`
/// returns the number of the segment and those of the processes, and is called only while the recorder is on.
#[inline]
pub fn awaits_processes<P: Iterator<Item = u32>>(about: impl FnOnce() -> (u64, P)) {
    if recorders::traces() {
        let (segment, mut processes) = about();
        note_processes(segment, &mut processes);
    }
}

#[cold]
#[inline(never)]
fn note_processes(segment: u64, processes: &mut dyn Iterator<Item = u32>) {
    let mut known = [0; PROCESSES];
    let mut count = 0;
    for process in processes {
        if count == PROCESSES {
            return;
        }
        if !known[..count].contains(&process) {
            known[count] = process;
            count += 1;
            note(Code::Peer, segment, process.into());
        }
    }
}

#[cold]
#[inline(never)]
fn note(code: Code, segment: u64, target: u64) {
    record(Event {
        target,
        ..Event::new(code, Waiter::current().word(), segment)
    });
}
