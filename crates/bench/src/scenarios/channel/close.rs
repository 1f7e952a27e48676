//! Measures how soon a waiting receiver notices that the last sender was dropped.
//!
//! In each round the receiver takes one message and waits for the next one. When it has
//! had time to fall asleep, the sender is dropped. The time of an operation is the mean
//! from just before the drop until the receiver's call has returned.

use std::sync::Mutex;
use std::thread::sleep;

use super::Arrived;
use super::threads::{
    AsyncChannel, Channel, Crossbeam, CrossfireMpscArray, Flume, Kanal, OursBounded, OursShared,
    StdBounded, TokioBounded,
};
use crate::scenarios::prelude::*;

/// Enough time for any contender's receiver to stop spinning and to sleep.
const ASLEEP_AFTER: Duration = Duration::from_micros(300);

/// The most rounds. A round takes some 400 µs of waiting, and more of them would not
/// change the result.
const MOST: u64 = 200;

const PEERS: [(&str, Body); 7] = [
    ("std", noticed::<StdBounded>),
    ("tokio", noticed::<TokioBounded>),
    ("crossfire", noticed::<CrossfireMpscArray>),
    ("crossbeam", noticed::<Crossbeam>),
    ("kanal", noticed::<Kanal>),
    ("flume", noticed::<Flume>),
    ("async-channel", noticed::<AsyncChannel>),
];

pub(super) fn scenarios() -> Vec<Scenario> {
    let ours: [(&str, Body); 2] = [
        ("mpsc", noticed::<OursBounded>),
        ("mpmc", noticed::<OursShared>),
    ];
    let scenario = |(which, body)| {
        let title = format!("Channel closed until a waiting receiver returns (ours: {which})");
        let scenario = Scenario::new(4, format!("channel_close_{which}"), title, MOST)
            .threads(2)
            .with(OURS, body);
        scenario.with_all(PEERS)
    };
    ours.map(scenario).into()
}

/// The observations of one of the two threads: the moments of closing, or of noticing it.
type Seen = (Vec<Instant>, Arrived);

/// The part of one of the two threads.
type Role = Box<dyn FnOnce(&AtomicU64) -> Seen + Send>;

fn noticed<C: Channel>(cx: &Context) -> Measured {
    let ops = cx.ops.min(MOST);
    let rounds = ops as usize;
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (sender, mut only) = C::make(Some(100), 1);
        senders.push(sender);
        receivers.append(&mut only);
    }
    let roles: [Role; 2] = [
        Box::new(|waiting| close::<C>(senders, waiting)),
        Box::new(|waiting| notice::<C>(receivers, waiting)),
    ];
    let roles = Mutex::new(Vec::from(roles));
    let waiting = AtomicU64::new(0);
    let (span, mut seen) = start_all(2, |_| {
        let role = roles.lock().expect("no thread panics in there").pop();
        let (role, waiting) = (role.expect("as many roles as threads"), &waiting);
        move || role(waiting)
    });
    // The thread with a message is the receiver.
    seen.sort_by_key(|(_, arrived)| arrived.count);
    let [(closed, _), (returned, arrived)] = &seen[..] else {
        unreachable!("two threads were started");
    };
    verify("closes that were noticed", rounds, returned.len())?;
    arrived.verify(ops, 1)?;
    let mut waits = Waits::new();
    let mut elapsed = Duration::ZERO;
    for (closed, returned) in closed.iter().zip(returned) {
        let wait = returned.saturating_duration_since(*closed);
        waits.record(wait);
        elapsed += wait;
    }
    Ok(Sample::new(Span { elapsed, ..span }, ops).with_waits(waits))
}

fn close<C: Channel>(senders: Vec<C::Sender>, waiting: &AtomicU64) -> Seen {
    let closed = senders.into_iter().zip(0..).map(|(sender, round)| {
        C::send(&sender, round);
        while waiting.load(Ordering::Acquire) <= round {
            sleep(ASLEEP_AFTER / 10);
        }
        sleep(ASLEEP_AFTER);
        let now = Instant::now();
        drop(sender);
        now
    });
    (closed.collect(), Arrived::default())
}

fn notice<C: Channel>(receivers: Vec<C::Receiver>, waiting: &AtomicU64) -> Seen {
    let (mut returned, mut arrived) = (Vec::with_capacity(receivers.len()), Arrived::default());
    for (mut receiver, round) in receivers.into_iter().zip(1..) {
        if let Some(message) = C::recv(&mut receiver) {
            arrived.note(message);
        }
        waiting.store(round, Ordering::Release);
        if C::recv(&mut receiver).is_none() {
            returned.push(Instant::now());
        }
    }
    (returned, arrived)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::channel::threads::Capacity;

    /// A channel that returns before it is closed, with a message that was never sent.
    struct Invents;

    impl Channel for Invents {
        type Sender = ();
        type Receiver = ();
        fn make(_: Capacity, _: usize) -> ((), Vec<()>) {
            ((), vec![()])
        }
        fn send((): &(), _: u64) -> bool {
            true
        }
        fn recv((): &mut ()) -> Option<u64> {
            Some(0)
        }
    }

    #[test]
    fn a_close_that_goes_unnoticed_is_caught() {
        let context = Context {
            ops: 3,
            ..context()
        };
        let words = "closes that were noticed: expected 3, found 0";
        assert_caught(noticed::<Invents>(&context), words);
        let sample = noticed::<StdBounded>(&context).unwrap();
        assert_eq!(sample.waits.unwrap().count(), 3);
    }
}
