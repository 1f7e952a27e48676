use std::time::Duration;

use console_api::instrument::{InstrumentRequest, instrument_client::InstrumentClient};
use console_subscriber::{ConsoleLayer, ServerParts};
use tokio_stream::wrappers::TcpListenerStream;
use tracing::Dispatch;
use tracing_subscriber::layer::SubscriberExt;

use crate::support::{limit, listener};

/// The console is told about the runtime's tasks, by name, and about their end.
#[tokio::test]
async fn the_console_sees_tasks() {
    let (layer, server) = ConsoleLayer::builder()
        .publish_interval(Duration::from_millis(20))
        .build();
    // With a single subscriber, tracing asks only the subscriber of the thread that happens
    // to reach a span first. The threads of other tests have none, and would switch the
    // span off for all.
    let _second = Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    let ServerParts {
        instrument_server,
        aggregator,
        ..
    } = server.into_parts();
    let (listener, address) = listener().await;
    tokio::spawn(aggregator.run());
    let router = tonic::transport::Server::builder().add_service(instrument_server);
    tokio::spawn(router.serve_with_incoming(TcpListenerStream::new(listener)));

    limit(async {
        let mut client = InstrumentClient::connect(format!("http://{address}")).await.unwrap();
        let mut updates = client.watch_updates(InstrumentRequest {}).await.unwrap().into_inner();
        let task = tokio::spawn(async {
            for _ in 0..50 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
        let id: u64 = task.id().to_string().parse().unwrap();
        let (mut span, mut polls) = (None, 0);
        loop {
            let update = updates.message().await.unwrap().unwrap();
            let Some(tasks) = update.task_update else { continue };
            for new in tasks.new_tasks {
                let is_id = |field: &console_api::Field| {
                    matches!(&field.value, Some(console_api::field::Value::U64Val(value)) if *value == id)
                };
                if new.fields.iter().any(is_id) {
                    span = new.id.map(|span| span.id);
                    assert!(new.location.is_some());
                }
            }
            let Some(stats) = span.and_then(|span| tasks.stats_update.get(&span)) else { continue };
            polls = polls.max(stats.poll_stats.as_ref().map_or(0, |poll| poll.polls));
            if stats.dropped_at.is_some() {
                break;
            }
        }
        assert!(polls >= 50, "{polls}");
        task.await.unwrap();
    })
    .await;
}
