//! Points at which a back end *decides*: a simulation runs all tasks of a runtime on one thread, and selects
//! what happens next.
//!
//! | point | call | the back end decides |
//! |---|---|---|
//! | a task becomes ready | [`ready`] | nothing: it learns of it |
//! | a thread runs the next task | [`next`] | which one, or that the time of the next timer comes first |
//! | a task begins an operation, which it has not begun in an earlier poll | [`preempts`] | whether another task runs before it |
//! | the child of a scope begins an operation, and other children are ready | [`preempts`] | whether another child runs before it |
//! | a scope polls its ready children | [`random`] | which one is next |
//! | a poll has ended | [`polled`] | whether the run is over |
//! | no task is ready | [`idle`] | whether the clock moves, or the run is over |
//! | code asks on which worker it runs | [`worker`] | the number of the worker, for this step of the task |
//! | a random number is drawn | [`random`] | which one: the order of `select!` and of stealing |
//! | the fork-join pool runs a job | [`job`] | which job is next, whether it is stolen, and by which worker |
//! | the fork-join pool gets a job for which no thread waits | [`run_later`] | nothing: it makes a task of it |
//! | a task panics, or the child of a scope | [`panicked`], [`child_panicked`] | nothing: it learns of it |
//! | the future of an aborted task is dropped, a task has a name | [`cancelled`], [`named`] | nothing: it learns of it |
//! | the id of a task is shown | [`number_of`] | its number in the run |
//! | a scope spawns a child, the id of a child is shown | [`child_spawned`], [`number_of_child`] | nothing: the thread counts the children of a run |
//! | a report is to say what happened in the network | [`explains`], [`note`] | nothing: it learns of it |
//! | the clock moves | [`advanced`] | nothing: it learns of it |
//! | code uses the network, or a clock | [`host`], [`to_host`], [`when_host_shows`] | the host on which the code runs, and its clock |
//!
//! On one thread, the order of wakes, and that of timers that are due, have no effect but the order in which
//! tasks become ready. [`next`] takes any ready task, so it decides these orders, too. For the same reason it
//! stands for the choice between the LIFO slot and the queue, and for that of a task to steal.
//!
//! A back end belongs to one thread, for as long as [`with`] runs. All calls on other threads, and all calls without
//! a back end, do what they would do without the feature.
//!
//! Without the feature `sim`, [`is_on`] is `false` at compile time, and each function here is empty. So no
//! instruction of the code that ships depends on this module.

#[cfg(not(feature = "sim"))]
mod disabled;
#[cfg(feature = "sim")]
mod enabled;
mod faults;

use std::time::{Duration, Instant};

#[cfg(not(feature = "sim"))]
pub use disabled::{
    Numbered, Unfinished, advanced, cancelled, child_panicked, child_spawned, describe_socket,
    describe_sockets_by, explains, forget_operations, has_begun, help, host, idle, is_on, job,
    named, next, note, number_of, number_of_child, panicked, poll_child, polled, preempts, random,
    ready, run_later, set_help, to_host, uses_system, when_host_shows, with, with_system, worker,
};
#[cfg(feature = "sim")]
pub use enabled::{
    Numbered, Unfinished, advanced, cancelled, child_panicked, child_spawned, describe_socket,
    describe_sockets_by, explains, forget_operations, has_begun, help, host, idle, is_on, job,
    named, next, note, number_of, number_of_child, panicked, poll_child, polled, preempts, random,
    ready, run_later, set_help, to_host, uses_system, when_host_shows, with, with_system, worker,
};

pub use faults::{happens, meaning, one_in, time_between};

use crate::Kind;

/// Describes the wait for a simulated socket with this number, to write or to read: `read from …`.
pub type DescribeSocket = fn(u64, bool) -> Option<String>;

/// Returns a number of bytes in words, for a note.
#[must_use]
pub fn bytes(count: usize) -> String {
    crate::counted(count, "byte")
}

/// `true` if a back end may decide.
pub const IS_DECIDED: bool = cfg!(feature = "sim");

/// A note for the report of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// The current task has done this: a sentence without its subject.
    Task(String),
    /// The current task has done an operation of this kind: a sentence without its subject. `{}` stands for the object that the
    /// task has begun to use last ([`Numbered::touch`]).
    Operation(Kind, String),
    /// A packet or a connection is held, lost or sent again: a sentence.
    Network(String),
    /// Random numbers are about to be drawn whose meaning follows. See [`meaning`].
    Draws,
    /// The random numbers since [`Draws`](Self::Draws) mean this: a sentence.
    Meaning(String),
    /// The name of what wakes the tasks that the network wakes from now on; `None` if it is not known.
    Reason(Option<String>),
}

/// Number of workers that the thread of a simulation plays: the same on each machine, so that each replays the same
/// runs.
pub const WORKERS: u32 = 4;

/// The next action of a thread that has no ready task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// The clock moves to the next timer. Only if there is one.
    Advance,
    /// The clock moves by this time, which is not longer than that until the next timer. It may be zero, if the
    /// back end has made tasks ready.
    By(Duration),
    /// The clock moves by this time, but no timer fires before the next call of [`idle`] that returns something else.
    Hold(Duration),
    /// The future of `block_on` is polled, which ends the run.
    Stop,
}

/// The next action of a thread that has a ready task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// It runs the ready task with this index, in the order in which they became ready.
    Task(usize),
    /// The clock moves to the next timer, before a ready task runs. Only if there is a timer.
    Advance,
    /// No ready task may run: the thread does what [`idle`] says.
    Idle,
}

/// A back end that decides, for one thread.
///
/// The thread has a list of the ready tasks, in the order in which they became ready. The back end has a copy
/// of it: [`ready`](Self::ready) adds to its end, and [`next`](Self::next) takes out the task that it returns.
///
/// A method may be called while a task is polled, so it must not call the code of a task, or the job of
/// [`run_later`](Self::run_later). Only
/// [`polled`](Self::polled) and [`idle`](Self::idle) are called outside of polls.
pub trait Decider {
    /// The task with this number is ready: the last of the list.
    fn ready(&self, task: u64);

    /// Takes a task out of the list, which is not empty.
    fn next(&self, has_timer: bool) -> Next;

    /// Returns the number of operations which the task that [`next`](Self::next) has returned has begun and not completed,
    /// as the last [`polled`](Self::polled) of this task has said. 0 before.
    fn unfinished(&self) -> u32 {
        0
    }

    /// Returns `true` if another task is to run before the operation that the current task begins. The object of
    /// the operation has the number `object` in this run; 0 if the object is not known.
    fn preempts(&self, object: u32) -> bool;

    /// Returns `true` if another child of a scope is to run before the operation that the child with this id begins, in the same
    /// task.
    fn passes_to_sibling(&self, _child: u64) -> bool {
        self.random(2) == 1
    }

    /// The poll of the task that [`next`](Self::next) has returned is over. Its last operation was on this object; 0 if it is
    /// not known. `unfinished`: the number of operations that have begun and are not completed. `has_ended`: the task has. Returns `true` if the
    /// run is over.
    fn polled(&self, last: u32, unfinished: u32, has_ended: bool) -> bool;

    /// Returns a number for an object that the current task makes, or uses as the first one. It is not 0.
    fn object(&self) -> u32;

    /// No task is ready, and the first timer is due after this time, if there is one.
    fn idle(&self, timer: Option<Duration>) -> Idle;

    /// Returns a number below `below`, which is at least 1.
    fn random(&self, below: u32) -> u32;

    /// The clock of the runtime has moved by this time.
    fn advanced(&self, _by: Duration) {}

    /// Returns the number of the worker on which this step of the current task runs, which is below [`WORKERS`].
    fn worker(&self) -> u32 {
        0
    }

    /// Returns a number below `of`, which is at least 2: how the fork-join pool runs its next job. A pool of one worker
    /// takes alternative 0.
    fn job(&self, of: u32) -> u32 {
        self.random(of)
    }

    /// Makes a task that runs a job, on the host on which the current code runs. By default it drops the job.
    fn run_later(&self, _job: Box<dyn FnOnce()>) {}

    /// The future of a task, or a closure for blocking work, has panicked.
    fn panicked(&self);

    /// A child that the future of its scope polls has panicked. Its handle, or the scope, has the panic.
    fn child_panicked(&self) {}

    /// The future of the task with this number is dropped, as the task was aborted.
    fn cancelled(&self, _task: u64) {}

    /// The task with this number has a name. Called if [`explains`](Self::explains) returns `true`.
    fn named(&self, _task: u64, _name: &str) {}

    /// Returns the number in this run of the task with this number; `None` if it is no task of the run.
    fn number_of(&self, _task: u64) -> Option<u64> {
        None
    }

    /// Returns `true` if it takes notes.
    fn explains(&self) -> bool {
        false
    }

    /// Takes a note. Called if [`explains`](Self::explains) returns `true`.
    fn note(&self, _note: Note) {}

    /// Returns the number of the host on which the current code runs. Number 0 is the test itself.
    fn host(&self) -> u32 {
        0
    }

    /// Returns what the clock of the current code's host shows at this moment of the runtime's clock.
    fn to_host(&self, moment: Instant) -> Instant {
        moment
    }

    /// Returns the first moment of the runtime's clock at which the clock of the current code's host shows this.
    fn when_host_shows(&self, moment: Instant) -> Instant {
        moment
    }
}
