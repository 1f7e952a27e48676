//! Models of timers: none is lost, early, fired twice, or used after its end.

use crate::model;

use std::future::poll_fn;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_runtime::kernel::wheel::{Timer, Wheel};
use loom::thread;
use model::{block_on, model_in_order as model};

/// Size of a model's stacks, in words.
const STACK: usize = 1 << 14;

/// An open wheel, which is freed when the model ends well.
struct World(&'static Wheel);

impl World {
    fn new() -> Self {
        // Without optimisation, the slots pass through the stack, and a model's own is small.
        let large = thread::Builder::new().stack_size(STACK);
        let wheel = large.spawn(Wheel::leak).unwrap().join().unwrap();
        wheel.open(1, 0);
        Self(wheel)
    }

    fn end(self) {
        let wheel = std::ptr::from_ref(self.0).cast_mut();
        // SAFETY: all threads and timers of the model have ended.
        drop(unsafe { Box::from_raw(wheel) });
    }
}

/// A timer whose memory stays, so that the model sees a late use.
struct Kept(*mut Timer);

impl Kept {
    fn new(when: u64, wheel: &'static Wheel) -> Self {
        Self(Box::into_raw(Box::new(Timer::new(when, wheel))))
    }

    fn get(&mut self) -> Pin<&mut Timer> {
        // SAFETY: it is alive, and does not move.
        unsafe { Pin::new_unchecked(&mut *self.0) }
    }

    fn drop(&mut self) {
        // SAFETY: it is alive, and not used any more.
        unsafe { std::ptr::drop_in_place(self.0) };
    }

    fn free(self) {
        // SAFETY: it has been dropped in place.
        drop(unsafe { Box::from_raw(self.0.cast::<ManuallyDrop<Timer>>()) });
    }
}

/// A count of wake-ups that loom sees.
struct Count(AtomicU32);

const COUNTING: RawWakerVTable =
    RawWakerVTable::new(|count| RawWaker::new(count, &COUNTING), wake, wake, |_| ());

fn wake(count: *const ()) {
    // SAFETY: counts are never freed.
    let count = unsafe { &*count.cast::<Count>() };
    count.0.fetch_add(1, Ordering::AcqRel);
}

/// A waker that counts. There is nothing to drop in it, so that mistakes do no harm before
/// they are found.
fn count() -> (&'static Count, Waker) {
    let count: &'static Count = Box::leak(Box::new(Count(AtomicU32::new(0))));
    let data = std::ptr::from_ref(count).cast();
    // SAFETY: the functions do nothing with the pointer that it is not good for.
    (count, unsafe { Waker::new(data, &COUNTING) })
}

fn get(count: &Count) -> u32 {
    count.0.load(Ordering::Acquire)
}

fn turns(wheel: &'static Wheel, now: u64) -> thread::JoinHandle<usize> {
    thread::spawn(move || wheel.turn(now))
}

/// Waits until the timer is elapsed. Returns whether it ended without an error.
fn wait(timer: &mut Kept, own: Option<&'static Wheel>) -> bool {
    block_on(poll_fn(|cx| timer.get().poll(cx.waker(), || own))).is_ok()
}

/// A world with a timer in its wheel, which is for this tick.
fn linked(when: u64) -> (World, &'static Wheel, &'static Count, Waker, Kept) {
    let world = World::new();
    let wheel = world.0;
    let (woken, waker) = count();
    let mut timer = Kept::new(when, wheel);
    assert!(timer.get().poll(&waker, || Some(wheel)).is_pending());
    (world, wheel, woken, waker, timer)
}

/// The end of a model in which nothing happens any more.
fn gone(mut timer: Kept, world: World) {
    timer.drop();
    timer.free();
    world.end();
}

/// The owner drops the timer while it fires.
fn drop_races_fire() {
    let (world, wheel, woken, _, mut timer) = linked(5);
    let turning = turns(wheel, 5);
    timer.drop();
    let fired = turning.join().unwrap();
    assert_eq!(get(woken) as usize, fired);
    assert_eq!(wheel.next_tick(), None);
    timer.free();
    world.end();
}

/// The timer fires while its owner polls it with the same waker, and with another one.
fn polls_race_fire() {
    let (world, wheel, _, waker, mut timer) = linked(5);
    let turning = turns(wheel, 5);
    _ = timer.get().poll(&waker, || Some(wheel));
    assert!(wait(&mut timer, Some(wheel)));
    turning.join().unwrap();
    gone(timer, world);
}

/// The owner postpones the timer while the timer fires.
fn putting_off_races_fire() {
    let (world, wheel, woken, waker, mut timer) = linked(5);
    let turning = turns(wheel, 5);
    timer.get().reset(9, || Some(wheel));
    let poll = timer.get().poll(&waker, || Some(wheel));
    assert!(poll.is_pending(), "too early");
    turning.join().unwrap();
    assert!(!timer.get().is_elapsed(), "too early");
    // Whether it had fired or not, the waker is woken at the right time.
    let poll = timer.get().poll(&waker, || Some(wheel));
    assert!(poll.is_pending(), "too early");
    let before = get(woken);
    wheel.turn(9);
    assert_eq!(get(woken), before + 1);
    assert!(timer.get().is_elapsed());
    gone(timer, world);
}

/// A timer that was postponed before any thread turned the wheel does not wake
/// its task too early.
fn putting_off_in_time() {
    let (world, wheel, woken, _, mut timer) = linked(5);
    timer.get().reset(70, || Some(wheel));
    turns(wheel, 69).join().unwrap();
    assert_eq!(get(woken), 0);
    turns(wheel, 70).join().unwrap();
    assert_eq!(get(woken), 1);
    gone(timer, world);
}

/// The timer is brought forward while the wheel is turned.
fn bringing_forward_races_fire() {
    let (world, wheel, woken, _, mut timer) = linked(7);
    let turning = turns(wheel, 7);
    timer.get().reset(3, || Some(wheel));
    assert_eq!(turning.join().unwrap() as u32, get(woken));
    wheel.turn(7);
    assert!(timer.get().is_elapsed());
    assert_eq!(get(woken), 1);
    gone(timer, world);
}

/// Two threads turn the wheel.
fn two_turn() {
    let world = World::new();
    let wheel = world.0;
    let (woken, waker) = count();
    let mut timers = [Kept::new(5, wheel), Kept::new(70, wheel)];
    for timer in &mut timers {
        assert!(timer.get().poll(&waker, || Some(wheel)).is_pending());
    }
    let other = turns(wheel, 70);
    let fired = wheel.turn(80);
    assert_eq!(fired + other.join().unwrap(), 2);
    assert_eq!(get(woken), 2);
    for mut timer in timers {
        assert!(timer.get().is_elapsed());
        timer.drop();
        timer.free();
    }
    world.end();
}

/// A thread starts a timer while the worker is about to go to sleep.
fn a_timer_from_elsewhere() {
    let world = World::new();
    let wheel = world.0;
    let token = Arc::new(AtomicU32::new(0));
    let unpark = token.clone();
    wheel.set_unpark(
        Arc::new(move |_| {
            unpark.store(1, Ordering::Release);
            blitz_io_futex::wake_one(&raw const *unpark);
        }),
        0,
    );
    let worker = thread::spawn(move || {
        loop {
            match wheel.next_tick() {
                Some(5) => return wheel.turn(5),
                // Another thread has a deadline much later.
                Some(_) | None => blitz_io_futex::wait(&token, 0),
            };
            token.swap(0, Ordering::AcqRel);
        }
    });
    let mut timer = Kept::new(5, wheel);
    assert!(wait(&mut timer, None));
    assert_eq!(worker.join().unwrap(), 1);
    gone(timer, world);
}

/// The worker sleeps, and another thread turns its wheel. A timer that a third thread starts
/// afterwards unparks the worker, though it is later than the one before.
fn turned_by_another() {
    let world = World::new();
    let wheel = world.0;
    let count = Arc::new(AtomicU32::new(0));
    let unparks = count.clone();
    wheel.set_unpark(
        Arc::new(move |_| {
            unparks.fetch_add(1, Ordering::Relaxed);
        }),
        0,
    );
    assert_eq!(wheel.next_tick(), None);
    let mut first = Kept::new(5, wheel);
    first.get().reset(5, || None);
    assert_eq!(thread::spawn(move || wheel.turn(5)).join().unwrap(), 1);
    let mut second = Kept::new(9, wheel);
    second.get().reset(9, || None);
    assert_eq!(
        count.load(Ordering::Relaxed),
        2,
        "the worker was not unparked"
    );
    first.drop();
    first.free();
    gone(second, world);
}

/// The runtime ends while a timer starts.
fn the_end_races_link() {
    let world = World::new();
    let wheel = world.0;
    let ending = thread::spawn(move || wheel.shut());
    let mut timer = Kept::new(5, wheel);
    timer.get().reset(4, || Some(wheel));
    assert!(!wait(&mut timer, Some(wheel)));
    ending.join().unwrap();
    assert_eq!(wheel.next_tick(), None);
    gone(timer, world);
}

/// The runtime ends while a timer is dropped, and its wheel goes to the next one.
fn the_end_races_drop() {
    let (world, wheel, _, _, mut timer) = linked(5);
    let ending = thread::spawn(move || {
        wheel.shut();
        wheel.open(2, 0);
        let (woken, waker) = count();
        let mut timer = Kept::new(5, wheel);
        assert!(timer.get().poll(&waker, || Some(wheel)).is_pending());
        assert_eq!(wheel.turn(5), 1);
        assert_eq!(get(woken), 1);
        timer.drop();
        timer.free();
    });
    timer.drop();
    ending.join().unwrap();
    timer.free();
    world.end();
}

macro_rules! models {
    ($($name:ident: $preemptions:literal,)*) => { $(
        mod $name {
            #[test]
            fn holds() {
                super::model($preemptions, super::$name);
            }
        }
    )* };
}

models! {
    drop_races_fire: 3,
    polls_race_fire: 3,
    putting_off_races_fire: 3,
    putting_off_in_time: 2,
    bringing_forward_races_fire: 3,
    two_turn: 3,
    a_timer_from_elsewhere: 3,
    turned_by_another: 1,
    the_end_races_link: 3,
    the_end_races_drop: 3,
}
