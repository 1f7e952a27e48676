use std::sync::{Arc, Mutex};

use blitz_io::{runtime::Builder, trace::Spans};
use tracing::{Event, Instrument, Subscriber, info, info_span, span};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    registry::{LookupSpan, Registry},
};

use crate::support::{count, requests};

/// What a layer of the registry has seen.
#[derive(Default)]
struct Seen {
    /// The spans around each event, the innermost first.
    scopes: Vec<Vec<&'static str>>,
    /// Spans that were closed, with what the layer has kept in each.
    closed: Vec<(&'static str, u32)>,
}

struct Sees(Arc<Mutex<Seen>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Sees {
    fn on_new_span(&self, _: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        context.span(id).unwrap().extensions_mut().insert(0_u32);
    }

    fn on_enter(&self, id: &span::Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        *span.extensions_mut().get_mut::<u32>().unwrap() += 1;
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        // Those of the runtime are none of the test.
        if event.metadata().target() != module_path!() {
            return;
        }
        let scope = context.event_scope(event).into_iter().flatten();
        let names = scope.map(|span| span.name());
        let names = names.filter(|name| !name.starts_with("runtime")).collect();
        self.0.lock().unwrap().scopes.push(names);
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap();
        let entered = *span.extensions().get::<u32>().unwrap();
        self.0.lock().unwrap().closed.push((span.name(), entered));
    }
}

/// A request of a span has a span within it, in another task, and both are entered twice or more.
async fn handle() {
    let inner = async {
        tokio::task::yield_now().await;
        info!("within both");
    };
    let inner = tokio::spawn(inner.instrument(info_span!("query")));
    inner.await.unwrap();
    tokio::task::yield_now().await;
    info!("within one");
}

#[test]
fn spans_of_a_registry_are_requests_and_its_layers_see_all() {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let registry = Registry::default().with(Sees(seen.clone()));
    let spans = Spans::new(registry, |span| span.name().starts_with("request"));
    let dispatch = tracing::Dispatch::new(spans);
    assert!(dispatch.is::<Registry>() && dispatch.is::<Sees>());
    let test = async {
        for _ in 0..3 {
            handle()
                .instrument(info_span!("request of a registry"))
                .await;
        }
        // One within another is no request of its own.
        let outer = info_span!("request outside").entered();
        let inner = info_span!("request inside");
        inner.in_scope(|| info!("inside"));
        drop((inner, outer));
    };
    // One thread, whose subscriber this is.
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_all().trace(true).build().unwrap();
    tracing::dispatcher::with_default(&dispatch, || runtime.block_on(test));
    assert_eq!(count("request of a registry"), 3);
    assert_eq!((count("request outside"), count("request inside")), (1, 0));
    let waits = requests("request of a registry");
    assert!(waits.iter().all(|request| request.nanos > 0), "{waits:?}");
    let seen = seen.lock().unwrap();
    let both = vec!["query", "request of a registry"];
    let of = |scope: &Vec<&str>| seen.scopes.iter().filter(|seen| *seen == scope).count();
    assert_eq!(of(&both), 3, "{:?}", seen.scopes);
    assert_eq!(of(&vec!["request of a registry"]), 3);
    assert_eq!(of(&vec!["request inside", "request outside"]), 1);
    // Each span that was opened is closed once, and was entered.
    let closed = |name| seen.closed.iter().filter(move |closed| closed.0 == name);
    assert_eq!(closed("request of a registry").count(), 3);
    assert_eq!(closed("query").count(), 3);
    assert!(closed("query").all(|closed| closed.1 >= 2));
}
