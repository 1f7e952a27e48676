//! Events, semaphores and barriers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use blitz_io_ipc::{Barrier, Error, Event, NotifyError, PrimitiveBuilder, Semaphore, WaitError};
use tokio::io::unix::AsyncFd;

use crate::common::{LONG, Place, Process, directory_of, role};

const SHORT: Duration = Duration::from_millis(2);

fn event(place: &Place) -> PrimitiveBuilder<Event> {
    Event::builder(4).directory(place.path())
}

fn semaphore(place: &Place, permits: usize) -> PrimitiveBuilder<Semaphore> {
    Semaphore::builder(permits).directory(place.path())
}

fn barrier(place: &Place, parties: usize) -> PrimitiveBuilder<Barrier> {
    Barrier::builder(parties).directory(place.path())
}

/// Plays the role of a child until it is killed. Does nothing in the parent.
#[test]
fn child() {
    let Some(arguments) = role() else { return };
    let directory = directory_of(&arguments);
    match &*arguments[0] {
        "notify" => {
            let notifier = Event::builder(4).directory(&directory).notifier("e");
            notifier.unwrap().notify(3).unwrap();
            thread::sleep(LONG);
        }
        "acquire" => {
            let builder = Semaphore::builder(1).directory(&directory);
            let mut semaphore = builder.open("s").unwrap();
            let _permit = semaphore.acquire().unwrap();
            let notifier = Event::builder(4).directory(&directory).notifier("e");
            notifier.unwrap().notify(0).unwrap();
            thread::sleep(LONG);
        }
        "meet" => {
            let mut barrier = Barrier::builder(2).directory(&directory).open("b").unwrap();
            barrier.wait_timeout(LONG).unwrap();
            // No other party comes to the second meeting.
            _ = barrier.wait();
        }
        _ => unreachable!(),
    }
}

fn start(place: &Place, task: &str) -> Process {
    let arguments = [task.to_owned(), place.path().display().to_string()];
    Process::start("primitives::child", &arguments)
}

#[test]
fn every_notification_arrives_at_every_listener() {
    const EACH: u64 = 2000;
    let place = Place::new();
    let builder = event(&place);
    let listeners: Vec<_> = (0..2).map(|_| builder.listener("e").unwrap()).collect();
    let notifiers: Vec<_> = (0..3).map(|_| builder.notifier("e").unwrap()).collect();
    thread::scope(|scope| {
        for mut listener in listeners {
            scope.spawn(move || {
                let mut counts = [0; 4];
                loop {
                    match listener.wait_timeout(LONG) {
                        Ok(notified) => counts[notified.id] += notified.count,
                        Err(WaitError::Disconnected) => break,
                        Err(error) => panic!("{error}"),
                    }
                }
                assert_eq!(counts, [3 * EACH, 0, EACH, 2 * EACH]);
            });
        }
        for (which, notifier) in notifiers.into_iter().enumerate() {
            scope.spawn(move || {
                for _ in 0..EACH {
                    notifier.notify(0).unwrap();
                    notifier.notify([2, 3, 3][which]).unwrap();
                }
            });
        }
    });
    assert_eq!(place.segments(), 0);
}

#[test]
fn ids_take_turns_and_are_counted() {
    let place = Place::new();
    let notifier = event(&place).notifier("e").unwrap();
    notifier.notify(1).unwrap();
    let mut listener = event(&place).listener("e").unwrap();
    assert_eq!(listener.try_wait(), Ok(None), "before it listened");
    for id in [3, 1, 1] {
        notifier.notify(id).unwrap();
    }
    let first = listener.wait().unwrap();
    notifier.notify(1).unwrap();
    let second = listener.wait().unwrap();
    let third = listener.try_wait().unwrap().unwrap();
    let found = [first, second, third].map(|notified| (notified.id, notified.count));
    assert_eq!(found, [(1, 2), (3, 1), (1, 1)]);
    assert_eq!(listener.wait_timeout(SHORT), Err(WaitError::TimedOut));
    let error = NotifyError::NoSuchId { id: 4, ids: 4 };
    assert_eq!(notifier.notify(4), Err(error));
    drop(notifier);
    assert_eq!(listener.try_wait(), Err(WaitError::Disconnected));
}

#[test]
fn what_does_not_fit_is_refused() {
    let place = Place::new();
    let three = semaphore(&place, 3).open("x").unwrap();
    assert_eq!((three.permits(), three.available_permits()), (3, 3));
    match semaphore(&place, 2).open("x") {
        Err(Error::Mismatch {
            setting: "permits",
            wanted: 2,
            found: 3,
        }) => {}
        other => panic!("{other:?}"),
    }
    let other_kind = barrier(&place, 3).open("x");
    assert!(matches!(
        other_kind,
        Err(Error::Mismatch {
            setting: "kind",
            ..
        })
    ));
    for wrong in [0, usize::MAX] {
        let refused = barrier(&place, wrong).open("y");
        let Err(Error::Setting { setting, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(setting, "parties");
    }
    let missing = event(&place).must_exist(true).listener("z");
    assert!(matches!(missing, Err(Error::NotFound { .. })));
}

#[test]
fn no_more_than_the_permits_are_out() {
    let place = Place::new();
    let builder = semaphore(&place, 2);
    let (inside, entered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..5 {
            let mut semaphore = builder.open("s").unwrap();
            let (inside, entered) = (&inside, &entered);
            scope.spawn(move || {
                for round in 0..300 {
                    let permit = semaphore.acquire_timeout(LONG).unwrap();
                    assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
                    if round % 50 == 0 {
                        thread::yield_now();
                    }
                    entered.fetch_add(1, Ordering::SeqCst);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(permit);
                }
            });
        }
    });
    assert_eq!(entered.into_inner(), 1500);
    assert_eq!(place.segments(), 0);
}

#[test]
fn permits_run_out_and_come_back() {
    let place = Place::new();
    let mut first = semaphore(&place, 1).open("s").unwrap();
    let mut second = semaphore(&place, 1).open("s").unwrap();
    let permit = first.try_acquire().unwrap().unwrap();
    assert!(second.try_acquire().unwrap().is_none());
    let late = second.acquire_timeout(SHORT).map(drop);
    assert_eq!(late, Err(WaitError::TimedOut));
    assert_eq!(second.available_permits(), 0);
    drop(permit);
    std::mem::forget(second.try_acquire().unwrap().unwrap());
    assert_eq!(first.available_permits(), 0);
    drop(second);
    assert!(first.acquire().is_ok(), "a forgotten permit");
}

#[test]
fn the_permit_of_a_killed_process_comes_back() {
    let place = Place::new();
    let mut listener = event(&place).listener("e").unwrap();
    // The listener must not find that the only notifier was killed.
    let _notifier = event(&place).notifier("e").unwrap();
    let mut semaphore = semaphore(&place, 1).open("s").unwrap();
    for _ in 0..2 {
        let child = start(&place, "acquire");
        listener.wait_timeout(LONG).unwrap();
        assert!(semaphore.try_acquire().unwrap().is_none());
        child.kill();
        drop(semaphore.acquire_timeout(LONG).unwrap());
    }
}

#[test]
fn a_listener_notices_that_the_notifier_was_killed() {
    let place = Place::new();
    let mut listener = event(&place).listener("e").unwrap();
    let child = start(&place, "notify");
    assert_eq!(listener.wait_timeout(LONG).unwrap().id, 3);
    child.kill();
    assert_eq!(listener.wait_timeout(LONG), Err(WaitError::Disconnected));
}

/// Five threads take turns at a barrier for three.
#[test]
fn each_meeting_has_one_leader() {
    const MEETINGS: usize = 400;
    let place = Place::new();
    let builder = barrier(&place, 3);
    let (arrived, leaders) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..5 {
            let mut barrier = builder.open("b").unwrap();
            let (arrived, leaders) = (&arrived, &leaders);
            scope.spawn(move || {
                while arrived.fetch_add(1, Ordering::SeqCst) < 3 * MEETINGS {
                    let met = barrier.wait_timeout(LONG).unwrap();
                    leaders.fetch_add(met.is_leader().into(), Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(leaders.into_inner(), MEETINGS);
    assert_eq!(place.segments(), 0);
}

#[test]
fn nobody_passes_a_barrier_alone() {
    let place = Place::new();
    let mut first = barrier(&place, 2).open("b").unwrap();
    let mut second = barrier(&place, 2).open("b").unwrap();
    for _ in 0..3 {
        assert_eq!(first.wait_timeout(SHORT), Err(WaitError::TimedOut));
        assert_eq!(second.wait_timeout(SHORT), Err(WaitError::TimedOut));
    }
    let other = thread::spawn(move || second.wait_timeout(LONG).unwrap().is_leader());
    let leader = first.wait_timeout(LONG).unwrap().is_leader();
    assert_ne!(leader, other.join().unwrap());
}

#[test]
fn a_killed_process_breaks_the_barrier() {
    let place = Place::new();
    let mut here = barrier(&place, 2).open("b").unwrap();
    let mut third = barrier(&place, 2).open("b").unwrap();
    let child = start(&place, "meet");
    here.wait_timeout(LONG).unwrap();
    child.kill();
    // The child may have come to the second meeting before it was killed.
    let mut result = here.wait_timeout(LONG);
    if result.is_ok() {
        result = here.wait_timeout(LONG);
    }
    assert_eq!(result, Err(WaitError::Broken));
    assert_eq!(third.wait(), Err(WaitError::Broken));
    drop((here, third));
    let mut anew = barrier(&place, 1).open("b").unwrap();
    assert!(anew.wait().unwrap().is_leader());
}

fn ours() -> blitz_io::runtime::Runtime {
    let mut builder = blitz_io::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn tasks_of_ours_wait_for_all_three() {
    const ROUNDS: usize = 200;
    let place = Place::new();
    let mut tasks = Vec::new();
    let runtime = ours();
    let _context = runtime.enter();
    let mut listener = event(&place).listener("e").unwrap();
    for _ in 0..3 {
        let mut barrier = barrier(&place, 3).open("b").unwrap();
        let mut semaphore = semaphore(&place, 1).open("s").unwrap();
        let notifier = event(&place).notifier("e").unwrap();
        tasks.push(blitz_io::spawn(async move {
            let mut leader = 0;
            for _ in 0..ROUNDS {
                leader += usize::from(barrier.wait_async().await.unwrap().is_leader());
                let _permit = semaphore.acquire_async().await.unwrap();
                notifier.notify(2).unwrap();
                blitz_io::task::yield_now().await;
            }
            leader
        }));
    }
    let listening = blitz_io::spawn(async move {
        let mut count = 0;
        while let Ok(notified) = listener.wait_async().await {
            assert_eq!(notified.id, 2);
            count += notified.count as usize;
        }
        count
    });
    runtime.block_on(async {
        let mut leaders = 0;
        for task in tasks {
            let ended = blitz_io::time::timeout(LONG, task).await;
            leaders += ended.expect("a lost wake-up").unwrap();
        }
        assert_eq!(leaders, ROUNDS);
        let ended = blitz_io::time::timeout(LONG, listening).await;
        assert_eq!(ended.expect("a lost wake-up").unwrap(), 3 * ROUNDS);
    });
    drop(runtime);
    assert_eq!(place.segments(), 0);
}

#[test]
fn a_future_that_is_dropped_has_not_arrived() {
    let place = Place::new();
    let mut barrier = barrier(&place, 2).open("b").unwrap();
    let mut first = semaphore(&place, 1).open("s").unwrap();
    let mut second = semaphore(&place, 1).open("s").unwrap();
    ours().block_on(async {
        for _ in 0..5 {
            let waiting = blitz_io::time::timeout(SHORT, barrier.wait_async());
            assert!(waiting.await.is_err(), "met its own dropped future");
            let _permit = first.acquire_async().await.unwrap();
            let waiting = blitz_io::time::timeout(SHORT, second.acquire_async());
            assert!(waiting.await.is_err());
        }
        drop(second.acquire_async().await.unwrap());
    });
}

#[test]
fn tasks_of_tokio_wait_as_well() {
    let place = Place::new();
    let mut listener = event(&place).listener("e").unwrap();
    let notifier = event(&place).notifier("e").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let notifying = thread::spawn(move || {
        for _ in 0..20 {
            thread::sleep(SHORT);
            notifier.notify(1).unwrap();
        }
    });
    runtime.block_on(async {
        let doorbell = listener.doorbell().unwrap();
        // SAFETY: a doorbell has the same descriptor for as long as it lives.
        let doorbell = unsafe { AsyncFd::register(doorbell) }.unwrap();
        let mut count = 0;
        while count < 20 {
            let ready = || async {
                doorbell.readable().await?.clear_ready();
                Ok(())
            };
            let waiting = tokio::time::timeout(LONG, listener.wait_when(ready));
            count += waiting.await.expect("a lost wake-up").unwrap().count;
        }
    });
    notifying.join().unwrap();
}

#[test]
fn a_try_at_a_barrier_meets_those_who_wait_and_nobody_else() {
    let place = Place::new();
    let builder = || Barrier::builder(2).directory(place.path());
    let mut mine = builder().open("t").unwrap();
    assert_eq!(mine.try_wait(), Ok(None));
    let mut other = builder().open("t").unwrap();
    let waiting = std::thread::spawn(move || other.wait_timeout(LONG).unwrap());
    let met = loop {
        if let Some(met) = mine.try_wait().unwrap() {
            break met;
        }
        std::thread::yield_now();
    };
    assert!(met.is_leader() != waiting.join().unwrap().is_leader());
}
