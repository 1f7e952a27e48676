//! Data in flight: bytes and datagrams that a fault holds back until a simulated time.
//!
//! Bytes of a connection that are held back are written to the sender's socket when they are due, so
//! the receiver sees them then, in their order. A wire has a descriptor of its own for that socket. So the
//! program may close its descriptor before: the bytes arrive, and the end after them.
//!
//! # Nothing is lost
//!
//! 1. *Bytes that are due are written, or the wire is full.* [`Wires::deliver`] is called whenever time
//!    moves past [`Wires::next`], and ends with one of both.
//! 2. *A full wire proceeds.* It is full because the receiver's buffer is. Room comes only by a call of
//!    the receiver, each of which ends with `baton::descriptors_changed`, which calls
//!    [`Wires::deliver_more`].
//! 3. *No byte overtakes another one.* As long as a wire exists, everything that is written goes through it
//!    (`network::hold`), or waits until it is empty (`network::transfer`).

use std::collections::VecDeque;

use crate::c::{EAGAIN, Raw, nr};
use crate::state::NEVER;
use crate::sys;

/// Private descriptors have numbers from here, so those of the program do not depend on them.
const PRIVATE: usize = 600;
/// Without a signal, without waiting.
const FLAGS: usize = 0x4000 | 0x40;

/// Bytes of one direction of a connection.
struct Wire {
    /// The sender's number in the table of descriptors.
    sender: usize,
    fd: usize,
    /// Bytes and the times at which they are due.
    parts: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
    /// Bytes that are due could not be written.
    is_full: bool,
    /// The sender has closed this direction.
    has_ended: bool,
}

impl Wire {
    /// Writes what is due.
    unsafe fn deliver(&mut self, now: u64) {
        self.is_full = false;
        while let Some((_, part)) = self.parts.front_mut().filter(|(due, _)| *due <= now) {
            while !part.is_empty() {
                let from = part.as_ptr() as usize;
                let sent = sys::call(nr::SENDTO, [self.fd, from, part.len(), FLAGS, 0, 0]);
                if sent == -(EAGAIN as Raw) {
                    self.is_full = true;
                    return;
                }
                // The receiver has closed its end: the rest is lost.
                let count = if sent < 0 { part.len() } else { sent as usize };
                part.drain(..count);
                self.bytes -= count;
            }
            self.parts.pop_front();
        }
    }

    /// Returns the time at which something is due that can be written.
    fn next(&self) -> u64 {
        let first = self.parts.front().filter(|_| !self.is_full);
        first.map_or(NEVER, |(due, _)| *due)
    }

    /// Closes the direction if the sender has, and the descriptor.
    unsafe fn end(&self) {
        if self.has_ended {
            sys::call(nr::SHUTDOWN, [self.fd, 1, 0, 0, 0, 0]);
        }
        sys::call(nr::CLOSE, [self.fd, 0, 0, 0, 0, 0]);
    }
}

/// A datagram that is late.
struct Late {
    sender: usize,
    fd: usize,
    due: u64,
    target: Vec<u8>,
    bytes: Vec<u8>,
}

impl Late {
    unsafe fn deliver(&self) {
        let (from, to) = (self.bytes.as_ptr() as usize, self.target.as_ptr() as usize);
        let arguments = [
            self.fd,
            from,
            self.bytes.len(),
            FLAGS,
            to,
            self.target.len(),
        ];
        sys::call(nr::SENDTO, arguments);
        sys::call(nr::CLOSE, [self.fd, 0, 0, 0, 0, 0]);
    }
}

/// A port that is cut off.
pub struct Cut {
    pub port: u16,
    pub until: u64,
    /// Bytes from the port do not arrive.
    pub from: bool,
    /// Bytes to the port do not arrive.
    pub to: bool,
}

/// All that is under way.
#[derive(Default)]
pub struct Wires {
    all: Vec<Wire>,
    late: Vec<Late>,
    cuts: Vec<Cut>,
    /// Connections that are half open: the ports of their ends.
    silent: Vec<(u16, u16)>,
    /// Connections that were reset before they were accepted: ports of the listener and of the other end.
    reset_early: Vec<(u16, u16)>,
}

/// Returns another descriptor for the same socket.
unsafe fn duplicate(fd: usize) -> Option<usize> {
    const DUPLICATE_CLOEXEC: usize = 1030;
    let new = sys::call(nr::FCNTL, [fd, DUPLICATE_CLOEXEC, PRIVATE, 0, 0, 0]);
    usize::try_from(new).ok()
}

impl Wires {
    fn wire(&mut self, sender: usize) -> Option<&mut Wire> {
        self.all.iter_mut().find(|wire| wire.sender == sender)
    }

    /// Returns the earliest time at which something is due.
    pub fn next(&self) -> u64 {
        let wires = self.all.iter().map(Wire::next);
        let late = self.late.iter().map(|late| late.due);
        wires.chain(late).min().unwrap_or(NEVER)
    }

    /// Delivers what is due. Returns `true` if there was something.
    pub unsafe fn deliver(&mut self, now: u64) -> bool {
        if self.next() > now {
            return false;
        }
        for wire in self.all.iter_mut().filter(|wire| wire.next() <= now) {
            wire.deliver(now);
        }
        self.remove_empty();
        // In the order in which they are due.
        while let Some(at) = (0..self.late.len()).min_by_key(|at| self.late[*at].due) {
            if self.late[at].due > now {
                break;
            }
            self.late.remove(at).deliver();
        }
        true
    }

    /// Tries the full wires again. Returns `true` if there was one.
    pub unsafe fn deliver_more(&mut self, now: u64) -> bool {
        let full = self.all.iter_mut().filter(|wire| wire.is_full);
        let count = full.map(|wire| wire.deliver(now)).count();
        if count > 0 {
            self.remove_empty();
        }
        count > 0
    }

    unsafe fn remove_empty(&mut self) {
        self.all.retain(|wire| {
            let is_empty = wire.parts.is_empty();
            if is_empty {
                wire.end();
            }
            !is_empty
        });
    }

    /// Holds bytes back until `due`. Returns `false` if this is not possible.
    pub unsafe fn hold(&mut self, sender: usize, fd: usize, due: u64, part: Vec<u8>) -> bool {
        if self.wire(sender).is_none() {
            let Some(fd) = duplicate(fd) else {
                return false;
            };
            self.all.push(Wire {
                sender,
                fd,
                parts: VecDeque::new(),
                bytes: 0,
                is_full: false,
                has_ended: false,
            });
        }
        if let Some(wire) = self.wire(sender) {
            let last = wire.parts.back().map_or(0, |(due, _)| *due);
            wire.bytes += part.len();
            wire.parts.push_back((due.max(last), part));
        }
        true
    }

    /// Returns the number of bytes that are under way from a sender. `None`: it has no wire.
    pub fn under_way(&mut self, sender: usize) -> Option<usize> {
        self.wire(sender).map(|wire| wire.bytes)
    }

    /// Returns `true` if the receiver has no room for the data that are due.
    pub fn is_full(&mut self, sender: usize) -> bool {
        self.wire(sender).is_some_and(|wire| wire.is_full)
    }

    /// Returns `true` if the sender has closed its direction.
    pub fn has_ended(&mut self, sender: usize) -> bool {
        self.wire(sender).is_some_and(|wire| wire.has_ended)
    }

    /// Delivers everything of a sender now.
    pub unsafe fn hurry(&mut self, sender: usize) {
        if let Some(wire) = self.wire(sender) {
            for (due, _) in &mut wire.parts {
                *due = 0;
            }
            wire.deliver(0);
            self.remove_empty();
        }
    }

    /// The sender closes its direction: the end comes after the bytes.
    pub fn end(&mut self, sender: usize) {
        if let Some(wire) = self.wire(sender) {
            wire.has_ended = true;
        }
    }

    /// Loses everything of a sender.
    pub unsafe fn lose(&mut self, sender: usize) {
        if let Some(wire) = self.wire(sender) {
            wire.parts.clear();
            wire.has_ended = false;
            self.remove_empty();
        }
    }

    /// Holds a datagram back until `due`. Returns `false` if this is not possible.
    pub unsafe fn delay(
        &mut self,
        (sender, fd): (usize, usize),
        due: u64,
        target: &[u8],
        bytes: Vec<u8>,
    ) -> bool {
        let Some(fd) = duplicate(fd) else {
            return false;
        };
        self.late.push(Late {
            sender,
            fd,
            due,
            target: target.to_vec(),
            bytes,
        });
        true
    }

    /// Delivers the late datagrams of a sender that closes: its port is free afterwards.
    pub unsafe fn hurry_late(&mut self, sender: usize) -> bool {
        let before = self.late.len();
        self.late.retain(|late| {
            let is_its = late.sender == sender;
            if is_its {
                late.deliver();
            }
            !is_its
        });
        self.late.len() < before
    }

    /// Notes a reset of a connection that is not accepted yet.
    pub fn reset_early(&mut self, listener: u16, other: u16) {
        self.reset_early.push((listener, other));
    }

    /// Returns `true` if the connection that is accepted now was reset before.
    pub fn was_reset(&mut self, listener: u16, other: u16) -> bool {
        let mut ports = self.reset_early.iter();
        let found = ports.position(|at| *at == (listener, other));
        found.map(|at| self.reset_early.remove(at)).is_some()
    }

    /// Cuts a port off.
    pub fn cut(&mut self, cut: Cut, now: u64) {
        self.cuts.retain(|other| other.until > now);
        self.cuts.push(cut);
    }

    /// Returns until when nothing from one port arrives at the other; 0 if it does now.
    pub fn cut_until(&self, from: u16, to: u16, now: u64) -> u64 {
        let is_between = |cut: &&Cut| cut.from && cut.port == from || cut.to && cut.port == to;
        let cuts = self.cuts.iter().filter(is_between);
        let last = cuts.map(|cut| cut.until).max().unwrap_or(0);
        if last > now { last } else { 0 }
    }

    /// Returns `true` if a port is cut off, if only in one direction.
    pub fn is_cut(&self, port: u16, now: u64) -> bool {
        let mut cuts = self.cuts.iter();
        cuts.any(|cut| cut.port == port && cut.until > now)
    }

    /// Notes that a connection is half open. What is under way from its ends never arrives.
    pub fn silence(&mut self, ports: (u16, u16), ends: &[usize]) {
        self.silent.push(ports);
        for wire in &mut self.all {
            if ends.contains(&wire.sender) {
                for (due, _) in &mut wire.parts {
                    *due = NEVER;
                }
            }
        }
    }

    /// Returns `true` if a connection is half open.
    pub fn has_silent(&self) -> bool {
        !self.silent.is_empty()
    }

    /// Returns `true` if the connection of the ports is half open.
    pub fn is_silent(&self, one: u16, other: u16) -> bool {
        let mut ports = self.silent.iter();
        ports.any(|at| *at == (one, other) || *at == (other, one))
    }

    /// A connection of the ports begins.
    pub fn is_new(&mut self, one: u16, other: u16) {
        self.silent
            .retain(|at| *at != (one, other) && *at != (other, one));
    }
}
