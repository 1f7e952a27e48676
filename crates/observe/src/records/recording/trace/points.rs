//! The points at which the recorder is called, when it is on.

use std::panic::Location;
use std::time::Duration;

use super::event::{Code, Event, of_block, of_deadline, of_location, of_number, of_place};
use super::recorder::{is_on, record};
use crate::Kind;
use crate::records::recording::beginner::Beginner;
use crate::records::recording::block::Block;
use crate::records::recording::caller::Caller;
use crate::records::recording::local::LOCAL;
use crate::records::recording::place::{Target, Value};
use crate::records::recording::{current, lint, recorders};
use crate::records::{Waiter, id_of_child};

/// Flag of a spawn: it is a closure on a thread for blocking work.
const JOB: u8 = 1;

/// The part of a runtime that calls wakers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Source {
    /// A timer is due.
    Timer = 1,
    /// A source of the operating system is ready.
    System = 2,
}

/// Why a task is aborted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Abort {
    /// The program has called `abort`.
    Called = 1,
    /// Its `JoinSet` is dropped.
    SetDropped = 2,
    /// Its `JoinSet` is shut down.
    SetShutDown = 3,
    /// The scope of which it is a child has ended.
    ScopeEnded = 4,
    /// That scope has failed: a child of it, or its own code, has panicked.
    ScopeFailed = 5,
    /// The future of that scope is dropped.
    ScopeDropped = 6,
}

/// While it lives, the wake-ups of this thread come from a source.
pub struct Waking(Option<u8>);

impl Waking {
    /// The wakers that this thread calls are called for that source.
    #[inline]
    #[must_use]
    pub fn new(source: Source) -> Self {
        Self(is_on().then(|| LOCAL.with(|local| local.waking.replace(source as u8))))
    }
}

impl Drop for Waking {
    #[inline]
    fn drop(&mut self) {
        if let Some(outer) = self.0 {
            LOCAL.with(|local| local.waking.set(outer));
        }
    }
}

/// The task with this number is woken by the current task or thread.
#[inline]
pub fn woken(id: u64) {
    if recorders::is_any_on() {
        note_wake(id);
    }
}

#[inline(never)]
fn note_wake(id: u64) {
    if is_on() {
        record(Event {
            kind: LOCAL.with(|local| local.waking.get()),
            ..Event::new(Code::Wake, Waiter::task(id).word(), current::word())
        });
    }
    if recorders::lints() {
        lint::woken(Waiter::task(id), current::word());
    }
}

/// The current task yields: it runs again after the others that are ready. `at`: the line of the program that says so. If
/// a waker has been called for that, this comes after it.
#[inline]
pub fn yielded(at: Caller) {
    if is_on() {
        note_yield(at);
    }
}

/// The event is a wake-up of the task by itself.
#[inline(never)]
fn note_yield(at: Caller) {
    let task = current::word();
    if Waiter::of_word(task).is_task() {
        record(Event {
            target: of_location(at.location()),
            ..Event::new(Code::Wake, task, task)
        });
    }
}

/// The current task or thread spawns the task with this number. `is_job`: it is a closure on a thread for blocking
/// work.
#[inline]
pub fn spawned(id: u64, at: &'static Location<'static>, is_job: bool) {
    if is_on() {
        note_spawn(id, Some(at), is_job);
    }
}

#[inline(never)]
pub(in crate::records::recording) fn note_spawn(
    id: u64,
    at: Option<&'static Location<'static>>,
    is_job: bool,
) {
    record(Event {
        kind: if is_job { JOB } else { 0 },
        target: of_location(at),
        ..Event::new(
            Code::Spawn,
            Waiter::task(id).word(),
            Waiter::current().word(),
        )
    });
}

/// The task with this number has ended, or is aborted: its future is about to be dropped.
#[inline]
pub fn ended(id: u64) {
    if is_on() {
        note_task_end(id);
    }
}

#[inline(never)]
fn note_task_end(id: u64) {
    record(Event::new(Code::TaskEnd, Waiter::task(id).word(), 0));
}

/// The current task or thread spawns a child, which the future of its scope polls.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn child_spawned(child: Waiter, at: Caller) {
    record(Event {
        target: of_location(at.location()),
        ..Event::new(Code::ChildSpawn, child.word(), Waiter::current().word())
    });
}

/// The current task or thread wakes a child.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn child_woken(child: Waiter) {
    record(Event {
        kind: LOCAL.with(|local| local.waking.get()),
        ..Event::new(Code::ChildWake, child.word(), current::word())
    });
}

/// The future of a scope begins to poll a child, in the task or thread `owner`. A recording has the child's events as
/// those of the owner.
pub(in crate::records::recording) fn child_polled(child: Waiter, owner: Waiter) {
    record(Event::new(Code::Child, child.word(), owner.word()));
}

/// The task or child with this number is aborted by the current task or thread. `at`: the line of the program that does so, if
/// that is known.
#[inline]
pub fn aborted(id: u64, why: Abort, at: Caller) {
    if is_on() {
        note_abort(id, why, at);
    }
}

#[cold]
#[inline(never)]
fn note_abort(id: u64, why: Abort, at: Caller) {
    record(Event {
        kind: why as u8,
        target: of_location(at.of_program().location()),
        ..Event::new(
            Code::Aborted,
            Waiter::task(id).word(),
            Waiter::current().word(),
        )
    });
}

/// A paused clock of a runtime, such as that of a simulation, has moved by that time.
#[inline]
pub fn advanced(by: Duration) {
    if is_on() {
        note_advance(by);
    }
}

#[cold]
#[inline(never)]
fn note_advance(by: Duration) {
    let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
    record(Event::new(Code::Advance, 0, nanos));
}

/// A wait begins, unless it is none of the program's.
#[inline(never)]
pub(in crate::records::recording) fn wait_begins(value: &Value) {
    let codes = if value.blocks_thread {
        (Code::Block, Code::BlockFor)
    } else {
        (Code::Wait, Code::WaitFor)
    };
    wait(value, codes);
}

/// The wait ends. `is_dropped`: because its future is dropped.
#[inline(never)]
pub(in crate::records::recording) fn wait_ends(value: &Value, is_dropped: bool) {
    if is_dropped && is_of_program(value) {
        record(Event::new(Code::WaitDropped, value.waiter.word(), 0));
    }
    wait(value, (Code::WaitEnd, Code::WaitForEnd));
}

/// Returns `true` if the record is one of a wait, and not that of a task or of an idle worker.
fn is_of_program(value: &Value) -> bool {
    !matches!(value.kind, Kind::Task | Kind::Idle)
}

fn wait(value: &Value, (for_object, for_number): (Code, Code)) {
    if !is_of_program(value) {
        return;
    }
    let (code, target, generation) = match value.target {
        Target::Object(block, generation) => (for_object, of_block(block), generation),
        Target::Number(number) => (for_number, of_number(number), 0),
        Target::Made(origin) => (for_number, of_number(origin.number()), 0),
        Target::Until(deadline) => (for_number, of_deadline(deadline), 0),
    };
    record(Event {
        kind: value.kind as u8,
        target,
        ..Event::new(
            code,
            value.waiter.word(),
            of_place(value.location, generation),
        )
    });
}

/// The current task or thread has taken a lock.
pub(in crate::records::recording) fn acquired(
    waiter: Waiter,
    block: &'static Block,
    kind: Kind,
    at: Option<&'static Location<'static>>,
) {
    record(Event {
        kind: kind as u8,
        target: of_block(block),
        ..Event::new(
            Code::Acquired,
            waiter.word(),
            of_place(at, block.generation()),
        )
    });
}

/// The current task or thread is about to release a lock, or something else that it has.
pub(in crate::records::recording) fn released(waiter: Waiter, block: &'static Block) {
    record(Event {
        target: of_block(block),
        ..Event::new(
            Code::Released,
            waiter.word(),
            of_place(None, block.generation()),
        )
    });
}

/// The current task or thread has taken permits of a semaphore.
pub(in crate::records::recording) fn permits_taken(
    waiter: Waiter,
    block: &'static Block,
    count: usize,
    at: Option<&'static Location<'static>>,
) {
    permits(Code::Permits, waiter, block, count, at);
}

/// The current task or thread is about to give permits back.
pub(in crate::records::recording) fn permits_returned(
    waiter: Waiter,
    block: &'static Block,
    count: usize,
) {
    permits(Code::PermitsBack, waiter, block, count, None);
}

/// The current task or thread forgets permits that it has taken.
pub(in crate::records::recording) fn permits_forgotten(
    waiter: Waiter,
    block: &'static Block,
    count: usize,
) {
    permits(Code::PermitsForgotten, waiter, block, count, None);
}

/// The current task or thread is about to add permits.
pub(in crate::records::recording) fn permits_added(
    waiter: Waiter,
    block: &'static Block,
    count: usize,
) {
    permits(Code::PermitsAdded, waiter, block, count, None);
}

/// An event has a count of at most 255: more permits at once are rare, and those of a recording that has them are
/// predicted less well.
fn permits(
    code: Code,
    waiter: Waiter,
    block: &'static Block,
    count: usize,
    at: Option<&'static Location<'static>>,
) {
    record(Event {
        kind: u8::try_from(count).unwrap_or(u8::MAX),
        target: of_block(block),
        ..Event::new(code, waiter.word(), of_place(at, block.generation()))
    });
}

/// The current task of a simulation begins an operation of this kind on an object.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn operates(block: &'static Block, kind: Kind) {
    record(Event {
        kind: kind as u8,
        target: of_block(block),
        ..Event::new(
            Code::Operates,
            current::word(),
            of_place(None, block.generation()),
        )
    });
}

/// The simulation that runs this task has a sentence with this number about it. `of`: it is about an operation of this kind on
/// the object that the task has begun to use last. While it acts for another one, the sentence is about that ([`Beginner`]).
#[cold]
pub fn noted(task: u64, number: u64, of: Option<Kind>) {
    if is_on() {
        record(Event {
            // `Kind::Task` is the kind of no operation.
            kind: of.unwrap_or(Kind::Task) as u8,
            target: of_number(number),
            ..Event::new(
                Code::Noted,
                Beginner::of_thread()
                    .unwrap_or_else(|| child_or(Waiter::task(task)))
                    .word(),
                of_place(Caller::of_call().location(), 0),
            )
        });
    }
}

/// Returns the child that the task polls now, or the task itself.
fn child_or(task: Waiter) -> Waiter {
    let current = Waiter::current();
    let is_child = current.is_task() && id_of_child(current.number()).is_some();
    if is_child { current } else { task }
}

/// The simulation of this thread has a sentence with this number about the reason of the wake-ups by the system that
/// follow. 0: no reason is known.
#[cold]
pub fn wakes_because(number: u64) {
    if is_on() {
        record(Event {
            target: of_number(number),
            ..Event::new(Code::Reason, Waiter::thread().word(), 0)
        });
    }
}
