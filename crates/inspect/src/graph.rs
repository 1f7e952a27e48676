//! `Graph`: a snapshot with its waits by waiter and by object, and the enders of each wait.
//!
//! # Wakers
//!
//! A task that is idle proceeds only when one of its wakers is used. A recorded wait of a task has
//! one clone of the task's waker. So if a task has as many wakers as recorded waits, all that can
//! wake it is recorded. If it has more, it also waits for something that has no record, such as a
//! future of another library; so no finding about it is certain.
//!
//! # Handed-over locks
//!
//! A release of a task's lock hands it to a future in the queue and uses up that future's waker. So
//! if a task is idle and has fewer wakers than recorded waits, that many of its futures were chosen
//! and have not been polled since.
//!
//! A future in a combinator such as `FuturesUnordered` has a waker of its own, and the combinator has the
//! task's waker until it has used it. So if a task has as many wakers as futures with that waker, and none
//! of these was chosen, then the combinator has none left: its futures cannot wake the task. The
//! record of such a future tells if a release has chosen it.
//!
//! # Permits, notifications and places that were handed over
//!
//! A permit of a semaphore, a notification of a `Notify` and a place in a channel are handed over in the same
//! way. But other permits may come back, and so on, so this is likely only. The record says that one was
//! handed to a future with its waker. A task that is idle has been polled since, because the hand-over woke
//! it, and did not poll that future.
//!
//! # Queued jobs
//!
//! A closure for blocking work that is queued waits for a thread, which is free when one of the running
//! closures ends. The threads of several runtimes are not told apart: a closure that may proceed in one of
//! them hides a finding about another one. So this is likely only.
//!
//! # Snapshots with a part of the waits
//!
//! A snapshot of a large process has all waits of some waiters, and no wait of the others (`selection.rs`). These count
//! as waiters that may proceed. The rules that need all waits for an object, those for a lock without a holder and
//! for a reader behind writers, say then that the wait may end.
//!
//! # Processes
//!
//! A wait for shared memory is ended by other participants. Which thread or task uses the end of a
//! participant is certain only for a permit of a semaphore. Otherwise there are two cases. If each thread
//! of the participant's process has a record of its sleep, the process is the ender: it is a waiter that
//! has the waits of all its threads. If a thread has no record, or one of several drives a future and so
//! runs tasks, the last known user of the end is a likely ender.

use std::collections::{BTreeMap, BTreeSet};

use blitz_io_observe::collections::{HashMap, HashSet};
use blitz_io_observe::{EndedBy, Hands, Kind, Mode};

use crate::families::Families;
use crate::makers::Makers;
use crate::snapshot::{
    Certainty, End, Maker, Object, Peer, ProcessState, Snapshot, Task, TaskState, Wait, Waiter,
    is_future, process_and_number,
};

/// A snapshot with indices of its waits, and the results of the rules in the module's documentation.
pub(crate) struct Graph<'a> {
    pub(crate) snapshot: &'a Snapshot,
    tasks: HashMap<u64, &'a Task>,
    waits: BTreeMap<Waiter, Vec<&'a Wait>>,
    by_object: HashMap<u64, Vec<&'a Wait>>,
    /// For each lock that was handed over: the tasks that do not poll the future that has it.
    handed: HashMap<u64, Vec<Waiter>>,
    /// The tasks that their combinators cannot wake, and that do not poll a future there which has a lock.
    detached: HashSet<Waiter>,
    /// The ends of shared memory, by the number of the object.
    ends: HashMap<u64, &'a End>,
    pub(crate) makers: Makers<'a>,
    pub(crate) families: Families,
}

/// The threads and tasks that can end a wait.
#[derive(Default)]
pub(crate) struct Enders {
    pub(crate) waiters: Vec<Waiter>,
    /// The primitive says so. Otherwise it is likely only.
    pub(crate) is_certain: bool,
    /// `true` if each of them must proceed before the wait ends; otherwise one suffices.
    pub(crate) needs_all: bool,
}

impl Enders {
    /// Makes the only ender the waiter that used the other end of a channel, or acquired permits, last.
    fn likely(waiter: Option<Waiter>) -> Self {
        waiter.map_or_else(Self::default, |waiter| Self::holder(waiter, false))
    }

    fn holder(waiter: Waiter, is_certain: bool) -> Self {
        Self {
            waiters: vec![waiter],
            is_certain,
            needs_all: true,
        }
    }
}

impl<'a> Graph<'a> {
    /// Returns the certainty of a finding about this number of waiters that may end in another way, and the end of its sentence, which
    /// says how. In a finished simulation nothing can end it any more: all tasks that could are stuck.
    pub(crate) fn unless_finished(
        &self,
        waiters: usize,
        ends: impl FnOnce() -> String,
    ) -> (Certainty, String) {
        if !self.snapshot.is_finished {
            return (Certainty::Probable, ends());
        }
        let others = if self.snapshot.tasks.len() > waiters {
            ", and the other tasks that are left cannot go on either"
        } else {
            ""
        };
        (Certainty::Certain, others.to_owned())
    }

    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        let mut waits: BTreeMap<Waiter, Vec<&Wait>> = BTreeMap::new();
        let mut by_object: HashMap<u64, Vec<&Wait>> = HashMap::default();
        for wait in &snapshot.waits {
            waits.entry(wait.waiter).or_default().push(wait);
            if let Some(object) = &wait.object {
                by_object.entry(object.id).or_default().push(wait);
            }
        }
        for waits in waits.values_mut() {
            // A parked thread may poll futures, whose wakers unpark it: their waits say more.
            if !waits.iter().all(|wait| is_parked(wait)) {
                waits.retain(|wait| !is_parked(wait));
            }
            // A thread that sleeps sleeps for one object, and polls none of its futures in that time.
            if waits.iter().any(|wait| wait.blocks_thread) {
                waits.retain(|wait| wait.blocks_thread);
            }
        }
        let tasks = snapshot.tasks.iter().map(|task| (task.id, task)).collect();
        let mut graph = Self {
            snapshot,
            tasks,
            waits,
            by_object,
            handed: HashMap::default(),
            detached: HashSet::default(),
            ends: snapshot.ends.iter().map(|end| (end.object, end)).collect(),
            makers: Makers::new(snapshot),
            families: Families::new(snapshot),
        };
        graph.find_handed();
        graph.find_sleeping_processes();
        graph
    }

    pub(crate) fn task(&self, id: u64) -> Option<&'a Task> {
        self.tasks.get(&id).copied()
    }

    pub(crate) fn waiters(&self) -> impl Iterator<Item = Waiter> + '_ {
        self.waits.keys().copied()
    }

    /// Returns the tasks that nothing can wake.
    pub(crate) fn never_woken(&self) -> impl Iterator<Item = Waiter> + '_ {
        let tasks = self.snapshot.tasks.iter();
        let waiters = tasks.map(|task| Waiter::Task(task.id));
        waiters.filter(|&waiter| self.is_never_woken(waiter))
    }

    /// Returns `true` if a task is idle, and has neither a recorded wait nor a waker.
    pub(crate) fn is_never_woken(&self, waiter: Waiter) -> bool {
        let task = waiter.task().and_then(|id| self.task(id));
        let is_alone = |task: &Task| task.state == TaskState::Idle && task.wakers == 0;
        task.is_some_and(is_alone) && self.waits(waiter).is_empty()
    }

    pub(crate) fn waits(&self, waiter: Waiter) -> &[&'a Wait] {
        self.waits.get(&waiter).map_or(&[], Vec::as_slice)
    }

    /// Returns the maker of the object of a wait, if it is another one than the waiter and none of its family.
    pub(crate) fn maker_of(&self, wait: &Wait) -> Option<&'a Maker> {
        let maker = self.makers.of(wait)?;
        let outermost = |waiter| self.families.outermost(waiter);
        (outermost(maker.maker) != outermost(wait.waiter)).then_some(maker)
    }

    /// Returns the waits for an object.
    pub(crate) fn waits_for(&self, object: u64) -> &[&'a Wait] {
        self.by_object.get(&object).map_or(&[], Vec::as_slice)
    }

    /// Returns the wait with this number.
    pub(crate) fn same(&self, wait: &Wait) -> Option<&'a Wait> {
        let mut waits = self.waits(wait.waiter).iter();
        waits.find(|other| other.id == wait.id).copied()
    }

    /// Returns `true` if a wait of a later snapshot is in this one, too, and is not short. In a finished simulation, in which
    /// the clock stands, no wait is.
    pub(crate) fn has_lasting(&self, wait: &Wait) -> bool {
        let is_long = self.snapshot.is_finished || !wait.is_short();
        is_long && self.same(wait).is_some()
    }

    /// Adds the processes all of whose threads sleep in recorded waits.
    fn find_sleeping_processes(&mut self) {
        for (index, process) in self.snapshot.processes.iter().enumerate() {
            let is_here = |wait: &&Wait| process_and_number(wait.thread).0 == index;
            let blocks = |wait: &&Wait| wait.blocks_thread && !is_futex(wait) && is_here(wait);
            let waits: Vec<&Wait> = self.snapshot.waits.iter().filter(blocks).collect();
            let threads: HashSet<u64> = waits.iter().map(|wait| wait.thread).collect();
            // A thread that drives a future may run tasks that have nothing to do with the end.
            let runs_tasks = waits.iter().any(|wait| wait.semantics.mode == Mode::Drive);
            if process.threads != 0
                && threads.len() == process.threads
                && !(runs_tasks && threads.len() > 1)
            {
                self.waits.insert(Waiter::Process(process.pid), waits);
            }
        }
    }

    fn find_handed(&mut self) {
        for (&waiter, waits) in &self.waits {
            if self.is_idle(waiter) {
                let handed = waits.iter().filter(|wait| has_handed_share(wait));
                for object in handed.filter_map(|wait| wait.object.as_ref()) {
                    let tasks = self.handed.entry(object.id).or_default();
                    if !tasks.contains(&waiter) {
                        tasks.push(waiter);
                    }
                }
            }
            if self.is_detached(waiter, waits) {
                self.detached.insert(waiter);
                let locks = waits
                    .iter()
                    .filter(|wait| is_chosen(wait) && is_task_lock(wait));
                for object in locks.filter_map(|wait| wait.object.as_ref()) {
                    self.handed.entry(object.id).or_default().push(waiter);
                }
                continue;
            }
            let objects = self.free_locks(waits);
            if !objects.is_empty() && self.missing_wakers(waiter) == Some(objects.len()) {
                for object in objects {
                    self.handed.entry(object).or_default().push(waiter);
                }
            }
        }
    }

    fn is_idle(&self, waiter: Waiter) -> bool {
        let task = waiter.task().and_then(|id| self.task(id));
        task.is_some_and(|task| task.state == TaskState::Idle)
    }

    /// Returns `true` if a future in a combinator of the task has a lock, but the combinator cannot wake it.
    fn is_detached(&self, waiter: Waiter, waits: &[&Wait]) -> bool {
        let Some(task) = waiter.task().and_then(|id| self.task(id)) else {
            return false;
        };
        let direct: Vec<&Wait> = waits.iter().copied().filter(|w| w.is_direct).collect();
        let mut free = self.free_locks(&direct);
        let mut chosen = waits.iter().filter(|wait| is_chosen(wait)).peekable();
        let has_chosen = chosen.peek().is_some();
        for lock in chosen {
            let object = lock.object.as_ref().map_or(0, |object| object.id);
            // A release may choose several readers.
            let both_read = |wait: &&Wait| {
                is_read(wait) && wait.object.as_ref().is_some_and(|other| other.id == object)
            };
            if is_read(lock) && direct.iter().any(both_read) {
                return false;
            }
            free.retain(|&id| id != object);
        }
        has_chosen
            && free.is_empty()
            && task.state == TaskState::Idle
            && task.wakers == direct.len()
            && waits.iter().all(|wait| !wait.blocks_thread)
    }

    /// Returns the waits of which one must end before the waiter proceeds.
    pub(crate) fn effective_waits(&self, waiter: Waiter) -> impl Iterator<Item = &'a Wait> + '_ {
        let is_detached = self.detached.contains(&waiter);
        let waits = self.waits(waiter).iter().copied();
        waits.filter(move |wait| !is_detached || wait.is_direct || wait.is_handed)
    }

    /// Returns the locks without a holder among those that a waiter waits for.
    fn free_locks(&self, waits: &[&Wait]) -> Vec<u64> {
        let objects = waits.iter().filter(|wait| {
            let object = wait.object.as_ref();
            is_task_lock(wait)
                && object
                    .is_some_and(|o| o.holder.is_none() && o.readers.is_empty() && o.unnamed == 0)
        });
        let mut objects: Vec<u64> = objects
            .filter_map(|w| Some(w.object.as_ref()?.id))
            .collect();
        objects.sort_unstable();
        objects.dedup();
        objects
    }

    /// Returns the number of recorded waits minus that of wakers of an idle task. `None` if it has more
    /// wakers, is not idle, or its futures have other wakers than its own.
    pub(crate) fn missing_wakers(&self, waiter: Waiter) -> Option<usize> {
        let Waiter::Task(id) = waiter else {
            return None;
        };
        let task = self.task(id)?;
        let waits = self.waits(waiter);
        let is_plain = task.state == TaskState::Idle
            && waits
                .iter()
                .all(|wait| wait.is_direct && !wait.blocks_thread);
        if is_plain {
            waits.len().checked_sub(task.wakers)
        } else {
            None
        }
    }

    /// Returns `true` if the task's future has the lock, or waits for a lock, that was handed to a
    /// future which its task does not poll.
    pub(crate) fn is_handed(&self, wait: &Wait) -> bool {
        self.handed_to(wait).contains(&wait.waiter)
    }

    /// Returns the locks that were handed over, each with a task that does not poll the future which has it.
    pub(crate) fn handed_locks(&self) -> BTreeSet<(u64, Waiter)> {
        let each = |(&object, tasks): (&u64, &Vec<Waiter>)| -> Vec<(u64, Waiter)> {
            tasks.iter().map(|&task| (object, task)).collect()
        };
        self.handed.iter().flat_map(each).collect()
    }

    fn handed_to(&self, wait: &Wait) -> &[Waiter] {
        let object = wait.object.as_ref();
        let handed = object.and_then(|object| self.handed.get(&object.id));
        handed.map_or(&[], Vec::as_slice)
    }

    /// Returns `true` if only the recorded waits can let the waiter proceed. `certain`: for certain.
    pub(crate) fn has_records_only(&self, waiter: Waiter, certain: bool) -> bool {
        let waits = self.waits(waiter);
        let mut all = waits.iter();
        if all.any(|wait| wait.blocks_thread || is_queued_job(wait)) {
            return true;
        }
        let Some(id) = waiter.task().filter(|&id| !is_future(id)) else {
            // The wakers of a future that another library drives are not counted.
            return !certain;
        };
        let Some(task) = self.task(id) else {
            return false;
        };
        if self.detached.contains(&waiter) {
            return true;
        }
        if !certain {
            return task.state == TaskState::Idle && task.wakers <= waits.len();
        }
        // Each lock that may have been handed to this task, and not to another, accounts for one.
        let objects = self.free_locks(waits).into_iter();
        let possible = objects.filter(|object| {
            let handed = self.handed.get(object);
            handed.is_none_or(|tasks| tasks.contains(&waiter))
        });
        self.missing_wakers(waiter) == Some(possible.count())
    }

    /// Returns the writers that wait for the lock of a reader.
    pub(crate) fn writers(&self, read: &Wait) -> impl Iterator<Item = &'a Wait> + '_ {
        let object = read.object.as_ref().map_or(0, |object| object.id);
        let waits = self.waits_for(object).iter().copied();
        waits.filter(|wait| wait.semantics.mode == Mode::Write)
    }

    /// Returns the first thread or task that holds a wait up: for a reader behind a waiting writer, the writer.
    pub(crate) fn first_ender(&self, wait: &Wait) -> Option<Waiter> {
        let mut writers = self.writers(wait).filter(|_| is_beside_readers(wait));
        match writers.find(|writer| writer.waiter != wait.waiter) {
            Some(writer) => Some(writer.waiter),
            None => self.enders(wait).waiters.first().copied(),
        }
    }

    /// Returns the enders of the wait; none if they are not known.
    pub(crate) fn enders(&self, wait: &Wait) -> Enders {
        if wait.is_timed {
            return Enders::default();
        }
        if let Some(task) = wait.task {
            return Enders::holder(Waiter::Task(task), true);
        }
        if is_queued_job(wait) {
            return Enders {
                waiters: self.running_jobs().collect(),
                is_certain: false,
                needs_all: true,
            };
        }
        // All of them have to end.
        if wait.runtime.is_some() {
            return Enders {
                waiters: self.jobs_of(wait.runtime).collect(),
                is_certain: true,
                needs_all: false,
            };
        }
        let Some(object) = &wait.object else {
            return Enders::default();
        };
        if is_shared(wait) && !self.handed_to(wait).is_empty() {
            return Enders {
                waiters: self.handed_to(wait).to_vec(),
                is_certain: false,
                needs_all: true,
            };
        }
        match wait.semantics.ended_by {
            EndedBy::LastUser => match wait.semantics.mode {
                Mode::Send => Enders::likely(object.receiver),
                Mode::Receive => Enders::likely(object.sender),
                _ => self.enders_of_permits(object),
            },
            EndedBy::AnyMember | EndedBy::FailedMember | EndedBy::MembersOrFailure => {
                let waiters = self.all_members(object);
                Enders {
                    is_certain: waiters.len() == object.readers.len() + object.unnamed as usize,
                    waiters,
                    needs_all: true,
                }
            }
            // One that panics ends the others.
            EndedBy::AllMembers if polls_children(wait) => {
                let waiters = self.members(wait, object);
                Enders {
                    is_certain: waiters.len() == object.readers.len() + object.unnamed as usize,
                    needs_all: !waiters.is_empty(),
                    waiters,
                }
            }
            // All members have to proceed.
            EndedBy::AllMembers => Enders {
                waiters: self.members(wait, object),
                is_certain: true,
                needs_all: false,
            },
            // A worker that was woken and has not run yet looks as if it slept, if it is a thread.
            EndedBy::OtherMembers if !wait.blocks_thread => Enders {
                waiters: self.members(wait, object),
                is_certain: object.unnamed == 0,
                needs_all: true,
            },
            // The writers' side is the thread's own.
            EndedBy::Readers => Self::enders_of_read_lock(object),
            EndedBy::Writer => self.enders_of_write_lock(object),
            EndedBy::Holder => self.enders_of_lock(wait, object),
            EndedBy::Peers => self
                .end(wait)
                .map_or_else(Enders::default, |end| self.enders_of_end(wait, end)),
            EndedBy::OtherMembers
            | EndedBy::Nobody
            | EndedBy::Task
            | EndedBy::Jobs
            | EndedBy::RunningJobs => Enders::default(),
        }
    }

    /// Returns the holders of a semaphore's permits, each of which may return some. If there is no guard, or only that of a future
    /// of another runtime, the ender is the last one to acquire permits. It may have called `forget`.
    fn enders_of_permits(&self, object: &Object) -> Enders {
        match (object.readers.is_empty(), object.unnamed) {
            (true, 0 | 1) => Enders::likely(object.holder),
            (false, 0) if !self.has_served(object) => Enders {
                waiters: object.readers.clone(),
                is_certain: false,
                needs_all: true,
            },
            _ => Enders::default(),
        }
    }

    /// Returns `true` if a release may have chosen a task that waits for the object and has not run since.
    fn has_served(&self, object: &Object) -> bool {
        self.waits_for(object.id).iter().any(|wait| {
            let task = wait.waiter.task().and_then(|id| self.task(id));
            wait.is_handed || task.is_some_and(|task| task.state != TaskState::Idle)
        })
    }

    /// Returns the jobs that threads of a runtime run.
    fn jobs_of(&self, runtime: Option<u64>) -> impl Iterator<Item = Waiter> + '_ {
        let jobs = self.snapshot.jobs.iter();
        let of_runtime = jobs.filter(move |job| Some(job.runtime) == runtime);
        let running = of_runtime.filter(|job| job.thread.is_some());
        running.map(|job| Waiter::Task(job.id))
    }

    /// Returns the jobs that have a thread.
    pub(crate) fn running_jobs(&self) -> impl Iterator<Item = Waiter> + '_ {
        let running = self.snapshot.jobs.iter().filter(|job| job.thread.is_some());
        running.map(|job| Waiter::Task(job.id))
    }

    /// Returns the members of the object that it names, and the children of a scope that say so themselves.
    fn all_members(&self, object: &Object) -> Vec<Waiter> {
        let mut members = object.readers.clone();
        let children = self.families.of_scope(object.id).iter();
        let known = object.readers.iter().collect::<HashSet<_>>();
        members.extend(children.filter(|child| !known.contains(child)));
        members
    }

    /// Returns the other members of the object. Those that wait for more than the object come first, as
    /// they are the reason.
    fn members(&self, wait: &Wait, object: &Object) -> Vec<Waiter> {
        let members = self.all_members(object).into_iter();
        let mut members: Vec<Waiter> = members.filter(|&member| member != wait.waiter).collect();
        members.sort_by_key(|&member| {
            let mut waits = self.waits(member).iter();
            waits.all(|wait| is_pipeline_worker(wait))
        });
        members
    }

    /// Returns the end of shared memory for which a wait is.
    pub(crate) fn end(&self, wait: &Wait) -> Option<&'a End> {
        let object = wait.object.as_ref()?;
        self.ends.get(&object.id).copied()
    }

    /// Returns the participants that can end a wait, and whether each of them has to.
    pub(crate) fn peers<'e>(wait: &Wait, end: &'e End) -> (Vec<&'e Peer>, bool) {
        let holders: Vec<&Peer> = end.peers.iter().filter(|peer| peer.holds).collect();
        let wanted = |sends: bool| end.peers.iter().filter(move |peer| peer.sends == sends);
        if wait.semantics.ended_by != EndedBy::Peers {
            return (Vec::new(), false);
        }
        match wait.semantics.mode {
            Mode::Permit if end.is_open => (Vec::new(), false),
            Mode::Permit => (holders, true),
            // The slowest receivers, each of which keeps the sender waiting, or the receiver that has
            // taken the oldest message of a queue.
            Mode::Send if !holders.is_empty() => (holders, false),
            Mode::Send if end.kind == "queue" => (wanted(false).collect(), true),
            // The sender that has claimed the position of the receiver.
            Mode::Receive if !holders.is_empty() => (holders, false),
            Mode::Receive | Mode::Event => (wanted(true).collect(), true),
            _ => (Vec::new(), false),
        }
    }

    fn enders_of_end(&self, wait: &Wait, end: &'a End) -> Enders {
        let (peers, needs_all) = Self::peers(wait, end);
        let is_lock = wait.semantics.mode == Mode::Permit;
        let mut is_certain = !end.is_open;
        let mut waiters = Vec::new();
        for peer in peers {
            let process = Waiter::Process(peer.pid);
            let user = self.snapshot.user(end, peer);
            let (waiter, is_known) = match user {
                Some(user) if is_lock => (user, true),
                _ if self.waits.contains_key(&process) => (process, true),
                Some(user) => (user, false),
                None => (process, false),
            };
            is_certain &= is_known;
            waiters.push(waiter);
        }
        Enders {
            waiters,
            is_certain,
            needs_all,
        }
    }

    /// Returns the participants that can end a wait and whose processes are stopped, if the wait lasts as long
    /// as they are.
    pub(crate) fn stopped_peers(&self, wait: &Wait) -> Vec<&'a Peer> {
        let Some(end) = self.end(wait) else {
            return Vec::new();
        };
        let is_stopped = |peer: &&Peer| {
            let process = self.snapshot.process(peer.pid);
            process.is_some_and(|process| process.state == ProcessState::Stopped)
        };
        let (peers, needs_all) = Self::peers(wait, end);
        let stopped: Vec<&Peer> = peers.iter().copied().filter(is_stopped).collect();
        if needs_all && stopped.len() != peers.len() {
            return Vec::new();
        }
        stopped
    }

    fn enders_of_lock(&self, wait: &Wait, object: &Object) -> Enders {
        if object.is_beside_readers && wait.semantics.mode == Mode::Read {
            // A reader waits for the writer in front of it, and that one for all of these.
            let readers = object.holder.iter().chain(&object.readers);
            Enders {
                waiters: readers.copied().collect(),
                is_certain: true,
                needs_all: false,
            }
        } else if let Some(holder) = object.holder {
            Enders::holder(holder, object.is_beside_readers || !object.is_movable)
        } else if object.unnamed != 0 || !object.readers.is_empty() {
            Self::enders_of_read_lock(object)
        } else if is_task_lock(wait) {
            self.enders_of_free_lock(wait, object.id)
        } else {
            // The owner of a thread's lock is about to write itself down, or to wake a waiter.
            Enders::default()
        }
    }

    /// Returns the readers of a lock, without its writer.
    fn enders_of_read_lock(object: &Object) -> Enders {
        if object.unnamed != 0 || object.readers.is_empty() {
            return Enders::default();
        }
        Enders {
            waiters: object.readers.clone(),
            is_certain: true,
            needs_all: false,
        }
    }

    /// Returns the writer of a lock, also if readers keep other writers out. One that waits for readers itself
    /// keeps no recursive reader out.
    fn enders_of_write_lock(&self, object: &Object) -> Enders {
        let upgrades = |holder: &Waiter| {
            let mut waits = self.waits(*holder).iter();
            waits.any(|wait| {
                wait.semantics.mode == Mode::Upgrade && wait.object.as_ref() == Some(object)
            })
        };
        let writer = object.holder.filter(|_| !object.is_beside_readers);
        match writer.filter(|holder| !upgrades(holder)) {
            Some(holder) => Enders::holder(holder, !object.is_movable),
            None => Enders::default(),
        }
    }

    /// Returns the enders of a lock without a holder: it was handed over, or its owner is about to write
    /// itself down, or to wake a waiter.
    fn enders_of_free_lock(&self, wait: &Wait, object: u64) -> Enders {
        let tasks = self.handed_to(wait);
        // A waiter that is left out may have got the lock.
        if tasks.is_empty() && self.snapshot.left_out.is_some() {
            return Enders::default();
        }
        if tasks.is_empty() {
            let waits = self.waits_for(object).iter();
            return Enders {
                waiters: waits.map(|wait| wait.waiter).collect(),
                is_certain: false,
                needs_all: true,
            };
        }
        Enders {
            waiters: tasks.to_vec(),
            is_certain: true,
            needs_all: false,
        }
    }
}

/// Returns `true` if a wait for a lock is one to share it, which a writer that waits keeps out.
pub(crate) fn is_read(wait: &Wait) -> bool {
    matches!(wait.semantics.mode, Mode::Read | Mode::UpgradableRead)
}

/// Returns `true` if a reader waits while other readers have the lock, so behind a writer.
pub(crate) fn is_beside_readers(wait: &Wait) -> bool {
    let admits = |object: &Object| {
        object.holder.is_none() || object.is_beside_readers && wait.semantics.mode == Mode::Read
    };
    is_read(wait) && wait.object.as_ref().is_some_and(admits)
}

/// Returns `true` if a job waits for a thread.
pub(crate) fn is_queued_job(wait: &Wait) -> bool {
    wait.semantics.ended_by == EndedBy::Jobs
}

/// Returns `true` if a worker of a pipeline waits for the other workers.
pub(crate) fn is_pipeline_worker(wait: &Wait) -> bool {
    wait.semantics.ended_by == EndedBy::OtherMembers
}

/// Returns `true` if a future waits for the children of a scope that it polls itself.
pub(crate) fn polls_children(wait: &Wait) -> bool {
    wait.kind == Kind::Scope.name() && !wait.blocks_thread
}

/// Returns `true` if a guard of a lock, or a permit, ends the wait when it is dropped.
pub(crate) fn is_for_guard(wait: &Wait) -> bool {
    wait.semantics.mode.is_of_lock() || wait.semantics.mode == Mode::Permit
}

/// Returns `true` if only a failure of a member ends the wait: another one is what the waiter is about.
pub(crate) fn is_for_failure(wait: &Wait) -> bool {
    wait.semantics.ended_by == EndedBy::FailedMember
}

/// Returns `true` if only a failure of a member ends the wait, and there is no member.
pub(crate) fn has_no_member(wait: &Wait) -> bool {
    let is_empty = |object: &Object| object.readers.is_empty() && object.unnamed == 0;
    is_for_failure(wait) && wait.object.as_ref().is_some_and(is_empty)
}

/// Returns `true` if a thread is parked, or may be: `std::thread::park` leaves no record.
fn is_parked(wait: &Wait) -> bool {
    wait.semantics.mode == Mode::Park || is_unknown(wait) && wait.waiter.task().is_none()
}

/// Returns `true` if a thread sleeps in a futex of the program's or of another library. No thread or task
/// is known to end that.
fn is_futex(wait: &Wait) -> bool {
    matches!(wait.semantics.mode, Mode::Futex | Mode::Unknown)
}

/// Returns `true` if a thread sleeps in a futex and has no record.
pub(crate) fn is_unknown(wait: &Wait) -> bool {
    wait.semantics.mode == Mode::Unknown
}

/// Returns `true` if a task waits for something that a task holds, or for the end of one.
pub(crate) fn is_held(wait: &Wait) -> bool {
    let of_a_lock = [EndedBy::Holder, EndedBy::Writer, EndedBy::Readers];
    wait.task.is_some()
        || of_a_lock.contains(&wait.semantics.ended_by)
        || matches!(wait.semantics.mode, Mode::Permit | Mode::Join)
}

/// Returns `true` if the wait is for something that others have, and not for something that is to come.
pub(crate) fn is_contention(wait: &Wait) -> bool {
    is_held(wait) || wait.semantics.mode == Mode::Send
}

/// Returns `true` if the wait is for a guard, a permit or room in a channel, which others have.
pub(crate) fn is_for_guard_or_room(wait: &Wait) -> bool {
    is_for_guard(wait) || wait.semantics.mode == Mode::Send
}

/// Returns `true` if a timer ends the wait.
pub(crate) fn is_timer(wait: &Wait) -> bool {
    Kind::is_name_of_timer(&wait.kind)
}

/// Returns `true` if a release has chosen this future, which has a waker of its own.
fn is_chosen(wait: &Wait) -> bool {
    wait.is_handed && !wait.is_direct
}

/// Returns `true` if a task waits for a permit, a notification or a place: its object may have several.
fn is_shared(wait: &Wait) -> bool {
    wait.semantics.hands == Hands::Share
}

/// Returns `true` if a permit, notification or place was handed to a future with the waker of this one.
fn has_handed_share(wait: &Wait) -> bool {
    is_shared(wait) && wait.is_handed
}

pub(crate) fn is_task_lock(wait: &Wait) -> bool {
    wait.semantics.hands == Hands::Lock
}
