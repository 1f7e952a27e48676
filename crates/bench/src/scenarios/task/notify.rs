//! Notifications: one is sent and received, on one thread.

use event_listener::{Event, listener};

use crate::scenarios::prelude::*;

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
    repeat(cx, "notifications that arrived", |_| {
        there_and_back(black_box(&*notify))
    })
}
