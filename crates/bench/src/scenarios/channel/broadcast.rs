//! One sender and four receivers; every message reaches all receivers.

use std::array::from_fn;

use super::Arrived;
use crate::scenarios::prelude::*;

const RECEIVERS: usize = 4;
/// The capacity of a channel, which holds at most one message here.
const CAPACITY: usize = 16;

/// One contender's body: the name of its `send`, and its ends.
macro_rules! body {
    ($send:ident, $ends:expr) => {
        |cx: &Context| {
            let (sender, receivers) = $ends;
            one_to_four(
                cx,
                sender,
                receivers,
                |s, m| s.$send(m).is_ok(),
                |r| r.try_recv().ok(),
            )
        }
    };
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let ours = body!(send, {
        let (sender, _) = blitz_io_channel::broadcast::channel(CAPACITY);
        let receivers = from_fn(|_| sender.subscribe());
        (sender, receivers)
    });
    let tokio = body!(send, {
        let (sender, _) = tokio::sync::broadcast::channel(CAPACITY);
        let receivers = from_fn(|_| sender.subscribe());
        (sender, receivers)
    });
    let async_broadcast = body!(try_broadcast, {
        // Without any receiver the channel would close.
        let (sender, first) = async_broadcast::broadcast(CAPACITY);
        let receivers = from_fn(|_| first.new_receiver());
        drop(first);
        (sender, receivers)
    });
    let title = "Broadcast send, 4 receivers";
    let scenario = Scenario::new(2, "broadcast", title, CHANNEL_OPS);
    vec![(scenario.with(OURS, ours).with("tokio", tokio)).with("async-broadcast", async_broadcast)]
}

fn one_to_four<S, R>(
    cx: &Context,
    sender: S,
    mut receivers: [R; RECEIVERS],
    send: impl Fn(&S, u64) -> bool + Copy,
    try_recv: impl Fn(&mut R) -> Option<u64> + Copy,
) -> Measured {
    let (span, (sent, arrived)) = solo(|| {
        let mut sent = 0u64;
        let mut arrived = Arrived::default();
        for message in 0..cx.ops {
            sent += u64::from(send(black_box(&sender), message));
            for receiver in &mut receivers {
                if let Some(message) = try_recv(black_box(receiver)) {
                    arrived.note(message);
                }
            }
        }
        (sent, arrived)
    });
    verify("messages that were sent", cx.ops, sent)?;
    arrived.verify(cx.ops, RECEIVERS as u64)?;
    Ok(Sample::new(span, cx.ops))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The last receiver gets nothing.
    #[test]
    fn a_receiver_without_messages_is_caught() {
        let value = Cell::new(0);
        let send = |value: &&Cell<u64>, message| {
            value.set(message);
            true
        };
        let try_recv = |member: &mut usize| (*member < 3).then(|| value.get());
        let measured = one_to_four(&context(), &value, [0, 1, 2, 3], send, try_recv);
        assert_caught(measured, "messages that arrived: expected 8000, found 6000");
    }
}
