//! Waits that only a task could end which got the other end from the task that made it.
//!
//! The two ends of a `oneshot`, `mpmc`, `watch` or `broadcast` channel are plain values, and so are the handles of a
//! `CancellationToken`, `Notify` or `Barrier`. No record says which task has one. But one begins as a value of the
//! task that made it, its *maker*. Another task can have it if it was spawned afterwards by a task that had it, or
//! if it got it in another value: in a message, or in something that tasks share, such as a map.
//!
//! Without something that tasks share, a wait lasts if all of these hold:
//!
//! 1. The maker is alive and stuck, and is not the waiting task. A task that waits for an end of
//!    its own has given the other one away, as a client does that waits for the answer to a request. The same holds for a
//!    child of a scope that waits for an end which its task or another child of that has made (`families.rs`).
//! 2. Each task that was spawned after the object was made is stuck, too, unless a living task spawned it that was
//!    itself spawned before and is not the maker (`Origin` in `blitz-io-observe` has the order). A task whose
//!    spawner is not known, or has ended, could have it.
//! 3. The receiver of each channel to which the maker has sent last is stuck, too: the end may have been in that message. A
//!    client of HTTP/2 gives the sender of the answer to the task of its connection so.
//! 4. Each thread of the process runs nothing but tasks and closures of runtimes, or drives a future, which counts as
//!    a task. This is known on Linux only. And each task of the runtimes has a record.
//! 5. The wait has lasted for a second.
//!
//! Tasks may share something, so such a finding is probable only.

use std::collections::BTreeSet;

use blitz_io_observe::collections::HashMap;

use crate::snapshot::{Maker, Snapshot, Spawned, Task, Wait, Waiter};

/// Spawners are followed so far, and so many tasks are looked at for a wait.
const MOST: usize = 256;

/// The makers of a snapshot's objects, and the tasks that were spawned since.
pub(crate) struct Makers<'a> {
    by_wait: HashMap<u64, &'a Maker>,
    spawned: HashMap<u64, &'a Spawned>,
    /// All tasks, the youngest first.
    newest: Vec<&'a Spawned>,
    /// The last senders of channels, each with the last receiver.
    sent: Vec<(Waiter, Waiter)>,
}

impl<'a> Makers<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        let is_known = snapshot.other_threads == Some(0) && !has_unrecorded_tasks(snapshot);
        let makers = snapshot.makers.iter().filter(|_| is_known);
        let mut newest: Vec<&Spawned> = snapshot.spawned.iter().collect();
        newest.sort_by_key(|spawned| std::cmp::Reverse(spawned.number));
        let channels = snapshot.objects.iter().flatten();
        let sent =
            channels.filter_map(|channel| channel.object.sender.zip(channel.object.receiver));
        Self {
            sent: sent.collect(),
            by_wait: makers.map(|maker| (maker.wait, maker)).collect(),
            spawned: newest.iter().map(|&s| (s.task, s)).collect(),
            newest,
        }
    }

    /// Returns the maker of the object of a wait, if it is another one than the waiter and the wait is no short one.
    pub(crate) fn of(&self, wait: &Wait) -> Option<&'a Maker> {
        let maker = self.by_wait.get(&wait.id)?;
        let is_other = maker.maker != wait.waiter && !wait.is_timed && !wait.is_short();
        is_other.then_some(maker)
    }

    /// Returns the tasks that are not among these, the youngest first.
    pub(crate) fn others(&self, stuck: &BTreeSet<Waiter>) -> Vec<&'a Spawned> {
        if self.by_wait.is_empty() {
            return Vec::new();
        }
        let is_other = |spawned: &&&Spawned| !stuck.contains(&Waiter::Task(spawned.task));
        self.newest.iter().filter(is_other).copied().collect()
    }

    /// Returns `true` if all to which the maker has sent last are among these.
    pub(crate) fn has_sent_only_to(&self, maker: &Maker, stuck: &BTreeSet<Waiter>) -> bool {
        let mut sent = self.sent.iter();
        sent.all(|(sender, receiver)| *sender != maker.maker || stuck.contains(receiver))
    }

    /// Returns `true` if one of these tasks, or one more, may have got the object when it was spawned.
    pub(crate) fn may_have(&self, maker: &Maker, others: &[&Spawned]) -> bool {
        let later = others.partition_point(|other| other.number >= maker.number);
        later > MOST
            || others[..later]
                .iter()
                .any(|other| !self.is_apart(maker, other))
    }

    /// Returns `true` if a task was spawned by living tasks, the first of which is older than the object and has not
    /// made it.
    fn is_apart(&self, maker: &Maker, spawned: &Spawned) -> bool {
        let mut here = spawned;
        for _ in 0..MOST {
            let Some(Waiter::Task(spawner)) = here.by.filter(|&by| by != maker.maker) else {
                return false;
            };
            match self.spawned.get(&spawner) {
                Some(older) if older.number < maker.number => return true,
                Some(&next) => here = next,
                None => return false,
            }
        }
        false
    }
}

/// Returns `true` if a runtime has more tasks than there are records. A task without a name has none before its
/// first poll.
fn has_unrecorded_tasks(snapshot: &Snapshot) -> bool {
    let runtimes = snapshot.runtimes.iter().flatten();
    let alive: usize = runtimes.map(|runtime| runtime.alive_tasks).sum();
    let is_task = |task: &&Task| !task.is_root && !task.is_part();
    alive > snapshot.tasks.iter().filter(is_task).count()
}
