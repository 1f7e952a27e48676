//! The points at which the recorder is called. Each does nothing in a thread that is in the recorder.

use std::time::Duration;

use super::edges::{self, Event, Side};
use super::frames::{Frame, Polled};
use super::local::with_local;
use super::lock::{At, Lock};
use crate::records::Waiter;
use crate::records::recording::block::Block;

/// The current task or thread has taken a lock. `waits`: it would have waited for it without a limit.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn acquired(owner: Waiter, lock: Lock, at: At, waits: bool) {
    with_local(|local| local.held.add(owner.word(), lock, at, waits));
}

/// The current task or thread is about to release the lock with this block, which still names the holder.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn released(owner: Waiter, block: &'static Block) {
    with_local(|local| local.held.remove(owner.word(), block));
}

/// A poll begins.
#[cold]
#[inline(never)]
pub(in crate::records::recording) fn poll_begins(task: Waiter, of: Polled, spawned_at: At) {
    with_local(|local| {
        local.held.resume(task.word());
        local.frames.begin(task.word(), of, spawned_at);
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
        let held = local.held.suspend(frame.task);
        let event = |side, (took, processor)| Event {
            side,
            holder_at: None,
            task_at: frame.spawned_at,
            task: frame.task,
            count: 1,
            longest: took,
            processor,
        };
        if frame.of != Polled::Job {
            let none = (Duration::ZERO, Duration::ZERO);
            for held in held.iter().filter(|held| held.lock.is_of_threads()) {
                edges::count(|table| &mut table.guards, event(Some(held.side()), none));
            }
        }
        if let Some(times) = long {
            edges::count(|table| &mut table.polls, event(None, times));
        }
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
    with_local(|local| local.frames.forget_counters());
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
                side: Some(Side::new(&wait, at)),
                holder_at,
                task_at: frame.spawned_at,
                task: frame.task,
                count: 1,
                longest: took,
                processor: Duration::ZERO,
            },
        );
    });
}
