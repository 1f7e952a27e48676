//! `Event`: what happened, in four words.
//!
//! | word | bits | content |
//! |---|---|---|
//! | 0 | all | the time, in ticks |
//! | 1 | 0 to 7 | the [`Code`] |
//! | 1 | 8 to 15 | the kind of a wait, or the source of a wake-up, or flags, or a number of permits |
//! | 1 | 16 to 63 | the target: the address of a block, a number, a location |
//! | 2 | all | the thread or task to which it happens |
//! | 3 | 0 to 47 | another thread or task, or a location |
//! | 3 | 48 to 63 | for a location: the low bits of the generation of the block |
//!
//! The address of a block or a location has 48 bits on the systems that programs run on. One that has more is
//! not recorded.

use std::panic::Location;
use std::ptr;
use std::time::Instant;

use crate::records::kernel::ring::Words;
use crate::records::recording::block::Block;
use crate::records::recording::clock::nanos_at;

/// The number of bits of an address.
const BITS: u32 = 48;
const MASK: u64 = (1 << BITS) - 1;
/// The numbers of roots begin here (`root.rs`).
const ROOTS: u64 = 1 << 52;
/// Marks the number of a root, which is then counted from [`ROOTS`].
const ROOT: u64 = 1 << (BITS - 1);

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Code {
    /// A poll of the task begins in a thread.
    Poll = 1,
    /// The poll ends.
    PollEnd,
    /// A future of the task or thread waits for an object.
    Wait,
    /// A future of the task or thread waits for a number.
    WaitFor,
    /// The thread blocks for an object, in the poll of the task if it is one.
    Block,
    /// The thread blocks for a number.
    BlockFor,
    /// A wait for an object ends.
    WaitEnd,
    /// A wait for a number ends.
    WaitForEnd,
    /// The task is woken. The target is the location at which it yields, if it has woken itself by that.
    Wake,
    /// The task is spawned by another task or thread.
    Spawn,
    /// The task or thread has taken a lock.
    Acquired,
    /// It is about to release it.
    Released,
    /// A request begins in the task or thread.
    Request,
    /// A request ends.
    RequestEnd,
    /// The task or thread works for the request from now on.
    Enter,
    /// The task or thread does so no more.
    Leave,
    /// The task or thread has taken permits of a semaphore.
    Permits,
    /// It is about to give them back.
    PermitsBack,
    /// A paused clock moves: later events are later by this number of nanoseconds, which replaces the previous one.
    Advance,
    /// A task of a simulation begins an operation on an object.
    Operates,
    /// A job of a fork-join pool is in a queue.
    JobQueued,
    /// A thread begins to run the job.
    JobBegins,
    /// The thread has run it.
    JobEnds,
    /// A message to another process is about to be sent. The target is its position, and the other word its segment.
    Sent,
    /// A message of another process is received.
    Received,
    /// The task or thread waits for a process, whose number is the target, in the segment of the other word.
    Peer,
    /// The system has counted this number of nanoseconds in which the thread with the number that is the target was
    /// ready and did not run. The task is the one that it polls, or is about to.
    Delay,
    /// The future of a scope begins to poll the child, in the task or thread of the other word.
    Child,
    /// The simulation of the task has a sentence with the number that is the target about the task.
    Noted,
    /// The simulation of this thread has one with that number about the reason of the following wake-ups.
    Reason,
    /// The child of a scope is spawned by another task or thread. The target is the location.
    ChildSpawn,
    /// The child is woken.
    ChildWake,
    /// The thread with the number that is the target has had a processor for this number of nanoseconds. The next event of
    /// the thread is a `Delay`.
    Processor,
    /// The task is aborted by another task or thread, for the reason in the kind ([`Abort`](crate::trace::Abort)). The target is
    /// the location.
    Aborted,
    /// The next wait of the task or thread that ends does so because its future is dropped.
    WaitDropped,
    /// The task has ended: its future is about to be dropped. A wake-up after that runs nothing.
    TaskEnd,
    /// The task or thread forgets permits of a semaphore that it has taken.
    PermitsForgotten,
    /// It is about to add permits to a semaphore.
    PermitsAdded,
}

impl Code {
    pub(super) const ALL: [Self; 38] = [
        Self::Poll,
        Self::PollEnd,
        Self::Wait,
        Self::WaitFor,
        Self::Block,
        Self::BlockFor,
        Self::WaitEnd,
        Self::WaitForEnd,
        Self::Wake,
        Self::Spawn,
        Self::Acquired,
        Self::Released,
        Self::Request,
        Self::RequestEnd,
        Self::Enter,
        Self::Leave,
        Self::Permits,
        Self::PermitsBack,
        Self::Advance,
        Self::Operates,
        Self::JobQueued,
        Self::JobBegins,
        Self::JobEnds,
        Self::Sent,
        Self::Received,
        Self::Peer,
        Self::Delay,
        Self::Child,
        Self::Noted,
        Self::Reason,
        Self::ChildSpawn,
        Self::ChildWake,
        Self::Processor,
        Self::Aborted,
        Self::WaitDropped,
        Self::TaskEnd,
        Self::PermitsForgotten,
        Self::PermitsAdded,
    ];
}

/// An event without its time.
#[derive(Clone, Copy)]
pub(super) struct Event {
    pub(super) code: Code,
    /// The kind of a wait, or the source of a wake-up, or flags.
    pub(super) kind: u8,
    /// See [`Event::target`].
    pub(super) target: u64,
    /// The word of the thread or task to which it happens.
    pub(super) waiter: u64,
    /// The word of another one, the number of a request, or a location.
    pub(super) other: u64,
}

impl Event {
    pub(super) const fn new(code: Code, waiter: u64, other: u64) -> Self {
        Self {
            code,
            kind: 0,
            target: 0,
            waiter,
            other,
        }
    }

    #[inline]
    pub(super) fn words(self, ticks: u64) -> Words {
        let head = self.code as u64 | u64::from(self.kind) << 8 | self.target << 16;
        [ticks, head, self.waiter, self.other]
    }

    /// Returns the time and the event of these words; `None` if they are those of no event.
    pub(super) fn of_words(words: &Words) -> Option<(u64, Self)> {
        let [ticks, head, waiter, other] = *words;
        let code = (head as u8).checked_sub(1)?;
        let event = Self {
            code: *Code::ALL.get(usize::from(code))?,
            kind: (head >> 8) as u8,
            target: head >> 16,
            waiter,
            other,
        };
        Some((ticks, event))
    }
}

/// Returns the number in 48 bits.
#[inline]
pub(super) fn of_number(number: u64) -> u64 {
    match number.checked_sub(ROOTS) {
        Some(root) => root & (ROOT - 1) | ROOT,
        None => number & (ROOT - 1),
    }
}

/// Returns the moment, in microseconds of the monotonic clock, in 47 bits: those of four years. One that is later is the
/// last of them.
pub(super) fn of_deadline(deadline: Instant) -> u64 {
    nanos_at(deadline).div_ceil(1_000).min(ROOT - 1)
}

/// Returns the number of such bits.
pub(super) fn number(target: u64) -> u64 {
    if target & ROOT == 0 {
        target
    } else {
        target - ROOT + ROOTS
    }
}

/// Returns the address in 48 bits, or 0.
#[inline]
fn of_address(address: usize) -> u64 {
    let address = address as u64;
    if address & !MASK == 0 { address } else { 0 }
}

/// Returns the target of an event that concerns the object of a block.
#[inline]
pub(super) fn of_block(block: &'static Block) -> u64 {
    of_address(ptr::from_ref(block).expose_provenance())
}

/// Returns the block of such a target.
pub(super) fn block(target: u64) -> Option<&'static Block> {
    let block: *const Block = ptr::with_exposed_provenance(target as usize);
    // SAFETY: null, or the address of a block, which `of_block` has exposed. Blocks are never freed.
    unsafe { block.as_ref() }
}

/// Returns the bits of a location.
#[inline]
pub(super) fn of_location(location: Option<&'static Location<'static>>) -> u64 {
    location.map_or(0, |location| {
        of_address(ptr::from_ref(location).expose_provenance())
    })
}

/// Returns the bits of a location and a generation.
#[inline]
pub(super) fn of_place(location: Option<&'static Location<'static>>, generation: u32) -> u64 {
    of_location(location) | u64::from(generation) << BITS
}

/// Returns the location of such bits.
pub(super) fn location(bits: u64) -> Option<&'static Location<'static>> {
    let location: *const Location<'static> = ptr::with_exposed_provenance((bits & MASK) as usize);
    // SAFETY: null, or the address of a `&'static`, which `of_location` has exposed.
    unsafe { location.as_ref() }
}

/// Returns the low bits of the generation of such bits.
pub(super) fn generation(bits: u64) -> u16 {
    (bits >> BITS) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_all_parts() {
        for (at, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, at + 1);
            let event = Event {
                kind: 200,
                target: MASK,
                ..Event::new(code, u64::MAX, 7)
            };
            let (ticks, read) = Event::of_words(&event.words(9)).unwrap();
            assert_eq!((ticks, read.code, read.kind), (9, code, 200));
            assert_eq!((read.target, read.waiter, read.other), (MASK, u64::MAX, 7));
        }
        assert!(Event::of_words(&[1, 0, 0, 0]).is_none());
        assert!(Event::of_words(&[1, 99, 0, 0]).is_none());
    }

    #[test]
    fn numbers_of_tasks_and_roots_are_kept() {
        for id in [0, 1, 1 << 40, ROOTS, ROOTS + 1] {
            assert_eq!(number(of_number(id)), id);
        }
    }

    #[test]
    fn locations_and_generations_are_kept() {
        let here = Location::caller();
        let bits = of_place(Some(here), 0x1_0007);
        assert_eq!((location(bits), generation(bits)), (Some(here), 7));
        assert!(location(of_place(None, 3)).is_none());
    }
}
