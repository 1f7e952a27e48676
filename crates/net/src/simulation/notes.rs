//! Notes for the report of a run: what tasks do with sockets, what arrives, and what is held or lost.
//!
//! In a run that no report explains, these functions do nothing.

use std::io;
use std::net::SocketAddr;

pub(super) use blitz_io_observe::decisions::bytes as count;
use blitz_io_observe::decisions::{self, Note};

use super::wire::Wire;

/// The current task has done something: a sentence without its subject.
pub(super) fn task(text: impl FnOnce() -> String) {
    decisions::note(|| Note::Task(text()));
}

/// Something has happened to a packet or a connection.
pub(super) fn network(text: impl FnOnce() -> String) {
    decisions::note(|| Note::Network(text()));
}

/// The tasks that are woken from now on are woken by this.
pub(super) fn reason(reason: Option<&str>) {
    decisions::note(|| Note::Reason(reason.map(str::to_owned)));
}

impl Wire {
    /// Sockets become ready for this reason until [`forget_reason`](Self::forget_reason).
    pub(super) fn set_reason(&mut self, text: impl FnOnce(&Self) -> String) {
        if decisions::explains() {
            self.reason = Some(text(self).into());
        }
    }

    /// Sockets become ready for a reason that is not known.
    pub(super) fn forget_reason(&mut self) {
        self.reason = None;
    }

    /// Returns the name of a host.
    pub(super) fn name_of(&self, host: u32) -> &str {
        self.names().nth(host as usize).unwrap_or_default()
    }

    /// Returns an address with the name of its host, as code on `from` sees it: `server:80`.
    pub(super) fn named(&self, addr: SocketAddr, from: u32) -> String {
        match self.host_at(addr.ip(), from) {
            Some(host) => format!("{}:{}", self.name_of(host), addr.port()),
            None => addr.to_string(),
        }
    }

    /// Says why nothing that one host sends arrives at the other one.
    pub(super) fn why_blocked(&self, from: u32, to: u32) -> String {
        let (sender, receiver) = (self.name_of(from), self.name_of(to));
        match (self.is_cut(from, to), self.is_cut(to, from)) {
            (true, true) => format!("{sender} and {receiver} are cut off from each other"),
            (true, false) => format!("the path from {sender} to {receiver} is cut"),
            _ => format!("{receiver} has no power"),
        }
    }
}

/// Returns the name of a peer.
pub(super) fn name(peer: Option<String>) -> String {
    peer.unwrap_or_else(|| "a peer that is gone".to_owned())
}

/// Notes that the current task has read from a connection, or has failed to. A read that has to wait is no note.
pub(super) fn read(result: &io::Result<usize>, peer: impl FnOnce() -> String) {
    match result {
        Ok(0) => task(|| format!("reads the end of the stream of {}", peer())),
        Ok(n) => task(|| format!("reads {} from {}", count(*n), peer())),
        Err(error) => failed("read from", error, peer),
    }
}

/// Notes that the current task has written to a connection, or has failed to. A write that has to wait is no note.
pub(super) fn written(result: &io::Result<usize>, peer: impl FnOnce() -> String) {
    match result {
        Ok(n) => task(|| format!("writes {} to {}", count(*n), peer())),
        Err(error) => failed("write to", error, peer),
    }
}

/// Notes that an operation of the current task has failed.
pub(super) fn failed(what: &str, error: &io::Error, peer: impl FnOnce() -> String) {
    if error.kind() != io::ErrorKind::WouldBlock {
        task(|| format!("fails to {what} {}: {error}", peer()));
    }
}
