//! An exporter and an importer with a network between them that keeps the order, is as slow as it
//! likes, and loses frames and acknowledgements.

use std::collections::VecDeque;

use blitz_io_gateway::sequence::{Tracker, Verdict};
use blitz_io_gateway::window::Window;
use blitz_io_gateway::wire::{Ack, Head};
use proptest::collection::vec;
use proptest::prelude::*;

const RUN: u128 = 9;

/// A frame with one message, or without any.
#[derive(Clone, Copy)]
struct Frame {
    head: Head,
    has_message: bool,
}

struct Hosts {
    window: Window<Frame>,
    tracker: Tracker,
    asks: bool,
    frames: VecDeque<Frame>,
    acks: VecDeque<Ack>,
    received: Vec<u64>,
    repeats: u64,
    /// Frames that the network has lost.
    lost: u64,
}

impl Hosts {
    /// Two hosts that know each other.
    fn new() -> Self {
        let mut hosts = Self {
            window: Window::new(RUN, 0, true, usize::MAX, 1),
            tracker: Tracker::default(),
            asks: false,
            frames: VecDeque::new(),
            acks: VecDeque::new(),
            received: Vec::new(),
            repeats: 0,
            lost: 0,
        };
        assert!(hosts.window.acknowledged("two", &Ack::default()));
        hosts.beat();
        hosts.arrive(false);
        hosts.acknowledge(false);
        hosts
    }

    fn head(&self, (ordinal, position): (u64, u64)) -> Head {
        let (base, base_position) = self.window.base();
        Head {
            origin: 1,
            epoch: 5,
            run: RUN,
            round: self.window.round(),
            base,
            base_position,
            ordinal,
            position,
        }
    }

    fn send(&mut self) {
        let first = self.window.next();
        let frame = Frame {
            head: self.head(first),
            has_message: true,
        };
        self.window
            .push(first, (first.0 + 1, first.1 + 1), frame, 1);
        self.frames.push_back(frame);
    }

    fn send_head(&mut self, first: (u64, u64)) {
        self.frames.push_back(Frame {
            head: self.head(first),
            has_message: false,
        });
    }

    fn beat(&mut self) {
        self.send_head(self.window.next());
    }

    /// The next frame reaches the importer, or is lost.
    fn arrive(&mut self, is_lost: bool) {
        let Some(Frame { head, has_message }) = self.frames.pop_front() else {
            return;
        };
        if is_lost {
            self.lost += 1;
            return;
        }
        assert_eq!(self.tracker.frame(&head), Ok(0), "nothing is given up");
        self.tracker.passed(&head, 0);
        let (ordinal, position) = (head.ordinal, head.position);
        self.asks |= ordinal > self.tracker.expected().1;
        if has_message {
            match self.tracker.item(ordinal, 0, position) {
                Verdict::Next { gap } => {
                    assert_eq!(gap, 0);
                    self.received.push(position);
                    self.tracker.delivered(ordinal, 0, position);
                }
                Verdict::Repeat => self.tracker.repeated(ordinal, 0),
                Verdict::Early => {}
            }
        }
        let (run, expected) = self.tracker.expected();
        self.acks.push_back(Ack {
            epoch: 5,
            run: run.unwrap_or(0),
            round: self.tracker.round(),
            expected,
            resend: std::mem::take(&mut self.asks),
            ..Ack::default()
        });
    }

    /// The next acknowledgement reaches the exporter, or is lost.
    fn acknowledge(&mut self, is_lost: bool) {
        let Some(ack) = self.acks.pop_front().filter(|_| !is_lost) else {
            return;
        };
        assert!(!self.window.acknowledged("two", &ack));
        if let Some(repeat) = self.window.repeat() {
            self.send_head(repeat.first);
            self.repeats += repeat.frames.len() as u64;
            self.frames.extend(repeat.frames);
        }
    }

    /// Everything on its way arrives.
    fn settle(&mut self) {
        while !self.frames.is_empty() || !self.acks.is_empty() {
            self.arrive(false);
            self.acknowledge(false);
        }
    }
}

#[test]
fn a_slow_network_gets_each_frame_once() {
    let mut hosts = Hosts::new();
    for _ in 0..100 {
        hosts.send();
        // The exporter repeatedly announces its next ordinal, while nothing arrives.
        hosts.beat();
    }
    hosts.settle();
    assert_eq!(hosts.received, (0..100).collect::<Vec<_>>());
    assert_eq!((hosts.repeats, hosts.window.bytes()), (0, 0));
}

/// All frames behind the lost one ask, before and while the answer is on its way.
#[test]
fn a_lost_frame_is_sent_again_once() {
    let mut hosts = Hosts::new();
    for _ in 0..50 {
        hosts.send();
    }
    hosts.arrive(true);
    for _ in 0..20 {
        hosts.arrive(false);
    }
    for _ in 0..3 {
        hosts.acknowledge(false);
        hosts.send();
    }
    hosts.settle();
    assert_eq!(hosts.received, (0..53).collect::<Vec<_>>());
    assert_eq!((hosts.window.round(), hosts.repeats), (1, 50));
}

/// A later answer without the question does not take it back: the receiver would wait.
#[test]
fn a_receiver_that_asked_still_asks_until_it_has_received() {
    let mut window: Window<u64> = Window::new(RUN, 0, true, 1000, 2);
    let ack = |expected, resend| Ack {
        run: RUN,
        round: 1,
        expected,
        resend,
        ..Ack::default()
    };
    window.acknowledged("one", &ack(0, false));
    for number in 0..3 {
        window.push((number, number), (number + 1, number + 1), number, 100);
    }
    window.acknowledged("one", &ack(0, true));
    window.acknowledged("one", &ack(0, false));
    assert_eq!(
        window.repeat().map(|repeat| repeat.frames),
        Some(vec![0, 1, 2])
    );
    assert_eq!(window.repeat(), None);
    window.acknowledged("one", &ack(0, true));
    window.acknowledged("one", &ack(2, false));
    assert_eq!(window.repeat(), None);
}

/// A slower receiver keeps frames in the window that the first one had before. It waited for those until the slower one
/// had them, too.
#[test]
fn a_receiver_that_begins_again_gets_the_whole_window() {
    let mut window: Window<u64> = Window::new(RUN, 0, true, 1000, 2);
    let ack = |source, expected, resend| Ack {
        run: RUN,
        source,
        expected,
        resend,
        ..Ack::default()
    };
    window.acknowledged("one", &ack(1, 0, false));
    window.acknowledged("two", &ack(1, 0, false));
    for number in 0..3 {
        window.push((number, number), (number + 1, number + 1), number, 100);
    }
    window.acknowledged("one", &ack(1, 2, false));
    window.acknowledged("one", &ack(2, 0, true));
    let repeat = window.repeat().map(|repeat| repeat.frames);
    assert_eq!(repeat, Some(vec![0, 1, 2]));
    let round = window.round();
    window.acknowledged(
        "one",
        &Ack {
            round,
            ..ack(2, 2, true)
        },
    );
    let repeat = window.repeat().map(|repeat| repeat.frames);
    assert_eq!(repeat, Some(vec![2]));
}

#[test]
fn a_window_that_is_forgotten_has_room_and_repeats_nothing() {
    let mut window: Window<u64> = Window::new(RUN, 0, true, 300, 1);
    let ack = Ack {
        run: RUN,
        resend: true,
        ..Ack::default()
    };
    window.acknowledged("one", &ack);
    for number in 0..3 {
        window.push((number, number), (number + 1, number + 1), number, 100);
    }
    assert!(!window.has_room());
    window.forget();
    assert!(window.has_room());
    // The receiver learns that it has to count all three as missing.
    assert_eq!((window.base(), window.next()), ((3, 3), (3, 3)));
    window.acknowledged("one", &ack);
    assert_eq!(window.repeat(), None);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Send,
    Beat,
    Arrive { is_lost: bool },
    Acknowledge { is_lost: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let lost = || prop::bool::weighted(0.2);
    let step = prop_oneof![
        4 => Just(Step::Send),
        1 => Just(Step::Beat),
        5 => lost().prop_map(|is_lost| Step::Arrive { is_lost }),
        4 => lost().prop_map(|is_lost| Step::Acknowledge { is_lost }),
    ];
    vec(step, 1..200)
}

proptest! {
    /// Everything arrives once and in order, and no loss costs more than one round.
    #[test]
    fn each_loss_costs_one_round(steps in steps()) {
        let mut hosts = Hosts::new();
        for step in steps {
            match step {
                Step::Send => hosts.send(),
                Step::Beat => hosts.beat(),
                Step::Arrive { is_lost } => hosts.arrive(is_lost),
                Step::Acknowledge { is_lost } => hosts.acknowledge(is_lost),
            }
        }
        hosts.settle();
        hosts.beat();
        hosts.settle();
        let sent = hosts.window.next().0;
        prop_assert_eq!(&hosts.received, &(0..sent).collect::<Vec<_>>());
        prop_assert_eq!(hosts.window.bytes(), 0);
        prop_assert!(hosts.window.round() <= hosts.lost, "{} rounds for {}", hosts.window.round(), hosts.lost);
    }
}
