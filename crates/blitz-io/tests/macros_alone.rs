//! `select!` and its kin in a crate that depends on nothing but `blitz-io`, and under a
//! plain `block_on`: no runtime is needed.

use blitz_io::sync::{Notify, mpsc, oneshot};
use std::convert::Infallible;

#[test]
fn select_with_preconditions_and_else() {
    pollster::block_on(async {
        let (left, mut from_left) = mpsc::channel(1);
        let (right, mut from_right) = mpsc::channel(1);
        left.send(1).await.unwrap();
        right.send(10).await.unwrap();
        drop((left, right));
        let (mut sum, mut right_is_open) = (0, true);
        loop {
            blitz_io::select! {
                Some(number) = from_left.recv() => sum += number,
                number = from_right.recv(), if right_is_open => match number {
                    Some(number) => sum += number,
                    None => right_is_open = false,
                },
                else => break,
            }
        }
        assert_eq!((sum, right_is_open), (11, false));
    });
}

#[test]
fn select_in_the_order_written() {
    pollster::block_on(async {
        for _ in 0..100 {
            let first = blitz_io::select! {
                biased;
                first = async { 1 } => first,
                second = async { 2 } => second,
            };
            assert_eq!(first, 1);
        }
    });
}

#[test]
fn select_in_any_order() {
    pollster::block_on(async {
        let mut chosen = [0; 3];
        for _ in 0..3000 {
            let first = blitz_io::select! {
                first = async { 0 } => first,
                second = async { 1 } => second,
                third = async { 2 } => third,
            };
            chosen[first] += 1;
        }
        assert!(chosen.iter().all(|times| *times > 500), "{chosen:?}");
    });
}

#[test]
fn a_future_that_is_not_chosen_is_dropped_or_goes_on() {
    pollster::block_on(async {
        let notify = Notify::new();
        let (tell, told) = oneshot::channel::<Infallible>();
        blitz_io::select! {
            biased;
            _ = told => unreachable!(),
            () = async {} => {}
        }
        assert!(tell.is_closed());

        blitz_io::pin! {
            let notified = notify.notified();
        }
        blitz_io::select! {
            biased;
            () = &mut notified => unreachable!(),
            () = async {} => {}
        }
        notify.notify_waiters();
        notified.await;
    });
}

#[test]
fn all_of_them() {
    pollster::block_on(async {
        let (question, asked) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let (sent, told, got) = blitz_io::join!(
            async { question.send(20) },
            async { answer.send(asked.await.unwrap() + 1) },
            answered,
        );
        assert_eq!((sent, told, got), (Ok(()), Ok(()), Ok(21)));

        let parse = |text: &'static str| async move { text.parse::<u8>() };
        assert_eq!(blitz_io::try_join!(parse("1"), parse("2")), Ok((1, 2)));
        assert!(
            blitz_io::try_join!(
                parse("1"),
                parse("x"),
                std::future::pending::<Result<(), _>>()
            )
            .is_err()
        );
    });
}
