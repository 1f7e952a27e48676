//! Mutexes: uncontended, contended, the wait of every single `lock`, and the hand-over to a
//! thread that sleeps.
//!
//! A recorded wait includes one reading of the clock (some 20 ns), the same for every
//! contender. Percentiles count operations, not threads: a lock that lets one thread
//! lock repeatedly looks good in most of them. So the 99.9th decides, and the rows show the
//! longest wait and how evenly the threads had their turns.

use std::sync::OnceLock;
use std::thread::yield_now;

use crate::latency::Turns;
use crate::scenarios::prelude::*;
use crate::work::Section;

/// A mutex around a counter.
trait Lock: Sync {
    fn new() -> Self;
    /// Locks, runs `section` on the counter, unlocks.
    fn with<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R;
}

/// One contender's body for a number of threads and a section.
type Contended = BodyOf<(usize, Section)>;

/// Makes the contenders: a name, a type, and how its lock is taken.
macro_rules! peers {
    ($($name:expr, $lock:ty, |$this:ident| $guard:expr;)+) => {
        $(impl Lock for $lock {
            fn new() -> Self {
                Self::new(0)
            }
            #[inline]
            fn with<R>(&$this, section: impl FnOnce(&mut u64) -> R) -> R {
                section(&mut $guard)
            }
        })+

        type Table<B> = [(&'static str, B); [$($name),+].len()];
        const UNCONTENDED: Table<Body> = [$(($name, uncontended::<$lock>)),+];
        const CONTENDED: Table<Contended> = [$(($name, contended::<$lock>)),+];
        const LATENCY: Table<Contended> = [$(($name, latency::<$lock>)),+];
        const HAND_OVER: Table<Body> = [$(($name, hand_over::<$lock>)),+];
    };
}

peers! {
    OURS, blitz_io_sync::thread::Mutex<u64>, |self| self.lock();
    "std", std::sync::Mutex<u64>, |self| self.lock().expect("no section panics");
    "parking_lot", parking_lot::Mutex<u64>, |self| self.lock();
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let uncontended = Scenario::new(4, "mutex_uncontended", "Mutex lock/unlock", SYNC_OPS);
    let mut scenarios = vec![uncontended.with_all(UNCONTENDED)];
    for section in Section::ALL {
        for threads in [2, 4, 8, 64] {
            scenarios.push(scenario(threads, section, ["contended"; 2], CONTENDED));
        }
    }
    for section in Section::ALL {
        let waits = scenario(8, section, ["latency", "wait for lock"], LATENCY);
        scenarios.push(waits.decided_by(Compares::P99_9Ns));
    }
    let title = "Mutex hand-over from a busy thread to the first sleeper";
    let hand_over = Scenario::new(4, "mutex_first_sleeper", title, 2_000)
        .threads(2)
        .decided_by(Compares::P99_9Ns);
    scenarios.push(hand_over.with_all(HAND_OVER));
    scenarios
}

fn scenario(
    threads: usize,
    section: Section,
    [id, title]: [&str; 2],
    table: Table<Contended>,
) -> Scenario {
    let id = format!("mutex_{id}_{threads}_{}", section.id());
    let title = format!("Mutex {title}, {}", section.title());
    let scenario = Scenario::new(4, id, title, section.ops(10_000_000)).threads(threads);
    scenario.with_each((threads, section), table)
}

fn uncontended<L: Lock>(cx: &Context) -> Measured {
    let lock = CachePadded::new(L::new());
    let sample = repeat(cx, "sections that ran", |_| {
        lock.with(|counter| *counter += 1);
        true
    })?;
    verify("the counter under the lock", cx.ops, lock.with(|n| *n))?;
    Ok(sample)
}

fn contended<L: Lock>(cx: &Context, (threads, section): (usize, Section)) -> Measured {
    let lock = CachePadded::new(L::new());
    let what = "the threads' contributions";
    let sample = repeat_on(threads, cx.share(threads), what, |_, _| {
        lock.with(|counter| {
            *counter += 1;
            section.run(cx.microsecond);
        });
        true
    })?;
    verify("the counter under the lock", sample.ops, lock.with(|n| *n))?;
    Ok(sample)
}

fn latency<L: Lock>(cx: &Context, (threads, section): (usize, Section)) -> Measured {
    let lock = CachePadded::new(L::new());
    let share = cx.share(threads);
    let counts: Vec<_> = (0..threads)
        .map(|_| CachePadded::new(AtomicU64::new(0)))
        .collect();
    // When the first thread has had all of its turns.
    let turns = OnceLock::new();
    let (span, all_waits) = start_all(threads, |thread| {
        let mut waits = Waits::new();
        let (lock, counts, turns) = (&lock, &counts, &turns);
        move || {
            for turn in 1..=share {
                let asked = Instant::now();
                let wait = lock.with(|counter| {
                    let wait = asked.elapsed();
                    *counter += 1;
                    section.run(cx.microsecond);
                    wait
                });
                waits.record(wait);
                counts[thread].store(turn, Ordering::Relaxed);
            }
            turns.get_or_init(|| {
                let counts = counts.iter().map(|count| count.load(Ordering::Relaxed));
                Turns::of(&counts.collect::<Vec<_>>())
            });
            waits
        }
    });
    let mut waits = Waits::new();
    all_waits.iter().for_each(|w| waits.merge(w));
    let total = share * threads as u64;
    verify("recorded waits", total, waits.count())?;
    verify("the counter under the lock", total, lock.with(|n| *n))?;
    let turns = *turns.get().expect("each thread has set it or found it set");
    Ok(Sample::new(span, total).with_waits(waits.with_turns(turns)))
}

/// Microseconds for which the owner holds the lock: longer than a waiter spins.
const HELD_FOR: u32 = 100;

/// Passes a new lock, on which no thread has slept, from an owner that computes to a thread that sleeps
/// by then, in each round. The wait is the time from before the release to after the lock.
fn hand_over<L: Lock>(cx: &Context) -> Measured {
    let locks: Vec<_> = (0..cx.ops).map(|_| CachePadded::new(L::new())).collect();
    let (held, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    let epoch = Instant::now();
    let now = || epoch.elapsed().as_nanos() as u64;
    let owner = || {
        for (lock, round) in locks.iter().zip(1..) {
            lock.with(|released| {
                held.store(round, Ordering::Release);
                (0..HELD_FOR).for_each(|_| cx.microsecond.run());
                *released = now();
            });
            await_round(&taken, round);
        }
        Waits::new()
    };
    let sleeper = || {
        let mut waits = Waits::new();
        for (lock, round) in locks.iter().zip(1..) {
            await_round(&held, round);
            let wait = lock.with(|released| now() - *released);
            waits.record(Duration::from_nanos(wait));
            taken.store(round, Ordering::Release);
        }
        waits
    };
    let (span, mut waits) = start_all(2, |thread| {
        let (owner, sleeper) = (&owner, &sleeper);
        move || if thread == 0 { owner() } else { sleeper() }
    });
    let waits = waits.pop().expect("there are two threads");
    verify("recorded waits", cx.ops, waits.count())?;
    Ok(Sample::new(span, cx.ops).with_waits(waits))
}

fn await_round(reached: &AtomicU64, round: u64) {
    while reached.load(Ordering::Acquire) < round {
        yield_now();
    }
}
