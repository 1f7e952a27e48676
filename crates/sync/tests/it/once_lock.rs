//! `OnceLock`: the promises of the standard library's, and the timed waits.

use blitz_io_observe::IS_ENABLED;
use blitz_io_sync::thread::OnceLock;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const A_WHILE: Duration = Duration::from_millis(20);

/// Counts how often it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn filled_on_another_thread() {
    static CELL: OnceLock<i32> = OnceLock::new();
    assert!(CELL.get().is_none());
    thread::spawn(|| assert_eq!(CELL.get_or_init(|| 92), &92))
        .join()
        .unwrap();
    assert_eq!(CELL.get_or_init(|| unreachable!()), &92);
    assert_eq!(CELL.get(), Some(&92));
}

#[test]
fn set_gives_the_second_value_back() {
    let cell = OnceLock::new();
    assert_eq!(cell.set("one".to_string()), Ok(()));
    assert_eq!(cell.set("two".to_string()), Err("two".to_string()));
    assert_eq!(
        cell.try_insert("three".into()),
        Err((&"one".into(), "three".into()))
    );
    assert_eq!(cell.into_inner().as_deref(), Some("one"));
}

#[test]
fn mutable_access() {
    let mut cell = OnceLock::new();
    assert_eq!(cell.get_mut(), None);
    *cell.get_mut_or_init(|| 1) += 1;
    *cell.get_mut_or_init(|| unreachable!()) += 1;
    *cell.get_mut().unwrap() += 1;
    assert_eq!(cell.get(), Some(&4));
}

#[test]
fn take_makes_it_new() {
    let mut cell = OnceLock::from(1);
    assert_eq!(cell.take(), Some(1));
    assert_eq!(cell.take(), None);
    assert_eq!(cell.set(2), Ok(()));
    assert_eq!(cell.take(), Some(2));
}

#[test]
fn values_are_dropped_once() {
    let drops = AtomicUsize::new(0);
    let count = || drops.load(Ordering::Relaxed);

    drop(OnceLock::<Counted<'_>>::new());
    assert_eq!(count(), 0);
    drop(OnceLock::from(Counted(&drops)));
    assert_eq!(count(), 1);
    let mut cell = OnceLock::from(Counted(&drops));
    let taken = cell.take();
    drop(cell);
    assert_eq!(count(), 1);
    drop(taken);
    assert_eq!(count(), 2);
    let inner = OnceLock::from(Counted(&drops)).into_inner();
    assert_eq!(count(), 2);
    drop(inner);
    assert_eq!(count(), 3);
    let cell = OnceLock::from(Counted(&drops));
    drop(cell.set(Counted(&drops)));
    assert_eq!(count(), 4);
    drop(cell);
    assert_eq!(count(), 5);
}

#[test]
fn dropped_on_the_thread_it_was_moved_to() {
    let drops = AtomicUsize::new(0);
    let cell = OnceLock::new();
    thread::scope(|s| {
        s.spawn(|| {
            let cell = cell;
            cell.get_or_init(|| Counted(&drops));
            assert_eq!(drops.load(Ordering::Relaxed), 0);
        });
    });
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

#[test]
fn an_initialiser_that_fails_leaves_it_empty() {
    let cell: OnceLock<String> = OnceLock::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = cell.get_or_try_init(|| -> Result<String, ()> { resume_unwind(Box::new(())) });
    }));
    assert!(panicked.is_err());
    assert_eq!(cell.get(), None);
    assert_eq!(cell.get_or_try_init(|| Err("no")), Err("no"));
    assert_eq!(cell.get(), None);
    assert_eq!(cell.clone().into_inner(), None);
    assert_eq!(
        cell.get_or_try_init(|| Ok::<_, ()>("yes".into())),
        Ok(&"yes".into())
    );

    let cell = OnceLock::new();
    assert_eq!(cell.get_or_try_init(|| Err(())), Err(()));
    assert_eq!(cell.set(1), Ok(()));
}

#[test]
fn traits() {
    fn check<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    check::<OnceLock<String>>();
    fn sendable<T: Send>() {}
    sendable::<OnceLock<Cell<u8>>>();

    let empty = OnceLock::<&str>::default();
    let full = OnceLock::from("value");
    assert_eq!(
        format!("{empty:?} {full:?}"),
        "OnceLock(<uninit>) OnceLock(\"value\")"
    );
    assert_eq!(full, OnceLock::from("value"));
    assert_ne!(full, OnceLock::from("other"));
    assert_ne!(full, empty);
    assert_eq!(empty, OnceLock::new());
    assert_eq!(full.clone(), full);
}

/// With the feature `inspect` it also has a pointer to the facts about it.
#[test]
fn sizes() {
    if IS_ENABLED {
        return;
    }
    assert_eq!(size_of::<OnceLock<&str>>(), 3 * size_of::<usize>());
    assert_eq!(size_of::<OnceLock<u32>>(), 12);
}

#[test]
fn of_many_initialisers_one_runs() {
    let cell = OnceLock::new();
    let runs = AtomicUsize::new(0);
    let start = Barrier::new(THREADS);
    thread::scope(|s| {
        for thread in 0..THREADS {
            let (cell, runs, start) = (&cell, &runs, &start);
            s.spawn(move || {
                start.wait();
                let seen = *cell.get_or_init(|| {
                    thread::sleep(A_WHILE);
                    runs.fetch_add(1, Ordering::Relaxed);
                    thread
                });
                assert_eq!(cell.get(), Some(&seen));
            });
        }
    });
    assert_eq!(runs.into_inner(), 1);
}

#[test]
fn set_waits_for_a_running_initialiser() {
    let cell = OnceLock::new();
    let (started, has_started) = mpsc::channel();
    thread::scope(|s| {
        s.spawn(|| {
            cell.get_or_init(|| {
                started.send(()).unwrap();
                thread::sleep(A_WHILE);
                1
            });
        });
        has_started.recv().unwrap();
        assert_eq!(cell.set(2), Err(2));
    });
    assert_eq!(cell.get(), Some(&1));
}

#[test]
fn a_waiting_initialiser_takes_over_from_one_that_fails() {
    let cell = OnceLock::new();
    let (started, has_started) = mpsc::channel();
    thread::scope(|s| {
        s.spawn(|| {
            let failed = cell.get_or_try_init(|| {
                started.send(()).unwrap();
                thread::sleep(A_WHILE);
                Err(())
            });
            assert_eq!(failed, Err(()));
        });
        has_started.recv().unwrap();
        assert_eq!(cell.get_or_init(|| 7), &7);
    });
}

#[test]
fn waits() {
    let cell = OnceLock::new();
    let began = Instant::now();
    assert_eq!(cell.wait_timeout(A_WHILE), None);
    assert!(began.elapsed() >= A_WHILE);
    assert_eq!(cell.wait_deadline(began), None);
    thread::scope(|s| {
        s.spawn(|| assert_eq!(cell.wait(), &5));
        s.spawn(|| assert_eq!(cell.wait_timeout(Duration::MAX), Some(&5)));
        s.spawn(|| {
            assert_eq!(
                cell.wait_deadline(began + Duration::from_secs(600)),
                Some(&5)
            )
        });
        thread::sleep(A_WHILE);
        let failed = cell.get_or_try_init(|| Err(()));
        assert_eq!(failed, Err(()));
        thread::sleep(A_WHILE);
        cell.set(5).unwrap();
    });
    assert_eq!(cell.wait(), &5);
    assert_eq!(cell.wait_deadline(began), Some(&5));
}

#[test]
fn an_initialiser_that_needs_its_own_value_is_told() {
    let cell = OnceLock::<u8>::new();
    let uses: [fn(&OnceLock<u8>) -> u8; 3] = [
        |cell| *cell.get_or_init(|| 1),
        |cell| *cell.wait(),
        |cell| cell.set(1).map_or(0, |()| 1),
    ];
    for own_value in uses {
        let used = catch_unwind(AssertUnwindSafe(|| *cell.get_or_init(|| own_value(&cell))));
        let message = *used.unwrap_err().downcast::<&str>().unwrap();
        assert!(message.contains("waits for itself"), "{message}");
    }
    assert_eq!(cell.get_or_init(|| 3), &3);
}

#[test]
fn readers_never_see_half_a_value() {
    const ROUNDS: usize = 400;
    let cells: Vec<OnceLock<Box<[usize; 4]>>> = (0..ROUNDS).map(|_| OnceLock::new()).collect();
    let wins = AtomicUsize::new(0);
    let start = Barrier::new(THREADS);
    let fill = |thread: usize, round: usize| match (thread + round) % 3 {
        0 => cells[round].set(Box::new([round; 4])).is_ok(),
        1 => cells[round].try_insert(Box::new([round; 4])).is_ok(),
        _ => {
            let mut ran = false;
            cells[round].get_or_init(|| {
                ran = true;
                Box::new([round; 4])
            });
            ran
        }
    };
    let read = |thread: usize, round: usize| {
        let value = match (thread + round) % 3 {
            0 => cells[round].wait(),
            1 => loop {
                let timeout = Duration::from_micros(round as u64 % 50);
                if let Some(value) = cells[round].wait_timeout(timeout) {
                    break value;
                }
            },
            _ => loop {
                if let Some(value) = cells[round].get() {
                    break value;
                }
                thread::yield_now();
            },
        };
        assert_eq!(**value, [round; 4]);
    };
    thread::scope(|s| {
        for thread in 0..THREADS {
            let (start, wins, fill, read) = (&start, &wins, &fill, &read);
            s.spawn(move || {
                start.wait();
                for round in 0..ROUNDS {
                    if thread % 2 == 0 {
                        wins.fetch_add(usize::from(fill(thread, round)), Ordering::Relaxed);
                    }
                    read(thread, round);
                }
            });
        }
    });
    assert_eq!(wins.into_inner(), ROUNDS);
}

/// It is enough that this compiles, as it does with the standard library's.
#[test]
fn a_cell_of_references_may_outlive_what_they_refer_to() {
    let cell = OnceLock::new();
    {
        let text = String::from("short-lived");
        cell.set(&text).unwrap();
        assert_eq!(cell.get().map(|text| text.len()), Some(11));
    }
}
