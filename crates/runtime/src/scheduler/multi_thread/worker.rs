//! A worker: a thread that has taken a seat and runs tasks.
//!
//! # What runs next
//!
//! What was woken last, from the slot, then the ring, of which the next few tasks are
//! taken in one step, then the inject queue, then what others have. So that nobody
//! starves:
//!
//! * the slot goes first three times in a row at most, and what runs from it shares the
//!   budget of the task before it. Then what is woken goes to the end of the ring, until
//!   a task has run from there.
//! * every `global_queue_interval` polls the inject queue goes first: a share of it comes
//!   into the ring, as one task at a time would be far too slow while the ring is never
//!   empty. It also goes before a task that yields when nobody else is ready.
//! * every `event_interval` polls the timers and the driver get their turn.
//!
//! A task that yields, or was woken while it was polled, goes to the end of the ring. If
//! there is nobody before it, it does not go through the ring at all, and is polled
//! again at once: no other worker has to know, and no read-modify-write is needed.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use blitz_sync::internals::coop::{self, Budget};

use super::hand_over;
use super::queue::CAPACITY;
use super::seat::{Own, Seat};
use super::shared::Shared;
use super::tray::MOST;
use crate::context;
use crate::hints::aside;
use crate::runtime::enter;
use crate::runtime::metrics::Stopwatch;
use crate::scheduler;
use crate::task::{Header, Notified, Ran};

/// How often in a row the slot goes before the ring.
const MOST_FROM_SLOT: u32 = 3;

/// See the head of this file.
pub(crate) struct Worker {
    pub(super) shared: Arc<Shared>,
    index: usize,
    seat: NonNull<Seat>,
    /// Whether the seat is this thread's. It is not any more when a task has given it
    /// away to block the thread.
    pub(super) seated: Cell<bool>,
    /// Something has come into the slot, or the seat was given away, and that has not been
    /// attended to.
    pub(super) has_news: Cell<bool>,
    /// The runtime ends, and this worker cancels its tasks: it keeps the seat.
    pub(super) leaving: Cell<bool>,
    /// Somebody wants to know of each poll.
    watches_polls: bool,
    /// What is woken may go into the slot.
    has_slot: bool,
    /// It does at the moment.
    uses_slot: Cell<bool>,
    /// How often tasks of this thread had been made to yield when that was counted last.
    forced_yields: Cell<u64>,
}

/// What comes of a pause between two tasks.
enum Pause {
    GoOn,
    /// This task goes first.
    Injected(Notified),
    Closed,
}

/// Has a thread of the pool take the seat at `index`.
pub(super) fn start(shared: &Arc<Shared>, handle: &scheduler::Handle, index: usize) {
    let own = shared.clone();
    // Mandatory, as it is the workers who end the tasks when the runtime ends.
    let pool = &shared.common().blocking;
    let started = pool.spawn_mandatory(handle, move || run(own, index));
    assert!(started.is_some(), "OS can't spawn worker thread");
}

/// The same when the pool is closed: the end of the runtime needs all workers.
#[cold]
pub(super) fn start_late(shared: &Arc<Shared>, index: usize) {
    let handle = scheduler::Handle::MultiThread(shared.clone());
    let own = shared.clone();
    let pool = &shared.common().blocking;
    pool.start_late(&handle, move || run(own, index));
}

/// What a worker's thread does.
pub(super) fn run(shared: Arc<Shared>, index: usize) {
    if enter::is_entered() {
        // The pool was closed before a thread took this job, and the closing thread does
        // it; but this one drives tasks itself.
        return start_late(&shared, index);
    }
    let _abort = AbortOnPanic;
    if !shared.seats[index].take() {
        return;
    }
    let handle = scheduler::Handle::MultiThread(shared.clone());
    let address = Arc::as_ptr(&shared).cast();
    let hooks = &shared.common().hooks;
    let has_slot = !shared.common().config.disable_lifo_slot;
    let worker = Worker {
        watches_polls: hooks.polls() || shared.seats[index].counters.watches_polls(),
        has_slot,
        uses_slot: Cell::new(has_slot),
        seat: NonNull::from(&shared.seats[index]),
        shared: shared.clone(),
        index,
        seated: Cell::new(true),
        has_news: Cell::new(false),
        leaving: Cell::new(false),
        forced_yields: Cell::new(coop::forced_yields()),
    };
    enter::enter_runtime(&handle, true, |_| {
        let place = std::ptr::from_ref(&worker).cast();
        let _guard = context::with(|context| context.set_worker(address, place));
        let _timers = (shared.common().time.as_ref()).map(|wheels| wheels.attach(index));
        let counters = &worker.seat().counters;
        counters.is_run_by(std::thread::current().id());
        hand_over::with_worker(&worker, || worker.run());
    });
}

/// A worker that panics leaves tasks behind that nobody will run. Tasks' panics are
/// caught; this is for hooks, and for mistakes of ours.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if cfg!(debug_assertions) && std::thread::panicking() {
            eprintln!("worker thread panicking; aborting process");
            std::process::abort();
        }
    }
}

impl Worker {
    #[inline]
    pub(super) fn number(&self) -> usize {
        self.index
    }

    #[inline(always)]
    pub(super) fn seat(&self) -> &Seat {
        // SAFETY: it is one of `shared`'s, which we hold a reference to.
        unsafe { self.seat.as_ref() }
    }

    #[inline]
    pub(super) fn own(&self) -> &Own {
        &self.seat().own
    }

    fn run(&self) {
        let mut busy = Stopwatch::start();
        loop {
            if let Some(task) = self.next() {
                self.run_task(task);
                if !self.seated.get() {
                    break;
                }
                continue;
            }
            // What is not a task's poll may do as much as it likes.
            coop::set(Budget::UNCONSTRAINED);
            if self.shared.is_closed() {
                self.leave();
                break;
            }
            if let Some(task) = self.find_task(&mut busy) {
                self.run_task(task);
                if !self.seated.get() {
                    break;
                }
            }
        }
        coop::set(Budget::UNCONSTRAINED);
    }

    /// The next task of those that need no search. `None` also when the runtime is about
    /// to end.
    #[inline]
    fn next(&self) -> Option<Notified> {
        let seat = self.seat();
        let own = &seat.own;
        if own.left.get() == 0 {
            match self.pause() {
                Pause::GoOn => {}
                Pause::Injected(task) => return Some(task),
                Pause::Closed => return None,
            }
        }
        if let Some(task) = own.again.take() {
            // SAFETY: it was put there as a token, and is taken out once.
            let task = unsafe { Notified::from_raw(task) };
            // What comes from outside was ready before it.
            let Some(first) = self.next_share(seat) else {
                own.begins(1);
                return Some(task);
            };
            self.push_back(seat, task);
            return Some(first);
        }
        self.next_of_own(seat).or_else(|| self.next_share(seat))
    }

    /// It is time for the upkeep, or for the inject queue, or both.
    #[cold]
    fn pause(&self) -> Pause {
        coop::set(Budget::UNCONSTRAINED);
        let (upkeep, inject) = self.own().count_down();
        if upkeep {
            self.keep_up();
        }
        if self.shared.is_closed() {
            return Pause::Closed;
        }
        if !inject {
            return Pause::GoOn;
        }
        // It may block the thread, and others have to see what waits.
        self.queue_again();
        match self.next_share(self.seat()) {
            None => Pause::GoOn,
            Some(task) => Pause::Injected(task),
        }
    }

    /// The next task of this worker's queue.
    #[inline]
    pub(super) fn next_of_own(&self, seat: &Seat) -> Option<Notified> {
        // SAFETY: the seat is ours, and with it the slot.
        let woken = unsafe { seat.slot.take() };
        if woken.is_some() {
            seat.own.begins(1);
        }
        // SAFETY: the seat is ours, and with it the tray.
        let task = woken.or_else(|| unsafe { seat.tray.take(&seat.ring) });
        let task = task.or_else(|| self.next_of_ring(seat))?;
        // SAFETY: tokens are put in, and each is taken out once.
        Some(unsafe { Notified::from_raw(task) })
    }

    /// The first task of the ring. The next ones may come into the tray; then this is
    /// where others hear of what is left in the ring, and of what comes to it until the
    /// tray is empty.
    #[inline]
    fn next_of_ring(&self, seat: &Seat) -> Option<NonNull<Header>> {
        let most = seat.own.most_in_hand();
        // SAFETY: the seat is ours, and with it the ring and the tray, which is empty.
        let task = unsafe { seat.tray.take_through(&seat.ring, most) }?;
        let in_hand = seat.tray.len();
        // Those in hand need not be counted when they begin.
        seat.own.begins(1 + in_hand);
        if in_hand > 0 {
            self.tell(true);
        }
        Some(task)
    }

    /// This worker's share of the inject queue, whose first task is returned.
    #[inline]
    fn next_share(&self, seat: &Seat) -> Option<Notified> {
        if self.shared.inject.is_empty() {
            return None;
        }
        // SAFETY: the seat is ours, and with it the ring and the tray.
        let room = unsafe { seat.ring.room(seat.tray.len()) }.min(CAPACITY / 2);
        let first = self
            .shared
            .inject
            .pop_share(self.shared.workers(), room, |task| {
                // SAFETY: the seat is ours, and with it the ring, in which there is room.
                let pushed = unsafe { seat.ring.push(task, || seat.tray.len()) };
                debug_assert!(pushed.is_ok());
            })?;
        seat.own.begins(1);
        if !seat.ring.is_empty() && !seat.own.searching.get() {
            self.shared.call(self.shared.idle.pushed(true));
        }
        // SAFETY: as above.
        Some(unsafe { Notified::from_raw(first) })
    }

    /// What has to be done now and then.
    fn keep_up(&self) {
        self.turn_timers();
        self.free_tasks();
        self.count_forced_yields();
        let seat = self.seat();
        if !seat.ring.is_empty() {
            // Whoever a push has overlooked.
            self.tell_of_ring(seat);
        }
    }

    /// Wakes those whose time has come.
    #[inline]
    pub(super) fn turn_timers(&self) {
        self.seat().driver.poll();
        if let Some(wheels) = &self.shared.common().time {
            _ = wheels.turn_if_due(self.index);
        }
    }

    /// Frees tasks of this worker's list that have ended elsewhere.
    #[inline]
    pub(super) fn free_tasks(&self) {
        // SAFETY: the seat is ours, and with it the list.
        unsafe { self.shared.owned.settle(self.index) }
    }

    /// Adds up how often this thread has made tasks yield.
    pub(super) fn count_forced_yields(&self) {
        let now = coop::forced_yields();
        let more = now - self.forced_yields.replace(now);
        self.seat().counters.forced_yields.add(more);
    }

    /// Runs a task, and what comes right after it.
    #[inline]
    fn run_task(&self, mut task: Notified) {
        let seat = self.seat();
        if seat.own.searching.get() {
            self.stop_searching();
        }
        if self.watches_polls {
            coop::set(Budget::FULL);
            return self.end_poll(seat, self.run_watched(task));
        }
        loop {
            coop::set(Budget::FULL);
            let ran = task.run();
            if self.has_news.get() {
                return self.end_poll(seat, ran);
            }
            seat.counters.polled();
            match self.follows(seat, ran) {
                Some(next) => task = next,
                None => return,
            }
        }
    }

    /// What comes after a poll as a rule.
    fn end_poll(&self, seat: &Seat, ran: Ran) {
        if !self.seated.get() {
            return self.reschedule_unseated(ran);
        }
        seat.counters.polled();
        self.follows_nobody(seat, ran);
        self.run_slot(seat);
        self.has_news.set(false);
    }

    /// What runs right after a task that was polled: the next one in hand, or the same one
    /// if it asks for that and nobody else is ready. `None` if something else is to be
    /// looked at first.
    #[inline]
    fn follows(&self, seat: &Seat, ran: Ran) -> Option<Notified> {
        // SAFETY: the seat is ours, and with it the tray and the ring.
        let next = || unsafe { seat.tray.take_looking_ahead(&seat.ring) };
        let next = match ran {
            Ran::Again(task) | Ran::Yielded(task) => match next() {
                Some((next, coming)) => {
                    // Who fills the tray again tells of it.
                    // SAFETY: the ring is ours, and `next` has left a place.
                    unsafe { seat.ring.put_back(task.into_raw()) };
                    Header::fetch(coming);
                    next
                }
                None if self.is_alone(seat) => {
                    seat.own.begins(1);
                    task.into_raw()
                }
                None => return self.follows_nobody(seat, Ran::Again(task)),
            },
            Ran::Done | Ran::Idle => {
                aside();
                next()?.0
            }
        };
        // SAFETY: tokens are put in, and each is taken out once.
        Some(unsafe { Notified::from_raw(next) })
    }

    /// Whether a task that asks for the end of the queue may begin at once.
    fn is_alone(&self, seat: &Seat) -> bool {
        seat.own.left.get() > 0 && seat.ring.is_empty() && self.shared.inject.is_empty()
    }

    /// Something else comes first.
    fn follows_nobody(&self, seat: &Seat, ran: Ran) -> Option<Notified> {
        if let Ran::Again(task) | Ran::Yielded(task) = ran {
            self.reschedule(seat, task);
        }
        None
    }

    /// Runs what comes from the slot, as often as it may come before the ring, within the
    /// budget of the task before it.
    fn run_slot(&self, seat: &Seat) {
        let mut count = 0;
        while let Some(task) = self.take_slot() {
            if !coop::has_budget_remaining() {
                self.push_back(seat, task);
                break;
            }
            count += 1;
            if count == MOST_FROM_SLOT {
                self.uses_slot.set(false);
            }
            let ran = self.poll(task);
            if !self.seated.get() {
                return self.reschedule_unseated(ran);
            }
            seat.counters.polled();
            if let Ran::Again(task) | Ran::Yielded(task) = ran {
                self.reschedule(seat, task);
            }
        }
        if count >= MOST_FROM_SLOT {
            self.uses_slot.set(self.has_slot);
        }
    }

    #[inline]
    pub(super) fn take_slot(&self) -> Option<Notified> {
        // SAFETY: the seat is ours, and with it the slot.
        let task = unsafe { self.seat().slot.take() }?;
        // SAFETY: tokens are put in, and each is taken out once.
        Some(unsafe { Notified::from_raw(task) })
    }

    #[inline(always)]
    fn poll(&self, task: Notified) -> Ran {
        match self.watches_polls {
            true => self.run_watched(task),
            false => task.run(),
        }
    }

    #[cold]
    fn run_watched(&self, task: Notified) -> Ran {
        let id = task.id();
        let seat = self.seat();
        let began = seat.counters.watches_polls().then(Instant::now);
        let hooks = &self.shared.common().hooks;
        hooks.before_poll(id);
        let ran = task.run();
        hooks.after_poll(id);
        if let (Some(began), true) = (began, self.seated.get()) {
            seat.counters.poll_took(began.elapsed());
        }
        ran
    }

    /// A task that was polled wants to be polled again, behind the others.
    #[inline]
    fn reschedule(&self, seat: &Seat, task: Notified) {
        if !seat.has_tasks() && seat.own.again.get().is_none() {
            seat.own.again.set(Some(task.into_raw()));
            return;
        }
        self.push_back(seat, task);
        self.tell_of_ring(seat);
    }

    /// A task is in the ring. This worker takes the next one itself, as soon as it is
    /// done with the one it polls; if that is the only one, nobody is woken for it,
    /// unless the user wants that.
    #[inline]
    fn tell_of_ring(&self, seat: &Seat) {
        self.tell(seat.queue_depth() > 1 || !self.has_slot);
    }

    #[inline]
    fn tell(&self, stealable: bool) {
        self.shared.call(self.shared.idle.pushed(stealable));
    }

    #[cold]
    fn reschedule_unseated(&self, ran: Ran) {
        match ran {
            Ran::Done | Ran::Idle => {}
            Ran::Again(task) | Ran::Yielded(task) => self.shared.schedule_remotely(task),
        }
    }

    /// A task was woken on this thread.
    #[inline]
    pub(super) fn woken(&self, task: Notified) {
        if !self.seated.get() {
            return self.shared.schedule_remotely(task);
        }
        let seat = self.seat();
        seat.counters.scheduled_here.add(1);
        if !self.uses_slot.get() {
            self.push_back(seat, task);
            return self.tell_of_ring(seat);
        }
        // SAFETY: the seat is ours, and with it the slot.
        let displaced = unsafe { seat.slot.put(task.into_raw()) };
        self.has_news.set(true);
        if let Some(displaced) = displaced {
            // SAFETY: tokens are put in, and each is taken out once.
            self.push_back(seat, unsafe { Notified::from_raw(displaced) });
        }
        let stealable = displaced.is_some();
        self.shared.call(self.shared.idle.pushed(stealable));
    }

    /// A task was spawned on this thread; there is no token if the runtime has ended.
    #[inline]
    pub(super) fn spawned(&self, task: Option<Notified>) {
        if !self.seated.get() {
            return self.shared.spawned(task);
        }
        self.seat().counters.spawned.add(1);
        if let Some(task) = task {
            self.woken(task);
        }
    }

    /// Puts a task at the end of the ring.
    #[inline]
    pub(super) fn push_back(&self, seat: &Seat, task: Notified) {
        let in_hand = || seat.tray.len();
        // SAFETY: the seat is ours, and with it the ring.
        if let Err(task) = unsafe { seat.ring.push(task.into_raw(), in_hand) } {
            self.overflow(seat, task);
        }
    }

    /// The ring is full: half of it goes to the inject queue, with the task; before it what
    /// is in hand, as that is in the way.
    #[cold]
    fn overflow(&self, seat: &Seat, task: NonNull<Header>) {
        let mut spilt = [task; MOST + CAPACITY / 2 + 1];
        let mut count = 0;
        let mut spill = |task| {
            spilt[count] = task;
            count += 1;
        };
        // SAFETY: the seat is ours, and with it the tray and the ring.
        unsafe {
            std::iter::from_fn(|| seat.tray.take(&seat.ring)).for_each(&mut spill);
            seat.ring.spill(spill);
        }
        spilt[count] = task;
        self.shared.inject.push_all(&spilt[..=count]);
        seat.counters.overflows.add(1);
        self.shared.call(self.shared.idle.injected());
    }

    /// The task that asked for the end of the queue when nobody was before it goes to
    /// the ring after all.
    pub(super) fn queue_again(&self) {
        let seat = self.seat();
        if let Some(task) = seat.own.again.take() {
            // SAFETY: it was put there as a token, and is taken out once.
            self.push_back(seat, unsafe { Notified::from_raw(task) });
        }
    }
}
