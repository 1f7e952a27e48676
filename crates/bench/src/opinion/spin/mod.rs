//! Question 5: how long to spin before sleeping. Sweeps the limit, in time, for sections
//! and answers of different lengths.

mod plot;
mod subjects;

use std::hint;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Work;
use crate::scenario::Failure;
use crate::stats::median;

use crate::opinion::measure::{Contender, Done, Effort, Figures, head, run};
use crate::opinion::show::{round, table, time};
use subjects::{Limit, Parkers, SpinLock, SpinToken, ping_pong, take_turns};

/// The limits that are tried, in nanoseconds.
const LIMITS: [u64; 9] = [
    0, 250, 1_000, 4_000, 15_000, 30_000, 60_000, 120_000, 250_000,
];
/// How long a section, or an answer, takes.
const LENGTHS: [u64; 4] = [100, 1_000, 10_000, 100_000];
const THREADS: usize = 8;

/// The cost of one job with each limit, and with our own primitive.
struct Curve {
    length: u64,
    /// The time of an operation's work for one thread alone.
    work: f64,
    /// One for each of [`LIMITS`], then ours.
    figures: Vec<Figures>,
}

impl Curve {
    /// Returns the time of an operation beyond the work that has to be done.
    fn overhead(&self, place: usize) -> f64 {
        (self.figures[place].nanos - self.work).max(0.0)
    }
}

pub fn answer(effort: Effort, plot: Option<&Path>) -> Result<String, Failure> {
    // There are many measurements.
    let effort = Effort {
        length: effort.length / 2,
        ..effort
    };
    wait_once();
    let locks = sweep(effort, locks)?;
    let tokens = sweep(effort, tokens)?;
    let hand_over = median(&tokens.iter().map(|c| c.overhead(0)).collect::<Vec<_>>());
    let mut text = head("Spinning: how long to try before sleeping", effort);
    text += &format!(
        "Where two threads take part, each has a processor of its own. A pause {}, reading the clock {}, a hand-over to a thread that sleeps {}.\n",
        time(cost_of(hint::spin_loop)),
        time(cost_of(|| _ = hint::black_box(Instant::now()))),
        time(hand_over),
    );
    let both = [
        (
            "Two threads lock by turns, and wait for half a section",
            &locks,
            "Mutex",
        ),
        (
            "A token goes back and forth, and each side waits for the answer",
            &tokens,
            "Parker",
        ),
    ];
    for (title, curves, ours) in both {
        text += &format!(
            "\n{title}: time beside the work\n{}",
            by_limit(curves, ours, |curve, i| { curve.overhead(i) })
        );
        text += &format!(
            "\n{title}: processor time\n{}",
            by_limit(curves, ours, |curve, i| {
                curve.figures[i].processor.unwrap_or(f64::NAN)
            })
        );
    }
    text += &oversubscribed(effort)?;
    if let Some(file) = plot {
        plot::draw(file, &locks, &tokens, hand_over)
            .map_err(|error| Failure(format!("{}: {error}", file.display())))?;
    }
    Ok(text)
}

/// Makes a thread wait once. blitz-io-sync determines the number of processors once, in the
/// first thread that has to wait, which must not be pinned to a single processor.
fn wait_once() {
    let barrier = blitz_io_sync::thread::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| barrier.wait());
        barrier.wait();
    });
}

fn sweep(
    effort: Effort,
    contenders: impl Fn(u64) -> Vec<Contender>,
) -> Result<Vec<Curve>, Failure> {
    LENGTHS
        .into_iter()
        .map(|length| {
            let mut figures = run(effort, &contenders(length))?;
            Ok(Curve {
                length,
                work: figures.remove(0).nanos,
                figures,
            })
        })
        .collect()
}

fn limits(yields: bool) -> impl Iterator<Item = Limit> {
    LIMITS.into_iter().map(move |nanos| Limit {
        time: Duration::from_nanos(nanos),
        yields,
    })
}

fn locks(length: u64) -> Vec<Contender> {
    let half = Work::calibrate(Duration::from_nanos(length / 2));
    let mut contenders = vec![Contender::new("work", move |operations| {
        alone(operations, || {
            half.run();
            half.run();
        })
    })];
    contenders.extend(limits(false).map(|limit| {
        Contender::new("lock", move |operations| {
            take_turns(SpinLock::new(limit), 2, operations, half)
        })
    }));
    contenders.push(Contender::new("blitz-io Mutex", move |operations| {
        take_turns(blitz_io_sync::thread::Mutex::new(()), 2, operations, half)
    }));
    contenders
}

fn tokens(length: u64) -> Vec<Contender> {
    let answer = Work::calibrate(Duration::from_nanos(length));
    let mut contenders = vec![Contender::new("work", move |operations| {
        alone(operations, || answer.run())
    })];
    contenders.extend(limits(false).map(|limit| {
        Contender::new("token", move |handovers| {
            ping_pong(SpinToken::new(limit), handovers, answer)
        })
    }));
    contenders.push(Contender::new("blitz-io Parker", move |handovers| {
        ping_pong(Parkers::default(), handovers, answer)
    }));
    contenders
}

/// Measures the work of one thread that waits for no other.
fn alone(operations: u64, work: impl Fn()) -> Result<Done, Failure> {
    let start = Instant::now();
    (0..operations).for_each(|_| work());
    Ok(Done {
        elapsed: start.elapsed(),
        operations,
        waited: None,
    })
}

/// Measures the same lock with more threads than processors, where it matters whether a
/// thread that waits lets other threads run.
fn oversubscribed(effort: Effort) -> Result<String, Failure> {
    let half = Work::calibrate(Duration::from_nanos(500));
    let job = move |limit: Limit, operations: u64| -> Result<Done, Failure> {
        take_turns(SpinLock::new(limit), THREADS, operations, half)
    };
    let mut contenders: Vec<_> = [false, true]
        .into_iter()
        .flat_map(limits)
        .map(|limit| Contender::new("lock", move |operations| job(limit, operations)))
        .collect();
    contenders.push(Contender::new("blitz-io Mutex", move |operations| {
        take_turns(
            blitz_io_sync::thread::Mutex::new(()),
            THREADS,
            operations,
            half,
        )
    }));
    let figures = run(effort, &contenders)?;
    let (pausing, rest) = figures.split_at(LIMITS.len());
    let (yielding, ours) = rest.split_at(LIMITS.len());
    let mut rows: Vec<_> = LIMITS
        .iter()
        .zip(pausing.iter().zip(yielding))
        .map(|(&limit, (pausing, yielding))| {
            vec![name_of(limit), time(pausing.nanos), time(yielding.nanos)]
        })
        .collect();
    rows.push(vec![
        "blitz-io Mutex".to_owned(),
        String::new(),
        time(ours[0].nanos),
    ]);
    Ok(format!(
        "\n{THREADS} threads lock for 1 µs each: time of an operation\n{}",
        table(&["spins for", "pausing", "yielding"], rows)
    ))
}

fn by_limit(curves: &[Curve], ours: &str, value: impl Fn(&Curve, usize) -> f64) -> String {
    let mut header = vec!["spins for".to_owned()];
    header.extend(curves.iter().map(|curve| round(curve.length)));
    let names = LIMITS.iter().map(|&limit| name_of(limit));
    let rows = names
        .chain([format!("blitz-io {ours}")])
        .enumerate()
        .map(|(place, name)| {
            let values = curves.iter().map(|curve| time(value(curve, place)));
            [name].into_iter().chain(values).collect()
        });
    let header: Vec<_> = header.iter().map(String::as_str).collect();
    table(&header, rows.collect())
}

fn name_of(limit: u64) -> String {
    match limit {
        0 => "not at all".to_owned(),
        nanos => round(nanos),
    }
}

/// Returns the time of a call, in nanoseconds.
fn cost_of(call: impl Fn()) -> f64 {
    const CALLS: u32 = 1_000;
    let samples: Vec<_> = (0..21)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| call());
            start.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .collect();
    median(&samples)
}
