//! Many threads, random amounts, time-outs at random moments; and at the end
//! the sums must be right.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use blitz_io_sync::thread::{Barrier, Parker, Semaphore, SemaphorePermit, TryAcquireError};
use blitz_io_testing::threads::{Random, Watchdog, work};

const THREADS: usize = 8;

/// A semaphore, and how many of its permits are out.
struct Counted {
    semaphore: Arc<Semaphore>,
    permits: usize,
    out: AtomicUsize,
}

impl Counted {
    fn new(permits: usize) -> Self {
        Self {
            semaphore: Arc::new(Semaphore::new(permits)),
            permits,
            out: AtomicUsize::new(0),
        }
    }

    /// Uses `n` permits, which have been taken, for a moment.
    fn use_some(&self, n: usize, random: &mut Random) {
        let out = self.out.fetch_add(n, Ordering::Relaxed) + n;
        assert!(out <= self.permits, "{out} permits are out");
        match random.below(64) {
            0 => thread::sleep(Duration::from_micros(50)),
            moment => work(Duration::from_nanos(moment * 50)),
        }
        self.out.fetch_sub(n, Ordering::Relaxed);
    }

    /// Makes one attempt in one of the ways. Returns `true` if it succeeded.
    fn visit(&self, random: &mut Random) -> bool {
        let n = 1 + random.below(self.permits as u64) as u32;
        let timeout = Duration::from_micros(random.below(1500));
        let all = n as usize;
        match random.below(6) {
            0 => self.visit_with(self.semaphore.acquire_many(n).ok(), random),
            1 => self.visit_with(self.semaphore.try_acquire_many(n).ok(), random),
            2 | 3 => {
                let permit = self.semaphore.acquire_many_timeout(n, timeout);
                self.visit_with(permit.ok(), random)
            }
            4 => {
                let Ok(mut permit) = self.semaphore.clone().acquire_many_owned(n) else {
                    return false;
                };
                self.use_some(all, random);
                let part = permit.split(all / 2);
                drop(permit);
                self.use_some(part.as_ref().map_or(0, |part| part.num_permits()), random);
                true
            }
            _ => {
                let Ok(permit) = self.semaphore.acquire_many(n) else {
                    return false;
                };
                self.use_some(all, random);
                permit.forget();
                self.semaphore.add_permits(all);
                true
            }
        }
    }

    fn visit_with(&self, permit: Option<SemaphorePermit<'_>>, random: &mut Random) -> bool {
        let Some(permit) = permit else { return false };
        self.use_some(permit.num_permits(), random);
        true
    }
}

/// Never more permits are out than there are, and none gets lost.
#[test]
fn permits_are_neither_lost_nor_doubled() {
    for permits in [1, 2, 5, 17] {
        let _watchdog = Watchdog::new("random permits");
        let counted = Counted::new(permits);
        let taken = AtomicUsize::new(0);
        thread::scope(|scope| {
            for seed in 0..THREADS {
                let (counted, taken) = (&counted, &taken);
                scope.spawn(move || {
                    let mut random = Random::new((seed + 100 * permits) as u64);
                    for _ in 0..3_000 {
                        taken.fetch_add(usize::from(counted.visit(&mut random)), Ordering::Relaxed);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
        assert_eq!(counted.out.into_inner(), 0);
        assert_eq!(counted.semaphore.available_permits(), permits);
        // No waiter is registered: all can be had at once.
        let all = counted.semaphore.try_acquire_many(permits as u32);
        assert_eq!(all.unwrap().num_permits(), permits);
    }
}

/// Another thread closes the semaphore: owners of permits keep them, no thread
/// hangs, and all permits come back in the end.
#[test]
fn closing_under_load() {
    let _watchdog = Watchdog::new("closing under load");
    for round in 0..20 {
        let counted = Counted::new(3);
        thread::scope(|scope| {
            for seed in 0..THREADS {
                let counted = &counted;
                scope.spawn(move || {
                    let mut random = Random::new((seed + 10 * round) as u64);
                    while !counted.semaphore.is_closed() {
                        counted.visit(&mut random);
                    }
                });
            }
            thread::sleep(Duration::from_millis(3));
            counted.semaphore.close();
        });
        assert_eq!(counted.semaphore.available_permits(), 3);
        let closed = counted.semaphore.try_acquire().unwrap_err();
        assert_eq!(closed, TryAcquireError::Closed);
    }
}

/// A semaphore of one permit is a mutex, and a good one: all threads count up a plain number
/// under it.
#[test]
fn one_permit_excludes() {
    struct Number(UnsafeCell<usize>);
    // SAFETY: only the owner of the permit uses it, which the test checks.
    unsafe impl Sync for Number {}

    let _watchdog = Watchdog::new("one permit");
    const TURNS: usize = 5_000;
    let (semaphore, number) = (Semaphore::new(1), Number(UnsafeCell::new(0)));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let (semaphore, number) = (&semaphore, &number);
            scope.spawn(move || {
                for _ in 0..TURNS {
                    let _permit = semaphore.acquire().unwrap();
                    // SAFETY: there is one permit, and we have it.
                    unsafe { *number.0.get() += 1 };
                }
            });
        }
    });
    assert_eq!(number.0.into_inner(), THREADS * TURNS);
}

/// Other threads than the owners give permits back; some permits are added, some forgotten.
#[test]
fn permits_travel() {
    let _watchdog = Watchdog::new("travelling permits");
    const PERMITS: usize = 6;
    const TRIPS: usize = 4_000;
    let semaphore = Arc::new(Semaphore::new(PERMITS));
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        for seed in 0..4 {
            let (semaphore, send) = (&semaphore, send.clone());
            scope.spawn(move || {
                let mut random = Random::new(seed + 77);
                for _ in 0..TRIPS {
                    let n = 1 + random.below(3) as u32;
                    let permit = semaphore.clone().acquire_many_owned(n).unwrap();
                    send.send(permit).unwrap();
                }
            });
        }
        drop(send);
        for (i, permit) in receive.into_iter().enumerate() {
            if i % 3 == 0 {
                let n = permit.num_permits();
                permit.forget();
                semaphore.add_permits(n);
            }
        }
    });
    assert_eq!(semaphore.available_permits(), PERMITS);
    assert_eq!(Arc::strong_count(&semaphore), 1);
}

/// A team that meets at a barrier, of which each member then wakes the next by
/// a parker, round and round.
#[test]
fn a_relay_between_meetings() {
    let _watchdog = Watchdog::new("relay");
    const ROUNDS: usize = 300;
    const RUNNERS: usize = 4;
    let barrier = Barrier::new(RUNNERS);
    let baton = AtomicUsize::new(0);
    let mut parkers: Vec<_> = (0..RUNNERS).map(|_| Parker::new()).collect();
    let unparkers: Vec<_> = parkers.iter().map(|p| p.unparker().clone()).collect();
    thread::scope(|scope| {
        for (me, parker) in parkers.drain(..).enumerate() {
            let (barrier, baton, unparkers) = (&barrier, &baton, &unparkers);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    if barrier.wait().is_leader() {
                        unparkers[0].unpark();
                    }
                    parker.park();
                    assert_eq!(baton.fetch_add(1, Ordering::Relaxed), round * RUNNERS + me);
                    if let Some(next) = unparkers.get(me + 1) {
                        next.unpark();
                    }
                    barrier.wait();
                    assert_eq!(baton.load(Ordering::Relaxed), (round + 1) * RUNNERS);
                }
            });
        }
    });
    assert_eq!(baton.into_inner(), ROUNDS * RUNNERS);
}
