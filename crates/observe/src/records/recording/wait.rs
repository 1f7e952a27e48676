//! Records of futures and of threads.

use std::cell::Cell;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use super::block::READER;
use super::caller::Caller;
use super::clock::{cached, cached_here, coarse, nanos};
use super::current::Entered;
use super::descriptor::Descriptor;
use super::errand;
use super::lint::{self, Lock, Polled};
use super::local::LOCAL;
use super::object::Object;
use super::place::{Place, Target, TaskFacts, Value};
use super::registry;
use super::word_wait::WordWait;
use super::{Kind, Origin, Waiter, recorders, trace};
use crate::decisions;
use blitz_io_futex::debug_is_name;

/// The kind of a future's waits, which is nothing without the feature `inspect`.
#[derive(Clone, Copy)]
pub struct WaitKind(pub(super) Kind);

impl WaitKind {
    /// Returns the kind.
    #[inline]
    #[must_use]
    pub const fn new(kind: Kind) -> Self {
        Self(kind)
    }
}

/// The record of a pending future or of a task, if there is one. It removes the record when it is
/// dropped. One word, so that a future that never waits is moved as if it had none.
pub struct Wait {
    /// Without a record, the caller's location, or null. With one, its place, with `RECORDED` set in
    /// the address. At the point of an operation, in a simulation that is explained, a boxed [`Value`], with `AT_POINT` set.
    pub(super) word: *const (),
}

/// The address of a record whose future was dropped: no waker has it, so the next future begins a new record.
pub(super) const GIVEN_UP: usize = usize::MAX;

/// The bit that marks the address of a place.
const RECORDED: usize = 1;

/// The bit that marks the address of a boxed value, which the wait owns.
pub(super) const AT_POINT: usize = 2;

const _: () = {
    let marks = RECORDED | AT_POINT;
    assert!(align_of::<Place>() > marks && align_of::<Location<'static>>() > marks);
    assert!(align_of::<Value>() > marks);
};

debug_is_name!(impl Wait);

// SAFETY: a place and a location are shared by all threads and live for ever, and only the owner of this value changes the
// record. A boxed value has references to such things only.
unsafe impl Send for Wait {}
// SAFETY: a shared reference reads the word only.
unsafe impl Sync for Wait {}

// A record is a copy: a panic breaks no invariant of it.
impl UnwindSafe for Wait {}
impl RefUnwindSafe for Wait {}

impl Wait {
    /// Creates a wait without a record.
    #[inline]
    #[must_use]
    pub const fn new(caller: Caller) -> Self {
        let word = match caller.0 {
            Some(location) => ptr::from_ref(location).cast(),
            None => ptr::null(),
        };
        Self { word }
    }

    #[inline]
    pub(super) fn place(&self) -> Option<&'static Place> {
        if self.word.addr() & RECORDED == 0 {
            return None;
        }
        // SAFETY: it is the address of a place, plus one, and places are never freed.
        Some(unsafe { &*self.word.byte_sub(RECORDED).cast() })
    }

    /// Returns the location; null if it is not known, or in the record.
    #[inline]
    fn location(&self) -> *const Location<'static> {
        if let Some(value) = self.value_at_point() {
            return value.location.map_or(ptr::null(), ptr::from_ref);
        }
        if self.word.addr() & RECORDED == 0 {
            self.word.cast()
        } else {
            ptr::null()
        }
    }

    /// Returns the location.
    #[must_use]
    pub fn caller(&self) -> Caller {
        match self.place() {
            // SAFETY: this wait owns the place, which has the record that `set` put there.
            Some(place) => Caller(unsafe { place.slot.read_own(|value| value.location) }.flatten()),
            // SAFETY: null, or from a `&'static`.
            None => Caller(unsafe { self.location().as_ref() }),
        }
    }

    /// Returns whether there is a record.
    #[inline]
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.place().is_some()
    }

    /// The future waits for the object, in the task or thread that polls it, and has kept one clone
    /// of `waker`.
    #[inline]
    pub fn begin(&mut self, kind: WaitKind, object: &Object, waker: &Waker) {
        if self.is_new(waker) {
            self.begin_new(kind, Target::of(object), waker);
        }
    }

    /// Like [`begin`](Self::begin), but for an object that is only a number: a task, or none.
    #[inline]
    pub fn begin_with(&mut self, kind: WaitKind, number: u64, waker: &Waker) {
        if self.is_new(waker) {
            self.begin_new(kind, Target::Number(number), waker);
        }
    }

    /// Like [`begin_with`](Self::begin_with), but for a future whose callers are the `.await`s that poll it. If these are in
    /// this library, it has the location at which the program has called the method that is polled.
    #[inline]
    pub fn begin_awaited(&mut self, kind: WaitKind, number: u64, caller: Caller, waker: &Waker) {
        if self.is_new(waker) {
            self.awaited_at(caller);
            self.begin_new(kind, Target::Number(number), waker);
        }
    }

    /// Like [`begin_awaited`](Self::begin_awaited), but for an object of which only the origin is known.
    #[inline]
    pub fn begin_made_awaited(
        &mut self,
        kind: WaitKind,
        origin: Origin,
        caller: Caller,
        waker: &Waker,
    ) {
        if self.is_new(waker) {
            self.awaited_at(caller);
            self.begin_new(kind, Target::Made(origin), waker);
        }
    }

    /// Ends the record. The next one has the location of this `.await`, or of the method that it belongs to.
    fn awaited_at(&mut self, caller: Caller) {
        self.end();
        self.word = Self::new(caller.of_await()).word;
    }

    /// Like [`begin`](Self::begin), but for an object of which only the origin is known.
    #[inline]
    pub fn begin_made(&mut self, kind: WaitKind, origin: Origin, waker: &Waker) {
        if self.is_new(waker) {
            self.begin_new(kind, Target::Made(origin), waker);
        }
    }

    /// Like [`begin`](Self::begin), but for a wait that lasts until a deadline.
    #[inline]
    pub fn begin_until(&mut self, kind: WaitKind, deadline: Instant, waker: &Waker) {
        if self.is_new(waker) {
            self.begin_new(kind, Target::Until(deadline), waker);
        }
    }

    /// Begins a new record. On a worker it calls no other function, nor a clock.
    #[inline(never)]
    fn begin_new(&mut self, kind: WaitKind, target: Target, waker: &Waker) {
        let start = if self.is_recorded() {
            None
        } else {
            Start::ready(&target)
        };
        let Some(start) = start else {
            return self.begin_new_slowly(kind, target, waker);
        };
        let location = self.location();
        let value = Value {
            id: start.id,
            kind: kind.0,
            is_timed: kind.0.is_timer(),
            blocks_thread: false,
            is_measured: false,
            waiter: start.waiter,
            thread: start.thread,
            target,
            address: waker.data().addr(),
            // SAFETY: null, or from a `&'static`.
            location: unsafe { location.as_ref() },
            since: start.since,
        };
        self.set_at(start.place, value);
    }

    #[inline(never)]
    fn begin_new_slowly(&mut self, kind: WaitKind, target: Target, waker: &Waker) {
        let caller = self.leave();
        let id = next_id();
        let is_measured = target.is_measured(id);
        self.set(Value {
            id,
            target,
            waiter: Waiter::polled_with(waker),
            address: waker.data().addr(),
            is_measured,
            since: if is_measured { nanos() } else { cached() },
            ..Value::of(kind.0, caller)
        });
    }

    /// The future waits until a source of the operating system is ready. The wait ends before the
    /// descriptor is closed. A future that does not know its caller has that of the method that polls it.
    #[inline]
    pub fn begin_ready(&mut self, kind: WaitKind, of: Descriptor, waker: &Waker) {
        if self.location().is_null() {
            self.begin_polled(kind, of, waker);
        } else if let Some(number) = of.number() {
            self.begin_with(kind, number, waker);
        }
    }

    /// Like [`begin_ready`](Self::begin_ready), but for a record that one caller after the other has.
    #[inline]
    pub fn begin_polled(&mut self, kind: WaitKind, of: Descriptor, waker: &Waker) {
        if let Some(number) = of.number().filter(|_| self.is_new(waker)) {
            self.end();
            self.word = Self::new(Caller::of_call()).word;
            self.begin_new(kind, Target::Number(number), waker);
        }
    }

    /// Like [`begin`](Self::begin), but for a record that one caller after the other has. Its location is that of the method
    /// that polls.
    #[inline]
    pub fn begin_called(&mut self, kind: WaitKind, object: &Object, waker: &Waker) {
        if self.is_new(waker) {
            self.end();
            self.word = Self::new(Caller::of_call()).word;
            self.begin_new(kind, Target::of(object), waker);
        }
    }

    /// Begins or ends, as the future's poll has ended. The result is that poll's.
    #[inline]
    pub fn note<T>(
        &mut self,
        kind: WaitKind,
        object: &Object,
        waker: &Waker,
        polled: Poll<T>,
    ) -> Poll<T> {
        if polled.is_pending() {
            self.begin(kind, object, waker);
        } else {
            self.end();
        }
        polled
    }

    /// The current thread, or the task that it polls, blocks until members of the object have progressed. The
    /// wait is not for a futex of this library, or is for several objects. `is_timed`: it has a
    /// deadline.
    pub fn begin_blocking(&mut self, kind: WaitKind, object: &Object, is_timed: bool) {
        let caller = self.leave();
        self.set(Value {
            target: Target::of(object),
            is_timed,
            blocks_thread: true,
            ..Value::begun(kind.0, caller, coarse())
        });
    }

    /// Like [`begin_blocking`](Self::begin_blocking), but for an object that is only a number: a runtime.
    pub fn begin_blocking_with(&mut self, kind: WaitKind, number: u64, is_timed: bool) {
        let caller = self.leave();
        self.set(Value {
            target: Target::Number(number),
            is_timed,
            blocks_thread: true,
            ..Value::begun(kind.0, caller, coarse())
        });
    }

    /// The current task or thread drives the root with this number, and nothing else until that is
    /// ready.
    pub(super) fn begin_block_on(&mut self, root: u64) {
        let caller = self.leave();
        self.set(Value {
            target: Target::Number(root),
            blocks_thread: true,
            ..Value::begun(Kind::BlockOn, caller, coarse())
        });
    }

    /// Begins the record of a task, which removes it before its header is freed.
    pub fn begin_task(&mut self, id: u64, task: TaskFacts) {
        let caller = self.leave();
        let value = Value {
            waiter: Waiter::task(id),
            ..Value::begun(Kind::Task, caller, cached())
        };
        let place = registry::take();
        place.header.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: this wait owns the place, which has no record.
        unsafe { place.set_task(task) };
        self.set_at(place, value);
    }

    /// Sets the task's header, which is known from its first poll on.
    pub fn set_header(&self, header: *const ()) {
        if let Some(place) = self.place() {
            place.header.store(header.cast_mut(), Ordering::Release);
        }
    }

    /// Begins a poll of the task with this number, whose record this is or will be. It lasts until the result
    /// is dropped.
    #[inline]
    pub fn enter(&self, id: u64) -> Entered {
        let task = Waiter::task(id);
        let entered = match self.place() {
            Some(_) => Entered::new(task, false),
            None => Entered::first(task, self.location()),
        };
        if recorders::is_any_on() {
            self.note_poll(id, entered.thread());
        }
        self.count_poll(&entered);
        entered
    }

    /// Begins a poll of a child, whose record this is, by the task or thread that the thread has polled until now. It lasts until
    /// the result is dropped.
    #[inline]
    pub(super) fn enter_child(&self, child: Waiter) -> Entered {
        let owner = Waiter::current();
        let entered = Entered::new(child, true);
        if recorders::is_any_on() {
            self.note_poll_of_child(child, owner);
        }
        self.count_poll(&entered);
        entered
    }

    #[inline]
    fn count_poll(&self, entered: &Entered) {
        let Some(place) = self.place() else {
            return;
        };
        place.thread.store(entered.thread(), Ordering::Relaxed);
        // Only one thread polls the task at any moment.
        let polls = place.polls.load(Ordering::Relaxed) + 1;
        place.polls.store(polls, Ordering::Release);
    }

    /// Tells the recorders that the owner of a scope begins a poll of a child.
    #[cold]
    #[inline(never)]
    fn note_poll_of_child(&self, child: Waiter, owner: Waiter) {
        if recorders::traces() {
            trace::child_polled(child, owner);
        }
        if recorders::lints() {
            self.note_poll_for_lint(child, Polled::Child);
        }
    }

    /// Tells the recorders that a poll begins of the task with this number in the thread with this word.
    #[cold]
    #[inline(never)]
    fn note_poll(&self, id: u64, thread: u64) {
        if recorders::traces() {
            trace::poll_begins(Waiter::task(id), thread);
        }
        if !recorders::lints() {
            return;
        }
        let facts = self.place().and_then(|place| {
            // SAFETY: this wait owns the place, which has the record that `set` put there.
            unsafe { place.slot.read_own(|value| place.task(value)) }.flatten()
        });
        let of = match facts {
            Some(facts) if facts.is_root => Polled::Root,
            Some(facts) if facts.job.is_some() => Polled::Job,
            _ => Polled::Task,
        };
        self.note_poll_for_lint(Waiter::task(id), of);
    }

    fn note_poll_for_lint(&self, task: Waiter, of: Polled) {
        let header = self
            .place()
            .map(|place| place.header.load(Ordering::Relaxed));
        let header = header.map_or(0, <*mut ()>::addr);
        lint::poll_begins(task, of, self.caller().location(), header);
    }

    /// Returns `true` if there is no record, or that of another task or waker, which polled the future
    /// before.
    #[inline]
    fn is_new(&self, waker: &Waker) -> bool {
        let Some(place) = self.place() else {
            return true;
        };
        let (waiter, waker) = (Waiter::polled_with(waker), waker.data().addr());
        let differs = |value: &Value| value.address != waker || value.waiter != waiter;
        // SAFETY: this wait owns the place, which has the record that `set` put there.
        let is_new = unsafe { place.slot.read_own(differs) };
        is_new.unwrap_or(true)
    }

    /// Ends the record, if there is one, and returns the location.
    #[inline]
    fn leave(&mut self) -> Caller {
        self.end();
        // SAFETY: without a record, the word is null or from a `&'static`.
        Caller(unsafe { self.word.cast::<Location<'static>>().as_ref() })
    }

    /// Sets the record; there is none.
    // Inlined, so that the caller makes the value in its place and copies it once at most.
    #[inline]
    fn set(&mut self, value: Value) {
        self.set_at(registry::take(), value);
    }

    #[inline]
    fn set_at(&mut self, place: &'static Place, value: Value) {
        self.passes_point();
        if recorders::is_any_on() {
            value.note_begin();
        }
        // SAFETY: `take` has given the place to this wait, and it has no record.
        unsafe { place.slot.set(value) };
        // SAFETY: a place has more than one byte.
        self.word = unsafe { ptr::from_ref(place).cast::<()>().byte_add(RECORDED) };
    }

    /// Ends the record: the future waits no more.
    #[inline]
    pub fn end(&mut self) {
        if self.is_recorded() {
            self.remove(false);
        } else {
            self.passes_point();
        }
    }

    /// Ends the record, if there is one: the future is dropped, and its wait has not ended, or has not begun.
    #[inline]
    pub fn cancel(&mut self) {
        if self.is_recorded() {
            self.remove(true);
        } else {
            self.cancel_point();
        }
    }

    /// A future that waits by this record of its object is dropped. The object keeps its waker and the record, which the next
    /// future takes over.
    #[inline]
    pub fn future_dropped(&mut self) {
        if self.is_recorded() && recorders::traces() {
            self.give_up();
        } else {
            self.cancel_point();
        }
    }

    #[cold]
    fn give_up(&mut self) {
        let Some(place) = self.place() else {
            return;
        };
        // SAFETY: this wait owns the place, which has the record that `set` put there.
        let value = unsafe { place.slot.read_own(|value| *value) };
        let Some(value) = value.filter(|value| value.address != GIVEN_UP) else {
            return;
        };
        trace::wait_ends(&value, true);
        // SAFETY: this wait owns the place. From `clear` to `set`, it has no record.
        unsafe {
            place.slot.clear(&READER);
            place.slot.set(Value {
                address: GIVEN_UP,
                ..value
            });
        }
    }

    #[inline(never)]
    fn remove(&mut self, is_dropped: bool) {
        let Some(place) = self.place() else {
            return;
        };
        let ends = |value: &Value| {
            value.ends();
            if recorders::is_any_on() {
                value.note_end(is_dropped);
            }
            value.location
        };
        // SAFETY: this wait owns the place, which has the record that `set` put there.
        let location = unsafe { place.slot.read_own(ends) };
        self.word = Self::new(Caller(location.flatten())).word;
        // SAFETY: this wait owns the place until it puts it back.
        unsafe { place.slot.clear(&READER) };
        registry::put_back(place);
    }
}

impl Drop for Wait {
    #[inline]
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The things that a wait needs from its thread.
struct Start {
    id: u64,
    waiter: Waiter,
    thread: Waiter,
    since: u64,
    place: &'static Place,
}

impl Start {
    /// Returns `None` if the thread lacks some of it or polls no task, or the wait is measured.
    #[inline]
    fn ready(target: &Target) -> Option<Self> {
        let (waiter, thread) = Waiter::both_if_known().filter(|(waiter, _)| waiter.is_task())?;
        let id = known_id().filter(|&id| !target.is_measured(id))?;
        let since = cached_here()?;
        let place = registry::take_kept()?;
        set_next_id(id);
        Some(Self {
            id,
            waiter,
            thread,
            since,
            place,
        })
    }
}

impl Target {
    /// Returns `true` if the wait with this number for it is measured.
    #[inline]
    fn is_measured(&self, id: u64) -> bool {
        matches!(self, Self::Object(..)) && weight(id) != 0
    }

    #[inline]
    pub(super) fn of(object: &Object) -> Self {
        Self::of_block(object.block())
    }

    #[inline]
    fn of_block(block: &'static super::Block) -> Self {
        Self::Object(block, block.generation())
    }
}

impl Value {
    /// Creates the value of a wait that has begun at that time, and is not measured.
    #[inline]
    fn begun(kind: Kind, caller: Caller, since: u64) -> Self {
        Self {
            id: next_id(),
            since,
            ..Self::of(kind, caller)
        }
    }

    /// Creates the value of a wait without a number and a time.
    #[inline]
    pub(super) fn of(kind: Kind, caller: Caller) -> Self {
        Self {
            id: 0,
            kind,
            is_timed: kind.is_timer(),
            blocks_thread: false,
            is_measured: false,
            waiter: Waiter::current(),
            thread: Waiter::thread(),
            target: Target::Number(0),
            address: 0,
            location: caller.0,
            since: 0,
        }
    }

    /// Tells the recorders that the wait begins.
    #[cold]
    #[inline(never)]
    fn note_begin(&self) {
        if recorders::traces() {
            trace::wait_begins(self);
        }
        if recorders::lints() {
            lint::wait_begins(self);
        }
    }

    /// Tells the recorders that the wait ends.
    #[cold]
    #[inline(never)]
    fn note_end(&self, is_dropped: bool) {
        // `give_up` has recorded that end.
        if recorders::traces() && self.address != GIVEN_UP {
            trace::wait_ends(self, is_dropped);
        }
        if recorders::lints() {
            lint::wait_ends(self);
        }
    }

    /// Counts the wait at its end. That of a thread, which may sleep several times, ends with its `Blocking`.
    #[inline]
    fn ends(&self) {
        let is_object = matches!(self.target, Target::Object(..));
        if is_object && !self.blocks_thread && (self.is_measured || self.is_long()) {
            self.count();
        }
    }

    #[inline]
    fn is_long(&self) -> bool {
        cached().saturating_sub(self.since) >= LONG
    }

    #[inline(never)]
    fn count(&self) {
        let Target::Object(block, generation) = self.target else {
            return;
        };
        let now = if self.is_measured { nanos() } else { cached() };
        let nanos = now.saturating_sub(self.since);
        let weight = if nanos >= LONG { 1 } else { weight(self.id) };
        // The object may have been dropped while a leaked future waited for it.
        if block.generation() == generation {
            block.waited(self.kind, nanos, weight, self.location);
        }
    }
}

thread_local! {
    static INTENT: Cell<Option<Intent>> = const { Cell::new(None) };
}

/// Returns a number that tells this wait from others.
#[inline]
pub(super) fn next_id() -> u64 {
    let id = known_id().unwrap_or_else(|| Waiter::thread().number() << 40);
    set_next_id(id);
    id
}

/// Returns the next number, unless it is the first one of this thread.
#[inline]
fn known_id() -> Option<u64> {
    Some(LOCAL.with(|local| local.next_id.get())).filter(|&id| id != 0)
}

/// Notes that the wait with this number has begun.
#[inline]
fn set_next_id(id: u64) {
    LOCAL.with(|local| local.next_id.set(id.wrapping_add(1)));
}

/// A task's wait that took this many nanoseconds is counted in any case. It is more than one step of
/// the coarse clock.
const LONG: u64 = 20_000_000;
/// A thread measures its first waits all.
const ALL: u64 = 1_024;
/// Afterwards it measures one of this many, which stands for all of them.
const ONE_OF: u64 = 64;

/// Returns how many waits the one with this number stands for if it is short; 0 if it is not measured.
/// Two readings of the exact clock take a large part of a task's short wait, so only some waits read it.
/// Their choice has no period that could fit to one of the program.
fn weight(id: u64) -> u64 {
    let number = id & ((1 << 40) - 1);
    let mixed = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    if number < ALL {
        1
    } else if mixed % ONE_OF == 0 {
        ONE_OF
    } else {
        0
    }
}

#[derive(Clone, Copy)]
struct Intent {
    id: u64,
    kind: Kind,
    block: Option<&'static super::Block>,
    caller: Caller,
    is_timed: bool,
    /// The time at which the thread began to sleep, in nanoseconds, or 0.
    since: u64,
    /// The location at which the holder took the lock, for the linter.
    holder_at: Option<&'static Location<'static>>,
}

impl Intent {
    fn sleeping(mut self, word: usize) -> (u64, Wait) {
        if self.since == 0 {
            self.since = nanos();
            self.holder_at = self.block.and_then(super::Block::taken_at);
            INTENT.set(Some(self));
        }
        let mut wait = Wait::new(self.caller);
        wait.set(Value {
            id: self.id,
            target: self.block.map_or(Target::Number(0), Target::of_block),
            address: word,
            is_timed: self.is_timed,
            since: self.since,
            blocks_thread: true,
            ..Value::of(self.kind, self.caller)
        });
        (self.id, wait)
    }

    /// Counts the wait: the thread sleeps no more.
    #[cold]
    fn ends(&self) {
        if let Some(block) = self.block {
            let nanos = nanos().saturating_sub(self.since);
            block.waited(self.kind, nanos, 1, self.caller.0);
            if recorders::lints() {
                let wait = Lock::new(block, self.kind, None);
                let took = Duration::from_nanos(nanos);
                lint::blocked(Waiter::current(), wait, self.caller.0, self.holder_at, took);
            }
        }
    }
}

/// While it lives, this thread may sleep for an object.
pub struct Blocking(Option<Intent>);

impl Blocking {
    /// Announces the object. `is_timed`: the wait has a deadline.
    #[inline]
    #[must_use]
    pub fn new(kind: Kind, object: &Object, caller: Caller, is_timed: bool) -> Self {
        Self::announce(kind, Some(object.block()), caller, is_timed)
    }

    /// Like [`new`](Self::new), but for a wait that has no object.
    #[inline]
    #[must_use]
    pub fn without_object(kind: Kind, caller: Caller, is_timed: bool) -> Self {
        Self::announce(kind, None, caller, is_timed)
    }

    #[inline]
    fn announce(
        kind: Kind,
        block: Option<&'static super::Block>,
        caller: Caller,
        is_timed: bool,
    ) -> Self {
        let intent = Intent {
            id: next_id(),
            kind,
            block,
            caller,
            is_timed,
            since: 0,
            holder_at: None,
        };
        Self(INTENT.replace(Some(intent)))
    }
}

impl Drop for Blocking {
    #[inline]
    fn drop(&mut self) {
        let ended = INTENT.replace(self.0);
        if let Some(intent) = ended.filter(|intent| intent.since != 0) {
            intent.ends();
        }
    }
}

/// The record of a thread that sleeps. It removes the record when it is dropped, after the work
/// that another thread has sent (`errand.rs`).
pub struct Sleeping(Option<(u64, Wait)>);

/// Records that this thread sleeps for the object that it has announced, until the result is
/// dropped. Called right before the futex `word`, which may wake the thread for nothing. A thread
/// that has announced nothing is idle; its record tells a reader that the futex is one of this library.
#[inline]
#[must_use]
pub fn sleeping<T>(word: &T) -> Sleeping {
    decisions::help();
    let word = ptr::from_ref(word).addr();
    Sleeping(Some(match INTENT.get() {
        Some(intent) => intent.sleeping(word),
        None => idle(word),
    }))
}

fn idle(word: usize) -> (u64, Wait) {
    let mut wait = Wait::new(Caller::UNKNOWN);
    let value = Value {
        address: word,
        blocks_thread: true,
        ..Value::begun(Kind::Idle, Caller::UNKNOWN, coarse())
    };
    wait.set(value);
    (value.id, wait)
}

impl WordWait {
    /// Records that this thread sleeps while `word` holds `expected`, until the result is dropped. Called
    /// right before the futex, which may wake the thread for nothing.
    #[must_use]
    pub fn sleeping<T>(&self, word: &T, expected: u32) -> Sleeping {
        decisions::help();
        let mut wait = Wait::new(self.caller);
        wait.set(Value {
            id: self.id,
            target: Target::Number(expected.into()),
            address: ptr::from_ref(word).addr(),
            is_timed: self.is_timed,
            since: self.since,
            blocks_thread: true,
            ..Value::of(Kind::Futex, self.caller)
        });
        Sleeping(Some((self.id, wait)))
    }
}

impl Drop for Sleeping {
    #[inline]
    fn drop(&mut self) {
        if let Some((id, _)) = &self.0 {
            errand::run_if_sent(*id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_one_word_that_keeps_its_location() {
        assert_eq!(size_of::<Wait>(), size_of::<usize>());
        let location = Location::caller();
        let mut wait = Wait::new(Caller::at(location));
        for _ in 0..2 {
            assert!(!wait.is_recorded());
            wait.begin_with(WaitKind::new(Kind::Sleep), 7, Waker::noop());
            assert!(wait.is_recorded());
            assert!(!wait.is_new(Waker::noop()));
            assert_eq!(wait.caller().0, Some(location));
            wait.end();
            assert_eq!(wait.caller().0, Some(location));
        }
    }

    #[test]
    fn the_measured_waits_stand_for_all() {
        let first = 7 << 40;
        let exact: u64 = (first..first + ALL).map(weight).sum();
        assert_eq!(exact, ALL);
        let later = first + ALL..first + ALL + 80_000;
        let estimated: u64 = later.map(weight).sum();
        assert!((76_000..84_000).contains(&estimated), "{estimated}");
    }
}
