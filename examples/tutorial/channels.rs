//! Chapter 4: a task that owns the statistics, and channels of requests to it.

use std::collections::HashMap;

use blitz_io::sync::{mpsc, oneshot};

// ANCHOR: statistics
enum Message {
    Count(String),
    Report(oneshot::Sender<HashMap<String, u64>>),
}

/// A handle of the task that counts requests.
#[derive(Clone)]
struct Statistics(mpsc::Sender<Message>);

impl Statistics {
    fn start() -> Self {
        let (sender, mut inbox) = mpsc::channel(64);
        blitz_io::spawn(async move {
            // No lock: this task alone has the counts.
            let mut counts = HashMap::new();
            while let Some(message) = inbox.recv().await {
                match message {
                    Message::Count(command) => *counts.entry(command).or_insert(0) += 1,
                    // The task that asked may have ended.
                    Message::Report(answer) => _ = answer.send(counts.clone()),
                }
            }
        });
        Self(sender)
    }

    /// Counts a request. Waits while 64 messages are in the channel.
    async fn count(&self, command: &str) {
        _ = self.0.send(Message::Count(command.to_owned())).await;
    }

    async fn report(&self) -> HashMap<String, u64> {
        let (answer, report) = oneshot::channel();
        _ = self.0.send(Message::Report(answer)).await;
        report.await.unwrap_or_default()
    }
}
// ANCHOR_END: statistics

#[blitz_io::main]
async fn main() {
    let statistics = Statistics::start();
    let mut connections = blitz_io::task::JoinSet::new();
    for _ in 0..10 {
        let statistics = statistics.clone();
        connections.spawn(async move {
            statistics.count("square").await;
            statistics.count("primes").await;
        });
    }
    connections.join_all().await;
    let report = statistics.report().await;
    assert_eq!((report["square"], report["primes"]), (10, 10));
    println!("{report:?}");
}
