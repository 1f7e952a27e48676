//! `select!`, `join!`, `try_join!` and `pin!` in a crate that depends only on `blitz-io`,
//! and under a plain `block_on`: no runtime is needed.

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

#[derive(Debug, PartialEq)]
struct NotCopy(u8);

/// The patterns are tested by reference, and then bind by value.
#[test]
fn patterns_bind_as_they_are_written() {
    pollster::block_on(async {
        let number = 7;
        blitz_io::select! {
            Some(&seen) = async { Some(&number) } => assert_eq!(seen, 7),
        }
        blitz_io::select! {
            &7 = async { &number } => {}
        }
        let moved = blitz_io::select! {
            Ok(mut owned) | Err(mut owned) = async { Err::<NotCopy, _>(NotCopy(1)) } => {
                owned.0 += 1;
                owned
            }
        };
        assert_eq!(moved, NotCopy(2));
        let length = blitz_io::select! {
            (ref text, ref mut rest @ [1, ..]) = async { (String::from("text"), [1, 2]) } => {
                rest[1] = 0;
                text.len() + rest.iter().sum::<usize>()
            }
        };
        assert_eq!(length, 5);
    });
}

#[test]
fn a_pattern_that_does_not_match_disables_its_branch() {
    pollster::block_on(async {
        for _ in 0..64 {
            let found = blitz_io::select! {
                5 = async { 4 } => unreachable!(),
                None = async { Some(&1) } => unreachable!(),
                other @ 6..=8 = async { 7 } => other,
                else => unreachable!(),
            };
            assert_eq!(found, 7);
        }
    });
}

#[test]
#[should_panic(expected = "all branches are disabled and there is no else branch")]
fn nothing_left_to_wait_for() {
    pollster::block_on(async {
        blitz_io::select! {
            Some(()) = async { None } => {}
            () = async {}, if false => {}
        }
    });
}

#[test]
fn handlers_are_part_of_the_function_around() {
    async fn parse(text: &str) -> Result<u32, std::num::ParseIntError> {
        let mut rounds = 0;
        'again: loop {
            rounds += 1;
            blitz_io::select! {
                () = async {}, if rounds < 3 => continue 'again,
                text = async { text } => {
                    let number: u32 = text.parse()?;
                    let later = async { number }.await;
                    return Ok(rounds + later);
                }
            }
        }
    }
    pollster::block_on(async {
        assert!(parse("x").await.is_err());
        assert!((1..=3).contains(&parse("0").await.unwrap()));
    });
}

#[test]
fn try_join_drops_the_values_of_the_others() {
    use std::rc::Rc;
    pollster::block_on(async {
        let value = Rc::new(());
        let kept = Rc::clone(&value);
        let both: Result<(Rc<()>, ()), u8> =
            blitz_io::try_join!(async { Ok(kept) }, async { Err(1) });
        assert_eq!(both, Err(1));
        assert_eq!(Rc::strong_count(&value), 1);
    });
}

#[test]
fn a_note_for_a_simulation_stays_in_the_program() {
    blitz_io::sim::note(format_args!("{} is no simulation", 7));
}
