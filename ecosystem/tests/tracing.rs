use std::sync::{Arc, Mutex};

use tracing::{Instrument, Subscriber, info, info_span, instrument, instrument::WithSubscriber};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    registry::LookupSpan,
};

use crate::support::limit;

/// Records the names of the spans around each event.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_event(&self, event: &tracing::Event<'_>, context: Context<'_, S>) {
        if !event.metadata().target().starts_with("all::tracing") {
            return;
        }
        let spans = context
            .event_scope(event)
            .into_iter()
            .flat_map(|scope| scope.from_root());
        let names: Vec<&str> = spans
            .map(|span| span.name())
            .filter(|name| *name != "runtime.spawn")
            .collect();
        self.0.lock().unwrap().push(names.join("/"));
    }
}

#[instrument]
async fn step(n: usize) {
    tokio::task::yield_now().await;
    info!("in a step");
}

/// Tasks move between workers; their spans move with them, and with no other task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_follow_their_tasks() {
    let recorder = Recorder::default();
    let subscriber = tracing_subscriber::registry().with(recorder.clone());
    let work = async {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..50 {
            let span = if task % 2 == 0 {
                info_span!("even")
            } else {
                info_span!("odd")
            };
            let inside = async move {
                for n in 0..20 {
                    step(n).await;
                    tokio::task::yield_now().await;
                    info!("between steps");
                }
                let blocking = tracing::Span::current();
                tokio::task::spawn_blocking(move || blocking.in_scope(|| ()))
                    .await
                    .unwrap();
            };
            tasks.spawn(inside.instrument(span).with_current_subscriber());
        }
        tasks.join_all().await;
    };
    limit(work.with_subscriber(subscriber)).await;
    let seen = recorder.0.lock().unwrap();
    for name in ["even", "odd"] {
        let count = |wanted: &str| seen.iter().filter(|seen| *seen == wanted).count();
        assert_eq!(count(name), 25 * 20);
        assert_eq!(count(&format!("{name}/step")), 25 * 20);
    }
    assert_eq!(seen.len(), 50 * 40);
}
