//! How many read-modify-writes and bytes a task costs.

use super::*;

#[test]
fn what_a_task_costs() {
    for (line, lists) in [(Line::new(), 2), (Line::owning(), 0)] {
        // Warm up: ids come in batches.
        drop(line.spawn(ready(())));
        line.run();

        // Detached, started.
        let (detached, ()) = changes::during(|| {
            drop(line.spawn(ready(())));
            line.run();
        });
        assert_eq!(detached, 2 + lists);

        // Started, completed.
        let (early, ()) = changes::during(|| {
            let mut join = line.spawn(ready(()));
            line.run();
            assert!(poll(&mut join).is_ready());
        });
        assert_eq!(early, 2 + lists);

        // Awaited by a task: that one's waker is made and given; the task is started,
        // completed and released, and wakes the other. For which one more turn is the
        // price, as for any that waits: two steps.
        let place = line.clone();
        let (awaited, ()) = changes::during(|| {
            drop(line.spawn(async move { place.spawn(ready(())).await.unwrap() }));
            line.run();
        });
        let waits = detached + 2;
        assert_eq!(awaited - waits, 6 + lists);
    }
}

#[test]
fn what_a_turn_costs() {
    let line = Line::new();

    // Woken, started, ended; and the waker that `stuck` makes of its context.
    let (future, waker) = stuck(Drops::new().counted(()));
    let join = line.spawn(future);
    line.run();
    let waker = waker.lock().unwrap().take().unwrap();
    let (turn, ()) = changes::during(|| {
        waker.wake_by_ref();
        line.run();
    });
    assert_eq!(turn, 3 + 1);
    drop(waker);

    // A task that yields.
    drop(line.spawn(async {
        for _ in 0..3 {
            yield_once().await;
        }
    }));
    line.turn();
    assert_eq!(changes::during(|| line.turn()), (0, Some("yielded")));
    line.run();
    line.close();
    drop(join);
}

#[test]
fn a_task_that_ends_elsewhere_is_freed_by_its_owner() {
    let (line, drops) = (Line::owning(), Drops::new());
    for drains in [false, true] {
        let output = drops.counted(());
        // SAFETY: the test has one thread.
        let bound = unsafe {
            let owned = &line.0.owned;
            owned.bind(
                ListId::own(1),
                async move { output },
                line.clone(),
                Id::next(),
            )
        };
        let (join, token) = bound;
        drop(join);
        // The first shard's owner ends it.
        assert!(matches!(token.unwrap().run(), Ran::Done));
        assert!(line.0.owned.is_empty());
        assert_eq!(Arc::strong_count(&line.0), 2);
        if drains {
            // SAFETY: the test has one thread.
            unsafe { line.0.owned.drain(1) };
        } else {
            // SAFETY: the test has one thread.
            let (join, token) = unsafe {
                line.0
                    .owned
                    .bind(ListId::own(1), ready(()), line.clone(), Id::next())
            };
            assert_eq!(Arc::strong_count(&line.0), 2);
            drop((join, token.map(Notified::run)));
            // SAFETY: the test has one thread.
            unsafe { line.0.owned.drain(1) };
        }
        assert_eq!(Arc::strong_count(&line.0), 1);
    }
    assert_eq!(drops.count(), 2);
}

/// An owner may sleep for ever: the thread that ends its tasks frees them now and then.
#[test]
fn tasks_that_end_elsewhere_do_not_pile_up() {
    let line = Line::owning();
    for _ in 0..5000 {
        // SAFETY: the test has one thread.
        let (join, token) = unsafe {
            line.0
                .owned
                .bind(ListId::own(1), ready(()), line.clone(), Id::next())
        };
        line.0.queue.lock().unwrap().extend(token);
        drop(join);
    }
    assert!(Arc::strong_count(&line.0) > 5000);
    line.run();
    assert!(line.0.owned.is_empty());
    assert!(Arc::strong_count(&line.0) < 2100);
    // SAFETY: the test has one thread.
    unsafe { line.0.owned.drain(1) };
    assert_eq!(Arc::strong_count(&line.0), 1);
}

#[test]
fn tasks_are_small() {
    // The size of an idle task, without its future and the scheduler's pointer.
    #[cfg(target_pointer_width = "64")]
    assert_eq!(
        std::mem::size_of::<Header>(),
        if cfg!(feature = "schedule-latency") {
            80
        } else {
            72
        }
    );
}
