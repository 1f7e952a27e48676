//! Peers are lost after time that the gateway has watched, not after time that has passed.

use std::time::Duration;

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

/// The window reads no clock: only ticks count, however far apart they are.
#[test]
fn a_receiver_is_not_lost_while_the_gateway_is_stopped() {
    let mut window: Window<()> = Window::new(9, 0, true, 1000, 2);
    let mut ack = Ack {
        run: 9,
        ..Ack::default()
    };
    window.acknowledged("one", &ack);
    window.push((0, 0), (1, 1), (), 100);
    assert!(window.expire(TICK, LIMIT).is_empty());
    assert!(window.expire(TICK, LIMIT).is_empty());
    assert_eq!(window.bytes(), 100);
    ack.expected = 1;
    window.acknowledged("one", &ack);
    assert_eq!(window.bytes(), 0);
}
