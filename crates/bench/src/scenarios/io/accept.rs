//! Short connections: connect, one byte each way, close.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::server::Server;
use super::{failure, for_each, with_clients};
use crate::scenario::{Context, Measured, Sample, Scenario, verify};

/// Threads that connect.
const CLIENTS: u64 = 2;

pub(super) fn scenarios() -> Vec<Scenario> {
    let title = "Connect, one byte each way, close";
    for_each(("accept", title, 2_000), bodies!(accept))
}

fn accept<S: Server>(cx: &Context, workers: usize) -> Measured {
    let each = cx.ops.div_ceil(CLIENTS);
    let connections = each * CLIENTS;
    let server = S::echo::<{ 16 * 1024 }>(S::with_workers(workers), connections as usize, 1);
    let (span, clients, cpu) = with_clients(CLIENTS as usize, |client| {
        (0..each).try_fold(0, |sum, round| {
            once(server, client as u8 ^ round as u8).map(|n| sum + n)
        })
    });
    let served = clients.into_iter().sum::<io::Result<u64>>();
    verify("connections", connections, served.map_err(failure)?)?;
    Ok(Sample::new(span, connections).with_cpu(cpu))
}

/// Makes one connection. It is reset at the end, so that its port is free at once.
fn once(server: SocketAddr, byte: u8) -> io::Result<u64> {
    let mut stream = TcpStream::connect(server)?;
    stream.write_all(&[byte])?;
    let mut echo = [0];
    stream.read_exact(&mut echo)?;
    socket2::SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO))?;
    if echo[0] == byte {
        Ok(1)
    } else {
        Err(io::Error::other("another byte came back"))
    }
}
