//! The baton: one thread of the program runs, all others sleep.
//!
//! # States
//!
//! A thread is *ready*, *blocked* or *done* (`state::State`). Exactly one ready thread holds the baton:
//! `Simulation::current`. Every other thread of the program that is not done sleeps in [`sleep`] on the
//! word `Thread::baton` of its own, or is about to.
//!
//! # Hand-over
//!
//! The holder H gives the baton to a ready thread T in these steps.
//!
//! 1. H chooses T ([`choose_thread`]) and sets `current` to T.
//! 2. H stores 1 to T's word and wakes its sleeper.
//! 3. H sleeps until its own word is 1, and sets it back to 0.
//!
//! Only the holder reads or writes the state. T's first read follows its load of the 1 (acquire) that
//! H stored (release) after its last write, so the state needs no lock.
//!
//! # No thread is lost
//!
//! 1. *A hand-over is not lost.* T sleeps only while its word is 0. If H's store comes before T sleeps,
//!    the kernel's comparison fails and T does not sleep. If it comes after, H's wake finds T.
//! 2. *A word is stored once for each hand-over.* Only the holder stores 1, and then it is not the
//!    holder any more. T takes the 1 away before it hands on, so no 1 is left over.
//! 3. *A blocked thread becomes ready when its reason is gone.* Reasons change only in calls of the
//!    holder. Each such call either names the key ([`release`], [`wake`]) or looks at all threads that
//!    wait for descriptors ([`descriptors_changed`]). Deadlines are looked at whenever time moves
//!    ([`expire`]).
//! 4. *If no thread is ready*, time moves to the earliest deadline. If there is none, the run ends as a
//!    deadlock: by 3, no later event could make a thread ready. With `Region::no_timeouts` it ends so in any case.
//!
//! # The start of a thread
//!
//! `pthread_create` returns to the program when the new thread has come to [`sleep`]. So the part of libc that
//! runs before, which may wait for libc's locks, runs beside no other thread.
//!
//! # The end of a thread
//!
//! A thread keeps the baton while its destructors run, which may reach points. Then it chooses its
//! successor and ends without sleeping (`thread::ended`). The successor waits until the kernel has no
//! such thread any more: what libc does between (it frees the cache of malloc) has then ended, so it
//! cannot run beside the successor.
//!
//! # A wait that tries again
//!
//! A thread that waits for a lock is woken to try again. If another thread takes the lock first, it
//! would only wait again: [`acquired`] makes such threads blocked again without running them. So
//! a schedule has no turns in which nothing happens.

use core::sync::atomic::Ordering;

use crate::atomics;
use crate::c::{EINTR, Pollfd};
use crate::end;
use crate::events;
use crate::loops;
use crate::outside;
use crate::progress;
use crate::shared::region::strategy;
use crate::shared::region::{
    CHECKPOINT, DECISIONS, Decision, Event, NOTHING, READS, TIME, WINDOWS, fault, happening, kind,
    verdict,
};
use crate::signals;
use crate::silence;
use crate::state::{Class, Key, NEVER, State, sim};
use crate::step;
use crate::survey;
use crate::sys;
use crate::time;

/// Simulated nanoseconds that each point takes.
const COST: u64 = 1_000;
/// The same of an atomic operation.
const ATOMIC_COST: u64 = 50;
/// After this many points at which another thread could have run, one does. A loop of calls that do not
/// block may wait for what another thread does.
const FAIR: u32 = 1_000;

/// The entry of a call that is taken over. Another thread may run before this returns.
pub unsafe fn point(call: &'static str, object: usize) {
    enter(call, object, object as u64);
    reschedule(kind::SWITCH);
}

/// An atomic operation of the program. `spins`: others run, or time passes, because the thread waits in a loop. There
/// are far more of these points than of calls, so they have no faults. A repetition concerns no other thread.
pub unsafe fn point_of_atomic(name: &'static str, address: usize, spins: bool) {
    let concerns = if sim().me().is_repeating {
        NOTHING
    } else {
        address as u64
    };
    arrive(name, address, concerns, ATOMIC_COST);
    if !spins {
        return reschedule(kind::SWITCH);
    }
    if !other_is_ready() {
        to_next_deadline();
    }
    reschedule(kind::YIELD);
}

/// The entry of a call that concerns no other thread.
pub unsafe fn point_alone(call: &'static str) {
    enter(call, 0, NOTHING);
    reschedule(kind::SWITCH);
}

/// The entry of a call that lets others go first.
pub unsafe fn yield_now(call: &'static str) {
    enter(call, 0, NOTHING);
    reschedule(kind::YIELD);
}

/// `sched_yield`. With points at atomic operations, the thread may go on at once, as one with a processor of its own:
/// a lock yields dozens of times before it sleeps, and if another thread ran each time, it would hardly ever sleep
/// while that one is in the middle of something. A yield that a thread repeats while nothing changes is a repetition,
/// as its looks between the yields are.
pub unsafe fn sched_yield() {
    const CALL: &str = "sched_yield";
    if sim().region().atomics == 0 {
        return yield_now(CALL);
    }
    enter(CALL, 0, NOTHING);
    let me = sim().me();
    me.is_repeating = me
        .repeats
        .add((CALL.as_ptr() as usize, 0), atomics::changes());
    reschedule(kind::SWITCH);
}

/// A window of instructions has ended: another thread runs, if one can.
pub unsafe fn preempted() {
    enter("no call", 0, NOTHING);
    reschedule(kind::YIELD);
}

/// Returns `true` if what the running thread waits for in memory may come: another thread can run, or will.
pub unsafe fn could_change() -> bool {
    other_is_ready() || earliest() != NEVER || outside::has_children()
}

unsafe fn other_is_ready() -> bool {
    let s = sim();
    let mut others = s.live.iter().filter(|id| **id != s.current);
    others.any(|id| s.threads[*id as usize].state == State::Ready)
}

/// The running thread has been in a loop without a call for many rounds: others run, each time for longer.
/// Returns `false` if none can.
pub unsafe fn spun() -> bool {
    /// Others have twice as many points each time, up to 1,024.
    const LONGEST: u32 = 10;
    /// Time passes for a thread that nothing else than time can help.
    const TIRED: u32 = 3;
    let spins = sim().me().spins;
    if spins == loops::MOST || !could_change() {
        return false;
    }
    enter("a loop without a call", 0, NOTHING);
    let s = sim();
    s.me().spins = spins + 1;
    s.me().rests = s.region().points.load(Ordering::Relaxed) + (1 << spins.min(LONGEST));
    if spins > TIRED && !other_is_ready() {
        to_next_deadline();
    }
    reschedule(kind::YIELD);
    true
}

/// The entry of a call. A thread may stall there.
unsafe fn enter(call: &'static str, object: usize, concerns: u64) {
    arrive(call, object, concerns, COST);
    let s = sim();
    s.me().idle = 0;
    s.me().is_repeating = false;
    if s.next_deadline != NEVER && s.region().no_timeouts == 0 && has_fault(fault::STALL) {
        to_next_deadline();
    }
}

/// Counts a point, lets its time pass, and ends a run that has too many. `concerns` is the object for the
/// strategy: see `Thread::object`.
unsafe fn arrive(call: &'static str, object: usize, concerns: u64, cost: u64) {
    step::close();
    let s = sim();
    s.clock_reads = 0;
    let object = if object == 0 { 0 } else { s.object(object) };
    let name = call
        .bytes()
        .fold(0u64, |hash, byte| hash.wrapping_mul(31) + u64::from(byte));
    s.event(u64::from(s.current) ^ (u64::from(object) << 16) ^ (name << 32) ^ s.now);
    s.me().call = call;
    s.me().object = concerns;
    s.me().spins = 0;
    s.me().rests = 0;
    if call != time::SPINNING {
        s.me().clock_spins = 0;
    }
    loops::point();
    survey::stop();
    s.strategy.arrived(s.current);
    let region = s.region();
    let points = region.points.load(Ordering::Relaxed) + 1;
    region.points.store(points, Ordering::Relaxed);
    let class = if call == "atomic load" { READS } else { 0 };
    happened(
        happening::CALL,
        s.current,
        0,
        concerns,
        class,
        call.as_bytes(),
    );
    advance(cost);
    progress::check();
    if points == sim().region().until {
        end::at_step();
    }
}

/// Records an event of a thread.
unsafe fn happened(what: u16, thread: u32, other: u32, object: u64, class: u16, name: &[u8]) {
    let event = Event {
        object,
        thread,
        other,
        what,
        class,
        ..Event::default()
    };
    events::record(event, name);
}

/// Records that a thread can run again.
unsafe fn is_ready_again(thread: u32, by: u32) {
    happened(happening::READY, thread, by, NOTHING, 0, b"");
}

/// Makes a thread ready that the running one wakes.
pub unsafe fn make_ready(thread: u32) {
    let s = sim();
    s.threads[thread as usize].state = State::Ready;
    progress::wake();
    is_ready_again(thread, s.current);
}

/// Lets time pass.
pub unsafe fn advance(nanoseconds: u64) {
    let s = sim();
    s.now += nanoseconds;
    s.region().now = s.now;
    if s.now >= s.next_deadline {
        expire();
    }
}

/// Moves the time to the earliest deadline. Returns `false` if there is none, or if time may not help.
unsafe fn to_next_deadline() -> bool {
    let s = sim();
    if s.region().no_timeouts != 0 {
        return false;
    }
    // It is a lower bound only: threads may have been woken since.
    s.next_deadline = earliest();
    if s.next_deadline == NEVER {
        return false;
    }
    let distance = s.next_deadline.saturating_sub(s.now);
    advance(distance);
    true
}

/// Returns the earliest time at which something happens, or [`NEVER`].
pub unsafe fn earliest() -> u64 {
    let s = sim();
    let threads = s.live.iter().map(|id| &s.threads[*id as usize]);
    let waiting = threads.filter(|thread| thread.state == State::Blocked);
    let first = waiting.map(|thread| thread.deadline).min();
    let first = first.unwrap_or(NEVER).min(s.descriptors.next_timer());
    first
        .min(s.wires.next())
        .min(silence::next())
        .min(s.alarms.next())
}

/// Makes the threads ready whose deadlines have passed, and timer descriptors readable.
unsafe fn expire() {
    let s = sim();
    // At the end of a test, no deadline passes (`leaks`). It does with the first call after that.
    if !s.ending.is_empty() {
        return;
    }
    for at in 0..s.live.len() {
        let id = s.live[at];
        let thread = &mut s.threads[id as usize];
        if thread.state == State::Blocked && thread.deadline <= s.now {
            thread.timed_out = true;
            thread.state = State::Ready;
            thread.retries = false;
            s.leave_queue(id);
            progress::wake();
            is_ready_again(id, TIME);
        }
    }
    let rang = s.descriptors.expire(s.now);
    s.alarms.expire(s.now, &mut s.due);
    let arrived = s.wires.deliver(s.now);
    if arrived {
        progress::change();
    }
    let is_given_up = silence::expire(s.now);
    if arrived || rang || is_given_up {
        progress::wake();
        descriptors_changed();
    }
    s.next_deadline = earliest();
}

/// Notes that some deadline may now be `deadline`.
pub unsafe fn has_deadline(deadline: u64) {
    let s = sim();
    s.next_deadline = s.next_deadline.min(deadline);
}

/// Blocks the running thread until [`release`], [`wake`] or the deadline. Returns `true` if the deadline
/// ended the wait.
pub unsafe fn block(key: Key, deadline: u64) -> bool {
    let s = sim();
    if deadline <= s.now {
        return true;
    }
    let me = s.me();
    me.key = key;
    me.deadline = deadline;
    me.timed_out = false;
    me.state = State::Blocked;
    progress::wake();
    happened(
        happening::WAIT,
        s.current,
        s.current,
        key.1 as u64,
        key.0 as u16,
        b"",
    );
    has_deadline(deadline);
    reschedule(kind::NEXT);
    let me = sim().me();
    me.deadline = NEVER;
    me.retries = false;
    me.set.clear();
    me.key = (Class::Sleep, 0);
    core::mem::take(&mut me.timed_out)
}

/// As [`block`], in the queue of the key.
pub unsafe fn block_in_queue(key: Key, deadline: u64) -> bool {
    let s = sim();
    if deadline <= s.now {
        return true;
    }
    let current = s.current;
    s.queues.entry(key).or_default().push_back(current);
    block(key, deadline)
}

/// Blocks until one of the descriptors is ready. Returns `true` if the deadline ended the wait.
pub unsafe fn block_for(set: Vec<Pollfd>, deadline: u64) -> bool {
    let object = set.first().map_or(0, |first| first.fd as usize);
    sim().me().set = set;
    block((Class::Descriptors, object), deadline)
}

/// Makes all threads ready that wait for the key, to try again.
pub unsafe fn release(key: Key) {
    let s = sim();
    for at in 0..s.live.len() {
        let id = s.live[at];
        let thread = &mut s.threads[id as usize];
        if thread.state == State::Blocked && thread.key == key {
            thread.retries = true;
            make_ready(id);
        }
    }
}

/// The running thread has taken what others were woken for: they wait on.
pub unsafe fn acquired(key: Key) {
    let s = sim();
    for at in 0..s.live.len() {
        let id = s.live[at];
        let thread = &mut s.threads[id as usize];
        if thread.retries && thread.state == State::Ready && thread.key == key {
            thread.state = State::Blocked;
            let deadline = thread.deadline;
            waits_on(id);
            has_deadline(deadline);
        }
    }
}

/// Records that a thread that was woken waits on.
unsafe fn waits_on(thread: u32) {
    let s = sim();
    let (class, object) = s.threads[thread as usize].key;
    happened(
        happening::WAIT,
        thread,
        s.current,
        object as u64,
        class as u16,
        b"",
    );
}

/// Wakes one thread from the queue of the key. Returns its number.
pub unsafe fn wake(key: Key) -> Option<u32> {
    let queue = sim().queues.get(&key)?;
    let count = queue.len();
    let at = if count > 1 {
        choose_other(kind::WAITER, count)
    } else {
        0
    };
    let s = sim();
    let queue = s.queues.get(&key)?;
    let (id, longest) = (*queue.get(at)?, *queue.front()?);
    if id != longest {
        chose(kind::WAITER, id, longest);
    }
    s.leave_queue(id);
    make_ready(id);
    Some(id)
}

/// Looks again at all threads that wait for descriptors, after a call that may have changed one. The
/// running thread may be one of them: time moves while it chooses its successor.
pub unsafe fn descriptors_changed() {
    let s = sim();
    if s.wires.deliver_more(s.now) {
        has_deadline(s.wires.next());
    }
    for at in 0..s.live.len() {
        let id = s.live[at];
        let thread = &mut s.threads[id as usize];
        let waits = thread.key.0 == Class::Descriptors && !thread.timed_out;
        if !waits || thread.set.is_empty() {
            continue;
        }
        let ready = sys::poll_now(&mut thread.set) > 0;
        if ready && thread.state == State::Blocked {
            thread.retries = true;
            make_ready(id);
        } else if !ready && thread.state == State::Ready && thread.retries {
            thread.state = State::Blocked;
            let deadline = thread.deadline;
            waits_on(id);
            has_deadline(deadline);
        }
    }
}

/// Lets another thread run if the strategy says so, or if the running one cannot.
unsafe fn reschedule(kind: u16) {
    step::close();
    let s = sim();
    let kind = if kind == kind::SWITCH && s.streak >= FAIR {
        kind::YIELD
    } else {
        kind
    };
    let next = choose_thread(kind);
    let s = sim();
    if next != s.current {
        s.streak = 0;
    }
    hand_over(next);
    signals::deliver();
    begins();
}

/// The running thread is about to execute code of the program. With windows, it may lose the baton there.
pub unsafe fn begins() {
    if sim().region().preempt != 0 && other_is_ready() {
        open_window();
    }
}

/// Draws after how many instructions the running thread loses the baton, if it makes no call before.
unsafe fn open_window() {
    let choice = scripted(kind::WINDOW, WINDOWS).unwrap_or_else(|| {
        let region = sim().region();
        let points = region.points.load(Ordering::Relaxed);
        sim().strategy.window(region.stepped, points)
    });
    record(kind::WINDOW, WINDOWS, choice);
    if choice > 0 {
        chose(kind::WINDOW, choice as u32, 0);
        step::open(choice as u32);
    }
}

/// Chooses the thread that runs next.
pub unsafe fn choose_thread(kind: u16) -> u32 {
    let mut found = [0u32; 256];
    loop {
        let count = ready(kind, &mut found);
        if count == 0 {
            if outside::has_children() {
                outside::idle();
                continue;
            }
            if !to_next_deadline() {
                end::deadlock();
            }
            signals::deliver();
            continue;
        }
        let s = sim();
        if count == 1 {
            let object = s.threads[found[0] as usize].object;
            s.strategy.alone(found[0], object);
            return found[0];
        }
        let scripted = scripted(kind, count);
        let running = s.current;
        let at = scripted.unwrap_or_else(|| {
            let pending = |id: u32| s.threads[id as usize].object;
            s.strategy.pick(kind, running, &found[..count], pending)
        });
        record(kind, count, at);
        if at != 0 {
            chose(kind, found[at], found[0]);
        }
        sim().streak += 1;
        return found[at];
    }
}

/// Lists the ready threads, the harmless choice first. Threads that spin come only if there are no others.
unsafe fn ready(kind: u16, found: &mut [u32; 256]) -> usize {
    let points = sim().region().points.load(Ordering::Relaxed);
    match ready_after(kind, points, found) {
        0 => ready_after(kind, u64::MAX, found),
        count => count,
    }
}

unsafe fn ready_after(kind: u16, points: u64, found: &mut [u32; 256]) -> usize {
    let s = sim();
    let mut count = 0;
    let mut add = |id: u32| {
        if count < found.len() {
            found[count] = id;
            count += 1;
        }
    };
    let is_ready = |id: u32| {
        let thread = &s.threads[id as usize];
        thread.state == State::Ready && thread.rests <= points
    };
    if kind == kind::SWITCH && is_ready(s.current) {
        add(s.current);
    }
    // The live ones are in ascending order: first those above the running one, then those below.
    for id in s.live.iter().filter(|id| **id > s.current) {
        if is_ready(*id) {
            add(*id);
        }
    }
    for id in s.live.iter().filter(|id| **id < s.current) {
        if is_ready(*id) {
            add(*id);
        }
    }
    if count == 0 && is_ready(s.current) {
        found[0] = s.current;
        count = 1;
    }
    count
}

/// Returns the choice of the script, if the run follows one.
unsafe fn scripted(kind: u16, count: usize) -> Option<usize> {
    let s = sim();
    let region = s.region();
    if region.strategy != strategy::SCRIPT {
        return None;
    }
    let index = region.decided;
    if s.at_script >= region.scripted {
        return Some(0);
    }
    let next = region.script[s.at_script as usize];
    if next.index != index {
        return Some(0);
    }
    s.at_script += 1;
    let fits = next.kind == kind && usize::from(next.count) == count;
    if !fits && region.strict != 0 {
        end::diverged(index, (next.kind, next.count), (kind, count));
    }
    let same_kind = next.kind == kind || (next.kind < kind::WAITER && kind < kind::WAITER);
    Some(if same_kind {
        usize::from(next.choice).min(count - 1)
    } else {
        0
    })
}

/// Chooses among other things than threads.
unsafe fn choose_other(kind: u16, count: usize) -> usize {
    let scripted = scripted(kind, count);
    let at = scripted.unwrap_or_else(|| sim().strategy.pick_other(count));
    record(kind, count, at);
    at
}

/// Chooses among `count` consequences of a fault that occurred. 0 is the most harmless.
pub unsafe fn choose_of(family: u32, count: usize) -> usize {
    if count <= 1 {
        return 0;
    }
    let kind = kind::FAULT + family as u16;
    let choice = scripted(kind, count).unwrap_or_else(|| sim().strategy.pick_other(count));
    record(kind, count, choice);
    if choice > 0 {
        chose(kind, choice as u32, 0);
    }
    choice
}

/// Returns `true` if a fault of this family occurs now.
pub unsafe fn has_fault(family: u32) -> bool {
    fault_of(family, 1) > 0
}

/// Returns which fault of this family occurs now, from 1 to `count`; 0 if none does.
pub unsafe fn fault_of(family: u32, count: usize) -> usize {
    sim().region().opportunities |= 1 << family;
    if sim().region().faults & (1 << family) == 0 || !sim().ending.is_empty() {
        return 0;
    }
    let kind = kind::FAULT + family as u16;
    let choice = scripted(kind, 1 + count).unwrap_or_else(|| {
        let strategy = &mut sim().strategy;
        let occurs = match family {
            fault::CRASH => strategy.crash(),
            _ => strategy.fault(),
        };
        match (occurs, count) {
            (false, _) => 0,
            (true, 1) => 1,
            (true, _) => 1 + strategy.pick_other(count),
        }
    });
    record(kind, 1 + count, choice);
    if choice > 0 {
        happened(
            happening::FAULT,
            sim().current,
            0,
            NOTHING,
            family as u16,
            b"",
        );
        chose(kind, choice as u32, 0);
    }
    choice
}

/// Notes that the running thread has started another one.
pub unsafe fn started(child: u32) {
    let s = sim();
    s.strategy.started(s.current, child);
    progress::change();
    happened(happening::START, child, s.current, NOTHING, 0, b"");
}

/// Notes that the running thread has ended.
pub unsafe fn ended() {
    progress::change();
    happened(happening::END, sim().current, 0, NOTHING, 0, b"");
}

/// Records that the last decision had another result than the harmless one: see `happening::CHOICE`.
unsafe fn chose(kind: u16, chosen: u32, harmless: u32) {
    let s = sim();
    let decision = s.region().decided - 1;
    let object = u64::from(harmless) << 32 | u64::from(decision);
    happened(happening::CHOICE, s.current, chosen, object, kind, b"");
}

/// Notes the name of a thread.
pub unsafe fn named(thread: u32, name: &[u8]) {
    happened(happening::NAME, thread, 0, NOTHING, 0, name);
}

/// Returns `true` if the running thread's operation is known to concern no other thread.
unsafe fn is_alone() -> bool {
    let s = sim();
    let (repeats, object) = (s.me().is_repeating, s.me().object);
    repeats || object != NOTHING && !s.strategy.counts(object)
}

unsafe fn record(kind: u16, count: usize, choice: usize) {
    let s = sim();
    let region = s.region();
    let at = region.decided as usize;
    if at >= DECISIONS {
        end::with(
            verdict::FULL,
            "the run made more decisions than can be recorded\n",
        );
    }
    region.decisions[at] = Decision {
        kind,
        count: count as u16,
        choice: choice as u16,
        alone: u8::from(kind == kind::SWITCH && is_alone()),
        thread: u8::try_from(s.current).unwrap_or(u8::MAX),
    };
    region.decided += 1;
    if at % CHECKPOINT == 0 {
        region.checkpoints[at / CHECKPOINT] = region.hash;
    }
    s.event(u64::from(kind) << 48 | (count as u64) << 24 | choice as u64);
}

/// Gives the baton to `next`, and returns when the running thread has it again.
pub unsafe fn hand_over(next: u32) {
    let s = sim();
    let me = s.current;
    if next == me {
        return;
    }
    s.current = next;
    let sleeper: *const _ = &*s.threads[me as usize];
    sys::futex_wake(&s.threads[next as usize].baton);
    sleep(sleeper);
    sim().runs();
}

/// Gives the baton away and never takes it back.
pub unsafe fn leave(next: u32) {
    let s = sim();
    s.dying = sys::gettid();
    s.current = next;
    atomics::leaves();
    sys::futex_wake(&s.threads[next as usize].baton);
}

/// Sleeps until another thread hands the baton over.
pub unsafe fn sleep(me: *const crate::state::Thread) {
    loop {
        while (*me).baton.swap(0, Ordering::Acquire) == 0 {
            sys::futex_wait(&(*me).baton, 0);
        }
        let s = sim();
        let dying = core::mem::take(&mut s.dying);
        while dying != 0 && sys::is_alive(dying) {
            sys::call(crate::c::nr::SCHED_YIELD, [0; 6]);
        }
        // Another thread wants this one's backtrace only.
        let Some(reporter) = s.me().reports_to.take() else {
            return;
        };
        end::append_backtrace();
        s.current = reporter;
        sys::futex_wake(&s.threads[reporter as usize].baton);
    }
}

/// Blocks for descriptors in a call that faults may interrupt: `Err` with `EINTR`.
pub unsafe fn interruptible_block_for(set: Vec<Pollfd>, deadline: u64) -> Result<bool, isize> {
    if has_fault(fault::EINTR) {
        return Err(-(EINTR as isize));
    }
    Ok(block_for(set, deadline))
}
