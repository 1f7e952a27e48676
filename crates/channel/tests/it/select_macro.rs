//! `select!`, `select_biased!`, and the receivers of moments.

use std::thread;
use std::time::{Duration, Instant};

use blitz_io_channel::mpmc::{
    RecvError, TryRecvError, after, at, bounded, never, select, select_biased, tick, unbounded,
};

const LONG: Duration = Duration::from_secs(900);
const SHORT: Duration = Duration::from_millis(10);

#[test]
fn what_is_possible_is_done() {
    let (numbers, first) = unbounded();
    let (words, second) = bounded(1);
    words.try_send("a").unwrap();
    numbers.try_send(1).unwrap();
    let number = select! {
        recv(first) -> number => number.unwrap(),
        send(words, "b") -> _ => 0,
    };
    assert_eq!(number, 1);
    assert_eq!(second.try_recv(), Ok("a"));
    select! {
        recv(&first) -> _ => panic!("it is empty"),
        send(&words, "b") -> sent => { sent.unwrap() }
    }
    assert_eq!(second.try_recv(), Ok("b"));
}

#[test]
fn arms_may_be_written_in_every_form() {
    let (sender, receiver) = bounded::<i32>(1);
    // Blocks without commas, trailing commas, expressions.
    let seen = select! {
        recv(receiver) -> _ => { 1 }
        default => { 2 }
    };
    assert_eq!(seen, 2);
    let seen = select! {
        recv(receiver,) -> _ => 1,
        default() => 2,
    };
    assert_eq!(seen, 2);
    let seen = select! { default(SHORT) => 3, recv(receiver) -> _ => 1 };
    assert_eq!(seen, 3);
    let seen = select! { send(sender, 7,) -> result => result.is_ok() };
    assert!(seen);
    let seen = select! { recv(receiver) -> Ok(5) | _ => 4 };
    assert_eq!(seen, 4);
    assert_eq!(select! { default => 5 }, 5);
}

#[test]
fn a_body_may_leave_and_use_the_ends() {
    let (sender, receiver) = unbounded();
    (0..5).for_each(|n| sender.try_send(n).unwrap());
    drop(sender);
    let mut sum = 0;
    let ended = loop {
        select! {
            recv(receiver) -> value => match value {
                Ok(2) => continue,
                Ok(n) => sum += n,
                Err(RecvError) => {
                    drop(receiver);
                    break true;
                }
            },
            default => break false,
        }
    };
    assert!(ended);
    assert_eq!(sum, 8);
}

#[test]
fn a_value_is_made_only_if_it_is_sent() {
    let (sender, receiver) = bounded(1);
    sender.try_send(0).unwrap();
    let mut made = 0;
    for _ in 0..2 {
        select! {
            send(sender, { made += 1; made }) -> result => result.unwrap(),
            default => {
                assert_eq!(made, 0);
                assert_eq!(receiver.try_recv(), Ok(0));
            }
        }
    }
    assert_eq!((made, receiver.try_recv()), (1, Ok(1)));
}

#[test]
fn it_blocks_until_something_is_possible() {
    let (sender, receiver) = unbounded();
    let nothing = never::<()>();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(SHORT);
            sender.try_send(7).unwrap();
        });
        select! {
            recv(nothing) -> _ => panic!("never"),
            recv(receiver) -> value => assert_eq!(value, Ok(7)),
            default(LONG) => panic!("too late"),
        }
    });
}

#[test]
fn the_biased_one_takes_the_first() {
    let (first, second) = (unbounded(), unbounded());
    for n in 0..100 {
        first.0.try_send(n).unwrap();
        second.0.try_send(n).unwrap();
        select_biased! {
            recv(second.1) -> value => assert_eq!(value, Ok(n)),
            recv(first.1) -> _ => panic!("the second channel comes first"),
        }
    }
}

#[test]
fn a_moment_comes_once_and_not_early() {
    let start = Instant::now();
    let receiver = after(SHORT);
    // This thread may have been stopped for longer than `SHORT` already.
    let early = receiver.try_recv();
    let moment = early.or_else(|_| receiver.blocking_recv()).unwrap();
    assert!(moment >= start + SHORT && start.elapsed() >= SHORT);
    assert!(!receiver.is_closed());
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));

    let when = Instant::now() + SHORT;
    assert!(pollster::block_on(at(when).recv()).unwrap() >= when);
    // A moment in the past comes at once.
    assert!(at(start).try_recv().is_ok());
    assert!(after(Duration::ZERO).try_recv().is_ok());
    assert!(after(Duration::MAX).try_recv().is_err());
}

#[test]
fn an_earlier_moment_is_not_kept_by_a_later_one() {
    let _late = after(LONG);
    thread::sleep(SHORT);
    let start = Instant::now();
    after(SHORT).blocking_recv().unwrap();
    assert!(start.elapsed() < LONG / 2);
}

#[test]
fn ticks_that_nobody_receives_are_left_out() {
    let start = Instant::now();
    let ticks = tick(SHORT);
    thread::sleep(SHORT * 8);
    assert!(ticks.blocking_recv().unwrap() >= start + SHORT);
    // One was kept, and one may have been on its way; the next is in the future.
    ticks.blocking_recv().unwrap();
    let next = ticks.blocking_recv().unwrap();
    assert!(next >= start + SHORT * 8, "{:?}", next - start);
    assert!(!ticks.is_closed());
}

#[test]
#[should_panic(expected = "must be non-zero")]
fn ticks_without_a_period_are_refused() {
    let _ = tick(Duration::ZERO);
}

#[test]
fn dropped_receivers_leave_nothing_behind() {
    for _ in 0..10_000 {
        drop(after(LONG));
    }
    // The thread still works.
    after(SHORT).blocking_recv().unwrap();
}
