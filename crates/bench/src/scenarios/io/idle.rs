//! What a connection costs that waits in `read`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::client::raise_limit;
use super::server::{Ours, Server, Smol, Tokio};
use super::{failure, with_bodies};
use crate::alloc::Memory;
use crate::scenario::{Context, Failure, Measured, Sample, Scenario};
use crate::threads::solo;

/// What each connection reads into, counted as well.
const BUFFER: usize = 64;

pub(super) fn scenarios() -> Vec<Scenario> {
    let title = "Memory of a connection that waits in read";
    let scenario = Scenario::new(6, "idle_connection_bytes", title, 2_000).decided_by_bytes();
    let bodies = [idle::<Ours>, idle::<Tokio>, idle::<Smol>];
    vec![with_bodies(scenario, 2, bodies)]
}

/// Opens connections and counts the bytes that stay taken.
///
/// Each iteration has a runtime of its own: one that has served before would have memory
/// left over.
fn idle<S: Server>(cx: &Context, workers: usize) -> Measured {
    raise_limit();
    let connections = cx.ops as usize;
    let server = S::echo::<BUFFER>(S::start(workers), connections, usize::MAX);
    let mut clients = Vec::with_capacity(connections);
    Memory::count(true);
    let (span, result) = solo(|| {
        for number in 0..connections {
            let mut client = TcpStream::connect(server)?;
            // It waits in its second read when this is back.
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
    result.map_err(failure)?;
    if span.memory.bytes == 0 {
        let reason = "no byte was counted; is the counting allocator installed?";
        return Err(Failure(reason.into()));
    }
    Ok(Sample::new(span, connections as u64))
}
