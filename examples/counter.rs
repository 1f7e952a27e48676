//! From how many iterations on does a second thread pay? Pinned threads share the work of a
//! counter in two ways: in a pool made of a mutex and two condition variables, and in
//! `blitz_io::pool`. Both are compared with the loop of one thread.
//!
//! ```sh
//! cargo run --release --example counter
//! cargo run --release --example counter -- --threads 2 --json
//! ```
//!
//! How it works: for each length, all three run in turn, many times, and the median of each
//! is taken, so that a slow moment of the machine affects all three. The break-even is the
//! shortest length from which on the threads are always faster than the loop. Every sum is
//! checked.
//!
//! The exit code is 0 if all sums were correct, 1 if not or if threads cannot be pinned,
//! and 2 if the command line is wrong.

use std::hint::black_box;
use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use blitz_io::pool::{Pin, ThreadPool, ThreadPoolBuilder};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// Finds out from how many iterations on several threads count faster than one.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// How many threads, the caller among them
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4], value_name = "N,…", value_parser = clap::value_parser!(u16).range(2..=256))]
    threads: Vec<u16>,
    /// The longest loop, in iterations; the shortest is 1024
    #[arg(long, default_value_t = 16 << 20, value_name = "N", value_parser = clap::value_parser!(u64).range(1024..=1 << 32))]
    longest: u64,
    /// How many times each length is measured
    #[arg(long, default_value_t = 15, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has closed the pipe, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("counter: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<()> {
    let lengths: Vec<u64> = (10..)
        .map(|power| 1 << power)
        .take_while(|&length| length <= options.longest)
        .collect();
    let bar = progress(options.threads.len() * lengths.len());
    let mut tables = Vec::new();
    for &threads in &options.threads {
        let threads = usize::from(threads);
        let pools = Pools::new(threads)?;
        let mut rows = Vec::new();
        for &length in &lengths {
            rows.push(measure(&pools, length, options.rounds)?);
            bar.inc(1);
        }
        tables.push(Table::new(threads, rows));
    }
    bar.finish_and_clear();
    let mut out = io::stdout().lock();
    if options.json {
        serde_json::to_writer_pretty(&mut out, &tables)?;
        writeln!(out)
    } else {
        tables.iter().try_for_each(|table| table.print(&mut out))
    }
}

/// Creates a progress bar, which appears on a terminal after a second.
fn progress(steps: usize) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} lengths, {eta} left");
    ProgressBar::new(steps as u64).with_style(style.expect("the template is right"))
}

/// The ways to count that are compared.
struct Pools {
    classic: ClassicPool,
    ours: ThreadPool,
}

impl Pools {
    fn new(threads: usize) -> io::Result<Self> {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        Ok(Self {
            classic: ClassicPool::new(threads)?,
            ours: pool.pin(Pin::Cores).build().map_err(io::Error::other)?,
        })
    }
}

/// The figures of a length: nanoseconds for the whole loop.
#[derive(Serialize)]
struct Row {
    iterations: u64,
    one_thread_ns: u64,
    condition_variable_ns: u64,
    blitz_io_ns: u64,
}

fn measure(pools: &Pools, length: u64, rounds: u16) -> io::Result<Row> {
    let expected = count(0..length);
    let mut times: [Vec<Duration>; 3] = Default::default();
    // Short loops are repeated, so that reading the clock does not count.
    let repeats = ((1 << 16) / length).max(1);
    for round in 0..=rounds {
        let loops: [&dyn Fn() -> u64; 3] = [
            &|| count(0..length),
            &|| pools.classic.count(length),
            &|| count_in_pool(&pools.ours, length),
        ];
        for (run, times) in loops.iter().zip(&mut times) {
            let begin = Instant::now();
            for _ in 0..repeats {
                if run() != expected {
                    return Err(io::Error::other(format!("a wrong sum of {length} terms")));
                }
            }
            // The first round warms up.
            if round > 0 {
                times.push(begin.elapsed() / repeats as u32);
            }
        }
    }
    let [one, classic, ours] = times.map(median);
    Ok(Row {
        iterations: length,
        one_thread_ns: one,
        condition_variable_ns: classic,
        blitz_io_ns: ours,
    })
}

fn median(mut times: Vec<Duration>) -> u64 {
    times.sort();
    u64::try_from(times[times.len() / 2].as_nanos()).unwrap_or(u64::MAX)
}

/// Does the work: one multiplication for each number, which the compiler cannot leave out.
/// All ways to count run the same machine code.
#[inline(never)]
fn count(range: Range<u64>) -> u64 {
    let term = |n: u64| black_box(n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
    range.map(term).sum::<u64>()
}

/// Returns the share of the thread `index` of `threads`.
fn share(length: u64, index: usize, threads: usize) -> Range<u64> {
    let at = |index: usize| length * index as u64 / threads as u64;
    at(index)..at(index + 1)
}

fn count_in_pool(pool: &ThreadPool, length: u64) -> u64 {
    let (sum, threads) = (AtomicU64::new(0), pool.current_num_threads());
    pool.for_each(0..threads, 1, |index| {
        sum.fetch_add(count(share(length, index, threads)), Ordering::Relaxed);
    });
    sum.into_inner()
}

/// A pool as a first attempt would have it: the threads wait for the next job on a
/// condition variable, and the caller waits for the last thread on another.
struct ClassicPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    job: Mutex<Job>,
    begun: Condvar,
    done: Condvar,
}

#[derive(Default)]
struct Job {
    number: u64,
    length: u64,
    running: usize,
    sum: u64,
    over: bool,
}

impl ClassicPool {
    /// Creates a pool of `threads` threads, of which the caller is one.
    fn new(threads: usize) -> io::Result<Self> {
        let cores = core_affinity::get_core_ids().filter(|cores| !cores.is_empty());
        let cores = cores.ok_or_else(|| {
            io::Error::other("the system does not tell which cores this process may use")
        })?;
        let mut pool = Self {
            shared: Arc::default(),
            threads: Vec::new(),
        };
        for index in 1..threads {
            let (shared, core) = (pool.shared.clone(), cores[index % cores.len()]);
            let body = move || {
                core_affinity::set_for_current(core);
                shared.work(index, threads);
            };
            pool.threads.push(thread::Builder::new().spawn(body)?);
        }
        Ok(pool)
    }

    fn count(&self, length: u64) -> u64 {
        let threads = self.threads.len() + 1;
        let shared = &self.shared;
        let mut job = shared.lock();
        job.number += 1;
        job.length = length;
        job.running = threads - 1;
        job.sum = 0;
        drop(job);
        shared.begun.notify_all();
        let own = count(share(length, 0, threads));
        let mut job = shared.lock();
        while job.running > 0 {
            job = (shared.done.wait(job)).unwrap_or_else(PoisonError::into_inner);
        }
        job.sum + own
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Job> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, index: usize, threads: usize) {
        let mut last = 0;
        loop {
            let mut job = self.lock();
            while job.number == last && !job.over {
                job = (self.begun.wait(job)).unwrap_or_else(PoisonError::into_inner);
            }
            if job.over {
                return;
            }
            last = job.number;
            let mine = share(job.length, index, threads);
            drop(job);
            let sum = count(mine);
            let mut job = self.lock();
            job.sum += sum;
            job.running -= 1;
            if job.running == 0 {
                self.done.notify_one();
            }
        }
    }
}

impl Drop for ClassicPool {
    fn drop(&mut self) {
        self.shared.lock().over = true;
        self.shared.begun.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}

/// What is printed for one number of threads.
#[derive(Serialize)]
struct Table {
    threads: usize,
    break_even_condition_variable: Option<u64>,
    break_even_blitz_io: Option<u64>,
    rows: Vec<Row>,
}

impl Table {
    fn new(threads: usize, rows: Vec<Row>) -> Self {
        let break_even = |time: fn(&Row) -> u64| {
            let slower = |row: &Row| time(row) >= row.one_thread_ns;
            let first = rows.iter().rposition(slower).map_or(0, |last| last + 1);
            rows.get(first).map(|row| row.iterations)
        };
        Self {
            threads,
            break_even_condition_variable: break_even(|row| row.condition_variable_ns),
            break_even_blitz_io: break_even(|row| row.blitz_io_ns),
            rows,
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let threads = self.threads;
        writeln!(out, "{threads} threads, microseconds for the whole loop")?;
        writeln!(out)?;
        writeln!(out, "iterations  one thread  condition variable  blitz-io")?;
        let us = |ns: u64| ns as f64 / 1_000.0;
        for row in &self.rows {
            writeln!(
                out,
                "{:>10}  {:>10.1}  {:>18.1}  {:>8.1}",
                row.iterations,
                us(row.one_thread_ns),
                us(row.condition_variable_ns),
                us(row.blitz_io_ns)
            )?;
        }
        writeln!(out)?;
        let from = |length: Option<u64>| {
            length.map_or("at none of these lengths".into(), |length| {
                format!("from {length} iterations on")
            })
        };
        let (classic, ours) = (self.break_even_condition_variable, self.break_even_blitz_io);
        writeln!(out, "condition variable  faster {}", from(classic))?;
        writeln!(out, "blitz-io            faster {}", from(ours))?;
        writeln!(out)
    }
}
