//! TCP echo: a message to the server and back.

use std::time::Duration;

use super::client::Client;
use super::server::{Ours, Server, Smol, Tokio};
use super::{Body, for_each};
use crate::scenario::{Context, Failure, Measured, Sample, Scenario, verify};
use crate::threads::solo;

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    macro_rules! row {
        ($id:literal, $title:literal, $ops:literal, $connections:literal, $depth:literal, $size:literal) => {
            let bodies: [Body; 3] = [
                echo::<Ours, $connections, $depth, $size>,
                echo::<Tokio, $connections, $depth, $size>,
                echo::<Smol, $connections, $depth, $size>,
            ];
            scenarios.extend(for_each(($id, $title, $ops), bodies));
        };
    }
    row!(
        "echo_1",
        "TCP echo of 128 bytes, 1 connection",
        5_000,
        1,
        1,
        128
    );
    row!(
        "echo_64",
        "TCP echo of 128 bytes, 64 connections",
        20_000,
        64,
        1,
        128
    );
    row!(
        "echo_1024",
        "TCP echo of 128 bytes, 1,024 connections",
        20_000,
        1024,
        1,
        128
    );
    row!(
        "echo_pipelined",
        "TCP echo of 128 bytes, 64 connections, 16 in flight",
        40_000,
        64,
        16,
        128
    );
    row!(
        "echo_16k",
        "TCP echo of 16 KiB, 64 connections",
        10_000,
        64,
        1,
        16_384
    );
    scenarios
}

fn echo<S: Server, const CONNECTIONS: usize, const DEPTH: usize, const SIZE: usize>(
    cx: &Context,
    workers: usize,
) -> Measured {
    let server = S::echo(workers, CONNECTIONS as u64, usize::MAX);
    let failure = |error| Failure(format!("the client: {error}"));
    let mut client = Client::connect(server, CONNECTIONS, SIZE).map_err(failure)?;
    // All have been accepted, and all is quiet.
    client.exchange(CONNECTIONS as u64, 1).map_err(failure)?;
    std::thread::sleep(Duration::from_millis(1));
    let (span, echoes) = solo(|| client.exchange(cx.ops, DEPTH));
    verify("echoes", cx.ops, echoes.map_err(failure)?)?;
    Ok(Sample::new(span, cx.ops))
}
