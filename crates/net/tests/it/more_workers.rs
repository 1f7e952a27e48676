//! More workers than processors, of which some block, some wait for timers, and the others get
//! the events of all.

use std::thread;
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::TcpStream;
use blitz_io::task::JoinSet;
use blitz_io::time::sleep;

use crate::help::{multi, pair};

const CONNECTIONS: usize = 32;
const ROUNDS: usize = 100;

/// Answers each byte; some answers take time, or block the worker.
async fn serve(mut server: TcpStream, number: usize) -> usize {
    let mut count = 0;
    let mut byte = [0];
    while server.read_exact(&mut byte).await.is_ok() {
        match (count + number) % 50 {
            7 => thread::sleep(Duration::from_millis(3)),
            23 => sleep(Duration::from_millis(1)).await,
            _ => {}
        }
        server.write_all(&byte).await.unwrap();
        count += 1;
    }
    count
}

async fn ask(mut client: TcpStream) {
    for round in 0..ROUNDS {
        client.write_all(&[round as u8]).await.unwrap();
        let mut byte = [0];
        client.read_exact(&mut byte).await.unwrap();
        assert_eq!(byte, [round as u8]);
    }
}

/// The monitor polled a driver while it held its own lock, which the timer's event needs too,
/// and all workers stood still.
#[test]
fn every_request_is_answered_beside_blocked_workers_and_timers() {
    for workers in [2, 8] {
        let runtime = multi(workers);
        let count = runtime.block_on(async {
            let mut servers = JoinSet::new();
            for number in 0..CONNECTIONS {
                let (client, server) = pair().await;
                servers.spawn(serve(server, number));
                drop(blitz_io::spawn(ask(client)));
            }
            servers.join_all().await.into_iter().sum::<usize>()
        });
        assert_eq!(count, CONNECTIONS * ROUNDS);
    }
}
