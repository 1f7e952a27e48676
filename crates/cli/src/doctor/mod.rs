//! `blitz doctor`: what the machine offers, what is used, what could be better.
//!
//! The system's file probes, `advice.rs` draws the conclusions, `text.rs` prints.
//! Everything is tried; nothing is concluded from a version number.

mod advice;
mod costs;
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "other.rs"]
mod system;
mod text;

use std::collections::BTreeMap;

use blitz_io_bench::Machine;
use blitz_io_bench::report::wrapped;
use clap::Args;
use serde::Serialize;

use crate::exit::Exit;
use crate::output;
use costs::Costs;

const EXAMPLES: &str = "\
Examples:
  blitz doctor                     for you
  blitz doctor --json              for a bug report or a script
  taskset -c 0 blitz doctor        what changes on one processor

Exit statuses:
  0    the report is printed, whatever it says
  1    it cannot be printed
  64   the arguments are wrong";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Prints the findings as JSON, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
}

/// Everything the doctor found.
#[derive(Serialize)]
struct Findings {
    version: &'static str,
    /// The commit that the program was built from; absent if the sources had no history.
    revision: Option<&'static str>,
    /// The target that the program was built for.
    target: &'static str,
    machine: Machine,
    processors: Processors,
    futex: Futex,
    release_fence: &'static str,
    /// The result of a probe of the system call; absent if the operating system has no such
    /// call.
    futex_waitv: Option<Probe>,
    membarrier: Option<Probe>,
    io_uring: Option<IoUring>,
    clock_source: Option<String>,
    costs: Costs,
    uses: Vec<String>,
    advice: Vec<String>,
}

/// The processors of the machine, and those that this process may use.
#[derive(Clone, Debug, Default, Serialize)]
struct Processors {
    /// The processors that are online in this machine.
    online: usize,
    /// The processors that the process may run on.
    allowed: usize,
    /// The control group's share, in processors.
    quota: Option<f64>,
}

#[derive(Serialize)]
struct Futex {
    backend: &'static str,
    shared_memory: bool,
    counts_wakes: bool,
    wait_any_in_kernel: bool,
}

/// The result of trying something.
#[derive(Clone, Debug, Serialize)]
struct Probe {
    works: bool,
    /// The answer, for people.
    detail: String,
}

impl Probe {
    // Not every system's file reports a failure.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    fn yes(detail: impl Into<String>) -> Probe {
        Probe {
            works: true,
            detail: detail.into(),
        }
    }

    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    fn no(detail: impl Into<String>) -> Probe {
        Probe {
            works: false,
            detail: detail.into(),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct IoUring {
    setup: Probe,
    /// `/proc/sys/kernel/io_uring_disabled`: 0 allows everyone, 1 only the privileged, 2 no
    /// one.
    disabled: Option<u8>,
    operations: BTreeMap<&'static str, bool>,
    setup_flags: BTreeMap<&'static str, bool>,
}

/// The findings that only the system's own file can determine.
#[derive(Clone, Debug, Default)]
struct System {
    processors: Processors,
    futex_waitv: Option<Probe>,
    membarrier: Option<Probe>,
    io_uring: Option<IoUring>,
    clock_source: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Exit> {
    let findings = examine();
    if arguments.json {
        output::print_json(&findings)?;
    } else {
        output::print(&wrapped(&text::render(&findings), output::width()))?;
    }
    Ok(Exit::Done)
}

fn examine() -> Findings {
    let system = system::probe();
    let mut findings = Findings {
        version: env!("CARGO_PKG_VERSION"),
        revision: Some(env!("BLITZ_REVISION")).filter(|revision| !revision.is_empty()),
        target: env!("BLITZ_TARGET"),
        machine: Machine::describe(),
        processors: system.processors,
        futex: Futex {
            backend: blitz_io_futex::system::backend(),
            shared_memory: blitz_io_futex::system::supports_shared(),
            counts_wakes: blitz_io_futex::system::counts_wakes(),
            wait_any_in_kernel: blitz_io_futex::system::has_wait_any(),
        },
        release_fence: blitz_io_sync::release_fence(),
        futex_waitv: system.futex_waitv,
        membarrier: system.membarrier,
        io_uring: system.io_uring,
        clock_source: system.clock_source,
        costs: Costs::measure(),
        uses: Vec::new(),
        advice: Vec::new(),
    };
    findings.uses = advice::uses(&findings);
    findings.advice = advice::advice(&findings);
    findings
}
