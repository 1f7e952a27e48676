//! Echo while a task blocks its thread.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

use super::client::Client;
use super::failure;
use super::server::Server;
use crate::scenarios::prelude::*;

const CONNECTIONS: usize = 16;
/// The time between two messages of a connection.
const INTERVAL: Duration = Duration::from_millis(1);
/// The time for which the thread is blocked, and for which it then is not.
const BLOCKED: Duration = Duration::from_millis(20);

pub(super) fn scenarios() -> Vec<Scenario> {
    let title = "Echo beside a task that blocks its thread half of the time";
    let scenario = Scenario::new(6, "stalled_worker_2", title, 16_000).decided_by(Compares::P99Ns);
    vec![scenario.threads(2).with_each(2, bodies!(stalled))]
}

fn stalled<S: Server>(cx: &Context, workers: usize) -> Measured {
    let runtime = S::with_workers(workers);
    let server = S::echo::<{ 16 * 1024 }>(runtime, CONNECTIONS, usize::MAX);
    let client = Client::<mio::net::TcpStream>::connect(&server, CONNECTIONS, 64, 128);
    let mut client = client.map_err(failure)?;
    client.exchange(CONNECTIONS as u64, 1).map_err(failure)?;
    client.waits();

    let ends = Arc::new(AtomicBool::new(false));
    let (ended, told) = channel();
    let blocking = ends.clone();
    S::spawn(runtime, async move {
        while !blocking.load(Relaxed) {
            std::thread::sleep(BLOCKED);
            S::sleep(BLOCKED).await;
        }
        ended.send(()).expect("the client waits");
    });
    let rounds = (cx.ops / CONNECTIONS as u64).max(1);
    let (span, echoes) = solo(|| client.paced(rounds, INTERVAL));
    ends.store(true, Relaxed);
    told.recv().expect("the task has ended");
    let messages = rounds * CONNECTIONS as u64;
    verify("echoes", messages, echoes.map_err(failure)?)?;
    Ok(Sample::new(span, messages).with_waits(client.waits()))
}
