//! The memory of a connection that waits in `read`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicUsize;

use super::client::raise_limit;
use super::failure;
use super::server::{Server, echo};
use crate::scenarios::of_memory;
use crate::scenarios::prelude::*;

/// The size of each connection's read buffer, which is counted as well.
const BUFFER: usize = 64;

pub(super) fn scenarios() -> Vec<Scenario> {
    let title = "Memory of a connection that waits in read";
    let scenario =
        Scenario::new(6, "idle_connection_bytes", title, 2_000).decided_by(Compares::BytesPerOp);
    vec![scenario.threads(2).with_each(2, bodies!(idle))]
}

/// Opens connections and counts the bytes that stay allocated.
///
/// Each iteration has its own runtime: one that has served before would have memory left
/// over. The iteration ends only when its connections have ended. Otherwise memory that the
/// server frees for them later would be subtracted from the next iteration's bytes.
fn idle<S: Server>(cx: &Context, workers: usize) -> Measured {
    raise_limit();
    let connections = cx.ops as usize;
    let ended = Box::leak(Box::new(AtomicUsize::new(0)));
    let server = serve::<S>(workers, connections, ended);
    let mut clients = Vec::with_capacity(connections);
    Memory::count(true);
    let (span, result) = solo(|| {
        for number in 0..connections {
            let mut client = TcpStream::connect(server)?;
            // When this byte is back, the connection waits in its second read.
            client.write_all(&[number as u8])?;
            let mut echo = [0];
            client.read_exact(&mut echo)?;
            if echo[0] != number as u8 {
                return Err(std::io::Error::other("another byte came back"));
            }
            clients.push(client);
        }
        std::thread::sleep(Duration::from_millis(20));
        Ok(())
    });
    Memory::count(false);
    result.map_err(failure)?;
    drop(clients);
    wait_for(ended, connections)?;
    of_memory(span, connections as u64)
}

/// Echoes the bytes of each connection, and counts the connections that have ended.
fn serve<S: Server>(workers: usize, connections: usize, ended: &'static AtomicUsize) -> SocketAddr {
    let runtime = S::start(workers);
    S::listen_on(runtime, async move |listener| {
        for _ in 0..connections {
            let stream = S::accept(&listener).await.expect("there are descriptors");
            S::spawn(runtime, async move {
                echo::<S, BUFFER>(stream, usize::MAX).await;
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
    })
}

/// Waits until `connections` connections have ended.
fn wait_for(ended: &AtomicUsize, connections: usize) -> Result<(), Failure> {
    let begin = Instant::now();
    while ended.load(Ordering::Relaxed) < connections {
        if begin.elapsed() > Duration::from_secs(30) {
            return Err(Failure("the server's connections do not end".into()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // The tasks themselves are freed after that.
    std::thread::sleep(Duration::from_millis(20));
    Ok(())
}
