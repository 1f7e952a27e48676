//! Whatever the network and the gateways do: each message is delivered once or is in one gap, in
//! order.

use blitz_io_gateway::sequence::{Known, Refused, Tracker, Verdict};
use blitz_io_gateway::wire::Head;
use proptest::collection::vec;
use proptest::prelude::*;

/// One message as the sending gateway has read it.
#[derive(Clone, Copy, Debug)]
struct Sent {
    ordinal: u64,
    lost: u32,
    skip: u32,
    position: u64,
}

/// The sending gateway: a segment with positions, some of which have no message.
struct Model {
    run: u128,
    ordinal: u64,
    position: u64,
    /// All messages of this run.
    sent: Vec<Sent>,
}

impl Model {
    fn send(&mut self, lost: u32, skip: u32) {
        self.position += u64::from(lost + skip);
        self.sent.push(Sent {
            ordinal: self.ordinal,
            lost,
            skip,
            position: self.position,
        });
        self.ordinal += u64::from(lost) + 1;
        self.position += 1;
    }

    fn head(&self, at: usize, base: usize) -> Head {
        let first = |at: usize| {
            self.sent
                .get(at)
                .map_or((self.ordinal, self.position), |sent| {
                    (
                        sent.ordinal,
                        sent.position - u64::from(sent.lost + sent.skip),
                    )
                })
        };
        let ((ordinal, position), (base, base_position)) = (first(at), first(base.min(at)));
        Head {
            origin: 1,
            epoch: 5,
            run: self.run,
            round: 0,
            base,
            base_position,
            ordinal,
            position,
        }
    }

    /// A new run that reads again from message `back` before the end on. What was overwritten
    /// before a message is older than it, so no earlier message is known either.
    fn restart(&mut self, back: usize) {
        let there = self
            .sent
            .iter()
            .rposition(|sent| sent.lost > 0)
            .unwrap_or(0);
        let kept = self
            .sent
            .split_off(self.sent.len().saturating_sub(back).max(there));
        self.run += 1;
        self.ordinal = 0;
        self.sent.clear();
        for old in kept {
            self.sent.push(Sent {
                ordinal: self.ordinal,
                lost: 0,
                skip: 0,
                position: old.position,
            });
            self.ordinal += 1;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Seen {
    Message(u64),
    Gap(u64),
}

fn receive(tracker: &mut Tracker, head: &Head, items: &[Sent], seen: &mut Vec<Seen>) {
    let Ok(gap) = tracker.frame(head) else { return };
    if gap > 0 {
        seen.push(Seen::Gap(gap));
    }
    tracker.passed(head, gap);
    for sent in items {
        match tracker.item(sent.ordinal, sent.lost, sent.position) {
            Verdict::Next { gap } => {
                if gap > 0 {
                    seen.push(Seen::Gap(gap));
                    tracker.gap_reported(gap, sent.position);
                }
                seen.push(Seen::Message(sent.position));
                tracker.delivered(sent.ordinal, sent.lost, sent.position);
            }
            Verdict::Repeat => tracker.repeated(sent.ordinal, sent.lost),
            Verdict::Early => return,
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send {
        lost: u32,
    },
    /// A frame with messages `from..from + len`, of which the sender still has all, arrives.
    Deliver {
        from: prop::sample::Index,
        len: usize,
        drop_policy: bool,
    },
    Restart {
        back: usize,
    },
    /// The receiver starts again with its record.
    Forget,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..3u32).prop_map(|lost| Step::Send { lost }),
        6 => (any::<prop::sample::Index>(), 0..4usize, any::<bool>())
            .prop_map(|(from, len, drop_policy)| Step::Deliver { from, len, drop_policy }),
        1 => (0..6usize).prop_map(|back| Step::Restart { back }),
        1 => Just(Step::Forget),
    ];
    vec(step, 1..120)
}

proptest! {
    /// Without places that have no message, the count is exact.
    #[test]
    fn sent_is_received_and_gaps(steps in steps()) {
        let mut model = Model { run: 1, ordinal: 0, position: 0, sent: Vec::new() };
        let (mut tracker, mut seen) = (Tracker::default(), Vec::new());
        // The receiver starts before the first message.
        receive(&mut tracker, &model.head(0, 0), &[], &mut seen);
        for step in steps {
            match step {
                Step::Send { lost } => model.send(lost, 0),
                Step::Restart { back } => model.restart(back),
                Step::Forget => tracker = Tracker::new(tracker.known()),
                Step::Deliver { from, len, drop_policy } => {
                    let from = from.index(model.sent.len() + 1);
                    let to = (from + len).min(model.sent.len());
                    let head = model.head(from, if drop_policy { from } else { 0 });
                    receive(&mut tracker, &head, &model.sent[from..to], &mut seen);
                }
            }
        }
        // In the end the sender has no message any more, and announces that.
        let end = model.sent.len();
        receive(&mut tracker, &model.head(end, end), &[], &mut seen);
        let mut next = 0;
        for event in seen {
            match event {
                Seen::Message(position) => {
                    prop_assert_eq!(position, next);
                    next += 1;
                }
                Seen::Gap(count) => next += count,
            }
        }
        prop_assert_eq!(next, model.position);
    }

    /// Any heads and items: the counters do not overflow, and time does not go back.
    #[test]
    fn a_hostile_sender_cannot_turn_the_receiver_back(
        frames in vec((0..3u128, 0..3u64, any::<[u16; 4]>(), vec((0..9u16, 0..3u32, any::<u16>()), 0..5)), 1..60)
    ) {
        let (mut tracker, mut seen) = (Tracker::default(), Vec::new());
        for (run, epoch, [base, base_position, ordinal, position], items) in frames {
            let head = Head {
                origin: 1, epoch, run, round: 0, base: base.into(), base_position: base_position.into(),
                ordinal: u64::from(base) + u64::from(ordinal), position: u64::from(base_position) + u64::from(position),
            };
            let before = (tracker.known(), tracker.counts().segments);
            let items: Vec<_> = items.into_iter().map(|(ordinal, lost, position)| Sent {
                ordinal: head.ordinal + u64::from(ordinal), lost, skip: 0, position: head.position + u64::from(position),
            }).collect();
            receive(&mut tracker, &head, &items, &mut seen);
            if let (Some(old), Some(new)) = (before.0, tracker.known()) {
                prop_assert!(new.position >= old.position || tracker.counts().segments > before.1);
            }
        }
    }
}

#[test]
fn a_run_that_was_replaced_stays_so() {
    let mut tracker = Tracker::default();
    let head = |run| Head {
        run,
        epoch: 3,
        ..Head::default()
    };
    assert_eq!(tracker.frame(&head(1)), Ok(0));
    assert_eq!(tracker.frame(&head(2)), Ok(0));
    assert_eq!(tracker.frame(&head(1)), Err(Refused::Stale));
    assert_eq!(
        tracker.frame(&Head {
            epoch: 4,
            ..head(2)
        }),
        Err(Refused::Epoch)
    );
}

#[test]
fn places_without_a_message_are_no_gap_within_a_run() {
    let mut tracker = Tracker::default();
    let head = Head {
        epoch: 3,
        run: 1,
        ..Head::default()
    };
    assert_eq!(tracker.frame(&head), Ok(0));
    assert_eq!(tracker.item(0, 0, 4), Verdict::Next { gap: 0 });
    tracker.delivered(0, 0, 4);
    assert_eq!(tracker.item(1, 2, 9), Verdict::Next { gap: 2 });
    assert_eq!(
        tracker.frame(&Head {
            base: 6,
            ordinal: 6,
            base_position: 20,
            position: 20,
            ..head
        }),
        Ok(5)
    );
}

#[test]
fn a_new_segment_begins_with_its_first_message() {
    let mut tracker = Tracker::default();
    let head = Head {
        epoch: 3,
        run: 1,
        base: 4,
        ordinal: 9,
        base_position: 4,
        position: 9,
        ..Head::default()
    };
    assert_eq!(tracker.frame(&head), Ok(0));
    tracker.passed(&head, 0);
    let next = Head {
        epoch: 4,
        run: 2,
        base: 0,
        ordinal: 0,
        base_position: 2,
        position: 2,
        ..head
    };
    assert_eq!(tracker.frame(&next), Ok(2));
    assert_eq!(tracker.counts().segments, 1);
}

/// A later message of a run has a later position. A run that repeats known messages is no contradiction.
#[test]
fn a_position_that_goes_back_within_a_run_is_a_contradiction() {
    let mut tracker = Tracker::new(Some(Known {
        epoch: 3,
        position: 5,
    }));
    let head = |run| Head {
        epoch: 3,
        run,
        position: 4,
        ..Head::default()
    };
    assert_eq!(tracker.frame(&head(1)), Ok(0));
    assert!(!tracker.contradicts(0, 0, 4));
    tracker.repeated(0, 0);
    tracker.delivered(1, 0, 5);
    assert!(!tracker.contradicts(2, 0, 6));
    // A forged message far ahead, after which those of the exporter look like repeats.
    tracker.delivered(2, 0, 1 << 40);
    assert!(tracker.contradicts(3, 0, 7));
    // A repeat is none.
    assert!(!tracker.contradicts(1, 0, 5));
    assert_eq!(tracker.frame(&head(2)), Ok(0));
    assert!(!tracker.contradicts(0, 0, 4));
}
