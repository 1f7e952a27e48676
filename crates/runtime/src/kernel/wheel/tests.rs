//! A wheel beside a sorted map, with random steps.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use blitz_io_testing::{Dice, Wakings, reentrant_waker};

use super::{Timer, Wheel};

/// A wheel that belongs to a runtime.
fn wheel() -> &'static Wheel {
    // Wheels are never freed. Only this list shows the leak detector that they are in use.
    static KEPT: std::sync::Mutex<Vec<&Wheel>> = std::sync::Mutex::new(Vec::new());
    let wheel = Wheel::leak();
    KEPT.lock().unwrap().push(wheel);
    wheel.open(1, 0);
    wheel
}

fn timer(when: u64, wheel: &'static Wheel) -> Pin<Box<Timer>> {
    Box::pin(Timer::new(when, wheel))
}

/// A span of time: mostly short, sometimes decades.
fn span(dice: &mut Dice) -> u64 {
    let most = if dice.below(8) == 0 { 42 } else { 14 };
    let bits = 1 + dice.below(most);
    let random = (dice.below(1 << 22) as u64) << 22 | dice.below(1 << 22) as u64;
    random >> (44 - bits)
}

/// Timers in a wheel, and their expected results.
struct Beside {
    wheel: &'static Wheel,
    now: u64,
    timers: BTreeMap<u64, Pin<Box<Timer>>>,
    /// The tick at which each timer is due, and `true` if it has a waker.
    due: BTreeMap<u64, (u64, bool)>,
    /// The timers that have called their wakers, in order.
    woken: Arc<Mutex<Vec<u64>>>,
    next: u64,
}

impl Beside {
    fn new() -> Self {
        Self {
            wheel: wheel(),
            now: 0,
            timers: BTreeMap::new(),
            due: BTreeMap::new(),
            woken: Arc::default(),
            next: 0,
        }
    }

    fn waker(&self, id: u64) -> Waker {
        let woken = self.woken.clone();
        reentrant_waker(move || woken.lock().unwrap().push(id))
    }

    /// A timer that is due already may be ready at once, or when the wheel is turned.
    fn poll(&mut self, id: u64) {
        let waker = self.waker(id);
        let wheel = self.wheel;
        let timer = self.timers.get_mut(&id).unwrap();
        match timer.as_mut().poll(&waker, || Some(wheel)) {
            Poll::Ready(result) => {
                result.unwrap();
                assert!(self.due[&id].0 <= self.now, "not too early");
            }
            Poll::Pending => {}
        }
        self.due.get_mut(&id).unwrap().1 = true;
    }

    fn start(&mut self, when: u64) {
        let id = self.next;
        self.next += 1;
        self.timers.insert(id, timer(when, self.wheel));
        self.due.insert(id, (when, false));
        self.poll(id);
    }

    fn any(&self, dice: &mut Dice) -> Option<u64> {
        let at = dice.below(self.timers.len().max(1));
        self.timers.keys().nth(at).copied()
    }

    fn reset(&mut self, id: u64, when: u64) {
        let wheel = self.wheel;
        let timer = self.timers.get_mut(&id).unwrap();
        let had_waker = self.due[&id].1;
        timer.as_mut().reset(when, || Some(wheel));
        self.due.insert(id, (when, had_waker));
        if self.timers[&id].is_elapsed() {
            assert!(when <= self.now, "not too early");
            let woken = std::mem::take(&mut *self.woken.lock().unwrap());
            assert_eq!(woken, Vec::from_iter(had_waker.then_some(id)));
            self.due.get_mut(&id).unwrap().1 = false;
        }
    }

    /// Lets time pass, and looks whether the right ones have fired, in order.
    fn turn(&mut self, now: u64) {
        self.now = now;
        let timers = self.timers.iter();
        let linked = timers.filter(|(_, timer)| !timer.is_elapsed());
        let linked: BTreeSet<_> = linked.map(|(id, _)| *id).collect();
        self.wheel.turn(now);
        let woken = std::mem::take(&mut *self.woken.lock().unwrap());
        let mut expected = Vec::new();
        for (&id, (when, has_waker)) in &mut self.due {
            assert_eq!(
                self.timers[&id].is_elapsed(),
                *when <= now,
                "{when} at {now}"
            );
            if *when <= now && *has_waker && linked.contains(&id) {
                *has_waker = false;
                expected.push((*when, id));
            }
        }
        expected.sort_unstable();
        let order: Vec<_> = woken.iter().map(|id| self.due[id].0).collect();
        assert!(order.is_sorted(), "{order:?}");
        let mut woken: Vec<_> = woken.into_iter().map(|id| (self.due[&id].0, id)).collect();
        woken.sort_unstable();
        assert_eq!(woken, expected);
    }

    /// The wheel's answer to when it has to be turned next.
    fn look_ahead(&self) {
        let linked = (self.due.iter()).filter(|(id, _)| !self.timers[id].is_elapsed());
        let first = linked.map(|(_, due)| due.0).min();
        let next = self.wheel.next_tick();
        assert_eq!(next.is_some(), first.is_some());
        assert!(next <= first, "not too late");
        assert!(self.wheel.earliest() <= first.unwrap_or(u64::MAX));
    }
}

#[test]
fn a_wheel_does_what_a_sorted_map_does() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut beside = Beside::new();
        for _ in 0..300 {
            let when = beside.now + span(&mut dice);
            let id = beside.any(&mut dice);
            match (dice.below(10), id) {
                (0..=3, _) | (_, None) => beside.start(when),
                (4, Some(id)) => {
                    beside.timers.remove(&id);
                    beside.due.remove(&id);
                }
                (5, Some(id)) => {
                    // To the past, now and then.
                    let back = span(&mut dice) * u64::from(dice.below(4) == 0);
                    beside.reset(id, when.saturating_sub(back));
                }
                (6, Some(id)) => {
                    let later = beside.due[&id].0.max(beside.now) + span(&mut dice);
                    beside.reset(id, later);
                }
                (7, Some(id)) => beside.poll(id),
                _ => beside.turn(when),
            }
            beside.look_ahead();
        }
        beside.turn(u64::MAX >> 8);
        assert_eq!(beside.wheel.next_tick(), None);
    }
}

#[test]
fn who_turns_the_wheel_when_it_says_so_is_never_late() {
    for seed in 0..100 {
        let mut dice = Dice(seed);
        let mut beside = Beside::new();
        for _ in 0..1 + dice.below(40) {
            let when = 1 + span(&mut dice);
            beside.start(when);
        }
        let mut turns = 0;
        while let Some(next) = beside.wheel.next_tick() {
            assert!(next > beside.now);
            beside.turn(next);
            turns += 1;
        }
        assert!(beside.due.values().all(|(when, _)| *when <= beside.now));
        // Each timer, and for each of them one slot on each level at most.
        assert!(turns <= beside.due.len() * 8, "{turns} turns");
    }
}

#[test]
fn timers_of_one_tick_fire_in_the_order_in_which_they_started() {
    for when in [3, 64, 70, 4096, 5000, 1 << 18, (1 << 36) + 5] {
        let mut beside = Beside::new();
        (0..100).for_each(|_| beside.start(when));
        beside.wheel.turn(when / 2);
        (0..100).for_each(|_| beside.start(when));
        beside.wheel.turn(when);
        assert_eq!(*beside.woken.lock().unwrap(), Vec::from_iter(0..200));
    }
}

#[test]
fn one_timer_far_away_wakes_the_worker_once() {
    let mut beside = Beside::new();
    beside.start(123_456_789);
    assert_eq!(beside.wheel.next_tick(), Some(123_456_789));
    beside.start(987_654_321_012);
    assert_eq!(beside.wheel.next_tick(), Some(123_456_789));
    beside.turn(123_456_789);
    assert_eq!(beside.wheel.next_tick(), Some(987_654_321_012));
}

#[test]
fn the_end_of_the_runtime_ends_timers_and_wakes_their_tasks() {
    let wheel = wheel();
    let (wakings, waker) = Wakings::new();
    let mut timers: Vec<_> = (1..1000).map(|when| timer(when * when, wheel)).collect();
    for timer in &mut timers {
        assert!(timer.as_mut().poll(&waker, || Some(wheel)).is_pending());
    }
    wheel.turn(5000);
    assert_eq!(wakings.count(), 70);
    wheel.shut();
    assert_eq!(wakings.count(), 999);
    for timer in &mut timers {
        assert!(timer.is_elapsed());
        let result = timer.as_mut().poll(&waker, || Some(wheel));
        assert!(matches!(result, Poll::Ready(Err(_))));
    }
    let mut late = timer(7, wheel);
    let result = late.as_mut().poll(&waker, || Some(wheel));
    assert!(matches!(result, Poll::Ready(Err(_))));
    // The next runtime's timers have nothing to do with those of the last one.
    wheel.open(2, 0);
    for timer in &mut timers {
        timer.as_mut().reset(9, || Some(wheel));
        let result = timer.as_mut().poll(&waker, || Some(wheel));
        assert!(matches!(result, Poll::Ready(Err(_))));
    }
    assert_eq!(wheel.next_tick(), None);
}

#[test]
fn a_waker_that_panics_keeps_nobody_else_from_being_woken() {
    let wheel = wheel();
    let (wakings, waker) = Wakings::new();
    let mut timers: Vec<_> = (0..100).map(|_| timer(5, wheel)).collect();
    for (number, timer) in timers.iter_mut().enumerate() {
        let shouting = blitz_io_testing::shouting_waker();
        let waker = if number == 40 { &shouting } else { &waker };
        assert!(timer.as_mut().poll(waker, || Some(wheel)).is_pending());
    }
    let turn = || wheel.turn(5);
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(turn)).unwrap_err();
    wheel.turn(5);
    assert_eq!(wakings.count(), 99);
}

#[test]
fn a_waker_may_use_the_wheel() {
    let wheel = wheel();
    let (wakings, waker) = Wakings::new();
    let later = Arc::new(Mutex::new(None));
    let (slot, inner) = (later.clone(), waker.clone());
    let starting = reentrant_waker(move || {
        let mut timer = timer(9, wheel);
        assert!(timer.as_mut().poll(&inner, || Some(wheel)).is_pending());
        *slot.lock().unwrap() = Some(timer);
    });
    let mut first = timer(5, wheel);
    assert!(first.as_mut().poll(&starting, || Some(wheel)).is_pending());
    assert_eq!(wheel.turn(5), 1);
    assert_eq!(wheel.next_tick(), Some(9));
    assert_eq!(wheel.turn(9), 1);
    assert_eq!(wakings.count(), 1);
}

#[test]
fn a_worker_is_unparked_for_an_earlier_timer_from_elsewhere_only() {
    let wheel = wheel();
    let (wakings, waker) = Wakings::new();
    let unparks = Arc::new(Mutex::new(Vec::new()));
    let noted = unparks.clone();
    wheel.set_unpark(
        Arc::new(move |worker| noted.lock().unwrap().push(worker)),
        3,
    );
    let start = |when, own| {
        let mut timer = timer(when, wheel);
        let own = if own { Some(wheel) } else { None };
        assert!(timer.as_mut().poll(&waker, || own).is_pending());
        timer
    };
    let _awake = start(100, false);
    assert!(unparks.lock().unwrap().is_empty());
    wheel.next_tick();
    let _later = start(100, false);
    let _own = start(50, true);
    assert!(unparks.lock().unwrap().is_empty());
    let mut earlier = start(60, false);
    assert_eq!(*unparks.lock().unwrap(), [3]);
    let _told_already = start(70, false);
    assert_eq!(*unparks.lock().unwrap(), [3]);
    wheel.next_tick();
    earlier.as_mut().reset(40, || None);
    assert_eq!(*unparks.lock().unwrap(), [3, 3]);
    assert_eq!(wakings.count(), 0);
}

#[test]
fn a_tick_that_the_worker_has_seen_is_due_at_once() {
    let wheel = wheel();
    let (wakings, waker) = Wakings::new();
    let ready = |when| {
        let mut timer = timer(when, wheel);
        timer.as_mut().poll(&waker, || Some(wheel)).is_ready()
    };
    assert!(!ready(5));
    wheel.see(5);
    assert!(ready(5) && !ready(6));
    // The next runtime begins at tick zero.
    wheel.shut();
    wheel.open(2, 0);
    assert!(!ready(5));
    assert_eq!(wakings.count(), 0);
}

#[test]
fn a_timer_is_small() {
    assert!(size_of::<Timer>() <= 80, "{}", size_of::<Timer>());
}
