//! Notifications: one is sent and received, on one thread; and one goes around four tasks.

use event_listener::{Event, listener};

use crate::runtimes::{Blitz, Tokio};
use crate::scenarios::prelude::*;
use crate::tasks::{Host, OwnRuntime, SharedRuntime};

/// The tasks around which a notification goes.
const TASKS: usize = 4;

/// A notification that is kept until a task waits for it.
trait Notifies: Default + Send + Sync + 'static {
    fn notify(&self);
    fn notified(&self) -> impl Future<Output = ()> + Send;
}

impl Notifies for blitz_io_sync::task::Notify {
    fn notify(&self) {
        self.notify_one();
    }
    async fn notified(&self) {
        self.notified().await;
    }
}

impl Notifies for tokio::sync::Notify {
    fn notify(&self) {
        self.notify_one();
    }
    async fn notified(&self) {
        self.notified().await;
    }
}

pub(super) fn scenarios() -> Vec<Scenario> {
    type Ours = blitz_io_sync::task::Notify;
    type Theirs = tokio::sync::Notify;
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
    let row = |id, title| Scenario::new(3, id, title, ASYNC_OPS).on_runtime();
    vec![
        (scenario.with(OURS, ours).with("tokio", tokio)).with("event-listener", event),
        row("notify_tasks", "Notify, around 4 tasks")
            .with(OURS, around::<Ours, SharedRuntime>)
            .with("tokio", around::<Theirs, SharedRuntime>),
        row("notify_tasks_own", "Notify, around 4 tasks, own runtime")
            .with(OURS, around::<Ours, OwnRuntime<Blitz>>)
            .with("tokio", around::<Theirs, OwnRuntime<Tokio>>),
    ]
}

/// A notification goes around the tasks: each waits for its own, and notifies the next task. An
/// operation is one wait.
fn around<N: Notifies, G: Host>(cx: &Context) -> Measured {
    let ring: Arc<[CachePadded<N>; TASKS]> = Arc::default();
    // Number of turns so far.
    let turn = Arc::new(CachePadded::new(AtomicU64::new(0)));
    let share = cx.share(TASKS);
    ring[0].notify();
    let (span, in_order) = G::start_all(cx.workers, TASKS, |member| {
        let (ring, turn) = (ring.clone(), turn.clone());
        async move {
            let mut in_order = 0u64;
            for round in 0..share {
                ring[member].notified().await;
                let expected = round * TASKS as u64 + member as u64;
                in_order += u64::from(turn.fetch_add(1, Relaxed) == expected);
                ring[(member + 1) % TASKS].notify();
            }
            in_order
        }
    });
    let total = share * TASKS as u64;
    verify("turns in their order", total, in_order.iter().sum())?;
    Ok(Sample::new(span, total))
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
