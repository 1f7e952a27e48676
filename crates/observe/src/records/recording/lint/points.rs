//! The points at which the recorder is called. Each does nothing in a thread that is in the recorder.

use std::time::Duration;

use super::edges::{self, Event, Side};
use super::frames::{Frame, Polled};
use super::held::Held;
use super::local::{Local, with_local};
use super::lock::{At, Lock};
use super::{growth, handed, permits, requests};
use crate::Kind;
use crate::records::Waiter;
use crate::records::recording::block::Block;
use crate::records::recording::place::{Target, Value};
use crate::records::recording::{clock, registry, ticks};

/// A lock of tasks that others want may be kept over awaits for a shorter time than this.
const KEPT: Duration = Duration::from_secs(1);

/// The current task or thread has taken a lock. `waits`: it would have waited for it without a limit.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn acquired(owner: Waiter, lock: Lock, at: At, waits: bool) {
    with_local(|local| {
        let word = owner.word();
        let around = local.frames.owners_around(word);
        let owner = (word, local.frames.spawned_at(word));
        if let Some(frame) = local.frames.current().filter(|frame| frame.task == word) {
            frame.steps.step(at);
        }
        local.held.add(owner, &around, lock, at, waits);
    });
}

/// The current task or thread is about to release the lock with this block, which still names the holder.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn released(owner: Waiter, block: &'static Block) {
    with_local(|local| {
        let held = local.held.remove(owner.word(), block);
        if let Some(held) = held.filter(|held| held.suspended != 0) {
            note_kept(local, &held);
        }
    });
}

/// Records a lock of tasks that was kept over an await for long, if a future waits for it.
fn note_kept(local: &mut Local, held: &Held) {
    let took = clock::cached().saturating_sub(held.suspended);
    let took = Duration::from_nanos(took);
    if took < KEPT || !registry::is_awaited(held.lock.block) {
        return;
    }
    let frame = local.frames.current();
    let frame = frame.filter(|frame| frame.task == held.owner);
    edges::count(
        |table| &mut table.guards,
        Event {
            side: Some(held.side()),
            holder_at: None,
            task_at: frame.and_then(|frame| frame.spawned_at),
            task: held.owner,
            request: 0,
            between: [None; 2],
            count: 1,
            longest: took,
            processor: Duration::ZERO,
        },
    );
}

/// A poll begins.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn poll_begins(
    task: Waiter,
    of: Polled,
    spawned_at: At,
    header: usize,
) {
    with_local(|local| {
        local.held.resume(task.word());
        local.frames.begin(task.word(), of, spawned_at, header);
    });
}

/// The current poll ends.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn poll_ends() {
    with_local(|local| {
        let Some((frame, long)) = local.frames.end() else {
            return;
        };
        note_handed(&frame);
        note_sockets(local, &frame);
        frame.waits.count(frame.task, frame.spawned_at);
        let held = local.held.suspend(frame.task);
        if frame.of != Polled::Job {
            for held in held.iter().filter(|held| held.lock.is_of_threads()) {
                edges::count(
                    |table| &mut table.guards,
                    of_frame(&frame, Some(held.side())),
                );
            }
        }
        if let Some((longest, processor)) = long {
            let event = Event {
                between: frame.steps.end(ticks::now()),
                longest,
                processor,
                ..of_frame(&frame, None)
            };
            edges::count(|table| &mut table.polls, event);
        }
        local.frames.keep(frame.waits);
    });
}

/// This thread is no worker from now on, so the polls that it is in may block.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn may_block() {
    with_local(|local| local.frames.may_block());
}

/// This worker has slept, maybe.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn slept() {
    with_local(|local| local.frames.slept());
}

/// The current task or thread has slept for the object with this block. `holder_at`: the line at which its holder
/// took it.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn blocked(
    waiter: Waiter,
    wait: Lock,
    at: At,
    holder_at: At,
    took: Duration,
) {
    with_local(|local| {
        let frame = local.frames.current();
        let is_it = |frame: &&mut Frame| frame.must_not_block() && frame.task == waiter.word();
        let Some(frame) = frame.filter(is_it) else {
            return;
        };
        frame.count(took);
        edges::count(
            |table| &mut table.blocked,
            Event {
                holder_at,
                longest: took,
                ..of_frame(frame, Some(Side::new(&wait, at)))
            },
        );
    });
}

/// Records what was handed to a future of the task before the poll, and still is. See `handed.rs`.
fn note_handed(frame: &Frame) {
    if frame.handed.is_empty() || frame.is_rewoken {
        return;
    }
    let now = handed::of(frame.header);
    for handed in handed::still(&frame.handed, &now) {
        // The future may be one of another task that has the same waker, or have been dropped just now.
        let future = registry::find_pending(frame.task, |value| match value.target {
            Target::Object(block, generation) if std::ptr::eq(block, handed.block) => {
                Some((generation, value.kind, value.location))
            }
            _ => None,
        });
        let Some((generation, kind, at)) = future else {
            continue;
        };
        let lock = Lock {
            generation,
            ..Lock::new(handed.block, kind, None)
        };
        edges::count(
            |table| &mut table.handed,
            of_frame(frame, Some(Side::new(&lock, at))),
        );
    }
}

/// Records the sockets for which a task of a request waits without a deadline. The task of a connection also waits for the
/// next request of its client; no request waits for that.
fn note_sockets(local: &mut Local, frame: &Frame) {
    if frame.waits.sockets(true).next().is_none() {
        return;
    }
    let is_request =
        |frame: &Frame| frame.waits.is_in_request() || requests::name_of(frame.task).is_some();
    let is_within = is_request(frame) || local.frames.around(frame).any(is_request);
    if frame.waits.sockets(is_within).next().is_none() {
        return;
    }
    if !local.frames.looks_for_timer(frame) {
        return;
    }
    let is_timer = |value: &Value| value.kind.is_timer().then_some(());
    if registry::find_pending(frame.task, is_timer).is_some() {
        return;
    }
    // The timer of a child may be that of its task, which begins to wait for it after the poll of the child.
    if let Some(outer) = local.frames.outer(frame) {
        return outer.waits.add_sockets(&frame.waits);
    }
    for side in frame.waits.sockets(is_within) {
        edges::count(|table| &mut table.sockets, of_frame(frame, Some(side)));
    }
}

/// Returns an event of a poll.
fn of_frame(frame: &Frame, side: Option<Side>) -> Event {
    Event {
        side,
        holder_at: None,
        task_at: frame.spawned_at,
        task: frame.task,
        request: frame.request(),
        between: [None; 2],
        count: 1,
        longest: Duration::ZERO,
        processor: Duration::ZERO,
    }
}

/// The task with this number is woken. If it is the current task, it wakes itself.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn woken(task: Waiter, by: u64) {
    if task.word() == by {
        with_local(|local| {
            let frame = local.frames.current();
            if let Some(frame) = frame.filter(|frame| frame.task == by) {
                frame.is_rewoken = true;
            }
        });
    }
}

/// The object with this block is about to be handed to the future that keeps this waker.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn handed_over(block: &'static Block, waker: usize) {
    with_local(|_| handed::add(block, waker));
}

/// A future to which the object may have been handed proceeds or is dropped.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn hand_over_ended(block: &'static Block) {
    with_local(|_| handed::remove(block));
}

/// A future or a thread begins to wait.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn wait_begins(value: &Value) {
    if let Target::Object(block, generation) = value.target {
        with_local(|_| permits::awaited(block, generation));
    }
    in_poll(value, |local| {
        let task = value.waiter.word();
        local.held.wait_begins(task, value.id, value.kind);
        if let Some(frame) = local.frames.current() {
            frame.steps.step(value.location);
            frame.waits.begin(value);
        }
    });
}

/// The wait of a future ends.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn wait_ends(value: &Value) {
    in_poll(value, |local| {
        let task = value.waiter.word();
        local.held.wait_ends(task, value.id, value.kind);
        if let Some(frame) = local.frames.current() {
            frame.steps.step(value.location);
            frame.waits.end(value);
        }
    });
}

/// Runs `with` on the state of this thread, if the current poll is that of the task whose future waits.
fn in_poll(value: &Value, with: impl FnOnce(&mut Local)) {
    if value.blocks_thread || value.kind == Kind::Task {
        return;
    }
    with_local(|local| {
        let frame = local.frames.current();
        if frame.is_some_and(|frame| frame.task == value.waiter.word()) {
            with(local);
        }
    });
}

/// The current task or thread has forgotten permits of the semaphore.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn forgot(owner: Waiter, semaphore: Lock, at: At) {
    with_local(|local| {
        let word = owner.word();
        permits::forgotten((word, local.frames.spawned_at(word)), semaphore, at);
    });
}

/// Permits were added to the semaphore.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn refilled(semaphore: Lock, at: At) {
    with_local(|_| permits::refilled(semaphore, at));
}

/// The current task or thread has taken permits of the semaphore with this block.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn permits_taken(block: &'static Block) {
    with_local(|_| permits::taken(block));
}

/// The current task or thread has sent a value.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn sent(block: &'static Block, made_at: At) {
    if growth::is_due() {
        with_local(|local| growth::look(block, made_at, |task| local.frames.spawned_at(task)));
    }
}

/// The receiver of a channel is about to be dropped.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn channel_ends(block: &'static Block) {
    with_local(|local| growth::last_look(block, |task| local.frames.spawned_at(task)));
}

/// A request begins in the task or thread. `name`: the place of its name. Returns `false` if it is not followed.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn request_begins(owner: u64, name: u64) -> bool {
    let begins = with_local(|local| {
        if let Some(frame) = local.frames.current().filter(|frame| frame.task == owner) {
            frame.waits.request = name;
        }
        requests::begin(owner, name)
    });
    begins == Some(true)
}

/// The request ends that began there.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn request_ends(owner: u64) {
    with_local(|_| requests::end(owner));
}

/// The current poll works for a request, whose name has this place, until [`request_left`].
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn request_entered(name: u64) {
    with_local(|local| {
        if let Some(frame) = local.frames.current() {
            frame.waits.enter_request(name);
        }
    });
}

/// The current poll works for the request no more.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn request_left() {
    with_local(|local| {
        if let Some(frame) = local.frames.current() {
            frame.waits.leave_request();
        }
    });
}
