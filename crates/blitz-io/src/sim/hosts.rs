//! The hosts of a run: their lives and tasks, and their part of a report.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;

use blitz_io_core::Random;
use blitz_io_net::simulation::{self, OpenSocket};

use super::disks;
use super::failure::Cause;
use super::host::{Host, ToHost, system_time};
use super::life::{Guard, HostEnd, Life};
use super::members::{Member, Named};
use super::notes::Fault;
use super::run::Run;
use crate::task::{AbortHandle, spawn_local};

/// The number of faults that have not ended in a report.
const LASTING: usize = 8;

pub(super) type Code = Pin<Box<dyn Future<Output = Option<String>>>>;

/// A host as the test has made it.
pub(super) struct Made {
    pub(super) host: Host,
    /// Makes the future of the host, for each of its lives.
    pub(super) make: Rc<dyn Fn() -> Code>,
    /// The life that it has, or the last one.
    pub(super) life: RefCell<Rc<Life>>,
}

/// The hosts of a run.
pub(super) struct Hosts {
    pub(super) run: Rc<Run>,
    pub(super) made: RefCell<Vec<Made>>,
    /// Tasks of the simulation itself.
    helpers: RefCell<Vec<AbortHandle>>,
    /// The streams of random numbers of the hosts that have drawn some.
    pub(super) random: RefCell<BTreeMap<u32, Random>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Hosts>>> = const { RefCell::new(None) };
}

/// Ends the hosts, the network and the disks of a run when it is dropped.
#[allow(dead_code, reason = "they are dropped")]
pub(super) struct Entered(simulation::Entered, disks::Entered);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Makes a run's hosts, network and disks those of this thread.
pub(super) fn enter(run: &Rc<Run>) -> Entered {
    CURRENT.set(Some(Rc::new(Hosts {
        run: run.clone(),
        made: RefCell::default(),
        helpers: RefCell::default(),
        random: RefCell::default(),
    })));
    Entered(simulation::enter(), disks::enter(system_time))
}

/// Ends all hosts, as the test has ended.
pub(super) fn stop_hosts() {
    let hosts = current();
    for helper in hosts.helpers.take() {
        helper.abort();
    }
    for host in all() {
        hosts.stop(host.number(), true);
    }
}

/// Returns the faults of a run that have not ended, in words. None after the end of the test, which stops all hosts.
pub(super) fn lasting(run: &Run) -> Vec<String> {
    if run.has_main_ended() {
        return Vec::new();
    }
    let hosts = current();
    let cut = simulation::cut_paths();
    let mut lasting = Vec::new();
    for &(from, to) in &cut {
        let is_both = cut.contains(&(to, from));
        let (one, other) = (hosts.host(from), hosts.host(to));
        if is_both && from < to {
            lasting.push(format!("{one} and {other} are cut off from each other"));
        } else if !is_both {
            lasting.push(format!("the path from {one} to {other} is cut"));
        }
    }
    let all = all();
    for host in all.iter().filter(|host| !host.is_running()) {
        lasting.push(format!("{host} is stopped"));
    }
    for host in all.iter().filter(|host| host.is_paused()) {
        lasting.push(format!("{host} is paused"));
    }
    if let more @ 1.. = lasting.len().saturating_sub(LASTING) {
        lasting.truncate(LASTING);
        lasting.push(format!("and {more} more"));
    }
    lasting
}

/// The run injects faults of this kind, or would, had it not switched them off.
pub(super) fn injects(kind: &'static str, is_on: bool) {
    current()
        .run
        .with_notes(|notes, _| notes.injects(kind, is_on));
}

/// A blackout begins, which has just made so many hosts crash.
pub(super) fn blackout(crashes: u32) {
    let hosts = current();
    hosts.run.count_fault(Fault::Blackout);
    hosts.run.with_notes(|notes, _| notes.blackout(crashes));
}

/// Calls `decide`, whose decisions are parts of this fault of [`Faults`](super::Faults).
pub(super) fn decide_fault<R>(fault: u32, decide: impl FnOnce() -> R) -> R {
    let hosts = current();
    hosts.run.set_fault(Some(fault));
    let decided = decide();
    hosts.run.set_fault(None);
    decided
}

/// This fault of [`Faults`](super::Faults) ends.
pub(super) fn fault_ends(fault: u32) {
    let hosts = current();
    hosts
        .run
        .with_notes(|notes, moment| notes.drawn.ends(fault, moment.at));
}

/// A fault of a disk begins or ends.
#[cfg(feature = "fs")]
#[track_caller]
pub(super) fn note_disk(of: &[u32], is_begin: bool, text: impl FnOnce() -> String) {
    current().note(is_begin.then_some(Fault::Disk), of, text);
}

/// Drops the functions that make the futures of hosts, and returns the sockets that are left after that.
pub(super) fn left_sockets() -> Vec<String> {
    let hosts = current();
    // Their destructors run without the borrow.
    drop(hosts.made.take());
    let left = simulation::open_sockets().into_iter();
    left.map(|socket| hosts.describe(&socket)).collect()
}

#[track_caller]
pub(super) fn current() -> Rc<Hosts> {
    let current = CURRENT.with_borrow(Clone::clone);
    current.expect(
        "this is no simulation: use the attribute `#[blitz_io::sim]`, or `blitz_io::sim::Builder`",
    )
}

impl Hosts {
    /// Notes for a report that a fault begins, if it is of a kind that is counted, or ends. `of`: the hosts that it concerns, if not
    /// all.
    #[track_caller]
    pub(super) fn note(&self, fault: Option<Fault>, of: &[u32], text: impl FnOnce() -> String) {
        let at = Location::caller();
        let injected = self.run.fault();
        if let Some(fault) = fault {
            self.run.count_fault(fault);
        }
        self.run.with_notes(|notes, moment| {
            let text = text();
            if let (Some(_), Some(injected)) = (fault, injected) {
                notes.drawn.begins(injected, moment, &text);
            }
            notes.fault(moment, (fault, of), text, Some(at));
        });
    }

    /// Returns the life of a host; `None` for the test.
    pub(super) fn life(&self, number: u32) -> Option<Rc<Life>> {
        let made = self.made.borrow();
        let made = made.get((number as usize).checked_sub(1)?)?;
        let life = made.life.borrow();
        Some(life.clone())
    }

    pub(super) fn stop(&self, number: u32, is_off: bool) {
        if let Some(life) = self.life(number) {
            life.end(HostEnd::Stopped);
        }
        self.run.with_members(|members| members.end(number));
        simulation::stop(number, is_off);
        self.run.abort_gone();
    }

    #[track_caller]
    pub(super) fn start(&self, number: u32) {
        let Some(code) = self.code(number) else {
            return;
        };
        let member = self.run.with_members(|members| members.begin(number));
        simulation::start(number);
        // A closure would not have the caller's location.
        let outer = self.run.enter_host(member);
        drop(spawn_local(code));
        self.run.enter_host(outer);
    }

    /// Begins a life of a host, and returns its code.
    fn code(&self, number: u32) -> Option<impl Future<Output = ()> + use<>> {
        let made = self.made.borrow();
        let made = made.get((number as usize).checked_sub(1)?)?;
        let life = Rc::new(Life::default());
        made.life.replace(life.clone());
        let (make, name, run) = (made.make.clone(), made.host.clone(), self.run.clone());
        Some(async move {
            let guard = Guard(life);
            match make().await {
                Some(error) => {
                    guard.0.end(HostEnd::Failed(error.clone()));
                    run.with_notes(|notes, moment| {
                        let text = format!("the code of {name} has returned an error: {error}");
                        notes.fault(moment, (None, &[]), text, None);
                    });
                    let host = name.to_string();
                    run.fail(Cause::HostError { host, error });
                }
                None => {
                    guard.0.end(HostEnd::Returned);
                    run.with_notes(|notes, moment| {
                        let text = format!("the code of {name} has returned");
                        notes.fault(moment, (None, &[]), text, None);
                    });
                }
            }
        })
    }
}

/// Starts a task of the simulation itself, which ends with the test.
pub(super) fn help(task: impl Future<Output = ()> + 'static) {
    let hosts = current();
    let outer = hosts.run.enter_host(Member::TEST);
    let task = spawn_local(task);
    hosts.run.enter_host(outer);
    hosts.helpers.borrow_mut().push(task.abort_handle());
}

/// Returns all hosts.
pub(super) fn all() -> Vec<Host> {
    let hosts = current();
    let made = hosts.made.borrow();
    made.iter().map(|made| made.host.clone()).collect()
}

impl Hosts {
    /// Returns a socket with its host, and the line at which the test has added that.
    fn describe(&self, socket: &OpenSocket) -> String {
        match self.run.named(socket.host) {
            Some(Named { name, at, .. }) => {
                let (file, line) = (at.file(), at.line());
                format!("{socket} of host `{name}`, added at {file}:{line}")
            }
            None => format!("{socket} of the test"),
        }
    }

    /// Returns the host with this number.
    pub(super) fn host(&self, number: u32) -> Host {
        let made = self.made.borrow();
        let made = made.get((number as usize).wrapping_sub(1));
        made.map_or_else(Host::test, |made| made.host.clone())
    }
}
