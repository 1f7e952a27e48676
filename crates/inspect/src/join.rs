//! Joins the snapshots of several processes.

use crate::snapshot::{End, Object, Process, Snapshot, Waiter, with_process};

/// Joins snapshots into one, which [`findings`](crate::findings) judges as a whole. The threads,
/// tasks and objects of the first process keep their numbers, and its runtimes and contention are those of
/// the result. A process that does not answer has no snapshot.
///
/// # Examples
///
/// ```
/// use blitz_io_inspect::{Process, Snapshot, join};
///
/// let asked = Process { pid: 7, ..Process::default() };
/// let stopped = Process { pid: 8, ..Process::default() };
/// let joined = join([(asked, Some(Snapshot::default())), (stopped, None)]);
/// assert_eq!(joined.processes.len(), 2);
/// ```
#[must_use]
pub fn join(parts: impl IntoIterator<Item = (Process, Option<Snapshot>)>) -> Snapshot {
    let mut joined = Snapshot::default();
    for (index, (process, snapshot)) in parts.into_iter().enumerate() {
        let has_records = snapshot.is_some();
        let mut snapshot = snapshot.unwrap_or_default();
        let own = snapshot.processes.pop();
        joined.processes.push(Process {
            has_records,
            threads: own.map_or(0, |own| own.threads),
            ..process
        });
        if index == 0 {
            let processes = std::mem::take(&mut joined.processes);
            joined = Snapshot {
                processes,
                ..snapshot
            };
            continue;
        }
        Renumber(index).all(&mut snapshot);
        joined.threads.append(&mut snapshot.threads);
        joined.tasks.append(&mut snapshot.tasks);
        joined.jobs.append(&mut snapshot.jobs);
        joined.requests.append(&mut snapshot.requests);
        joined.waits.append(&mut snapshot.waits);
        joined.ends.append(&mut snapshot.ends);
        joined.stacks.append(&mut snapshot.stacks);
        if let Some(mut left_out) = snapshot.left_out {
            let all = joined.left_out.get_or_insert_default();
            all.groups.append(&mut left_out.groups);
            all.others += left_out.others;
            all.alive.append(&mut left_out.alive);
        }
        // A thread of another process may wake one of these.
        joined.all_asleep = None;
    }
    joined
}

/// Puts the index of a process into all its numbers.
struct Renumber(usize);

impl Renumber {
    fn all(&self, snapshot: &mut Snapshot) {
        for thread in &mut snapshot.threads {
            self.number(&mut thread.id);
        }
        for stack in &mut snapshot.stacks {
            self.number(&mut stack.thread);
        }
        for task in &mut snapshot.tasks {
            self.number(&mut task.id);
            self.number(&mut task.thread);
            if let Some(of) = &mut task.child_of {
                self.waiter(&mut of.owner);
                self.number(&mut of.scope);
            }
        }
        for serves in &mut snapshot.requests {
            self.number(&mut serves.task);
        }
        for job in &mut snapshot.jobs {
            self.number(&mut job.id);
            self.number(&mut job.runtime);
            job.thread.iter_mut().for_each(|thread| self.number(thread));
        }
        for wait in &mut snapshot.waits {
            // The number of a wait has that of a thread in its bits from 40 on.
            wait.id ^= (self.0 as u64) << 56;
            self.waiter(&mut wait.waiter);
            self.number(&mut wait.thread);
            wait.task.iter_mut().for_each(|task| self.number(task));
            let runtime = wait.runtime.iter_mut();
            runtime.for_each(|runtime| self.number(runtime));
            wait.object
                .iter_mut()
                .for_each(|object| self.object(object));
        }
        let left_out = snapshot.left_out.iter_mut();
        for task in left_out.flat_map(|left_out| &mut left_out.alive) {
            self.number(task);
        }
        for End { object, user, .. } in &mut snapshot.ends {
            self.number(object);
            user.iter_mut().for_each(|user| self.waiter(user));
        }
    }

    fn object(&self, object: &mut Object) {
        self.number(&mut object.id);
        let waiters = object.holder.iter_mut().chain(&mut object.readers);
        let ends = object.sender.iter_mut().chain(&mut object.receiver);
        waiters.chain(ends).for_each(|waiter| self.waiter(waiter));
    }

    fn waiter(&self, waiter: &mut Waiter) {
        if let Waiter::Thread(number) | Waiter::Task(number) = waiter {
            self.number(number);
        }
    }

    fn number(&self, number: &mut u64) {
        *number = with_process(*number, self.0);
    }
}
