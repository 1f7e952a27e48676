//! Notifications: one is sent and received, on one thread.

use std::hint::black_box;

use crossbeam_utils::CachePadded;
use event_listener::{Event, listener};

use crate::poll::poll_now;
use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::settings::SYNC_OPS;
use crate::threads::solo;

/// Something that wakes one waiter.
trait Notifies {
    fn new() -> Self;
    /// Sends a notification and receives it. Returns whether it arrived at once.
    fn there_and_back(&self) -> bool;
}

impl Notifies for blitz_io_sync::task::Notify {
    fn new() -> Self {
        Self::new()
    }
    #[inline]
    fn there_and_back(&self) -> bool {
        self.notify_one();
        poll_now(self.notified()).is_some()
    }
}

impl Notifies for tokio::sync::Notify {
    fn new() -> Self {
        Self::new()
    }
    #[inline]
    fn there_and_back(&self) -> bool {
        self.notify_one();
        poll_now(self.notified()).is_some()
    }
}

/// An event forgets a notification if no listener exists, so here the listener comes
/// first. It is on the stack: the cheaper of its two forms.
impl Notifies for Event {
    fn new() -> Self {
        Self::new()
    }
    #[inline]
    fn there_and_back(&self) -> bool {
        listener!(self => listener);
        self.notify(1);
        poll_now(listener).is_some()
    }
}

/// One contender's body.
type Body = fn(&Context) -> Measured;

const PEERS: [(&str, Body); 3] = [
    (OURS, notify::<blitz_io_sync::task::Notify>),
    ("tokio", notify::<tokio::sync::Notify>),
    ("event-listener", notify::<Event>),
];

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenario = Scenario::new(1, "notify", "Notify notify_one, then wait", SYNC_OPS);
    vec![
        PEERS
            .iter()
            .fold(scenario, |s, &(name, body)| s.with(name, body)),
    ]
}

fn notify<N: Notifies>(cx: &Context) -> Measured {
    let notify = CachePadded::new(N::new());
    let (span, received) = solo(|| {
        let mut received = 0u64;
        for _ in 0..cx.ops {
            let notify: &N = black_box(&notify);
            received += u64::from(notify.there_and_back());
        }
        received
    });
    verify("notifications that arrived", cx.ops, received)?;
    Ok(Sample::new(span, cx.ops))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::tests::context;

    /// A waiter that never receives a notification.
    struct Deaf;

    impl Notifies for Deaf {
        fn new() -> Self {
            Deaf
        }
        fn there_and_back(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_lost_notification_is_caught() {
        let failure = notify::<Deaf>(&context()).unwrap_err().to_string();
        assert_eq!(
            failure,
            "notifications that arrived: expected 2000, found 0"
        );
    }
}
