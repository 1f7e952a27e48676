//! The queue in which the pool's jobs wait for threads, and threads for jobs.
//!
//! # States of a thread
//!
//! ```text
//!                 +-----------------------------------+
//!                 v            a job is there         |
//!   start ---> ARRIVING ----------------------------> BUSY
//!              ^    ^                                 |  |
//!       chosen |    +--- no other thread searches ----+  |
//!              |         (and looks for a while)         |
//!              |                                         |
//!            ASLEEP <----- no job, another searches -----+
//!              |
//!              +---> gone: its keep-alive has ended
//! ```
//!
//! A thread is *arriving* if it will check the queue without being woken: it has been
//! started, or chosen and woken, or it *searches*. A searching thread polls the length of
//! the queue for some microseconds before it goes to sleep. At most one thread searches.
//! An arriving thread never yields its processor. An arriving thread that finds no job
//! searches or goes to sleep.
//!
//! A search fails where jobs are rare, and where the submitter needs the processor that the
//! search occupies. After each search that fails, more than twice as many are skipped.
//!
//! # Which thread is woken
//!
//! Everything but the sleeping itself happens under one lock, which is held for a
//! few instructions. Jobs may block on each other, so each needs a thread of its
//! own. The rule is
//!
//! > while a thread sleeps, or another may be started, there are no more jobs in the
//! > queue than threads arriving, or a thread is starting.
//!
//! *Submit* adds one job. If there are more jobs than arriving threads now:
//!
//! * It chooses the thread that has slept for the shortest time, so that the keep-alive
//!   of the others can end.
//! * If none sleeps, it asks for a new thread, which counts as arriving and as starting from
//!   that moment. For a *short* job, such as an operation on a file, it does so only if no
//!   thread is starting.
//! * If no more threads are allowed, the job waits for the next busy thread that becomes
//!   free.
//!
//! So a job that a searching or starting thread will find wakes no other thread, and a
//! burst of *n* jobs chooses *n* threads.
//!
//! A burst of short jobs starts one thread after the other. A thread that has started takes a job,
//! and starts the next thread before it runs the job, if there are more jobs than arriving
//! threads. So the existing threads take jobs that end soon, and jobs that wait get
//! one thread each, one after the other.
//!
//! # No job is left behind
//!
//! An arriving thread that takes a job keeps the rule: there is one less of each. If it was
//! starting, it makes the rule hold as a submitter does. A busy
//! thread that takes a job leaves one job less. A thread stops arriving without a job only
//! if it finds the queue empty under the lock. If a thread could not be started, its
//! submitter counts it out, and chooses another one if the rule requires it. If no other thread
//! takes jobs, none will take those that waited for this one, and they are returned to the submitter.
//!
//! A chosen thread is taken off the list of sleepers under the lock, and its parker is notified
//! there too. So a thread whose keep-alive ends sees, under the lock, whether it has been chosen:
//! then it stays. The parker is on the thread's stack and stays as long as it is listed; the wake
//! after the lock uses its address only.
//!
//! # The end
//!
//! Closing refuses further jobs and chooses every sleeper. A thread that was busy runs jobs
//! as long as there are any; a thread that was waiting cancels the jobs that are left; then
//! they leave. The last thread to leave says so. Jobs that no thread took, because none
//! could be started, are returned to the closer.

use std::collections::VecDeque;
use std::mem;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use blitz_io_core::{Attempts, Lock, Parker, Spin, Wake, deadline};
use blitz_io_futex::atomic::{AtomicU32, AtomicUsize, Ordering};
use blitz_io_futex::{WaitResult, wait_deadline, wake_all};

/// The pool may have threads.
const OPEN: u32 = 0;
/// The pool is closed, and no thread is left.
const EMPTY: u32 = 1;

/// The queue of jobs and of sleeping threads; see the module documentation.
pub struct JobQueue<J> {
    inside: Lock<Inside<J>>,
    /// A nonzero value tells a searching thread that it has something to do. Written under the lock;
    /// a read without it is a hint.
    pending: AtomicUsize,
    /// Not zero if the last thread of a closed pool has left.
    gone: AtomicU32,
}

// SAFETY: `inside` is only used under the lock. Its pointers to sleepers are used as
// addresses, or to notify a parker that stays as long as it is listed there.
unsafe impl<J: Send> Send for JobQueue<J> {}
// SAFETY: a shared reference reaches `inside` only through its lock.
unsafe impl<J: Send> Sync for JobQueue<J> {}

/// The parker of a thread that sleeps.
type Sleeper = NonNull<Parker>;

struct Inside<J> {
    queue: VecDeque<J>,
    /// The threads that sleep, the latest last.
    sleepers: Vec<Sleeper>,
    /// Number of threads that are sure to look at the queue.
    arriving: usize,
    /// Number of arriving threads that are new and have not looked at the queue yet.
    starting: usize,
    /// `true` while an arriving thread searches.
    searching: bool,
    /// How the last searches ended.
    searches: Attempts,
    /// Number of threads, with those that are about to start.
    threads: usize,
    /// Largest number of threads.
    limit: usize,
    closed: bool,
}

/// The work that is left to the submitter of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Submitted {
    /// Nothing: a thread will take it.
    Served,
    /// Start a thread, with [`ThreadState::new`]; or call [`JobQueue::lost`].
    StartThread,
}

/// The next step of a pool thread.
#[derive(Debug)]
pub enum Next<J> {
    /// A job to run.
    Run(J),
    /// A job to run, after another thread has been started with [`ThreadState::new`], or
    /// [`JobQueue::lost`] has been called.
    StartThreadAndRun(J),
    /// A job of a closed pool, to be cancelled if it may be.
    Cancel(J),
    /// End: the thread has been counted out.
    Leave,
}

/// The last step of a pool thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Last {
    /// It has started.
    Started,
    /// It has run a job.
    Ran,
    /// It has searched.
    Searched,
    /// It has slept, and has been chosen.
    Slept,
    /// It has cancelled a job.
    Cancelled,
}

/// The state of a thread of the pool.
#[derive(Debug)]
pub struct ThreadState(Last);

impl ThreadState {
    /// Creates the state of a thread that has just started.
    #[allow(clippy::new_without_default, reason = "it has a meaning")]
    pub fn new() -> Self {
        Self(Last::Started)
    }

    /// Returns `true` if the thread counts as arriving.
    fn is_arriving(&self) -> bool {
        matches!(self.0, Last::Started | Last::Searched | Last::Slept)
    }

    /// Takes a job. A thread that has been without one cancels those of a closed pool.
    fn take<J>(&mut self, job: J, closed: bool) -> Next<J> {
        if closed && !matches!(self.0, Last::Started | Last::Ran) {
            self.0 = Last::Cancelled;
            Next::Cancel(job)
        } else {
            self.0 = Last::Ran;
            Next::Run(job)
        }
    }
}

/// The pool is closed; the job comes back.
#[derive(Debug)]
pub struct Closed<J>(pub J);

/// The numbers and jobs that are left after a thread has been lost.
#[derive(Debug)]
pub struct Remains<J> {
    /// Number of threads.
    pub threads: usize,
    /// Jobs that no thread is left to take.
    pub jobs: VecDeque<J>,
}

/// The numbers of threads and of jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// Threads that there are, with those that are about to start.
    pub threads: usize,
    /// Threads that have nothing to do.
    pub idle: usize,
    /// Jobs that wait.
    pub queued: usize,
}

/// The result of a check of the queue.
enum Look<J> {
    Next(Next<J>),
    /// The thread leaves. Whether it was the last of a closed pool.
    Leave(bool),
    Search,
    Sleep,
}

impl<J> Inside<J> {
    /// Makes the rule hold after a job has been added, or a thread has started; `short`: the
    /// job can wait for a thread that is starting. Returns the work that is left to the
    /// caller, and the thread to wake, if one has been chosen.
    #[inline]
    fn serve(&mut self, short: bool) -> (Submitted, Option<Wake>) {
        if self.queue.len() <= self.arriving {
            return (Submitted::Served, None);
        }
        let sleeper = self.choose();
        if sleeper.is_some() || self.threads == self.limit || short && self.starting > 0 {
            return (Submitted::Served, sleeper);
        }
        self.threads += 1;
        self.arriving += 1;
        self.starting += 1;
        (Submitted::StartThread, None)
    }

    /// Makes the rule hold after a thread that was starting has taken a job. Returns `true` if
    /// the thread has to start another.
    #[inline]
    fn starts_another(&mut self) -> bool {
        if self.closed {
            return false;
        }
        let (work, sleeper) = self.serve(true);
        debug_assert!(sleeper.is_none(), "a thread slept while jobs waited");
        work == Submitted::StartThread
    }

    /// Chooses the thread that has slept for the shortest time.
    fn choose(&mut self) -> Option<Wake> {
        let sleeper = self.sleepers.pop()?;
        self.arriving += 1;
        // SAFETY: the parker was listed until now, and its thread does not leave it without having
        // seen that it is notified, or taken the lock.
        let asleep = unsafe { Parker::notify(sleeper.as_ptr()) };
        Some(asleep.map_or(Wake::Nobody, Wake::Thread))
    }

    /// Returns `true` if the pool is closed and has no threads.
    fn is_empty(&self) -> bool {
        self.closed && self.threads == 0
    }

    /// Counts a thread out. Returns whether it was the last of a closed pool.
    fn leave(&mut self) -> bool {
        self.threads -= 1;
        self.is_empty()
    }

    /// Takes the jobs, if no thread is left to take them.
    fn remaining_jobs(&mut self, is_without_threads: bool) -> VecDeque<J> {
        if is_without_threads {
            mem::take(&mut self.queue)
        } else {
            VecDeque::new()
        }
    }
}

/// Wakes threads that have been chosen.
#[inline]
fn wake(sleepers: impl IntoIterator<Item = Wake>) {
    sleepers.into_iter().for_each(Wake::wake);
}

impl<J> JobQueue<J> {
    /// Creates a queue for up to `limit` threads.
    pub fn new(limit: usize) -> Self {
        Self {
            inside: Lock::new(Inside {
                queue: VecDeque::new(),
                sleepers: Vec::new(),
                arriving: 0,
                starting: 0,
                searching: false,
                searches: Attempts::new(),
                threads: 0,
                limit,
                closed: false,
            }),
            pending: AtomicUsize::new(0),
            gone: AtomicU32::new(OPEN),
        }
    }

    #[inline]
    fn locked<R>(&self, with: impl FnOnce(&mut Inside<J>) -> R) -> R {
        with(&mut self.inside.lock())
    }

    /// Submits a job. A `short` one usually ends soon, so that it can wait for a thread that is
    /// starting.
    ///
    /// # Errors
    ///
    /// If the pool is closed.
    #[inline]
    pub fn submit(&self, job: J, short: bool) -> Result<Submitted, Closed<J>> {
        let (submitted, sleeper) = self.locked(|inside| {
            if inside.closed {
                return Err(Closed(job));
            }
            inside.queue.push_back(job);
            self.pending.store(inside.queue.len(), Ordering::Relaxed);
            Ok(inside.serve(short))
        })?;
        wake(sleeper);
        Ok(submitted)
    }

    /// Waits for the thread's next step. Sleeps for up to `keep_alive`.
    #[inline]
    pub fn next(&self, state: &mut ThreadState, keep_alive: Duration) -> Next<J> {
        loop {
            let sleeper = Parker::new();
            match self.look(state, &sleeper) {
                Look::Next(next) => return next,
                Look::Leave(last) => {
                    self.tell(last);
                    return Next::Leave;
                }
                Look::Search => self.search(state),
                Look::Sleep => {
                    if !self.sleep(state, &sleeper, keep_alive) {
                        return Next::Leave;
                    }
                }
            }
        }
    }

    /// Takes a job, or decides that the thread searches, sleeps or leaves.
    #[inline]
    fn look(&self, state: &mut ThreadState, sleeper: &Parker) -> Look<J> {
        self.locked(|inside| {
            let searched = state.0 == Last::Searched;
            if searched {
                inside.searching = false;
            }
            let started = state.0 == Last::Started;
            inside.starting -= usize::from(started);
            if let Some(job) = inside.queue.pop_front() {
                self.pending.store(inside.queue.len(), Ordering::Relaxed);
                inside.arriving -= usize::from(state.is_arriving());
                return Look::Next(match state.take(job, inside.closed) {
                    Next::Run(job) if started && inside.starts_another() => {
                        Next::StartThreadAndRun(job)
                    }
                    next => next,
                });
            }
            if inside.closed {
                inside.arriving -= usize::from(state.is_arriving());
                return Look::Leave(inside.leave());
            }
            if searched {
                inside.searches.failed();
            } else if !inside.searching && inside.searches.is_due() {
                inside.searching = true;
                inside.arriving += usize::from(!state.is_arriving());
                return Look::Search;
            }
            inside.arriving -= usize::from(state.is_arriving());
            inside.sleepers.push(NonNull::from(sleeper));
            Look::Sleep
        })
    }

    /// Polls for a job for a while. The thread counts as arriving during the search, so
    /// it does not yield: a yield to another process may take a time slice, and a job
    /// would wait for it.
    fn search(&self, state: &mut ThreadState) {
        let mut spin = Spin::PAUSE;
        while self.pending.load(Ordering::Relaxed) == 0 && spin.turn() {}
        state.0 = Last::Searched;
    }

    /// Sleeps until the thread is chosen. `false` if its keep-alive has ended and it has
    /// left.
    #[cold]
    fn sleep(&self, state: &mut ThreadState, sleeper: &Parker, keep_alive: Duration) -> bool {
        let until = deadline::after(keep_alive);
        if !sleeper.wait(until) && self.expire(sleeper) {
            return false;
        }
        state.0 = Last::Slept;
        true
    }

    /// Counts out a thread whose keep-alive has ended. `false` if another thread has just
    /// chosen it.
    fn expire(&self, sleeper: &Parker) -> bool {
        let last = self.locked(|inside| {
            let mut sleepers = inside.sleepers.iter();
            let place = sleepers.position(|&other| other == sleeper.into())?;
            inside.sleepers.remove(place);
            Some(inside.leave())
        });
        self.tell(last == Some(true));
        last.is_some()
    }

    /// Counts out a thread that has not started, or ends before it has called
    /// [`next`](Self::next). If fewer than `needed` threads are left, none will take the jobs that
    /// wait, and they are returned.
    pub fn lost(&self, needed: usize) -> Remains<J> {
        let (chosen, last, remains) = self.locked(|inside| {
            inside.arriving -= 1;
            inside.starting -= 1;
            let last = inside.leave();
            let chosen = if inside.queue.len() > inside.arriving {
                inside.choose()
            } else {
                None
            };
            let none_comes = !inside.closed && inside.starting == 0 && inside.threads < needed;
            let jobs = inside.remaining_jobs(last || none_comes);
            if none_comes {
                self.pending.store(0, Ordering::Relaxed);
            }
            let threads = inside.threads;
            (chosen, last, Remains { threads, jobs })
        });
        wake(chosen);
        self.tell(last);
        remains
    }

    /// Refuses further jobs and lets the threads leave. Returns the jobs that no thread
    /// will take; `None` if the pool had been closed before.
    pub fn close(&self) -> Option<VecDeque<J>> {
        let (chosen, empty, jobs) = self.locked(|inside| {
            if mem::replace(&mut inside.closed, true) {
                return None;
            }
            self.pending.store(usize::MAX, Ordering::Relaxed);
            let chosen: Vec<_> = std::iter::from_fn(|| inside.choose()).collect();
            let is_empty = inside.is_empty();
            Some((chosen, is_empty, inside.remaining_jobs(is_empty)))
        })?;
        wake(chosen);
        self.tell(empty);
        Some(jobs)
    }

    /// Announces that the last thread of a closed pool has left, if `empty`.
    fn tell(&self, empty: bool) {
        if empty {
            self.gone.store(EMPTY, Ordering::Release);
            wake_all(&raw const self.gone);
        }
    }

    /// Waits until the last thread of a closed pool has left. `false` if the deadline comes
    /// first.
    pub fn wait_until_empty(&self, until: Option<Instant>) -> bool {
        while self.gone.load(Ordering::Acquire) == OPEN {
            if wait_deadline(&self.gone, OPEN, until) == WaitResult::TimedOut {
                return false;
            }
        }
        true
    }

    /// Returns how many threads and jobs there are.
    pub fn numbers(&self) -> Numbers {
        self.locked(|inside| Numbers {
            threads: inside.threads,
            idle: inside.sleepers.len() + inside.arriving.saturating_sub(inside.queue.len()),
            queued: inside.queue.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{JobQueue, Last, Look, Next, Submitted, ThreadState};
    use blitz_io_core::Parker;

    /// Returns whether a thread that has run a job, and finds no other, searches first.
    /// Calls `submit` before the thread checks the queue again.
    fn searches(queue: &JobQueue<()>, submit: impl FnOnce()) -> bool {
        let mut state = ThreadState(Last::Ran);
        let parker = Parker::new();
        let searches = matches!(queue.look(&mut state, &parker), Look::Search);
        if searches {
            submit();
            state.0 = Last::Searched;
            _ = queue.look(&mut state, &parker);
        }
        queue.locked(|inside| inside.sleepers.clear());
        searches
    }

    /// A thread that has just started looks at the queue. Returns `true` if it takes a job, and
    /// has to start another thread.
    fn starts(queue: &JobQueue<()>) -> bool {
        let parker = Parker::new();
        match queue.look(&mut ThreadState::new(), &parker) {
            Look::Next(Next::StartThreadAndRun(())) => true,
            Look::Next(Next::Run(())) => false,
            _ => panic!("there is a job"),
        }
    }

    #[test]
    fn a_burst_of_short_jobs_starts_one_thread_at_a_time() {
        let queue = JobQueue::new(100);
        let submits = |short| {
            let submits = (0..5).map(|_| queue.submit((), short).unwrap());
            submits
                .filter(|&work| work == Submitted::StartThread)
                .count()
        };
        assert_eq!(submits(true), 1);
        assert!(starts(&queue));
        // The next one is starting. Jobs that may wait long get a thread each.
        assert_eq!(submits(true), 0);
        assert_eq!(submits(false), 5);
        let chain = (0..6).filter(|_| starts(&queue)).count();
        assert_eq!((chain, queue.numbers().queued), (1, 8));
    }

    #[test]
    fn searches_that_fail_are_skipped_until_one_succeeds() {
        let queue = JobQueue::new(1);
        for skipped in [0, 1, 3, 7, 15, 31, 63, 63] {
            for _ in 0..skipped {
                assert!(!searches(&queue, || {}));
            }
            assert!(searches(&queue, || {}));
        }
        let submit = || assert!(matches!(queue.submit((), false), Ok(Submitted::Served)));
        while !searches(&queue, submit) {}
        assert!(searches(&queue, || {}));
    }
}
