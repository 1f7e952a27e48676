//! The patterns behind `book/src/how/second-opinion-orders.md`, each as small as it can be, each right and
//! wrong. The wrong ones must fail: a lost wake-up is a thread that sleeps forever, which loom
//! calls a deadlock.
//!
//! Nothing here is code that ships. The primitives of this crate have models of their own
//! (`loom_*.rs`) and mutants (`mutants/`). These models sleep with `blitz_io_futex::wait`: like the
//! system's, it compares the word and puts the thread to sleep in one step.
//!
//! **loom and `SeqCst`.** loom takes a sequentially consistent load, store or
//! read-modify-write for one that only acquires and releases; it knows the total
//! order of *fences* alone. So it reports lost wake-ups in programs that are
//! right by the rules of the language
//! ([`loom_does_not_know_the_order_of_seqcst_accesses`]). In that it errs on the
//! safe side. (In one point it does not: it never lets a store overtake an
//! earlier load.)

use crate::model;

use std::sync::Arc;

use blitz_io_futex::atomic::{AtomicU32, Ordering, fence};
use blitz_io_futex::{wait, wake_all, wake_n, wake_one};
use loom::thread;
use model::model_in_order as model;

fn fence_if(fences: bool) {
    if fences {
        fence(Ordering::SeqCst);
    }
}

// 1. Announce, then look; publish, then look.

/// Which steps a sleeper and a publisher take between their two.
#[derive(Clone, Copy)]
struct Steps {
    stores: Ordering,
    loads: Ordering,
    sleeper_fences: bool,
    publisher_fences: bool,
    /// The sleeper looks first and announces itself afterwards.
    announces_late: bool,
}

const RELEASE_ACQUIRE: Steps = Steps {
    stores: Ordering::Release,
    loads: Ordering::Acquire,
    sleeper_fences: false,
    publisher_fences: false,
    announces_late: false,
};

const FENCES: Steps = Steps {
    sleeper_fences: true,
    publisher_fences: true,
    ..RELEASE_ACQUIRE
};

/// A condition, an announcement, and a word to sleep on.
#[derive(Default)]
struct Meeting {
    ready: AtomicU32,
    announced: AtomicU32,
    sleep_word: AtomicU32,
}

impl Meeting {
    fn sleep(&self, steps: Steps) {
        if steps.announces_late && self.ready.load(steps.loads) == 1 {
            return;
        }
        self.announced.store(1, steps.stores);
        fence_if(steps.sleeper_fences);
        if !steps.announces_late && self.ready.load(steps.loads) == 1 {
            return;
        }
        while self.sleep_word.load(Ordering::Acquire) == 0 {
            wait(&self.sleep_word, 0);
        }
    }

    fn publish(&self, steps: Steps) {
        self.ready.store(1, steps.stores);
        fence_if(steps.publisher_fences);
        if self.announced.load(steps.loads) == 1 {
            self.sleep_word.store(1, Ordering::Release);
            wake_one(&self.sleep_word);
        }
    }
}

fn meet(steps: Steps) {
    model(3, move || {
        let meeting = Arc::new(Meeting::default());
        let sleeper = {
            let meeting = meeting.clone();
            thread::spawn(move || meeting.sleep(steps))
        };
        meeting.publish(steps);
        sleeper.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn release_and_acquire_lose_the_wake_up() {
    meet(RELEASE_ACQUIRE);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_fence_of_the_sleeper_alone_is_not_enough() {
    meet(Steps {
        publisher_fences: false,
        ..FENCES
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_fence_of_the_publisher_alone_is_not_enough() {
    meet(Steps {
        sleeper_fences: false,
        ..FENCES
    });
}

#[test]
fn fences_on_both_sides_are_enough() {
    meet(FENCES);
}

#[test]
#[should_panic(expected = "deadlock")]
fn announcing_after_the_last_look_loses_it_whatever_the_fences() {
    meet(Steps {
        announces_late: true,
        ..FENCES
    });
}

/// Right by the language, and on every processor; loom cannot see it.
#[test]
#[should_panic(expected = "deadlock")]
fn loom_does_not_know_the_order_of_seqcst_accesses() {
    meet(Steps {
        stores: Ordering::SeqCst,
        loads: Ordering::SeqCst,
        ..RELEASE_ACQUIRE
    });
}

/// Condition and announcement in one word: the thread that changes it second sees the change of
/// the first, so no fence is needed at all. Our parker, semaphore, latch and draining writers
/// work like this.
#[test]
fn one_word_for_both_needs_no_fence() {
    const READY: u32 = 1;
    const ASLEEP: u32 = 2;

    model(3, || {
        let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let sleeper = {
            let words = words.clone();
            thread::spawn(move || {
                let [state, sleep_word] = &*words;
                let before = state.fetch_or(ASLEEP, Ordering::AcqRel);
                while before & READY == 0 && sleep_word.load(Ordering::Acquire) == 0 {
                    wait(sleep_word, 0);
                }
            })
        };
        let [state, sleep_word] = &*words;
        if state.fetch_or(READY, Ordering::AcqRel) & ASLEEP != 0 {
            sleep_word.store(1, Ordering::Release);
            wake_one(sleep_word);
        }
        sleeper.join().unwrap();
    });
}

// 2. The waiter count of a semaphore.

/// When a release reads how many wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    BeforeItPublishes,
    AfterItPublished { fences: bool },
}

/// Permits, which threads sleep on, and the number of sleepers.
struct Counted {
    permits: AtomicU32,
    waiters: AtomicU32,
}

impl Counted {
    fn empty() -> Arc<Self> {
        Arc::new(Self {
            permits: AtomicU32::new(0),
            waiters: AtomicU32::new(0),
        })
    }

    fn acquire(&self, n: u32) {
        loop {
            let permits = self.permits.load(Ordering::Relaxed);
            if permits < n {
                self.sleep(permits);
            } else if self.take(permits, n) {
                return;
            }
        }
    }

    fn take(&self, permits: u32, n: u32) -> bool {
        self.permits
            .compare_exchange(permits, permits - n, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// The comparison that `wait` makes is the look after the announcement.
    fn sleep(&self, permits: u32) {
        self.waiters.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        wait(&self.permits, permits);
        self.waiters.fetch_sub(1, Ordering::AcqRel);
    }

    fn release(&self, counts: Counts) {
        let early = self.waiters.load(Ordering::Acquire);
        self.permits.fetch_add(1, Ordering::AcqRel);
        let waiters = match counts {
            Counts::BeforeItPublishes => early,
            Counts::AfterItPublished { fences } => {
                fence_if(fences);
                self.waiters.load(Ordering::Acquire)
            }
        };
        if waiters > 0 {
            wake_one(&self.permits);
        }
    }
}

fn one_permit(counts: Counts) {
    model(3, move || {
        let semaphore = Counted::empty();
        let taker = {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.acquire(1))
        };
        semaphore.release(counts);
        taker.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_count_that_is_read_before_the_permit_is_published_is_stale() {
    one_permit(Counts::BeforeItPublishes);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_count_that_is_read_after_it_without_a_fence_may_be_stale() {
    one_permit(Counts::AfterItPublished { fences: false });
}

#[test]
fn a_count_that_is_read_after_it_behind_a_fence_is_true() {
    one_permit(Counts::AfterItPublished { fences: true });
}

// 3. Waiters that want different amounts.

/// One wants two permits, the other one; one permit comes. `wakes` sleepers are
/// woken for it.
fn different_amounts(wakes: usize) {
    model(2, move || {
        let semaphore = Counted::empty();
        let take = |n: u32| {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.acquire(n))
        };
        let (greedy, modest) = (take(2), take(1));
        let give = || {
            semaphore.permits.fetch_add(1, Ordering::AcqRel);
            fence(Ordering::SeqCst);
            if semaphore.waiters.load(Ordering::Acquire) > 0 {
                wake_n(&semaphore.permits, wakes);
            }
        };
        give();
        modest.join().unwrap();
        give();
        give();
        greedy.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn one_wake_for_one_permit_may_reach_one_that_it_is_not_enough_for() {
    different_amounts(1);
}

#[test]
fn waking_everybody_for_one_permit_is_right_and_slow() {
    different_amounts(usize::MAX);
}

/// Tests the semaphore that ships in this scene: it wakes the thread whose request fits.
#[test]
fn our_semaphore_wakes_one_that_it_is_enough_for() {
    model(2, || {
        let semaphore = Arc::new(blitz_io_sync::thread::Semaphore::new(0));
        let take = |n: u32| {
            let semaphore = semaphore.clone();
            thread::spawn(move || semaphore.acquire_many(n).unwrap().forget())
        };
        let (greedy, modest) = (take(2), take(1));
        semaphore.add_permits(1);
        modest.join().unwrap();
        semaphore.add_permits(2);
        greedy.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

// 4. A parker of three states.

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// How tokens are handed over and taken.
#[derive(Clone, Copy)]
enum Tokens {
    /// Both sides always write.
    Written,
    /// An unparker that finds a token there writes nothing.
    LazilyGiven { fences: bool },
    /// A thread that finds its token takes it by a load and a plain store.
    LazilyTaken,
}

#[derive(Default)]
struct ThreeStates {
    state: AtomicU32,
}

impl ThreeStates {
    fn park(&self, tokens: Tokens) {
        if let Tokens::LazilyTaken = tokens {
            if self.state.load(Ordering::Acquire) == NOTIFIED {
                return self.state.store(EMPTY, Ordering::Relaxed);
            }
        }
        while !self.take() {
            let parked =
                self.state
                    .compare_exchange(EMPTY, PARKED, Ordering::Relaxed, Ordering::Relaxed);
            if parked.is_ok() || parked == Err(PARKED) {
                wait(&self.state, PARKED);
            }
        }
        fence_if(matches!(tokens, Tokens::LazilyGiven { fences: true }));
    }

    fn take(&self) -> bool {
        self.state
            .compare_exchange(NOTIFIED, EMPTY, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    fn unpark(&self, tokens: Tokens) {
        if let Tokens::LazilyGiven { fences } = tokens {
            fence_if(fences);
            if self.state.load(Ordering::Relaxed) == NOTIFIED {
                return;
            }
        }
        if self.state.swap(NOTIFIED, Ordering::Release) == PARKED {
            wake_one(&self.state);
        }
    }
}

/// Two threads bring news and a token each; the third parks until it has both.
fn two_bring_news(tokens: Tokens) {
    model(3, move || {
        let shared = Arc::new((ThreeStates::default(), AtomicU32::new(0)));
        let others = [(); 2].map(|()| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (parker, news) = &*shared;
                // Relaxed: it is the token that makes the news visible.
                news.fetch_add(1, Ordering::Relaxed);
                parker.unpark(tokens);
            })
        });
        let (parker, news) = &*shared;
        while news.load(Ordering::Relaxed) < 2 {
            parker.park(tokens);
        }
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn a_token_that_is_always_written_brings_its_news() {
    two_bring_news(Tokens::Written);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_token_that_is_not_written_again_loses_the_second_news() {
    two_bring_news(Tokens::LazilyGiven { fences: false });
}

/// It is the first pattern again: news against token. So the write that was
/// saved is paid for with a fence, on both sides.
#[test]
fn a_token_that_is_not_written_again_costs_a_fence_on_both_sides() {
    two_bring_news(Tokens::LazilyGiven { fences: true });
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_token_that_is_taken_by_a_plain_store_wipes_out_the_next() {
    two_bring_news(Tokens::LazilyTaken);
}

// 5. A barrier of a generation and a count of sleepers.

/// The moment at which a sleeper counts itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SleeperCounts {
    BeforeItLooks,
    /// Between its own look and the comparison that the system makes.
    BeforeTheSystemLooks,
}

#[derive(Default)]
struct Generations {
    arrived: AtomicU32,
    generation: AtomicU32,
    sleepers: AtomicU32,
}

impl Generations {
    /// Waits for the other of two threads, once.
    fn wait(&self, counted: SleeperCounts, leader_fences: bool) {
        if self.arrived.fetch_add(1, Ordering::AcqRel) == 1 {
            return self.open(leader_fences);
        }
        let is_over = || self.generation.load(Ordering::Acquire) == 1;
        if counted == SleeperCounts::BeforeTheSystemLooks && is_over() {
            return;
        }
        self.sleepers.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        if counted == SleeperCounts::BeforeItLooks && is_over() {
            return;
        }
        // The system does not return here for no reason.
        wait(&self.generation, 0);
        assert!(is_over());
    }

    fn open(&self, fences: bool) {
        self.generation.store(1, Ordering::Release);
        fence_if(fences);
        if self.sleepers.load(Ordering::Acquire) != 0 {
            wake_all(&self.generation);
        }
    }
}

fn round_of_two(counted: SleeperCounts, leader_fences: bool) {
    model(3, move || {
        let barrier = Arc::new(Generations::default());
        let other = {
            let barrier = barrier.clone();
            thread::spawn(move || barrier.wait(counted, leader_fences))
        };
        barrier.wait(counted, leader_fences);
        other.join().unwrap();
    });
}

#[test]
fn a_sleeper_that_counts_itself_before_it_looks_is_woken() {
    round_of_two(SleeperCounts::BeforeItLooks, true);
}

/// The system compares the generation again, which is a look after the announcement. So this
/// order of steps is right as well, but only because the word slept on is the condition itself.
#[test]
fn a_sleeper_that_counts_itself_before_the_system_looks_is_woken() {
    round_of_two(SleeperCounts::BeforeTheSystemLooks, true);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_leader_that_does_not_fence_before_it_reads_the_count_wakes_nobody() {
    round_of_two(SleeperCounts::BeforeItLooks, false);
}

// 6. A sense-reversing barrier, whose round is one bit.

struct Sense {
    left: AtomicU32,
    sense: AtomicU32,
}

impl Sense {
    /// Waits for the other of two threads.
    fn wait(&self) {
        let sense = self.sense.load(Ordering::Relaxed);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.left.store(2, Ordering::Relaxed);
            self.sense.store(sense ^ 1, Ordering::Release);
            wake_all(&self.sense);
            return;
        }
        while self.sense.load(Ordering::Acquire) == sense {
            wait(&self.sense, sense);
        }
    }
}

/// Runs threads that each wait this often in a barrier for two.
fn sense_reversing(threads: usize, rounds: usize) {
    model(2, move || {
        let barrier = Arc::new(Sense {
            left: AtomicU32::new(2),
            sense: AtomicU32::new(0),
        });
        let run = move |barrier: &Sense| (0..rounds).for_each(|_| barrier.wait());
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let barrier = barrier.clone();
                thread::spawn(move || run(&barrier))
            })
            .collect();
        run(&barrier);
        for other in others {
            other.join().unwrap();
        }
    });
}

/// A thread has returned from a round before the next one can end, so the bit says enough.
#[test]
fn a_sense_reversing_barrier_is_right_for_as_many_threads_as_it_has_places() {
    sense_reversing(2, 2);
}

/// Two others may complete a round before a thread of the previous round has looked: the bit has its old value again.
#[test]
#[should_panic(expected = "deadlock")]
fn a_sense_reversing_barrier_loses_a_thread_if_more_threads_take_turns() {
    sense_reversing(4, 1);
}
