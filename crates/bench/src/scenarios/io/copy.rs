//! The library's own `copy` from one socket to another.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

use super::client::fill;
use super::server::Server;
use super::{failure, for_each, with_clients};
use crate::scenario::{Context, Measured, Sample, Scenario, verify};

/// The size of the client's writes, which count as one operation each.
const PIECE: usize = 64 * 1024;
/// 1 GiB.
const PIECES: u64 = 1 << 14;

pub(super) fn scenarios() -> Vec<Scenario> {
    let title = "Copy 64 KiB from one socket to another";
    for_each(("io_copy", title, PIECES), bodies!(copy))
}

fn copy<S: Server>(cx: &Context, workers: usize) -> Measured {
    let pieces = cx.ops;
    let server = S::listen_on(S::with_workers(workers), async |listener| {
        let mut from = S::accept(&listener).await.expect("the client comes");
        let mut to = S::accept(&listener).await.expect("the client comes");
        // An error shows on the client's side: the stream ends too early.
        _ = S::copy(&mut from, &mut to).await;
    });
    let connect = || TcpStream::connect(server).map_err(failure);
    let ends = [connect()?, connect()?];
    let (span, results, cpu) = with_clients(2, |which| match which {
        0 => write(&ends[0], pieces),
        _ => read(&ends[1], pieces),
    });
    for result in results {
        verify("pieces", pieces, result.map_err(failure)?)?;
    }
    Ok(Sample::new(span, pieces).with_cpu(cpu))
}

fn write(mut stream: &TcpStream, pieces: u64) -> io::Result<u64> {
    let mut piece = vec![0; PIECE];
    for number in 0..pieces {
        fill(&mut piece, 0, number);
        stream.write_all(&piece)?;
    }
    stream.shutdown(Shutdown::Write)?;
    Ok(pieces)
}

/// Reads to the end, and checks every byte.
fn read(mut stream: &TcpStream, pieces: u64) -> io::Result<u64> {
    let (mut piece, mut expected) = (vec![0; PIECE], vec![0; PIECE]);
    for number in 0..pieces {
        stream.read_exact(&mut piece)?;
        fill(&mut expected, 0, number);
        if piece != expected {
            return Err(io::Error::other("other bytes than were sent"));
        }
    }
    match stream.read(&mut piece)? {
        0 => Ok(pieces),
        _ => Err(io::Error::other("more bytes than were sent")),
    }
}
