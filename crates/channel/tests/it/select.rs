//! `Select`: a thread that waits in several channels.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_channel::mpmc::{
    ReadyTimeoutError, RecvError, Select, SelectTimeoutError, SelectedOperation, SendError,
    TryReadyError, TryRecvError, TrySelectError, TrySendError, bounded, unbounded,
};
use blitz_io_testing::{Drops, ms, poll_once, shouting_waker};

const LONG: Duration = Duration::from_secs(900);

#[test]
fn what_is_possible_is_chosen() {
    let (one, first) = unbounded();
    let (two, second) = bounded(1);
    let mut select = Select::new();
    let (from_first, from_second) = (select.recv(&first), select.recv(&second));
    assert_eq!(select.try_select().unwrap_err(), TrySelectError);
    assert_eq!(select.try_ready(), Err(TryReadyError));

    one.try_send(1).unwrap();
    let operation = select.try_select().unwrap();
    assert_eq!(operation.index(), from_first);
    assert_eq!(operation.recv(&first), Ok(1));

    two.try_send("two").unwrap();
    assert_eq!(select.ready(), from_second);
    let operation = select.select();
    assert_eq!(operation.index(), from_second);
    assert_eq!(operation.recv(&second), Ok("two"));
    assert!(select.try_select().is_err());
}

#[test]
fn sending_is_possible_while_there_is_room() {
    let (sender, receiver) = bounded(1);
    let mut select = Select::new();
    select.send(&sender);
    assert_eq!(select.try_ready(), Ok(0));
    select.select().send(&sender, 1).unwrap();
    assert!(select.try_select().is_err() && select.try_ready().is_err());
    assert_eq!(receiver.try_recv(), Ok(1));
    select.select().send(&sender, 2).unwrap();
    assert_eq!(receiver.try_recv(), Ok(2));
}

#[test]
fn a_closed_channel_is_an_event() {
    let (sender, receiver) = bounded::<i32>(0);
    let (_open, other) = bounded::<i32>(0);
    let closer = thread::spawn(move || {
        thread::sleep(ms(10));
        drop(sender);
    });
    let mut select = Select::new();
    select.recv(&other);
    let ends = select.recv(&receiver);
    let operation = select.select();
    assert_eq!(operation.index(), ends);
    assert_eq!(operation.recv(&receiver), Err(RecvError));
    assert_eq!(select.ready(), ends);
    closer.join().unwrap();

    let (sender, receiver) = bounded(0);
    drop(receiver);
    let mut select = Select::new();
    select.send(&sender);
    assert_eq!(select.select().send(&sender, 1), Err(SendError(1)));
}

#[test]
fn time_outs() {
    let (sender, receiver) = bounded::<i32>(0);
    let mut select = Select::new();
    select.recv(&receiver);
    select.send(&sender);
    let began = Instant::now();
    let past = began.checked_sub(ms(10)).unwrap_or(began);
    assert_eq!(
        select.select_deadline(past).unwrap_err(),
        SelectTimeoutError
    );
    assert_eq!(select.ready_deadline(past), Err(ReadyTimeoutError));
    let began = Instant::now();
    assert!(select.select_timeout(ms(10)).is_err());
    assert!(began.elapsed() >= ms(10));
    assert!(select.ready_timeout(ms(10)).is_err());
    assert!(began.elapsed() >= ms(20));
    assert!(Select::new().select_timeout(ms(5)).is_err());
    // It left nothing behind.
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn it_sleeps_until_something_is_possible() {
    for capacity in [0, 1] {
        let (sender, receiver) = bounded(capacity);
        let (_other_sender, other) = bounded::<()>(capacity);
        let thread = thread::spawn(move || {
            thread::sleep(ms(20));
            sender.blocking_send_timeout(7, LONG).unwrap();
        });
        let mut select = Select::new();
        select.recv(&other);
        let has = select.recv(&receiver);
        let operation = select.select_timeout(LONG).unwrap();
        assert_eq!(operation.index(), has);
        assert_eq!(operation.recv(&receiver), Ok(7));
        thread.join().unwrap();
    }
}

#[test]
fn readiness_wakes_a_sleeper() {
    for capacity in [0, 1] {
        let (sender, receiver) = bounded(capacity);
        let thread = thread::spawn({
            let receiver = receiver.clone();
            move || {
                thread::sleep(ms(10));
                let got = receiver.blocking_recv_timeout(LONG);
                (got, receiver.blocking_recv_timeout(LONG))
            }
        });
        if capacity > 0 {
            sender.try_send(1).unwrap();
        }
        let mut select = Select::new();
        select.send(&sender);
        for n in 0..(2 - capacity) {
            assert_eq!(select.ready_timeout(LONG), Ok(0));
            sender.blocking_send_timeout(n + 2, LONG).unwrap();
        }
        let values = thread.join().unwrap();
        assert_eq!(
            values,
            if capacity > 0 {
                (Ok(1), Ok(2))
            } else {
                (Ok(2), Ok(3))
            }
        );
    }
}

#[test]
fn selections_meet_in_a_channel_without_a_buffer() {
    const EACH: usize = 500;
    let (sender, receiver) = bounded(0);
    let (_unused, never) = bounded::<()>(0);
    let thread = thread::spawn(move || {
        for n in 1..=EACH {
            let mut select = Select::new();
            select.send(&sender);
            select
                .select_timeout(LONG)
                .unwrap()
                .send(&sender, n)
                .unwrap();
        }
    });
    for n in 1..=EACH {
        let mut select = Select::new();
        select.recv(&never);
        let has = select.recv(&receiver);
        let operation = select.select_timeout(LONG).unwrap();
        assert_eq!(operation.index(), has);
        assert_eq!(operation.recv(&receiver), Ok(n));
    }
    thread.join().unwrap();
}

#[test]
fn try_recv_meets_a_selection() {
    let (sender, receiver) = bounded(0);
    let thread = thread::spawn(move || {
        let mut select = Select::new();
        select.send(&sender);
        select
            .select_timeout(LONG)
            .unwrap()
            .send(&sender, 7)
            .unwrap();
    });
    let end = Instant::now() + LONG;
    let value = loop {
        match receiver.try_recv() {
            Ok(value) => break value,
            Err(error) => assert!(error.is_empty() && Instant::now() < end),
        }
        thread::yield_now();
    };
    assert_eq!(value, 7);
    thread.join().unwrap();
}

#[test]
fn try_send_meets_a_selection() {
    let (sender, receiver) = bounded(0);
    let thread = thread::spawn(move || {
        let mut select = Select::new();
        select.recv(&receiver);
        select.select_timeout(LONG).unwrap().recv(&receiver)
    });
    let end = Instant::now() + LONG;
    while let Err(error) = sender.try_send(7) {
        assert!(error.is_full() && Instant::now() < end);
        thread::yield_now();
    }
    assert_eq!(thread.join().unwrap(), Ok(7));
}

/// Both ends of one channel in one selection: it does not meet itself.
#[test]
fn a_selection_does_not_meet_itself() {
    let (sender, receiver) = bounded(0);
    let mut select = Select::new();
    let (sends, receives) = (select.send(&sender), select.recv(&receiver));
    assert!(select.select_timeout(ms(10)).is_err());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut select = Select::new();
            let (sends, _) = (select.send(&sender), select.recv(&receiver));
            let operation = select.select_timeout(LONG).unwrap();
            if operation.index() == sends {
                operation.send(&sender, 1).unwrap();
            } else {
                assert_eq!(operation.recv(&receiver), Ok(1));
            }
        });
        let operation = select.select_timeout(LONG).unwrap();
        match operation.index() {
            i if i == sends => operation.send(&sender, 1).unwrap(),
            i if i == receives => assert_eq!(operation.recv(&receiver), Ok(1)),
            _ => unreachable!(),
        }
    });
    assert!(receiver.is_empty());
}

#[test]
fn each_case_has_its_chance() {
    const ROUNDS: usize = 2000;
    let channels = [(); 4].map(|()| unbounded());
    for (sender, _) in &channels {
        (0..ROUNDS).for_each(|n| sender.try_send(n).unwrap());
    }
    let mut select = Select::new();
    for (_, receiver) in &channels {
        select.recv(receiver);
    }
    let mut hits = [0; 4];
    for _ in 0..ROUNDS {
        let operation = select.select();
        let index = operation.index();
        operation.recv(&channels[index].1).unwrap();
        hits[index] += 1;
    }
    assert!(hits.iter().all(|&hits| hits > ROUNDS / 8), "{hits:?}");
    let mut select = Select::new_biased();
    for (_, receiver) in &channels {
        select.recv(receiver);
    }
    for _ in 0..10 {
        let operation = select.select();
        assert_eq!(operation.index(), 0);
        operation.recv(&channels[0].1).unwrap();
    }
}

#[test]
fn indices_stay() {
    let (one, first) = unbounded();
    let (two, second) = unbounded();
    let mut select = Select::new();
    let (a, b) = (select.recv(&first), select.recv(&second));
    one.try_send(1).unwrap();
    two.try_send(2).unwrap();
    select.remove(a);
    let mut copy = select.clone();
    let operation = copy.select();
    assert_eq!(operation.index(), b);
    operation.recv(&second).unwrap();
    assert!(select.try_select().is_err());
    let again = select.recv(&first);
    assert!(again != a && again != b);
    assert_eq!(select.ready(), again);
}

#[test]
#[should_panic(expected = "no operation with this index")]
fn removing_what_is_not_there_panics() {
    Select::new().remove(0);
}

#[test]
#[should_panic(expected = "no operations have been added")]
fn selecting_among_nothing_panics() {
    let _ = Select::new().select();
}

#[test]
#[should_panic(expected = "wasn't selected")]
fn completing_with_another_end_panics() {
    let (sender, receiver) = unbounded();
    let (_, other) = unbounded::<i32>();
    sender.try_send(1).unwrap();
    let mut select = Select::new();
    select.recv(&receiver);
    let _ = select.select().recv(&other);
}

/// The right goes back to the channel: nothing is lost and no thread hangs.
#[test]
fn a_selection_that_is_not_completed_panics_and_loses_nothing() {
    fn abandon(select: &mut Select<'_>) {
        let operation = select.select_timeout(LONG).unwrap();
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(operation)));
        let text = *panics.unwrap_err().downcast::<&str>().unwrap();
        assert!(text.contains("without completing"));
    }
    let (sender, receiver) = bounded(1);
    let mut select = Select::new();
    select.send(&sender);
    abandon(&mut select);
    sender.try_send(1).unwrap();
    let mut select = Select::new();
    select.recv(&receiver);
    abandon(&mut select);
    assert_eq!(receiver.try_recv(), Ok(1));

    // A receiver whose promised value does not come, as the selection gave up, gets another one.
    let (sender, receiver) = bounded(0);
    let thread = thread::spawn(move || receiver.blocking_recv_timeout(LONG));
    let mut select = Select::new();
    select.send(&sender);
    abandon(&mut select);
    sender.blocking_send_timeout(2, LONG).unwrap();
    assert_eq!(thread.join().unwrap(), Ok(2));
}

/// A receiver that has timed out stays for a value that is promised to it. It leaves when the
/// promise is broken, or when another receiver has come that can take the value.
#[test]
fn a_receiver_that_is_overdue_goes_with_the_promise() {
    // Mostly long enough for its deadline to pass: it does not matter which comes first.
    let past_its_time = || thread::sleep(ms(20));
    for other in [false, true] {
        let (sender, receiver) = bounded(0);
        let thread = thread::spawn({
            let receiver = receiver.clone();
            move || receiver.blocking_recv_timeout(ms(10))
        });
        let mut select = Select::new();
        select.send(&sender);
        let Ok(operation) = select.select_timeout(ms(10)) else {
            // The machine was too busy: the receiver came too late or left too early.
            assert!(thread.join().unwrap().is_err());
            continue;
        };
        past_its_time();
        if other {
            let waker = std::task::Waker::noop();
            let mut second = Box::pin(receiver.recv());
            assert!(poll_once(second.as_mut(), waker).is_pending());
            assert!(thread.join().unwrap().is_err());
            operation.send(&sender, 7).unwrap();
            assert_eq!(poll_once(second.as_mut(), waker), Poll::Ready(Ok(7)));
        } else {
            let dropped = std::panic::AssertUnwindSafe(|| drop(operation));
            assert!(std::panic::catch_unwind(dropped).is_err());
            assert!(thread.join().unwrap().is_err());
        }
    }
}

/// Both sides of a pair give up: the next pair is not told that nothing comes.
#[test]
fn a_pair_that_gives_up_leaves_nothing_behind() {
    fn give_up(operation: SelectedOperation<'_>) {
        let dropped = std::panic::AssertUnwindSafe(|| drop(operation));
        assert!(std::panic::catch_unwind(dropped).is_err());
    }
    let (sender, receiver) = bounded(0);
    for (gives_up, pause) in [(true, 0), (true, 40), (false, 40)] {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let mut select = Select::new();
                select.recv(&receiver);
                let operation = select.select_timeout(LONG).unwrap();
                thread::sleep(ms(20));
                if gives_up {
                    give_up(operation);
                } else {
                    assert_eq!(operation.recv(&receiver), Ok(7));
                }
            });
            let mut select = Select::new();
            select.send(&sender);
            let operation = select.select_timeout(LONG).unwrap();
            thread::sleep(ms(pause));
            if gives_up {
                give_up(operation);
            } else {
                operation.send(&sender, 7).unwrap();
            }
            thread.join().unwrap();
        });
    }
}

#[test]
fn a_waker_that_panics_loses_no_right() {
    let (sender, receiver) = bounded(0);
    let mut send = Box::pin(sender.send(7));
    assert!(poll_once(send.as_mut(), &shouting_waker()).is_pending());
    let mut select = Select::new();
    select.recv(&receiver);
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = select.try_select();
    }));
    assert!(panics.is_err());
    assert_eq!(receiver.try_recv(), Ok(7));
    assert!(sender.try_send(8).is_err());
}

/// A receiver is promised a value. A value that comes back in between is older.
#[test]
fn a_promise_does_not_overtake_what_comes_back() {
    let waker = std::task::Waker::noop();
    let (sender, receiver) = bounded(0);
    let mut first = Box::pin(receiver.recv());
    assert!(poll_once(first.as_mut(), waker).is_pending());
    sender.try_send(1).unwrap();
    let mut second = Box::pin(receiver.recv());
    assert!(poll_once(second.as_mut(), waker).is_pending());
    let mut select = Select::new();
    select.send(&sender);
    let operation = select.try_select().unwrap();
    drop(first);
    operation.send(&sender, 2).unwrap();
    assert_eq!(poll_once(second.as_mut(), waker), Poll::Ready(Ok(1)));
    assert_eq!(receiver.try_recv(), Ok(2));
}

/// A value that comes back twice is as old as before.
#[test]
fn what_comes_back_twice_keeps_its_place() {
    let waker = std::task::Waker::noop();
    let (sender, receiver) = bounded(0);
    let mut receives = [(); 3].map(|()| Box::pin(receiver.recv()));
    for receive in &mut receives {
        assert!(poll_once(receive.as_mut(), waker).is_pending());
    }
    let [first, second, third] = receives;
    sender.try_send(1).unwrap();
    sender.try_send(2).unwrap();
    let mut select = Select::new();
    select.send(&sender);
    let operation = select.try_select().unwrap();
    // The third was promised a value, so this one waits until the promise is broken.
    drop(first);
    let dropped = std::panic::AssertUnwindSafe(|| drop(operation));
    assert!(std::panic::catch_unwind(dropped).is_err());
    assert!(receiver.is_empty());
    drop(second);
    drop(third);
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Ok(2));
}

#[test]
fn many_selections_lose_nothing() {
    const EACH: usize = 2000;
    for capacity in [0, 1, 3] {
        let channels = [(); 3].map(|()| bounded(capacity));
        let drops = Drops::new();
        let total = AtomicUsize::new(0);
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            for id in 0..3 {
                let (channels, drops) = (&channels, &drops);
                scope.spawn(move || {
                    for n in 1..=EACH {
                        if n % 2 == 0 {
                            let value = drops.counted(n);
                            channels[(id + n) % 3]
                                .0
                                .blocking_send_timeout(value, LONG)
                                .unwrap();
                            continue;
                        }
                        let mut select = Select::new();
                        for (sender, _) in channels {
                            select.send(sender);
                        }
                        let operation = select.select_timeout(LONG).unwrap();
                        let sender = &channels[operation.index()].0;
                        operation.send(sender, drops.counted(n)).unwrap();
                    }
                });
            }
            for id in 0..3 {
                let (channels, total, count) = (&channels, &total, &count);
                scope.spawn(move || {
                    let mut select = Select::new();
                    for (_, receiver) in channels {
                        select.recv(receiver);
                    }
                    while count.load(Ordering::SeqCst) < 3 * EACH {
                        let value = if id == 0 {
                            channels[0].1.blocking_recv_timeout(ms(1)).ok()
                        } else {
                            select.select_timeout(ms(1)).ok().map(|operation| {
                                let receiver = &channels[operation.index()].1;
                                operation.recv(receiver).unwrap()
                            })
                        };
                        if let Some(value) = value {
                            total.fetch_add(value.value, Ordering::SeqCst);
                            count.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 3 * EACH * (EACH + 1) / 2);
        assert!(channels.iter().all(|(sender, _)| sender.is_empty()));
        assert_eq!(drops.count(), 3 * EACH);
    }
}

/// A value is in the first channel until one is in the second, so a selection that
/// includes both finds one, however short it waits.
fn a_value_moves_on(select: impl Fn(&mut Select<'_>) -> Result<usize, ()> + Sync) {
    const TURNS: usize = if cfg!(miri) { 50 } else { 20_000 };
    let (one, first) = unbounded();
    let (two, second) = unbounded();
    let turns = std::sync::Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..TURNS {
                one.try_send(n).unwrap();
                turns.wait();
                two.try_send(n).unwrap();
                let _ = first.try_recv();
                turns.wait();
                let _ = second.try_recv();
                turns.wait();
            }
        });
        let mut missed = 0;
        for _ in 0..TURNS {
            turns.wait();
            let mut selection = Select::new();
            selection.recv(&first);
            selection.recv(&second);
            missed += usize::from(select(&mut selection).is_err());
            turns.wait();
            turns.wait();
        }
        assert_eq!(missed, 0);
    });
}

#[test]
fn an_attempt_does_not_miss_a_value_that_moves_on() {
    a_value_moves_on(|select| select.try_ready().map_err(drop));
}

#[test]
fn a_short_wait_does_not_miss_a_value_that_moves_on() {
    a_value_moves_on(|select| select.ready_timeout(Duration::ZERO).map_err(drop));
}

#[test]
fn a_selection_does_not_miss_a_value_that_moves_on() {
    const TURNS: usize = if cfg!(miri) { 50 } else { 20_000 };
    let (one, first) = unbounded();
    let (two, second) = unbounded();
    let turns = std::sync::Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..TURNS {
                one.try_send(n).unwrap();
                turns.wait();
                two.try_send(n).unwrap();
                let _ = first.try_recv();
                turns.wait();
                while first.try_recv().is_ok() || second.try_recv().is_ok() {}
                turns.wait();
            }
        });
        let mut missed = 0;
        for _ in 0..TURNS {
            turns.wait();
            let mut select = Select::new();
            let index = select.recv(&first);
            select.recv(&second);
            match select.try_select() {
                Ok(operation) if operation.index() == index => drop(operation.recv(&first)),
                Ok(operation) => drop(operation.recv(&second)),
                Err(_) => missed += 1,
            }
            turns.wait();
            turns.wait();
        }
        assert_eq!(missed, 0);
    });
}

#[test]
fn ready_cases_are_chosen_equally_often() {
    const TURNS: usize = 10_000;
    let channels: Vec<_> = (0..4).map(|_| unbounded()).collect();
    let mut counts = [0_usize; 4];
    for _ in 0..TURNS {
        // The two ready ones stand side by side, behind two idle ones.
        channels[2].0.try_send(()).unwrap();
        channels[3].0.try_send(()).unwrap();
        let mut select = Select::new();
        for (_, receiver) in &channels {
            select.recv(receiver);
        }
        let operation = select.select();
        let index = operation.index();
        operation.recv(&channels[index].1).unwrap();
        counts[index] += 1;
        while channels[2].1.try_recv().is_ok() || channels[3].1.try_recv().is_ok() {}
    }
    assert_eq!(counts[0] + counts[1], 0);
    assert!(counts[2].abs_diff(counts[3]) < TURNS / 10, "{counts:?}");
}

#[test]
fn a_clone_of_the_selected_end_completes_the_operation() {
    let (sender, receiver) = bounded(1);
    let (sender_too, receiver_too) = (sender.clone(), receiver.clone());
    let mut select = Select::new();
    select.send(&sender);
    select.select().send(&sender_too, 7).unwrap();
    let mut select = Select::new();
    select.recv(&receiver);
    assert_eq!(select.select().recv(&receiver_too), Ok(7));
}

#[test]
#[should_panic(expected = "passed a sender that wasn't selected")]
fn the_other_end_of_the_selected_channel_is_refused() {
    let (sender, receiver) = bounded(1);
    sender.try_send(1).unwrap();
    let mut select = Select::new();
    select.recv(&receiver);
    let _ = select.select().send(&sender, 2);
}
