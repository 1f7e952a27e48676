//! A round trip between tasks of two processes.

use blitz_io_ipc::{Anonymous, Route};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::scenarios::prelude::*;
use crate::scenarios::processes::{Processes, Role, now};

/// Bytes of a message.
const LEN: usize = 64;

pub(super) fn scenario() -> Scenario {
    let title = "Round trip of 64 bytes between tasks of two processes";
    Scenario::new(8, "ipc_await", title, 10_000)
        .threads(2)
        .with(OURS, round_trips::<Ours>)
        .with("tokio", round_trips::<Tokio>)
}

/// Two links between tasks, there and back.
trait Awaited: Sized {
    type End;
    fn new() -> Self;
    /// Blocks on a future that uses this side's end, on a runtime of one thread.
    fn block_on(self, first: bool, work: impl AsyncFnOnce(Self::End));
    async fn send(end: &mut Self::End, message: &[u8; LEN]);
    async fn receive(end: &mut Self::End) -> [u8; LEN];
}

/// Two routes.
struct Ours(Anonymous, Anonymous);

impl Awaited for Ours {
    type End = (blitz_io_ipc::Sender, blitz_io_ipc::Receiver);

    fn new() -> Self {
        let route = || Route::builder().capacity(16).max_len(LEN).anonymous();
        let route = || route().expect("memory for a segment");
        Self(route(), route())
    }

    fn block_on(self, first: bool, work: impl AsyncFnOnce(Self::End)) {
        let (to, from) = if first {
            (self.0, self.1)
        } else {
            (self.1, self.0)
        };
        let sender = to.sender().expect("a place for a sender");
        let receiver = from.receiver().expect("a place for a receiver");
        let runtime = blitz_io_runtime::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(work((sender, receiver)));
    }

    async fn send((sender, _): &mut Self::End, message: &[u8; LEN]) {
        let sent = sender.send_async(message).await;
        sent.expect("a segment that works");
    }

    async fn receive((_, receiver): &mut Self::End) -> [u8; LEN] {
        let message = receiver.recv_async().await.expect("a message");
        message[..].try_into().expect("a message of this length")
    }
}

/// A pair of stream sockets.
struct Tokio(
    std::os::unix::net::UnixStream,
    std::os::unix::net::UnixStream,
);

impl Awaited for Tokio {
    type End = tokio::net::UnixStream;

    fn new() -> Self {
        let (one, other) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        Self(one, other)
    }

    fn block_on(self, first: bool, work: impl AsyncFnOnce(Self::End)) {
        let socket = if first { self.0 } else { self.1 };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            socket.set_nonblocking(true).expect("a socket");
            work(tokio::net::UnixStream::from_std(socket).expect("a socket")).await;
        });
    }

    async fn send(socket: &mut Self::End, message: &[u8; LEN]) {
        socket.write_all(message).await.expect("a receiver");
    }

    async fn receive(socket: &mut Self::End) -> [u8; LEN] {
        let mut message = [0; LEN];
        socket.read_exact(&mut message).await.expect("a sender");
        message
    }
}

/// Returns the message `number`.
fn message(number: u64) -> [u8; LEN] {
    let words: [u64; LEN / 8] = std::array::from_fn(|place| number.wrapping_mul(place as u64 + 1));
    std::array::from_fn(|at| words[at / 8].to_le_bytes()[at % 8])
}

fn round_trips<A: Awaited>(cx: &Context) -> Measured {
    let rounds = cx.ops;
    let ends = A::new();
    let mut processes = Processes::new(2, rounds as usize)?;
    processes.start(&ends, |ends, role: &Role<'_>| {
        ends.block_on(true, async |mut end| {
            role.wait_for_all();
            for round in 0..rounds {
                let begin = now();
                A::send(&mut end, &message(round)).await;
                let echoed = A::receive(&mut end).await;
                role.record(round, now() - begin);
                assert_eq!(echoed, message(!round));
            }
            role.ended(rounds, 0);
        });
    })?;
    processes.start(&ends, |ends, role: &Role<'_>| {
        ends.block_on(false, async |mut end| {
            role.wait_for_all();
            for round in 0..rounds {
                let found = A::receive(&mut end).await;
                A::send(&mut end, &message(!round)).await;
                assert_eq!(found, message(round));
            }
            role.ended(rounds, 0);
        });
    })?;
    let found = processes.measure()?;
    for (count, _) in &found.reports {
        verify("messages", rounds, *count)?;
    }
    let span = Span::of(found.elapsed);
    Ok(Sample::new(span, rounds).with_waits(found.histogram()))
}
