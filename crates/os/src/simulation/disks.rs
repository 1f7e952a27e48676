//! The disks of the thread's simulation, and their open files.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use blitz_io_observe::decisions;

use super::disk::{Disk, Trouble};
use super::errors::{Failure, Result};
use super::notes::{self, Loss};
use super::tree::{Id, Tree};

/// A decision has at most this many choices.
const CHOICES: usize = 1_000;

thread_local! {
    /// The disks of the simulation that this thread runs.
    static CURRENT: RefCell<Option<Disks>> = const { RefCell::new(None) };
}

/// The disk of a host.
struct OfHost {
    tree: Tree,
    settings: Option<Disk>,
    troubles: Vec<Trouble>,
}

/// An open file: its position is shared by its handles.
pub(super) struct Description {
    pub(super) host: u32,
    pub(super) node: Id,
    pub(super) position: u64,
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) appends: bool,
    /// The number of handles.
    pub(super) handles: usize,
    /// The path by which it was opened, for notes.
    pub(super) path: PathBuf,
}

/// The disks of a simulation.
pub(super) struct Disks {
    /// Returns the time of day of the current code's host.
    time: fn() -> SystemTime,
    all: Disk,
    hosts: BTreeMap<u32, OfHost>,
    /// The open files, by their number.
    pub(super) open: BTreeMap<u64, Description>,
    next: u64,
}

/// Ends the disks of a run when it is dropped. Files that are left find none.
#[must_use]
#[derive(Debug)]
pub struct Entered(());

/// Makes disks for the run that this thread begins. `time` returns the time of day of the current code's host.
pub fn enter(time: fn() -> SystemTime) -> Entered {
    CURRENT.set(Some(Disks {
        time,
        all: Disk::new(),
        hosts: BTreeMap::new(),
        open: BTreeMap::new(),
        next: 0,
    }));
    Entered(())
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Returns `true` if the calling code runs on a host of a simulation. The test itself is none here: its files are those of
/// the system.
#[inline]
pub(crate) fn is_on() -> bool {
    decisions::host() != 0
}

/// Uses the disks of the thread, if it has some.
pub(super) fn with<R>(with: impl FnOnce(&mut Disks) -> R) -> Option<R> {
    let used = CURRENT.try_with(|current| {
        let mut current = current.try_borrow_mut().ok()?;
        current.as_mut().map(with)
    });
    used.ok().flatten()
}

/// Uses the disks for an operation.
pub(super) fn operate<R>(operation: impl FnOnce(&mut Disks) -> Result<R>) -> io::Result<R> {
    with(operation)
        .unwrap_or(Err(Failure::NotOpen))
        .map_err(io::Error::from)
}

/// Returns the time that the next operation of the current code takes.
pub(super) fn draw_time(is_sync: bool) -> Duration {
    let host = decisions::host();
    decisions::meaning(
        || with(|disks| disks.settings(host).draw_time(is_sync)).unwrap_or_default(),
        |time| format!("an operation of a disk takes {time:?}"),
    )
}

impl Disks {
    pub(super) fn now(&self) -> SystemTime {
        (self.time)()
    }

    fn of(&mut self, host: u32) -> &mut OfHost {
        let time = self.time;
        self.hosts.entry(host).or_insert_with(|| OfHost {
            tree: Tree::new(time()),
            settings: None,
            troubles: Vec::new(),
        })
    }

    pub(super) fn tree(&mut self, host: u32) -> &mut Tree {
        &mut self.of(host).tree
    }

    pub(super) fn settings(&self, host: u32) -> Disk {
        let Some(of_host) = self.hosts.get(&host) else {
            return self.all;
        };
        let settings = of_host.settings.unwrap_or(self.all);
        settings.with_trouble(&of_host.troubles)
    }

    /// Adds an open file with one handle, and returns its number.
    pub(super) fn add(&mut self, description: Description) -> u64 {
        self.next += 1;
        self.open.insert(self.next, description);
        self.next
    }

    /// Frees nodes that nothing refers to any more.
    pub(super) fn sweep(&mut self, host: u32) {
        let Some(of_host) = self.hosts.get_mut(&host) else {
            return;
        };
        let all = self.open.values();
        let of_this = all.filter(|open| open.host == host).map(|open| open.node);
        of_host.tree.sweep(|| of_this.collect::<BTreeSet<_>>());
    }

    /// Ends the open files of a host. If its power is off, its disk has the rest that a crash leaves. Returns the losses.
    fn stop(&mut self, host: u32, is_off: bool) -> Vec<Loss> {
        self.open.retain(|_, open| open.host != host);
        let Some(of_host) = self.hosts.get_mut(&host).filter(|_| is_off) else {
            return Vec::new();
        };
        of_host.tree.crash(|count| {
            let below = count.clamp(1, CHOICES) as u32;
            decisions::random(below).unwrap_or(0) as usize
        })
    }
}

/// Ends the open files of a host. If its power is off, unsynced changes may be lost. Returns sentences about these, if a
/// report is to explain the run.
pub fn stop(host: u32, is_off: bool) -> Vec<String> {
    let losses = with(|disks| disks.stop(host, is_off)).unwrap_or_default();
    notes::sentences(&losses)
}

/// Sets the disk of a host.
pub fn set_disk(host: u32, disk: Disk) {
    with(|disks| disks.of(host).settings = Some(disk));
}

/// Sets the disks of all hosts.
pub fn set_all_disks(disk: Disk) {
    with(|disks| {
        disks.all = disk;
        for of_host in disks.hosts.values_mut() {
            of_host.settings = None;
        }
    });
}

/// Begins or ends a fault of a host's disk.
pub fn set_trouble(host: u32, trouble: Trouble, begins: bool) {
    with(|disks| {
        let troubles = &mut disks.of(host).troubles;
        troubles.retain(|other| *other != trouble);
        if begins {
            troubles.push(trouble);
        }
    });
}
