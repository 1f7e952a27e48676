//! Echo: a message to the server and back, over TCP, UDP and Unix sockets.

use super::client::{Client, Socket};
use super::server::*;
use super::{failure, for_each, measured};
use crate::scenarios::prelude::*;

/// A server's buffer for each connection.
pub(super) const BUFFER: usize = 16 * 1024;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    macro_rules! row {
        ($id:literal, $title:literal, $ops:literal, $body:ident<$($number:literal),*>) => {
            scenarios.extend(for_each(($id, $title, $ops), bodies!($body<$($number),*>)));
        };
    }
    row!("echo_1", "TCP echo of 128 bytes, 1 connection", 5_000, tcp<1, 1, 128>);
    row!("echo_64", "TCP echo of 128 bytes, 64 connections", 20_000, tcp<64, 1, 128>);
    row!("echo_1024", "TCP echo of 128 bytes, 1,024 connections", 20_000, tcp<1024, 1, 128>);
    row!(
        "echo_pipelined",
        "TCP echo of 128 bytes, 64 connections, 16 in flight",
        40_000,
        tcp<64, 16, 128>
    );
    row!("echo_16k", "TCP echo of 16 KiB, 64 connections", 10_000, tcp<64, 1, 16_384>);
    row!("udp_echo", "UDP echo of 128 bytes, 64 sockets to one", 20_000, udp<64, 128>);
    #[cfg(unix)]
    row!("unix_echo", "Unix echo of 128 bytes, 64 connections", 20_000, unix<64, 128>);
    scenarios
}

fn tcp<S: Server, const CONNECTIONS: usize, const DEPTH: usize, const SIZE: usize>(
    cx: &Context,
    workers: usize,
) -> Measured {
    let server = S::echo::<BUFFER>(S::with_workers(workers), CONNECTIONS, usize::MAX);
    let client = Client::<mio::net::TcpStream>::connect(&server, CONNECTIONS, DEPTH, SIZE);
    measure(cx, &mut client.map_err(failure)?, CONNECTIONS, DEPTH)
}

fn udp<S: Server, const SOCKETS: usize, const SIZE: usize>(
    cx: &Context,
    workers: usize,
) -> Measured {
    let server = S::udp_echo(S::with_workers(workers));
    let client = Client::<mio::net::UdpSocket>::connect(&server, SOCKETS, 1, SIZE);
    let mut client = client.map_err(failure)?;
    let measured = measure(cx, &mut client, SOCKETS, 1);
    client.end().map_err(failure)?;
    measured
}

#[cfg(unix)]
fn unix<S: UnixServer, const CONNECTIONS: usize, const SIZE: usize>(
    cx: &Context,
    workers: usize,
) -> Measured {
    static NUMBER: AtomicU64 = AtomicU64::new(0);

    let number = NUMBER.fetch_add(1, Relaxed);
    let name = format!("blitz-io-bench-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    S::unix_echo(S::with_workers(workers), &path, CONNECTIONS);
    let client = Client::<mio::net::UnixStream>::connect(&path, CONNECTIONS, 1, SIZE);
    // Connected sockets no longer need the path.
    std::fs::remove_file(&path).map_err(failure)?;
    measure(cx, &mut client.map_err(failure)?, CONNECTIONS, 1)
}

pub(super) fn measure<S: Socket>(
    cx: &Context,
    client: &mut Client<S>,
    connections: usize,
    depth: usize,
) -> Measured {
    // After this all connections have been accepted, and nothing is in progress.
    client.exchange(connections as u64, 1).map_err(failure)?;
    std::thread::sleep(Duration::from_millis(1));
    client.waits();
    let sample = measured("echoes", cx.ops, || client.exchange(cx.ops, depth))?;
    Ok(sample.with_waits(client.waits()))
}
