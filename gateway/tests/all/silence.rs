//! Peers are lost after time that the gateway has watched, not after time that has passed.

use std::time::{Duration, Instant};

use blitz_io::time::MissedTickBehavior;
use blitz_io_gateway::silence::{Silence, ticks};
use blitz_io_gateway::window::Window;
use blitz_io_gateway::wire::Ack;

const TICK: Duration = Duration::from_millis(100);
const LIMIT: Duration = Duration::from_secs(1);

#[test]
fn silence_adds_up_until_it_is_broken() {
    let mut silence = Silence::default();
    for round in 0..3 {
        for tick in 0..10 {
            assert!(!silence.reaches(LIMIT), "{round} {tick}");
            silence.lasts(TICK);
        }
        assert!(silence.reaches(LIMIT));
        silence.broken();
    }
}

/// Missed ticks that came all at once would count as silence, though nothing was looked for
/// between them.
#[test]
fn ticks_that_were_missed_do_not_count() {
    let runtime = blitz_io::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let ticks = ticks(TICK);
        assert_eq!(ticks.missed_tick_behavior(), MissedTickBehavior::Delay);
    });
}

/// The exporter was stopped for an hour: it has waited for one tick.
#[test]
fn a_receiver_is_not_lost_while_the_gateway_is_stopped() {
    let before = Instant::now();
    let mut window: Window<()> = Window::new(9, 0, true, 1000, 2);
    let mut ack = Ack {
        run: 9,
        ..Ack::default()
    };
    window.acknowledged("one", &ack, before);
    window.push((0, 0), (1, 1), (), 100);
    assert!(window.expire(TICK, LIMIT).is_empty());
    let after = before + Duration::from_secs(3600);
    assert_eq!(window.due(after).len(), 1);
    assert!(window.expire(TICK, LIMIT).is_empty());
    assert_eq!(window.bytes(), 100);
    ack.expected = 1;
    window.acknowledged("one", &ack, after);
    assert_eq!(window.bytes(), 0);
}

/// A later answer without the question does not take it back: the stalled receiver would wait.
#[test]
fn a_receiver_that_asked_still_asks_until_it_has_received() {
    let start = Instant::now();
    let mut window: Window<u64> = Window::new(9, 0, true, 1000, 2);
    let ack = |expected, resend| Ack {
        run: 9,
        expected,
        resend,
        ..Ack::default()
    };
    window.acknowledged("one", &ack(0, false), start);
    for number in 0..3 {
        window.push((number, number), (number + 1, number + 1), number, 100);
    }
    let later = start + Duration::from_millis(100);
    window.acknowledged("one", &ack(0, true), later);
    window.acknowledged("one", &ack(0, false), later);
    assert_eq!(window.due(later), [0, 1, 2]);
    // It was asked once.
    assert!(window.due(later + Duration::from_millis(60)).is_empty());
    window.acknowledged("one", &ack(0, true), later);
    window.acknowledged("one", &ack(2, false), later);
    assert!(window.due(later).is_empty());
}
