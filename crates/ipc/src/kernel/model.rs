//! The ring, for the models in `tests/loom`.

use std::time::Instant;

use blitz_io_core::Spin;
use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::{self as observe, Blocking, Caller};

use crate::kernel::event_count::EventCount;
use crate::kernel::memory::Memory;
use crate::kernel::protocol::barrier::{Arrival, Parties, Standing};
use crate::kernel::protocol::event::{self, Seen};
use crate::kernel::protocol::semaphore::Permits;
use crate::kernel::ring::{
    Awaited, Claim, Delivery, Exclusive, INACTIVE, Look, Phase, Ring, Senders, Stamp, Take,
};
use crate::kernel::wait::{self, End, Failure, Settled, Wait, Waiter};

/// A listener's memory.
pub struct Listen(Seen);

/// A sender's last view of the receivers with history.
pub struct Known(Exclusive);

impl Known {
    /// A new sender knows of none.
    #[allow(clippy::new_without_default, reason = "only for models")]
    pub fn new() -> Self {
        Self(Exclusive::new())
    }
}

/// How a meeting at a barrier has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Met {
    /// This was the last one to arrive.
    Leader,
    /// Another one was the last to arrive.
    Follower,
    /// A participant has died.
    Broken,
}

/// An operation of a model that may have to wait.
struct Operation<'a, F> {
    participant: Participant<'a>,
    attempt: F,
    awaits: Awaited,
    /// The view of the senders of an operation that ends without one, as in a queue.
    senders: Option<Senders>,
}

/// A participant, which looks for no dead ones: a thread of the model reaps them.
struct Participant<'a>(&'a Ring);

/// The error of an operation for which no message will come.
struct Ended;

impl Failure for Ended {
    const NOT_NOW: Self = Self;
    const TIMED_OUT: Self = Self;
    const FORKED: Self = Self;
    const CORRUPT: Self = Self;

    #[cfg(unix)]
    fn io(_: std::io::Error) -> Self {
        Self
    }
}

impl End for Participant<'_> {
    fn check<E: Failure>(&self) -> Result<(), E> {
        Ok(())
    }

    fn spin(&self, _: &mut Spin) -> bool {
        false
    }

    fn event_count(&self, awaited: Awaited) -> EventCount<'_> {
        self.0.event_count(awaited)
    }

    fn announce(&self, kind: observe::Kind, caller: Caller, is_timed: bool) -> Blocking {
        Blocking::new(kind, &observe::Object::new(), caller, is_timed)
    }

    fn sleep(&mut self, awaited: Awaited, key: u32, deadline: Option<Instant>) {
        self.0.event_count(awaited).sleep(key, deadline);
    }

    fn look_if_due(&mut self) -> bool {
        false
    }

    fn look_if_polls_are_due(&mut self) -> bool {
        false
    }
}

impl<'a, R, F: FnMut() -> Option<R>> Waiter for Operation<'a, F> {
    type End = Participant<'a>;
    type Output = R;
    type Error = Ended;
    const KIND: observe::Kind = observe::Kind::IpcReceive;

    fn end(&mut self) -> &mut Participant<'a> {
        &mut self.participant
    }

    fn awaits(&self) -> Awaited {
        self.awaits
    }

    fn attempt(&mut self) -> Result<Option<R>, Ended> {
        Ok((self.attempt)())
    }

    fn settle(&mut self) -> Result<Settled<R>, Ended> {
        let ring = self.participant.0;
        let senders = self.senders.as_mut();
        let is_over = senders.is_some_and(|senders| senders.are_gone(ring));
        if let Some(done) = (self.attempt)() {
            return Ok(Settled::Done(done));
        }
        if !is_over {
            return Ok(Settled::Waits(self.awaits));
        }
        ring.awaited_without_senders()
            .map(Settled::Waits)
            .ok_or(Ended)
    }
}

/// The participant that joins and leaves as a sender.
const SENDER: usize = 0;
/// Records that may be those of senders.
const SENDERS: usize = 1;

/// A ring and its participants, which are numbers.
pub struct Model {
    ring: Ring,
}

impl Model {
    /// Creates a route or channel.
    pub fn broadcast(capacity: u64, participants: usize) -> Self {
        Self::new(capacity, participants, Delivery::Every, false)
    }

    /// Creates a route or channel whose senders overwrite the oldest message.
    pub fn dropping(capacity: u64, participants: usize) -> Self {
        Self::new(capacity, participants, Delivery::Every, true)
    }

    /// Creates a queue.
    pub fn queue(capacity: u64, participants: usize) -> Self {
        Self::new(capacity, participants, Delivery::One, false)
    }

    fn new(capacity: u64, participants: usize, delivery: Delivery, drop_oldest: bool) -> Self {
        let free = |position| Stamp::new(position, Phase::Free, 0).0;
        let stamps: Vec<u64> = (0..capacity).map(free).collect();
        let memory = Memory::new(&stamps, &vec![INACTIVE; participants]);
        Self {
            ring: Ring::new(
                memory,
                capacity,
                SENDERS,
                participants,
                delivery,
                drop_oldest,
            ),
        }
    }

    /// Claims a position and stops there, as if killed.
    pub fn claim(&self, me: usize, limit: &mut u64) -> Option<u64> {
        match self.ring.try_claim(me, limit) {
            Claim::Claimed(position) => Some(position),
            Claim::Full => None,
            Claim::Corrupt => panic!("corrupt"),
        }
    }

    /// Writes the claimed message and stops there.
    pub fn write(&self, position: u64, value: u64) {
        self.ring.memory.write(self.ring.index(position), value);
    }

    /// Publishes and stops there: receivers are not woken.
    pub fn publish(&self, me: usize, position: u64) {
        self.ring.publish(me, position).expect("the claim is ours");
    }

    /// Sends, if there is room.
    pub fn try_send(&self, me: usize, limit: &mut u64, value: u64) -> bool {
        let Some(position) = self.claim(me, limit) else {
            return false;
        };
        self.write(position, value);
        self.publish(me, position);
        self.ring.notify_published(position);
        true
    }

    /// Sends, and sleeps until there is room.
    pub fn send(&self, me: usize, limit: &mut u64, value: u64) {
        self.wait(Awaited::Room, || {
            self.try_send(me, limit, value).then_some(())
        });
    }

    /// Becomes a receiver of a route or channel. Returns the position at which it begins.
    pub fn join(&self, me: usize) -> u64 {
        self.ring.join(me, false).first
    }

    /// Receives at `cursor` if there is a message, and advances the cursor.
    pub fn try_recv(&self, me: usize, cursor: &mut u64) -> Option<[u64; 2]> {
        let message = match self.ring.look(*cursor) {
            Look::Ready => Some(self.ring.memory.read(self.ring.index(*cursor))),
            Look::Skip => None,
            Look::Empty | Look::Claimed => return None,
            Look::Overwritten | Look::Corrupt => panic!("the cursor did not hold"),
        };
        let left = *cursor;
        *cursor += 1;
        self.ring.set_cursor(me, *cursor);
        self.ring.notify_room(left);
        message.or_else(|| self.try_recv(me, cursor))
    }

    /// Receives, and sleeps until there is a message.
    pub fn recv(&self, me: usize, cursor: &mut u64) -> [u64; 2] {
        self.wait(Awaited::Published, || self.try_recv(me, cursor))
    }

    /// Copies the message at `cursor` out of a ring that drops the oldest. Returns `None`
    /// if there is no message, or if a sender overwrote it during the copy.
    pub fn copy(&self, cursor: u64) -> Option<[u64; 2]> {
        match self.ring.look(cursor) {
            Look::Ready => {
                let message = self.ring.memory.read(self.ring.index(cursor));
                self.ring.is_still_ready(cursor).then_some(message)
            }
            Look::Corrupt => panic!("corrupt"),
            _ => None,
        }
    }

    /// Sends, if there is room, and writes plain bytes if no receiver may copy them.
    pub fn overwrite(&self, me: usize, limit: &mut u64, known: &mut Known, value: u64) -> bool {
        let Some(position) = self.claim(me, limit) else {
            return false;
        };
        let index = self.ring.index(position);
        if self.ring.is_exclusive(position, &mut known.0) {
            self.ring.memory.write_plain(index, value);
        } else {
            self.ring.memory.write(index, value);
        }
        self.publish(me, position);
        true
    }

    /// Becomes a receiver with history, and copies the messages that it holds.
    pub fn join_and_copy(&self, me: usize) -> Vec<[u64; 2]> {
        let cursor = self.ring.join(me, true);
        let mut copied = Vec::new();
        for position in cursor.first..cursor.safe {
            if self.ring.look(position) == Look::Ready {
                let message = self.ring.memory.copy(self.ring.index(position));
                if self.ring.is_still_ready(position) {
                    copied.push(message);
                }
            }
            self.ring.set_cursor(me, position + 1);
        }
        copied
    }

    /// Takes a message of a queue and stops there.
    pub fn take(&self, me: usize, searched: &mut u64) -> Option<(u64, [u64; 2])> {
        match self.ring.try_take(me, searched) {
            Take::Taken(position) => {
                let index = self.ring.index(position);
                Some((position, self.ring.memory.read(index)))
            }
            Take::Empty => None,
            Take::Corrupt => panic!("corrupt"),
        }
    }

    /// Ends the use of a taken message.
    pub fn consume(&self, me: usize, position: u64) {
        self.ring
            .consume(me, position)
            .expect("the message is ours");
        self.ring.notify_room(position);
    }

    /// Publishes a taken message again.
    pub fn put_back(&self, me: usize, position: u64) {
        self.ring
            .put_back(me, position)
            .expect("the message is ours");
        self.ring.published().notify_waiters();
        self.ring.room().notify_waiters();
    }

    /// Takes and consumes, and sleeps until there is a message.
    pub fn recv_one(&self, me: usize, searched: &mut u64) -> [u64; 2] {
        let (position, message) = self.wait(Awaited::Published, || self.take(me, searched));
        self.consume(me, position);
        message
    }

    /// Joins as the only sender that has a role.
    pub fn join_sender(&self) {
        self.ring.join_sender(SENDER);
    }

    /// Notes that the segment was overwritten.
    pub fn mark_corrupt(&self) {
        self.ring.mark_corrupt();
    }

    /// Returns `true` if a participant has noted that the segment was overwritten.
    pub fn is_marked_corrupt(&self) -> bool {
        self.ring.is_marked_corrupt()
    }

    /// Leaves as the sender that has a role.
    pub fn leave_sender(&self) {
        self.ring.memory.role(SENDER).swap(0);
        self.ring.published().notify_waiters();
        self.ring.room().notify_waiters();
    }

    /// Takes a message as a receiver that joins now, and sleeps until there is one. Returns
    /// `None` if there was a sender, none is left, and no message will come.
    pub fn take_or_end(&self, me: usize, searched: &mut u64) -> Option<(u64, [u64; 2])> {
        let senders = Senders::new(&self.ring);
        self.block(Awaited::Published, Some(senders), || {
            self.take(me, searched)
        })
        .ok()
    }

    /// Sleeps until every message of a queue that was sent before is consumed.
    pub fn drain(&self) {
        let end = self.ring.memory.tail().load(Ordering::Acquire);
        self.wait(Awaited::Room, || {
            self.ring.find_sent(0, end).is_none().then_some(())
        });
    }

    /// Waits for `attempt`, which fails until this event.
    fn wait<R>(&self, awaits: Awaited, attempt: impl FnMut() -> Option<R>) -> R {
        let done = self.block(awaits, None, attempt);
        done.unwrap_or_else(|Ended| unreachable!("without senders it waits, too"))
    }

    fn block<R>(
        &self,
        awaits: Awaited,
        senders: Option<Senders>,
        attempt: impl FnMut() -> Option<R>,
    ) -> Result<R, Ended> {
        let mut operation = Operation {
            participant: Participant(&self.ring),
            attempt,
            awaits,
            senders,
        };
        wait::block(&mut operation, Wait::Forever)
    }

    /// Notifies an event, which has two ids.
    pub fn notify(&self, id: usize) {
        event::notify(&self.ring.memory, id);
        self.ring.published().notify();
    }

    /// Arms the doorbell of a task.
    pub fn arm(&self) {
        let published = self.ring.published();
        published.prepare(crate::kernel::event_count::DOORBELL);
    }

    /// Starts to listen.
    pub fn listen(&self) -> Listen {
        Listen(Seen::new(&self.ring.memory, 2))
    }

    /// Waits for the next notification.
    pub fn listened(&self, listen: &mut Listen) -> (usize, u64) {
        self.wait(Awaited::Published, || listen.0.find(&self.ring.memory))
    }

    fn permits(&self) -> Permits<'_> {
        Permits {
            memory: &self.ring.memory,
            count: 1,
            participants: 4,
        }
    }

    /// Acquires the only permit.
    pub fn acquire(&self, me: usize) {
        self.wait(Awaited::Published, || {
            self.permits().try_acquire(me, 0).expect("not corrupt")
        });
    }

    /// Releases the permit.
    pub fn release(&self, me: usize) {
        self.permits().release(me, 0).expect("it is ours");
        self.ring.published().notify();
    }

    /// Reaps a dead participant of a semaphore.
    pub fn reap_permits(&self, dead: usize) {
        self.permits().reap(dead);
        self.ring.published().notify_waiters();
    }

    fn parties(&self, count: usize) -> Parties<'_> {
        Parties {
            memory: &self.ring.memory,
            count,
        }
    }

    /// Arrives at a barrier for `count`. Returns `Err(generation)` if it has to wait for
    /// others.
    pub fn arrive(&self, count: usize) -> Result<Met, u64> {
        match self.parties(count).arrive().expect("not corrupt") {
            Arrival::Last => {
                self.ring.published().notify();
                Ok(Met::Leader)
            }
            Arrival::Broken => Ok(Met::Broken),
            Arrival::Early(generation) => Err(generation),
        }
    }

    /// Arrives and waits.
    pub fn meet(&self, count: usize) -> Met {
        let generation = match self.arrive(count) {
            Ok(met) => return met,
            Err(generation) => generation,
        };
        self.wait(Awaited::Published, || {
            match self.parties(count).standing(generation) {
                Standing::Open => Some(Met::Follower),
                Standing::Broken => Some(Met::Broken),
                Standing::Closed => None,
            }
        })
    }

    /// Withdraws an arrival. Returns `true` if the barrier had opened with it.
    pub fn withdraw(&self, count: usize, generation: u64) -> bool {
        self.parties(count).withdraw(generation) == Standing::Open
    }

    /// Breaks the barrier because of a dead participant.
    pub fn break_up(&self, count: usize) {
        self.parties(count).break_up();
        self.ring.published().notify_waiters();
    }

    /// Reaps a dead participant.
    pub fn reap(&self, dead: usize) {
        self.ring.reap(dead);
        self.ring.published().notify_waiters();
        self.ring.room().notify_waiters();
    }
}
