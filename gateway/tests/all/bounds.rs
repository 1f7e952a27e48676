//! Memory is bounded, whatever the other side does.

use std::time::Duration;

use blitz_io_gateway::inbox::Inbox;
use blitz_io_gateway::window::{Repeat, Window};
use blitz_io_gateway::wire::{Ack, FRAME};
use zenoh::bytes::ZBytes;

#[test]
fn an_inbox_takes_no_more_than_its_bytes() {
    let inbox = Inbox::new(10_000);
    for _ in 0..1000 {
        inbox.push(&[7_u8; 100].into());
        // Frames without bytes cost something too.
        inbox.push(&ZBytes::new());
    }
    let (bytes, dropped) = inbox.state();
    assert!(bytes <= 10_000 && dropped > 1900, "{bytes} {dropped}");
    assert_eq!(*inbox.pop().unwrap().to_bytes(), [7; 100]);
    inbox.push(&[8_u8; 100].into());
    while inbox.pop().is_some() {}
    assert_eq!(inbox.state(), (0, dropped));
}

/// A long frame holds the whole buffer into which the engine has read it.
#[test]
fn an_inbox_counts_the_buffers_of_long_frames() {
    let inbox = Inbox::new(10 * (64 << 10) + 1000);
    let frame = ZBytes::from(vec![7; FRAME]);
    for _ in 0..20 {
        inbox.push(&frame);
    }
    assert_eq!(inbox.state().1, 10);
    while inbox.pop().is_some() {}
    assert_eq!(inbox.state(), (0, 10));
}

fn ack(run: u128, expected: u64) -> Ack {
    Ack {
        run,
        expected,
        ..Ack::default()
    }
}

/// Sends frames of one message of 100 bytes each while there is room.
fn fill(window: &mut Window<u64>) {
    while window.has_room() {
        let (ordinal, position) = window.next();
        window.push(
            (ordinal, position),
            (ordinal + 1, position + 1),
            ordinal,
            100,
        );
        assert!(window.bytes() < 1100);
        if ordinal > 10_000 {
            return;
        }
    }
}

#[test]
fn a_window_waits_for_the_slowest_that_is_alive() {
    let mut window = Window::new(9, 50, true, 1000, 2);
    // It needs the state of the sender.
    assert!(window.acknowledged("slow", &ack(0, 0)));
    assert!(!window.acknowledged("slow", &ack(9, 0)));
    assert!(!window.acknowledged("fast", &ack(9, 0)));
    // There are two already.
    assert!(!window.acknowledged("third", &ack(0, 0)));
    assert_eq!(window.remotes().len(), 2);
    fill(&mut window);
    assert_eq!(
        (window.bytes(), window.base(), window.next()),
        (1000, (0, 50), (10, 60))
    );
    window.acknowledged("fast", &ack(9, 10));
    assert!(!window.has_room());
    window.acknowledged("slow", &ack(9, 4));
    assert_eq!((window.bytes(), window.base()), (600, (4, 54)));
    // An acknowledgement does not go back, and not beyond the sent messages.
    window.acknowledged("slow", &ack(9, 1));
    window.acknowledged("fast", &ack(9, 1 << 59));
    assert_eq!(
        (window.bytes(), window.remotes()["fast"].expected),
        (600, 10)
    );
    // The slow one asks. What it asked before it has seen the answer is old.
    let asks = |round| Ack {
        resend: true,
        round,
        ..ack(9, 5)
    };
    window.acknowledged("slow", &asks(0));
    let again = Repeat {
        first: (5, 55),
        frames: vec![5, 6, 7, 8, 9],
    };
    assert_eq!(window.repeat(), Some(again.clone()));
    window.acknowledged("slow", &asks(0));
    assert_eq!((window.repeat(), window.round()), (None, 1));
    window.acknowledged("slow", &asks(1));
    assert_eq!((window.repeat(), window.round()), (Some(again), 2));
    // It gives no sign of life any more.
    let (interval, limit) = (Duration::from_millis(100), Duration::from_millis(1000));
    for _ in 0..9 {
        assert!(window.expire(interval, limit).is_empty());
        window.acknowledged("fast", &ack(9, 10));
    }
    assert_eq!(window.expire(interval, limit), ["slow"]);
    assert_eq!((window.bytes(), window.base()), (0, (10, 60)));
}

#[test]
fn a_window_waits_for_the_receivers_of_an_earlier_run() {
    let mut window = Window::new(9, 50, true, 1000, 2);
    window.expect("one");
    fill(&mut window);
    assert!(!window.has_room() && window.repeat().is_none());
    // It learns of the new run, and asks for the earlier messages.
    assert!(window.acknowledged("one", &ack(8, 700)));
    let asks = Ack {
        resend: true,
        ..ack(9, 0)
    };
    assert!(!window.acknowledged("one", &asks));
    assert_eq!(window.repeat().map(|repeat| repeat.frames.len()), Some(10));
    let limit = Duration::from_secs(9);
    assert_eq!(window.expire(limit, limit), ["one"]);
    assert!(window.has_room());
}

#[test]
fn a_window_without_receivers_or_with_drop_keeps_nothing() {
    let mut window = Window::new(9, 0, true, 1000, 2);
    fill(&mut window);
    assert_eq!((window.bytes(), window.base()), (0, window.next()));
    let mut window = Window::new(9, 0, false, 1000, 2);
    let asks = Ack {
        resend: true,
        ..ack(9, 0)
    };
    window.acknowledged("one", &asks);
    fill(&mut window);
    assert_eq!((window.bytes(), window.base()), (0, window.next()));
    assert_eq!((window.repeat(), window.round()), (None, 0));
}
