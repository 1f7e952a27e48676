//! Sockets, files and processes (tier 6).
//!
//! Each contender serves on its own runtime with I/O, which is started once and kept. The
//! client is the same for all: one thread with a poll of its own, threads that block, or a
//! process. The client checks every byte, and the clock runs around it. The processor time
//! is that of the server: the time of the process, minus that of the client's threads.

/// One body with each runtime: ours, Tokio and smol.
macro_rules! bodies {
    ($body:ident $(<$($number:tt),+>)?) => {{
        use $crate::scenarios::io::{Body, smol::Smol, tokio_names};
        let bodies: [Body; 3] = [
            $body::<tokio_names::Ours $($(, $number)+)?>,
            $body::<tokio_names::Tokio $($(, $number)+)?>,
            $body::<Smol $($(, $number)+)?>,
        ];
        bodies
    }};
}

mod accept;
mod client;
mod copy;
mod echo;
#[cfg(unix)]
mod file;
mod idle;
#[cfg(unix)]
mod process;
mod server;
#[cfg(target_os = "linux")]
mod service;
mod smol;
mod stalled;
#[cfg(all(target_os = "linux", feature = "thread-per-core"))]
mod thread_per_core;
mod tokio_names;

use std::io;
use std::time::Duration;

use super::all;
use crate::cpu;
use crate::scenario::{Context, Failure, Measured, OURS, Scenario};
use crate::threads::{Span, start_all};

/// One contender's body, which is given the number of its runtime's workers.
type Body = fn(&Context, usize) -> Measured;

/// The numbers of workers that are measured.
const WORKERS: [usize; 2] = [1, 2];

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenarios = all(&[
        echo::scenarios,
        accept::scenarios,
        #[cfg(target_os = "linux")]
        service::scenarios,
        copy::scenarios,
        #[cfg(unix)]
        file::scenarios,
        stalled::scenarios,
        idle::scenarios,
        #[cfg(unix)]
        process::scenarios,
    ]);
    #[cfg(all(target_os = "linux", feature = "thread-per-core"))]
    let scenarios = thread_per_core::take_part(scenarios);
    scenarios
}

/// Creates one scenario for each number of workers, with the bodies of ours, Tokio and
/// smol.
fn for_each((id, title, ops): (&str, &str, u64), bodies: [Body; 3]) -> Vec<Scenario> {
    let with = |workers: usize| {
        let scenario = Scenario::new(6, format!("{id}_{workers}"), title, ops);
        with_bodies(scenario, workers, bodies)
    };
    WORKERS.map(with).into()
}

fn with_bodies(scenario: Scenario, workers: usize, [ours, tokio, smol]: [Body; 3]) -> Scenario {
    scenario
        .threads(workers)
        .with(OURS, move |cx| ours(cx, workers))
        .with("tokio", move |cx| tokio(cx, workers))
        .with("smol", move |cx| smol(cx, workers))
}

fn failure(error: io::Error) -> Failure {
    Failure(format!("the client: {error}"))
}

/// Runs clients on threads of their own, and returns their results and the server's share
/// of the processor time.
fn with_clients<T: Send>(
    count: usize,
    client: impl Fn(usize) -> T + Sync,
) -> (Span, Vec<T>, Option<Duration>) {
    let client = &client;
    let before = cpu::of_process();
    let (span, ended) = start_all(count, |number| {
        move || {
            let before = cpu::of_thread();
            let value = client(number);
            (value, cpu::since(before, cpu::of_thread()))
        }
    });
    let mut server = cpu::since(before, cpu::of_process());
    let mut values = Vec::new();
    for (value, used) in ended {
        server = cpu::since(used, server);
        values.push(value);
    }
    (span, values, server)
}
