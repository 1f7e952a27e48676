//! Notifications: one is sent and received, on one thread.

use std::hint::black_box;

use crossbeam_utils::CachePadded;
use event_listener::{Event, listener};

use crate::poll::poll_now;
use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::settings::SYNC_OPS;
use crate::threads::solo;

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenario = Scenario::new(1, "notify", "Notify notify_one, then wait", SYNC_OPS);
    let ours = |cx: &Context| {
        notify(cx, blitz_io_sync::task::Notify::new, |notify| {
            notify.notify_one();
            poll_now(notify.notified()).is_some()
        })
    };
    let tokio = |cx: &Context| {
        notify(cx, tokio::sync::Notify::new, |notify| {
            notify.notify_one();
            poll_now(notify.notified()).is_some()
        })
    };
    // An event forgets a notification if no listener exists, so here the listener comes
    // first. It is on the stack: the cheaper of its two forms.
    let event = |cx: &Context| {
        notify(cx, Event::new, |event| {
            listener!(event => listener);
            event.notify(1);
            poll_now(listener).is_some()
        })
    };
    vec![(scenario.with(OURS, ours).with("tokio", tokio)).with("event-listener", event)]
}

/// Sends a notification and receives it. `there_and_back` returns whether it arrived at once.
fn notify<N>(
    cx: &Context,
    new: impl FnOnce() -> N,
    there_and_back: impl Fn(&N) -> bool + Copy,
) -> Measured {
    let notify = CachePadded::new(new());
    let (span, received) = solo(|| {
        let mut received = 0u64;
        for _ in 0..cx.ops {
            let notify: &N = black_box(&notify);
            received += u64::from(there_and_back(notify));
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

    #[test]
    fn a_lost_notification_is_caught() {
        let failure = notify(&context(), || (), |()| false).unwrap_err();
        let expected = "notifications that arrived: expected 2000, found 0";
        assert_eq!(failure.to_string(), expected);
    }
}
