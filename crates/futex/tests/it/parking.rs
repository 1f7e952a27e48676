use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use blitz_io_futex::parking::{self, *};

/// Returns the key on which a test parks.
fn key_of<T>(of: &T) -> usize {
    (&raw const *of).addr()
}

fn park(key: usize, token: usize) -> ParkResult {
    // SAFETY: the keys of this file are addresses of the tests' own objects, and its closures neither
    // panic nor call back, unless a test says so.
    unsafe { parking::park(key, || true, || {}, |_, _| {}, ParkToken(token), None) }
}

/// Returns the tokens of the parked threads in their order.
fn parked(key: usize) -> Vec<usize> {
    let mut tokens = Vec::new();
    let collect = |token: ParkToken| {
        tokens.push(token.0);
        FilterOp::Skip
    };
    // SAFETY: see `park`.
    let result = unsafe { unpark_filter(key, collect, |_| DEFAULT_UNPARK_TOKEN) };
    assert_eq!(result.unparked_threads, 0);
    assert_eq!(result.have_more_threads, !tokens.is_empty());
    tokens
}

fn wait_for_parked(key: usize, count: usize) {
    while parked(key).len() != count {
        thread::yield_now();
    }
}

fn unpark(key: usize, token: usize) -> UnparkResult {
    // SAFETY: see `park`.
    unsafe { unpark_one(key, |_| UnparkToken(token)) }
}

fn requeue(from: usize, to: usize, operation: RequeueOp) -> UnparkResult {
    // SAFETY: see `park`.
    unsafe { unpark_requeue(from, to, || operation, |_, _| UnparkToken(7)) }
}

/// Parks threads with the tokens 0, 1, …, in this order, calls `body` with the key, and returns the
/// results in the order in which the threads woke, once all have.
fn with_parked(count: usize, body: impl FnOnce(usize)) -> Vec<(usize, ParkResult)> {
    let (place, (sender, results)) = (0u8, mpsc::channel());
    let key = key_of(&place);
    thread::scope(|scope| {
        for token in 0..count {
            let sender = sender.clone();
            scope.spawn(move || sender.send((token, park(key, token))));
            wait_for_parked(key, token + 1);
        }
        body(key);
    });
    drop(sender);
    results.iter().collect()
}

#[test]
fn threads_are_unparked_in_their_order_and_get_the_token() {
    let results = with_parked(3, |key| {
        for left in [2, 1, 0] {
            let result = unpark(key, 10 + left);
            assert_eq!(result.unparked_threads, 1);
            assert_eq!(result.have_more_threads, left > 0);
            assert_eq!(parked(key).len(), left);
        }
        assert_eq!(unpark(key, 0), UnparkResult::default());
    });
    for (token, result) in results {
        assert_eq!(result, ParkResult::Unparked(UnparkToken(12 - token)));
        assert!(result.is_unparked());
    }
}

#[test]
fn a_filter_skips_and_stops() {
    with_parked(4, |key| {
        let choose = |token: ParkToken| match token.0 {
            0 | 2 => FilterOp::Unpark,
            1 => FilterOp::Skip,
            _ => FilterOp::Stop,
        };
        // SAFETY: see `park`.
        let result = unsafe { unpark_filter(key, choose, |_| DEFAULT_UNPARK_TOKEN) };
        assert_eq!(
            (result.unparked_threads, result.have_more_threads),
            (2, true)
        );
        assert_eq!(parked(key), [1, 3]);
        // SAFETY: see `park`.
        assert_eq!(unsafe { unpark_all(key, DEFAULT_UNPARK_TOKEN) }, 2);
    });
}

#[test]
fn a_validation_that_fails_parks_nothing() {
    let place = 0u8;
    let key = key_of(&place);
    let never = || unreachable!("the thread does not park");
    // SAFETY: see `park`.
    let result =
        unsafe { parking::park(key, || false, never, |_, _| {}, DEFAULT_PARK_TOKEN, None) };
    assert_eq!(result, ParkResult::Invalid);
    assert!(parked(key).is_empty());
}

/// Each operation, with the number of threads that it unparks and moves, and `have_more_threads`.
#[test]
fn requeue_does_what_the_operation_says() {
    for (operation, unparked, moved, more) in [
        (RequeueOp::Abort, 0, 0, false),
        (RequeueOp::UnparkOneRequeueRest, 1, 2, false),
        (RequeueOp::RequeueAll, 0, 3, false),
        (RequeueOp::UnparkOne, 1, 0, true),
        (RequeueOp::RequeueOne, 0, 1, true),
    ] {
        let other = [0u8; 64];
        // Keys of one bucket, and of two.
        for to in other.iter().map(key_of) {
            with_parked(3, |from| {
                let result = requeue(from, to, operation);
                assert_eq!(result.unparked_threads, unparked, "{operation:?}");
                assert_eq!(result.requeued_threads, moved, "{operation:?}");
                assert_eq!(result.have_more_threads, more, "{operation:?}");
                assert_eq!(parked(to), Vec::from_iter(unparked..unparked + moved));
                assert_eq!(parked(from), Vec::from_iter(unparked + moved..3));
                for key in [from, to] {
                    // SAFETY: see `park`.
                    unsafe { unpark_all(key, DEFAULT_UNPARK_TOKEN) };
                }
            });
        }
    }
}

#[test]
fn requeue_onto_the_same_key_keeps_all_threads() {
    with_parked(3, |key| {
        assert_eq!(requeue(key, key, RequeueOp::RequeueOne).requeued_threads, 1);
        assert_eq!(parked(key), [1, 2, 0]);
        // SAFETY: see `park`.
        assert_eq!(unsafe { unpark_all(key, DEFAULT_UNPARK_TOKEN) }, 3);
    });
}

#[test]
fn a_thread_that_was_moved_times_out_under_its_new_key() {
    let places = [0u8; 2];
    let [from, to] = [key_of(&places[0]), key_of(&places[1])];
    let told = AtomicUsize::new(0);
    let timed_out = |key, is_last: bool| {
        assert!(is_last);
        told.store(key, Ordering::Relaxed);
    };
    let move_self = || {
        assert_eq!(requeue(from, to, RequeueOp::RequeueAll).requeued_threads, 1);
    };
    let now = Some(Instant::now());
    // SAFETY: see `park`. `before_sleep` may unpark and requeue.
    let result =
        unsafe { parking::park(from, || true, move_self, timed_out, DEFAULT_PARK_TOKEN, now) };
    assert_eq!(result, ParkResult::TimedOut);
    assert_eq!(told.into_inner(), to);
    assert!(parked(from).is_empty() && parked(to).is_empty());
}

#[test]
fn a_thread_that_times_out_says_whether_others_are_left() {
    with_parked(2, |key| {
        let not_last = |_, is_last: bool| assert!(!is_last);
        let now = Some(Instant::now());
        // SAFETY: see `park`.
        let result =
            unsafe { parking::park(key, || true, || {}, not_last, DEFAULT_PARK_TOKEN, now) };
        assert_eq!(result, ParkResult::TimedOut);
        assert_eq!(parked(key), [0, 1]);
        // SAFETY: see `park`.
        unsafe { unpark_all(key, DEFAULT_UNPARK_TOKEN) };
    });
}

#[test]
fn a_thread_that_unparks_itself_does_not_sleep() {
    let place = 0u8;
    let key = key_of(&place);
    let unpark_self = || assert_eq!(unpark(key, 3).unparked_threads, 1);
    // SAFETY: see `park`. `before_sleep` may unpark.
    let result = unsafe {
        parking::park(
            key,
            || true,
            unpark_self,
            |_, _| {},
            DEFAULT_PARK_TOKEN,
            None,
        )
    };
    assert_eq!(result, ParkResult::Unparked(UnparkToken(3)));
}

/// The contract excludes these panics. They must still leave no pointer to a freed stack.
#[test]
fn a_panic_before_the_sleep_leaves_no_thread_in_the_queue() {
    let place = 0u8;
    let key = key_of(&place);
    let panics = || panic!("before the sleep");
    let parks = || {
        // SAFETY: the key is the test's own. The panic is what is tested.
        unsafe { parking::park(key, || true, panics, |_, _| {}, DEFAULT_PARK_TOKEN, None) }
    };
    assert!(catch_unwind(AssertUnwindSafe(parks)).is_err());
    assert!(parked(key).is_empty());
}

#[test]
fn a_thread_whose_callback_panics_loses_no_thread() {
    with_parked(1, |key| {
        // SAFETY: the key is the test's own. The panic is what is tested.
        let unparks = || unsafe { unpark_one(key, |_| panic!("callback")) };
        assert!(catch_unwind(AssertUnwindSafe(unparks)).is_err());
        assert!(parked(key).is_empty());
    });
}

const LOCKED: u8 = 1;
const PARKED: u8 = 2;
const HANDED_OVER: UnparkToken = UnparkToken(1);

/// A lock of one byte, as parking_lot's.
struct ByteLock(AtomicU8);

impl ByteLock {
    fn change(&self, from: u8, to: u8) -> bool {
        let result = (self.0).compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed);
        result.is_ok()
    }

    fn lock(&self) {
        loop {
            let state = self.0.load(Ordering::Relaxed);
            if state & LOCKED == 0 {
                if self.change(state, state | LOCKED) {
                    return;
                }
                continue;
            }
            if state & PARKED == 0 && !self.change(state, state | PARKED) {
                continue;
            }
            let validate = || self.0.load(Ordering::Relaxed) == LOCKED | PARKED;
            let (key, token) = (key_of(self), DEFAULT_PARK_TOKEN);
            // SAFETY: see `park`.
            let result = unsafe { parking::park(key, validate, || {}, |_, _| {}, token, None) };
            if result == ParkResult::Unparked(HANDED_OVER) {
                return;
            }
        }
    }

    fn unlock(&self) {
        if (self.0)
            .compare_exchange(LOCKED, 0, Ordering::Release, Ordering::Relaxed)
            .is_ok()
        {
            return;
        }
        let release = |result: UnparkResult| {
            let parked = if result.have_more_threads { PARKED } else { 0 };
            let is_handed_over = result.unparked_threads > 0 && result.be_fair;
            let locked = if is_handed_over { LOCKED } else { 0 };
            self.0.store(locked | parked, Ordering::Release);
            if is_handed_over {
                HANDED_OVER
            } else {
                DEFAULT_UNPARK_TOKEN
            }
        };
        // SAFETY: see `park`.
        unsafe { unpark_one(key_of(self), release) };
    }
}

#[test]
fn locks_of_one_byte_exclude_and_lose_no_wake_up() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 5_000 };
    // In one cache line, and some in one bucket.
    let locks: [ByteLock; 8] = [const { ByteLock(AtomicU8::new(0)) }; 8];
    let counts: [AtomicUsize; 8] = Default::default();
    thread::scope(|scope| {
        for thread in 0..8 {
            let (locks, counts) = (&locks, &counts);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let index = (round + thread) % 8 / 4;
                    locks[index].lock();
                    // Two steps, between which no other thread may be.
                    let count = counts[index].load(Ordering::Relaxed);
                    if round % 16 == 0 {
                        thread::yield_now();
                    }
                    counts[index].store(count + 1, Ordering::Relaxed);
                    locks[index].unlock();
                }
            });
        }
    });
    let sum: usize = counts
        .iter()
        .map(|count| count.load(Ordering::Relaxed))
        .sum();
    assert_eq!(sum, 8 * ROUNDS);
}

#[test]
fn an_unpark_is_not_spent_on_a_thread_that_times_out() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 2_000 };
    let (place, done) = (0u8, AtomicBool::new(false));
    let key = key_of(&place);
    let (parked_away, unparked) = thread::scope(|scope| {
        let sleepers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut unparked = 0;
                    for round in 0..ROUNDS {
                        let until =
                            Instant::now() + std::time::Duration::from_micros(round as u64 % 64);
                        let token = DEFAULT_PARK_TOKEN;
                        // SAFETY: see `park`.
                        let result = unsafe {
                            parking::park(key, || true, || {}, |_, _| {}, token, Some(until))
                        };
                        unparked += usize::from(result.is_unparked());
                    }
                    unparked
                })
            })
            .collect();
        let unparker = scope.spawn(|| {
            let mut unparked = 0;
            while !done.load(Ordering::Relaxed) {
                unparked += unpark(key, 0).unparked_threads;
                thread::yield_now();
            }
            unparked
        });
        let ended = sleepers
            .into_iter()
            .map(|sleeper| sleeper.join().unwrap())
            .sum::<usize>();
        done.store(true, Ordering::Relaxed);
        (ended, unparker.join().unwrap())
    });
    assert_eq!(parked_away, unparked);
    assert!(parked(key).is_empty());
}

#[cfg(all(unix, not(miri)))]
#[test]
fn a_thread_of_the_parent_takes_no_unpark_of_the_child() {
    with_parked(1, |key| {
        // SAFETY: the child calls only the code under test.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_empty = unpark(key, 0).unparked_threads == 0;
            // SAFETY: it ends this process without running what the test harness registered.
            unsafe { libc::_exit(i32::from(!is_empty)) };
        }
        let mut status = 0;
        // SAFETY: `status` is a place for a number.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
        assert_eq!(unpark(key, 0).unparked_threads, 1);
    });
}
