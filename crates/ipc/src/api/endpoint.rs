//! A participant: a segment, a record in it, and the lock on the record's byte.
//!
//! **Liveness.** A participant is alive as long as the kernel keeps its lock. The lock's
//! byte is `FIRST_PARTICIPANT` + the number of the record. Process number and start time
//! are in the record for people to read; nothing depends on them.
//!
//! **A record's states.** *Empty* (role 0, cursor inactive), or *in use*. Only the owner of
//! its lock changes it:
//!
//! * *Join* (under the membership lock): take the lock; if the record is in use, its owner
//!   is dead: reap it. Then write the record, the role last.
//! * *Leave:* reap oneself, then give the lock back.
//! * *Look* (any participant, at any time): for each record in use whose lock is free: take
//!   the lock, look at the record again, reap, give the lock back.
//!
//! Reaping makes the record empty at its very end, so a participant that is killed while it
//! reaps leaves a record in use without a lock, which the next one reaps again.

#[cfg(unix)]
use std::io;
use std::ops::Range;
#[cfg(all(feature = "async", unix))]
use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_core::looks;
use blitz_io_core::{Spin, generation};
use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::{self as observe, Blocking, Caller};

#[cfg(all(feature = "async", unix))]
use crate::api::doorbell::Watched;
#[cfg(unix)]
use crate::api::doorbell::{Doorbell, OwnDoorbell};
use crate::api::error::Error;
use crate::api::kind::Kind;
use crate::api::registered::Registered;
use crate::api::segment::{FIRST_PARTICIPANT, Segment};
use crate::api::settings::Settings;
use crate::api::sys;
use crate::api::wait_policy::WaitPolicy;
use crate::kernel::event_count::EventCount;
use crate::kernel::memory::{header, record};
use crate::kernel::protocol::barrier::Parties;
use crate::kernel::protocol::semaphore::Permits;
use crate::kernel::ring::{Awaited, Corrupt, INACTIVE, SENDER};
use crate::kernel::wait::{End, Failure};

/// The role of a participant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Sender = SENDER as isize,
    Receiver = 2,
}

/// Number of attempts of a participant that joins while the last free records are being
/// reaped, and the pause between them.
const JOIN_ATTEMPTS: usize = 20;
const JOIN_PAUSE: Duration = Duration::from_millis(1);

/// A participant. The top of this file explains liveness.
pub struct Endpoint {
    // First: it reads the segment.
    pub(crate) registered: Registered,
    pub(crate) segment: Segment,
    pub(crate) me: usize,
    generation: u32,
    /// A value was found that this library never writes.
    pub(crate) corrupt: bool,
    pub(crate) policy: WaitPolicy,
    #[cfg(unix)]
    pub(crate) doorbell: OwnDoorbell,
}

impl Endpoint {
    /// Takes part in `segment`. The caller holds the membership lock if the segment has a
    /// name.
    pub(crate) fn join(segment: Segment, role: Role) -> Result<Self, Error> {
        segment.populate();
        let settings = segment.settings;
        let (records, name, limit) = match role {
            Role::Sender => (0..settings.senders, "sender", settings.senders),
            Role::Receiver => (
                settings.senders..settings.participants(),
                "receiver",
                settings.receivers,
            ),
        };
        for attempt in 0..JOIN_ATTEMPTS {
            if attempt > 0 {
                looks::sleep(JOIN_PAUSE, None);
            }
            for me in records.clone() {
                if segment.try_lock_record(me)? {
                    if segment.is_in_use(me) {
                        segment.bury(me);
                    }
                    segment.write_record(me, role);
                    // SAFETY: the endpoint has both, and drops the segment later.
                    let registered = unsafe { Registered::new(&segment, me) };
                    return Ok(Self {
                        registered,
                        segment,
                        me,
                        generation: generation(),
                        corrupt: false,
                        policy: WaitPolicy::new(),
                        #[cfg(unix)]
                        doorbell: Default::default(),
                    });
                }
            }
        }
        Err(Error::Occupied {
            role: name,
            limit,
            kind: settings.kind,
            pids: segment.processes(records).collect(),
            path: segment.path.unwrap_or_default(),
        })
    }

    /// Returns `true` if this process is a fork of the process that joined.
    #[inline]
    pub(crate) fn is_forked(&self) -> bool {
        self.generation != generation()
    }

    /// Notes that the segment was overwritten.
    #[inline]
    pub(crate) fn checked<R, E: Failure>(&mut self, result: Result<R, Corrupt>) -> Result<R, E> {
        result.map_err(|Corrupt| self.found_corrupt())
    }

    #[cold]
    pub(crate) fn found_corrupt<E: Failure>(&mut self) -> E {
        self.note_corrupt();
        E::CORRUPT
    }

    /// Notes that the segment was overwritten, also for the other participants: this one will
    /// leave, and its leaving must not look like the end of a segment in order.
    #[cold]
    pub(crate) fn note_corrupt(&mut self) {
        self.corrupt = true;
        self.segment.ring.mark_corrupt();
    }

    /// Returns `error`, which says that other participants have left or died, if the words that say
    /// so can be believed. If the segment was overwritten, returns the error that says that.
    #[cold]
    pub(crate) fn ended<E: Failure>(&mut self, error: E) -> E {
        if self.is_intact() {
            error
        } else {
            self.found_corrupt()
        }
    }

    /// Returns `false` if the segment was certainly overwritten.
    #[cold]
    pub(crate) fn is_intact(&self) -> bool {
        let has_left = self.segment.role(self.me) == 0;
        !has_left && self.segment.is_intact()
    }

    /// Returns this participant's doorbell, which the first call makes.
    #[cfg(unix)]
    pub(crate) fn doorbell(&mut self) -> io::Result<&Doorbell> {
        if self.is_forked() {
            // It would replace the parent's.
            return Err(io::Error::other(Error::Forked));
        }
        self.doorbell.get(&self.segment, self.me)
    }

    /// Does what [`OwnDoorbell::registered`] does.
    #[cfg(all(feature = "async", unix))]
    pub(crate) fn registered(&mut self) -> io::Result<Arc<Watched>> {
        self.doorbell.registered(&self.segment, self.me)
    }

    /// Does what [`OwnDoorbell::arm`] does.
    #[cfg(unix)]
    pub(crate) fn arm(&mut self, awaited: Awaited) -> io::Result<()> {
        self.doorbell.arm(&self.segment, self.me, awaited)
    }

    /// Tells the recorder of `blitz trace` which processes can end a wait of this participant.
    pub(crate) fn note_peers(&self) {
        observe::trace::awaits_processes(|| (self.segment.id(), self.segment.peers_of(self.me)));
    }

    fn look(&self) {
        for participant in 0..self.segment.settings.participants() {
            if participant != self.me && self.segment.is_in_use(participant) {
                self.segment.reap_if_dead(participant);
            }
        }
    }
}

impl End for Endpoint {
    #[inline]
    fn check<E: Failure>(&self) -> Result<(), E> {
        if self.is_forked() {
            return Err(E::FORKED);
        }
        if self.corrupt {
            Err(E::CORRUPT)
        } else {
            Ok(())
        }
    }

    fn spin(&self, spin: &mut Spin) -> bool {
        self.policy.spin(spin)
    }

    fn event_count(&self, awaited: Awaited) -> EventCount<'_> {
        self.segment.ring.event_count(awaited)
    }

    fn announce(&self, kind: observe::Kind, caller: Caller, is_timed: bool) -> Blocking {
        self.note_peers();
        self.registered.block(kind, caller, is_timed)
    }

    fn sleep(&mut self, awaited: Awaited, key: u32, deadline: Option<Instant>) {
        let event_count = self.segment.ring.event_count(awaited);
        self.policy.sleep(event_count, key, deadline);
    }

    #[cold]
    fn look_if_due(&mut self) -> bool {
        let due = self.policy.is_look_due();
        if due {
            self.look();
        }
        due
    }

    #[cold]
    fn look_if_polls_are_due(&mut self) -> bool {
        let due = self.policy.is_look_of_polls_due();
        if due {
            self.look();
        }
        due
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if self.is_forked() {
            return;
        }
        self.segment.reap(self.me);
        self.segment.unlock_record(self.me);
        self.segment.remove_if_abandoned();
    }
}

impl Segment {
    fn role(&self, participant: usize) -> u64 {
        self.ring.memory.role(participant).load(Ordering::Acquire)
    }

    /// Returns `true` if no participant has found the segment overwritten, and the words that have
    /// few possible values have one of these.
    fn is_intact(&self) -> bool {
        let memory = &self.ring.memory;
        let word = |offset| memory.header(offset).load(Ordering::Acquire);
        let is_header_intact = !self.ring.is_marked_corrupt()
            && Settings::read(word, word(header::SIZE)).is_ok_and(|read| read == self.settings);
        is_header_intact && (0..self.settings.participants()).all(|it| self.is_record_intact(it))
    }

    fn is_record_intact(&self, participant: usize) -> bool {
        let cursor = self.ring.memory.cursor(participant);
        let role = self.role(participant);
        if participant < self.settings.senders {
            role <= Role::Sender as u64 && cursor.load(Ordering::Acquire) == INACTIVE
        } else {
            role == 0 || role == Role::Receiver as u64
        }
    }

    fn try_lock_record(&self, participant: usize) -> Result<bool, Error> {
        self.file
            .try_lock(FIRST_PARTICIPANT + participant)
            .map_err(|error| {
                let path = self.path.as_deref().unwrap_or(std::path::Path::new(""));
                Error::from_io("lock", path, error)
            })
    }

    fn unlock_record(&self, participant: usize) {
        self.file.unlock(FIRST_PARTICIPANT + participant);
    }

    fn write_record(&self, me: usize, role: Role) {
        let memory = &self.ring.memory;
        let own = sys::process(std::process::id());
        let started = own.map_or(0, |own| own.started);
        let pid = u64::from(std::process::id());
        memory.record(me, record::PID).store(pid, Ordering::Relaxed);
        let word = memory.record(me, record::STARTED);
        word.store(started, Ordering::Relaxed);
        match role {
            Role::Sender if self.ring.join_sender(me) => self.ring_doorbells(Awaited::Room),
            Role::Sender => {}
            Role::Receiver => {
                memory.role(me).swap(role as u64);
            }
        }
    }

    /// Returns `true` if a participant, dead or alive, has joined with this record and has not left.
    pub(crate) fn is_in_use(&self, participant: usize) -> bool {
        let cursor = self.ring.memory.cursor(participant);
        self.role(participant) != 0 || cursor.load(Ordering::Acquire) != INACTIVE
    }

    /// Returns `true` if the kernel keeps a lock on this record for another participant. If
    /// that cannot be found out, it counts as alive.
    pub(crate) fn is_alive(&self, participant: usize) -> bool {
        let byte = FIRST_PARTICIPANT + participant;
        self.file.is_locked(byte, 1).unwrap_or(true)
    }

    fn reap_if_dead(&self, participant: usize) {
        if self.is_alive(participant) || !matches!(self.try_lock_record(participant), Ok(true)) {
            return;
        }
        // Before this process got the lock, another participant may have reaped the record,
        // joined with it and left.
        if self.is_in_use(participant) {
            self.bury(participant);
        }
        self.unlock_record(participant);
    }

    /// Reaps a participant that is dead. The caller has the lock on its record.
    fn bury(&self, dead: usize) {
        if self.settings.kind == Kind::Barrier {
            self.parties().break_up();
        }
        if self.ring.is_sender(dead) {
            self.ring.count_sender();
        }
        self.reap(dead);
    }

    pub(crate) fn parties(&self) -> Parties<'_> {
        Parties {
            memory: &self.ring.memory,
            count: self.settings.entries(),
        }
    }

    pub(crate) fn permits(&self) -> Permits<'_> {
        Permits {
            memory: &self.ring.memory,
            count: self.settings.entries(),
            participants: self.settings.participants(),
        }
    }

    /// Undoes everything that a participant has left. The caller has the lock on its
    /// record.
    fn reap(&self, participant: usize) {
        let memory = &self.ring.memory;
        self.ring.reap(participant);
        if self.settings.kind == Kind::Semaphore {
            self.permits().reap(participant);
        }
        #[cfg(unix)]
        crate::api::doorbell::remove(self, participant);
        memory.record(participant, record::ARMED).swap(0);
        memory.record(participant, record::DOORBELL).swap(0);
        memory.record(participant, record::ROLE).swap(0);
        self.notify_restored();
    }

    /// Wakes all participants after messages of a queue were published again, or after one
    /// has left.
    pub(crate) fn notify_restored(&self) {
        self.ring.published().notify_waiters();
        self.ring_doorbells(Awaited::Published);
        self.ring.room().notify_waiters();
        self.ring_doorbells(Awaited::Room);
    }

    /// Wakes receivers after the stamp of `position` has changed.
    #[inline]
    pub(crate) fn notify_published(&self, position: u64) {
        if self.ring.notify_published(position) {
            self.ring_doorbells(Awaited::Published);
        }
    }

    /// Wakes senders after a receiver is done with `position`.
    #[inline]
    pub(crate) fn notify_room(&self, position: u64) {
        if self.ring.notify_room(position) {
            self.ring_doorbells(Awaited::Room);
        }
    }

    /// Wakes all that wait for an entry, after it has changed.
    #[inline]
    pub(crate) fn notify_entry(&self) {
        if self.ring.published().notify() {
            self.ring_doorbells(Awaited::Published);
        }
    }

    /// Does nothing: on a system without doorbells, none is ever armed.
    #[cfg(not(unix))]
    fn ring_doorbells(&self, _: Awaited) {}

    #[cfg(unix)]
    #[cold]
    fn ring_doorbells(&self, what: Awaited) {
        crate::api::doorbell::ring(self, what);
    }

    /// Returns the processes of the receivers for a sender, and those of the senders for a receiver, as they have
    /// written them.
    fn peers_of(&self, me: usize) -> impl Iterator<Item = u32> + '_ {
        let senders = self.settings.senders;
        self.processes(if me < senders {
            senders..self.settings.participants()
        } else {
            0..senders
        })
    }

    /// Returns the processes of these records that are in use.
    fn processes(&self, records: Range<usize>) -> impl Iterator<Item = u32> + '_ {
        let word = |peer, offset| {
            let word = self.ring.memory.record(peer, offset);
            word.load(Ordering::Acquire)
        };
        let joined = records.filter(move |&peer| word(peer, record::ROLE) != 0);
        joined.filter_map(move |peer| u32::try_from(word(peer, record::PID)).ok())
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use crate::kernel::step::at_each_point;
    use crate::{Builder, Queue, RecvError};

    fn queue(place: &tempfile::TempDir) -> Builder {
        let queue = Queue::builder().capacity(4).max_len(16);
        queue.directory(place.path())
    }

    /// The sender that joins may lose its processor before any of its stores.
    #[test]
    fn a_receiver_waits_until_the_first_sender_has_joined() {
        let place = tempfile::tempdir().unwrap();
        let mut receiver = queue(&place).receiver("j").unwrap();
        let polls = move || assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
        drop(at_each_point(polls, || queue(&place).sender("j").unwrap()));
    }

    /// The sender that joins is killed before each of its stores: it keeps no lock, and its
    /// record stays as it is.
    #[test]
    fn a_first_sender_that_is_killed_while_it_joins_has_joined_or_not() {
        for killed_at in 1.. {
            let place = tempfile::tempdir().unwrap();
            let mut receiver = queue(&place).receiver("k").unwrap();
            let mut point = 0;
            let kill = move || {
                point += 1;
                if point == killed_at {
                    resume_unwind(Box::new("killed"));
                }
            };
            let join = || at_each_point(kill, || queue(&place).sender("k").unwrap());
            if catch_unwind(AssertUnwindSafe(join)).is_ok() {
                assert!(killed_at > 3, "are the points still there?");
                return;
            }
            let has_joined = receiver.ring.endpoint.segment.is_in_use(0);
            // A child that another test forks has the lock until it closes its descriptors.
            while receiver.ring.endpoint.segment.is_in_use(0) {
                receiver.ring.endpoint.look();
            }
            let expected = if has_joined {
                RecvError::Disconnected
            } else {
                RecvError::Empty
            };
            assert_eq!(receiver.try_recv().unwrap_err(), expected, "{killed_at}");
        }
    }
}
