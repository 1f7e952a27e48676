//! The locks that a thread and the task that it polls hold, and those that suspended tasks hold.
//!
//! 1. A thread has one list, in the order in which the locks were taken. Each entry has its owner: the task that
//!    the thread polled, or else the thread.
//! 2. When a poll ends, the entries of its task leave the list for `SUSPENDED`. When the next poll of the task
//!    begins, in whichever thread, they return.
//! 3. A release removes the entry: that of the current task or thread, or else that of the holder that the lock's
//!    block names.
//! 4. A guard may have moved to another task, which released it, while its owner ran. Then the entry stays. So an
//!    entry counts only if the block still names its owner.
//!
//! # Which future has the lock
//!
//! A task may have several futures (`join!`, or a connection that reads while a handler runs). If one has a lock and waits, and
//! another one takes a second lock, no future has both. [`Taker`] tells the two apart: between the step in which a future
//! takes a lock and its next wait, nothing else of the task runs.
//!
//! | taker | event in a poll of the task | next |
//! |---|---|---|
//! | – | the lock is taken | runs |
//! | runs | a wait of the task begins | waits, for this one |
//! | waits | that wait ends: its future goes on | runs |
//! | runs | the poll ends, so it waits for something without a record | unknown |
//!
//! While the taker runs, a second lock is taken within the first one. While it waits, it is not: another future takes the lock,
//! and the pair does not count. If the taker is unknown, the pair does not count while the task waits for another lock, a channel
//! or a task.
//!
//! A socket, a timer or an event is what a connection waits for beside its handler. A taker that seems to wait for one may
//! be a handler that has yielded. So such a pair is in doubt, and counts in a probable cycle only.
//!
//! # Futures of other runtimes
//!
//! No event marks the end of a poll of such a future, so its taker is unknown from the beginning. Each pair is in doubt, as
//! several futures of a task have one waker. Its locks stay in the list of the thread in which it took them. Another thread
//! that releases one does not find it there.

use std::ptr;
use std::sync::atomic::Ordering;

use blitz_io_futex::per_process::PerProcess;

use super::edges::{self, Edge, GATES, Side, address, hash};
use super::lock::{At, Lock};
use super::writes;
use crate::Kind;
use crate::records::Waiter;
use crate::records::kernel::counted_map::CountedMap;
use crate::records::recording::block::{BESIDE_READERS, Block, MOVABLE};
use crate::records::recording::{clock, registry};

/// The most locks of a thread's list.
pub(super) const HELD: usize = 64;
/// The most suspended tasks with locks.
pub(super) const PARKED: usize = 1 << 16;
/// The bits beside the holder's word.
const FLAGS: u64 = MOVABLE | BESIDE_READERS;
/// The number of pairs that a thread knows to be recorded.
const SEEN: usize = 512;
/// Tells the hash of a writer from that of a pair.
const WRITE: u64 = u64::MAX;

/// What the future does that took a lock, as far as the waits of its task show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taker {
    Runs,
    /// It waits, with a record of this number and kind. Or it waits without one, and another future has begun this wait
    /// in the same poll.
    Waits(u64, Kind),
    /// It waits without a record, or has gone on after that.
    Unknown,
}

/// One lock that is held.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) owner: u64,
    pub(super) lock: Lock,
    pub(super) at: At,
    /// The time at which its task was first suspended with a lock of tasks, in nanoseconds; 0 if it was not.
    pub(super) suspended: u64,
    taker: Taker,
}

/// The locks that a thread and its tasks hold.
#[derive(Default)]
pub(super) struct List {
    held: Vec<Held>,
    /// The hashes of pairs that are recorded; empty before the first one.
    seen: Vec<u64>,
    /// The lines of pairs for which there is no room; empty before the first ones.
    full: Vec<u64>,
}

/// The locks of suspended tasks, by the task's word.
static SUSPENDED: PerProcess<CountedMap<Vec<Held>>> = PerProcess::new(CountedMap::default);

impl Held {
    /// Returns `true` if the owner still holds the lock, as far as its block knows.
    fn is_valid(&self) -> bool {
        let block = self.lock.block;
        if block.generation() != self.lock.generation {
            return false;
        }
        if self.lock.is_exclusive() {
            let holder = block.holder.load(Ordering::Relaxed);
            holder & !FLAGS == self.owner
        } else {
            block.unnamed.load(Ordering::Relaxed) != 0
                || block
                    .readers
                    .iter()
                    .any(|reader| reader.load(Ordering::Relaxed) == self.owner)
        }
    }

    pub(super) fn side(&self) -> Side {
        Side::new(&self.lock, self.at)
    }

    /// Returns two doubts whether the future that runs has taken the lock: another future of the task is at work,
    /// or one waits as a connection does.
    fn doubts(&self) -> (bool, bool) {
        let is_pending = |is_it: fn(Kind) -> bool| registry::has_pending_future(self.owner, is_it);
        match self.taker {
            Taker::Runs => (false, false),
            Taker::Waits(_, kind) if is_of_connections(kind) => (false, true),
            Taker::Waits(..) => (true, false),
            Taker::Unknown if is_pending(|kind| !is_of_connections(kind)) => (true, false),
            Taker::Unknown => (
                false,
                is_future(self.owner) || is_pending(is_of_connections),
            ),
        }
    }
}

/// Returns `true` for the word of a future of another runtime.
fn is_future(owner: u64) -> bool {
    Waiter::from_word(owner).is_some_and(Waiter::is_future)
}

/// Returns the locks that exclude all others while an owner uses the lock `of`.
fn gates<'a>(own: impl Iterator<Item = &'a Held>, of: (u64, u32)) -> [(u64, u32); GATES] {
    let mut gates = [(0, 0); GATES];
    let others = own.filter(|other| other.lock.is_exclusive() && other.lock.id() != of);
    for (gate, other) in gates.iter_mut().zip(others) {
        *gate = other.lock.id();
    }
    gates.sort_unstable();
    gates
}

/// Returns `true` for what the task of a connection waits for beside its handler: its socket, a time limit, the end of
/// a channel, or an event that ends the server.
fn is_of_connections(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Readable
            | Kind::Writable
            | Kind::Sleep
            | Kind::Timeout
            | Kind::Interval
            | Kind::Signal
            | Kind::Notify
            | Kind::Cancelled
            | Kind::WatchReceive
            | Kind::BroadcastReceive
            | Kind::MpscClosed
            | Kind::WatchClosed
            | Kind::BroadcastClosed
            | Kind::OneshotClosed
            | Kind::MpmcClosed
    )
}

impl List {
    /// Adds a lock that the owner has taken. `waits`: it would have waited for it without a limit. An owner comes with the
    /// line at which it was spawned. `around`: the owners that wait for this one, which is a child.
    pub(super) fn add(
        &mut self,
        owner: (u64, At),
        around: &[(u64, At)],
        lock: Lock,
        at: At,
        waits: bool,
    ) {
        // Most locks are taken without another one.
        if waits && !self.held.is_empty() {
            self.note_edges(owner, lock, at);
            // They keep their locks as long as the child lives, unless another of their futures has them.
            for &owner in around {
                self.note_edges(owner, lock, at);
            }
        }
        if waits && lock.is_write() {
            self.note_write(owner, lock, at);
        }
        if self.held.len() >= HELD {
            // A future of another runtime releases its locks in any thread.
            self.held.retain(Held::is_valid);
        }
        if self.held.len() < HELD {
            self.held.push(Held {
                owner: owner.0,
                lock,
                at,
                suspended: 0,
                taker: if is_future(owner.0) {
                    Taker::Unknown
                } else {
                    Taker::Runs
                },
            });
        } else {
            edges::lost(|lost| &mut lost.held);
        }
    }

    /// Removes the lock with this block, which the task or thread is about to release. Returns it if this thread had it.
    pub(super) fn remove(&mut self, owner: u64, block: &'static Block) -> Option<Held> {
        let is_it = |held: &Held| ptr::eq(held.lock.block, block);
        let own = |held: &Held| is_it(held) && held.owner == owner;
        let list = &mut self.held;
        // Most locks are released in the reverse order.
        if list.last().is_some_and(own) {
            return list.pop();
        }
        let found = list.iter().rposition(own);
        if let Some(at) = found.or_else(|| list.iter().rposition(is_it)) {
            return Some(list.remove(at));
        }
        let holder = block.holder.load(Ordering::Relaxed) & !FLAGS;
        for task in [owner, holder] {
            SUSPENDED.change(task, |list| {
                list.retain(|held| !is_it(held));
                !list.is_empty()
            });
        }
        None
    }

    /// Records that `lock` was taken within each lock that its owner holds.
    fn note_edges(&mut self, (owner, owner_at): (u64, At), lock: Lock, at: At) {
        self.held
            .retain(|held| held.owner != owner || held.is_valid());
        let own = || self.held.iter().filter(|held| held.owner == owner);
        let is_it = |held: &&Held| held.lock.id() == lock.id();
        // An owner that has the lock waits for nothing new, unless a writer comes between two readers.
        let again = own().find(is_it);
        let reads_again = |held: &Held| held.lock.is_read() && lock.is_read();
        if own().next().is_none() || again.is_some_and(|held| !reads_again(held)) {
            return;
        }
        let mut fresh = Vec::new();
        for held in own().filter(|held| again.is_none() || is_it(held)) {
            let lines = edges::lines(&held.lock, held.at, &lock, at);
            if self.full.get(lines as usize % SEEN) == Some(&lines) {
                continue;
            }
            let gates = gates(own(), held.lock.id());
            let hash = hash(&[
                held.lock.block.id(),
                u64::from(held.lock.generation) << 32 | u64::from(lock.generation),
                lock.block.id(),
                address(held.at),
                address(at),
                (held.lock.kind as u64) << 32 | lock.kind as u64,
                gates
                    .iter()
                    .fold(0, |all, gate| all ^ gate.0.rotate_left(gate.1 & 63)),
            ]);
            if self.seen.get(hash as usize % SEEN) != Some(&hash) {
                fresh.push((hash, lines, *held, gates));
            }
        }
        if fresh.is_empty() {
            return;
        }
        let is_task = Waiter::from_word(owner).is_some_and(Waiter::is_task);
        self.seen.resize(SEEN, 0);
        for (hash, lines, held, gates) in fresh {
            let (is_joined, is_beside) = if is_task {
                held.doubts()
            } else {
                (false, false)
            };
            let holder = held.lock.block.holder.load(Ordering::Relaxed);
            let is_full = edges::add(
                hash,
                lines,
                Edge {
                    from: held.side(),
                    to: Side::new(&lock, at),
                    owner,
                    owner_at,
                    is_movable: held.lock.is_exclusive()
                        && holder & MOVABLE != 0
                        && holder & BESIDE_READERS == 0,
                    gates,
                    is_joined,
                    is_beside,
                },
            );
            if !is_joined && !is_beside {
                self.seen[hash as usize % SEEN] = hash;
            }
            if is_full {
                self.full.resize(SEEN, 0);
                self.full[lines as usize % SEEN] = lines;
            }
        }
    }

    /// Records that the owner writes, with the locks that it holds then.
    fn note_write(&mut self, (owner, owner_at): (u64, At), lock: Lock, at: At) {
        let key = hash(&[lock.block.id(), u64::from(lock.generation), owner, WRITE]);
        if self.seen.get(key as usize % SEEN) == Some(&key) {
            return;
        }
        let own = self.held.iter().filter(|held| held.owner == owner);
        let gates = gates(own, lock.id());
        writes::add((owner, owner_at), Side::new(&lock, at), gates);
        self.seen.resize(SEEN, 0);
        self.seen[key as usize % SEEN] = key;
    }

    /// A future of the task begins to wait, with a record of this number.
    pub(super) fn wait_begins(&mut self, task: u64, wait: u64, kind: Kind) {
        self.turn(task, Taker::Runs, Taker::Waits(wait, kind));
    }

    /// The wait of a future of the task ends.
    pub(super) fn wait_ends(&mut self, task: u64, wait: u64, kind: Kind) {
        self.turn(task, Taker::Waits(wait, kind), Taker::Runs);
    }

    fn turn(&mut self, task: u64, from: Taker, to: Taker) {
        let own = self.held.iter_mut().filter(|held| held.owner == task);
        own.filter(|held| held.taker == from)
            .for_each(|held| held.taker = to);
    }

    /// Takes the locks of a task whose poll begins.
    pub(super) fn resume(&mut self, task: u64) {
        if let Some(list) = SUSPENDED.take(task) {
            self.held.extend(list);
        }
    }

    /// Puts away the locks of a task whose poll ends, and returns those that the task still holds.
    pub(super) fn suspend(&mut self, task: u64) -> Vec<Held> {
        if self.held.iter().all(|held| held.owner != task) {
            return Vec::new();
        }
        let is_own = |held: &&Held| held.owner == task && held.is_valid();
        let mut list: Vec<Held> = self.held.iter().filter(is_own).copied().collect();
        for held in &mut list {
            if held.suspended == 0 && !held.lock.is_of_threads() {
                held.suspended = clock::cached();
            }
        }
        for held in &mut list {
            if held.taker == Taker::Runs {
                held.taker = Taker::Unknown;
            }
        }
        self.held.retain(|held| held.owner != task);
        if !list.is_empty() && SUSPENDED.add(task, list.clone(), PARKED).is_err() {
            edges::lost(|lost| &mut lost.tasks);
        }
        list
    }
}
