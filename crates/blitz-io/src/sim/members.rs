//! `Members`: the host to which each task belongs.
//!
//! A task that is spawned belongs to the host of the code that spawns it. A host that crashes ends all its tasks, and
//! begins a new *life* when it starts again. So a task belongs to a host and one of its lives, and a task that the end of
//! an earlier life has spawned (by a destructor) never runs.

use std::panic::Location;
use std::sync::Arc;

use blitz_io_inspect::{Hosted, Snapshot, Task};

use super::clock::Clock;
use super::places::is_internal;

/// A host, in one of its lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Member {
    /// 0 is the test itself.
    pub(super) host: u32,
    life: u32,
}

impl Member {
    /// The test itself, which has one life.
    pub(super) const TEST: Self = Self { host: 0, life: 0 };
}

/// The right of a task to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    Runs,
    /// Its host is paused.
    Paused,
    /// Its host's life has ended. It only drops its future.
    Gone,
}

/// A host in reports.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) name: Arc<str>,
    /// Where the test has added it.
    pub(super) at: &'static Location<'static>,
}

#[derive(Default)]
struct State {
    named: Option<Named>,
    life: u32,
    is_running: bool,
    is_paused: bool,
    /// Number of its tasks that have not ended, of all its lives.
    tasks: u32,
    clock: Clock,
}

/// The hosts, and the tasks that belong to them. Without hosts it does nothing.
#[derive(Default)]
pub(super) struct Members {
    /// The hosts. The first one is number 1.
    hosts: Vec<State>,
    /// The member that each task belongs to, by its index. Those behind the end belong to the test.
    tasks: Vec<Member>,
    /// Number of tasks so far, whose indexes are below it.
    count: u32,
    /// A host is paused, so a ready task may be `Paused`.
    has_paused: bool,
    /// The life of a host has ended, so a ready task may be `Gone`.
    has_ended: bool,
    /// Code of a life that has ended has spawned a task, which is to end as well.
    has_orphans: bool,
}

impl Members {
    /// Returns `true` if a host is paused. Otherwise all ready tasks may run that are not [`first_gone`](Self::first_gone).
    #[inline]
    pub(super) fn has_paused(&self) -> bool {
        self.has_paused
    }

    /// Returns `true` if a host is paused, or the life of one has ended. Otherwise all tasks run.
    #[inline]
    pub(super) fn has_stopped(&self) -> bool {
        self.has_paused | self.has_ended
    }

    fn look_for_paused(&mut self) {
        self.has_paused = self.hosts.iter().any(|state| state.is_paused);
    }

    fn state(&self, host: u32) -> Option<&State> {
        self.hosts.get((host as usize).checked_sub(1)?)
    }

    fn state_mut(&mut self, host: u32) -> Option<&mut State> {
        self.hosts.get_mut((host as usize).checked_sub(1)?)
    }

    /// Adds hosts until there is this number, which does not run yet.
    pub(super) fn add(&mut self, host: u32, named: Named) {
        let more = (host as usize).max(self.hosts.len());
        self.hosts.resize_with(more, State::default);
        if let Some(state) = self.state_mut(host) {
            state.named = Some(named);
        }
    }

    /// Returns the host in reports; `None` for the test.
    #[cfg(feature = "net")]
    pub(super) fn named(&self, host: u32) -> Option<Named> {
        self.state(host)?.named.clone()
    }

    /// Returns the host to which the task with this number in the run belongs.
    pub(super) fn host_of(&self, task: u64) -> u32 {
        let index = task.checked_sub(1).and_then(|index| index.try_into().ok());
        index.map_or(Member::TEST, |index| self.of(index)).host
    }

    /// Returns the name of the host to which the task with this number in the run belongs.
    pub(super) fn name_of_host(&self, task: u64) -> Option<&str> {
        let named = self.state(self.host_of(task))?.named.as_ref();
        named.map(|named| &*named.name)
    }

    /// Notes in a snapshot to which hosts the tasks of a run belong. It has this number of tasks, which have their numbers in
    /// it. The first task of a life that the simulation has begun gets the location at which the test has added the host.
    /// Those of the test itself have no host's name.
    pub(super) fn name_tasks(&self, count: u64, snapshot: &mut Snapshot) {
        for (index, task) in (0..).zip(1..=count) {
            let state = self.state(self.of(index).host);
            let Some(named) = state.and_then(|state| state.named.as_ref()) else {
                continue;
            };
            let mut alive = snapshot.tasks.iter_mut();
            let is_first = |alive: &&mut Task| alive.id == task && is_internal(&alive.location);
            if let Some(first) = alive.find(is_first) {
                first.location = format!("{}:{}", named.at.file(), named.at.line());
            }
            let host = named.name.to_string();
            snapshot.hosts.push(Hosted { task, host });
        }
    }

    /// Begins the next life of a host.
    pub(super) fn begin(&mut self, host: u32) -> Member {
        let life = self.state_mut(host).map_or(0, |state| {
            (state.is_running, state.is_paused) = (true, false);
            state.life
        });
        self.look_for_paused();
        Member { host, life }
    }

    /// Ends the life of a host.
    pub(super) fn end(&mut self, host: u32) {
        if let Some(state) = self.state_mut(host) {
            state.life += 1;
            (state.is_running, state.is_paused) = (false, false);
            self.has_ended = true;
        }
        self.look_for_paused();
    }

    pub(super) fn pause(&mut self, host: u32, is_paused: bool) {
        if let Some(state) = self.state_mut(host) {
            state.is_paused = is_paused && state.is_running;
        }
        self.look_for_paused();
    }

    pub(super) fn is_running(&self, host: u32) -> bool {
        self.state(host).is_none_or(|state| state.is_running)
    }

    pub(super) fn is_paused(&self, host: u32) -> bool {
        self.state(host).is_some_and(|state| state.is_paused)
    }

    /// Returns the clock of a host.
    pub(super) fn clock(&self, host: u32) -> Clock {
        self.state(host)
            .map_or(Clock::default(), |state| state.clock)
    }

    pub(super) fn set_clock(&mut self, host: u32, clock: Clock) {
        if let Some(state) = self.state_mut(host) {
            state.clock = clock;
        }
    }

    /// A task is ready. If it is new, it belongs to the host of the code that has spawned it.
    #[inline]
    pub(super) fn is_ready(&mut self, task: u32, spawner: Member) {
        if task >= self.count {
            self.count = task + 1;
            if spawner.host != 0 {
                self.add_task(task, spawner);
            }
        }
    }

    fn add_task(&mut self, task: u32, spawner: Member) {
        self.tasks.resize(task as usize, Member::TEST);
        self.tasks.push(spawner);
        if let Some(state) = self.state_mut(spawner.host) {
            state.tasks += 1;
        }
        self.has_orphans |= self.standing(task) == Standing::Gone;
    }

    /// A task has ended, or its future was dropped.
    pub(super) fn task_ended(&mut self, task: u32) {
        if let Some(state) = self.state_mut(self.of(task).host) {
            state.tasks = state.tasks.saturating_sub(1);
        }
    }

    /// Returns `true` if nothing of a host's program is left, although nothing has stopped it: its code has returned, and so have
    /// all tasks that this has spawned.
    #[cfg(feature = "net")]
    pub(super) fn is_done(&self, host: u32) -> bool {
        self.state(host)
            .is_some_and(|state| state.is_running && state.tasks == 0)
    }

    /// Returns `true` once if tasks are to end that were spawned after the end of their host's life.
    #[inline]
    pub(super) fn take_orphans(&mut self) -> bool {
        std::mem::take(&mut self.has_orphans)
    }

    /// Returns the host of a task.
    #[inline]
    pub(super) fn of(&self, task: u32) -> Member {
        let member = self.tasks.get(task as usize);
        member.copied().unwrap_or(Member::TEST)
    }

    #[inline]
    pub(super) fn standing(&self, task: u32) -> Standing {
        let member = self.of(task);
        match self.state(member.host) {
            Some(state) if state.life != member.life => Standing::Gone,
            Some(state) if state.is_paused => Standing::Paused,
            _ => Standing::Runs,
        }
    }

    /// Returns the index of the first of these tasks whose host's life has ended.
    #[inline]
    pub(super) fn first_gone(&self, ready: &[u32]) -> Option<usize> {
        if !self.has_ended {
            return None;
        }
        let is_gone = |task: &u32| self.standing(*task) == Standing::Gone;
        ready.iter().position(is_gone)
    }
}
