//! Sockets, files and processes (tier 6).
//!
//! Each contender serves on its own runtime with I/O, which is started once and kept. The
//! client is the same for all: one thread with a poll of its own, threads that block, or a
//! process. The client checks every byte, and the clock runs around it. The processor time
//! is that of the server: the time of the process, minus that of the client's threads.

/// One body with each runtime: ours, Tokio and smol.
macro_rules! bodies {
    ($body:ident $(<$($number:tt),+>)?) => {{
        use $crate::scenarios::{io::smol::Smol, io::tokio_names, prelude::*};
        let bodies: [(&str, BodyOf<usize>); 3] = [
            (OURS, $body::<tokio_names::Ours $($(, $number)+)?>),
            ("tokio", $body::<tokio_names::Tokio $($(, $number)+)?>),
            ("smol", $body::<Smol $($(, $number)+)?>),
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

use super::all;
use crate::cpu;
use crate::scenarios::prelude::*;

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

type Bodies = [(&'static str, BodyOf<usize>); 3];

/// Creates the scenario for each number of workers.
fn for_each(what: (&str, &str, u64), bodies: Bodies) -> Vec<Scenario> {
    super::for_each(6, &WORKERS, what, &bodies)
}

/// Runs a client on this thread, which returns how many operations it has done, and measures the
/// processor time of the other threads.
fn measured(what: &str, ops: u64, client: impl FnOnce() -> io::Result<u64>) -> Measured {
    let ((span, done), cpu) = cpu::of_others(|| solo(client));
    verify(what, ops, done.map_err(failure)?)?;
    Ok(Sample::new(span, ops).with_cpu(cpu))
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
