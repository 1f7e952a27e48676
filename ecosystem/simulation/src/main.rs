//! Simulated schedules per second: blitz-io beside shuttle, on the shapes of shuttle's benchmarks
//! (`buffer`, `counter`, `lock`, `create`).
//!
//! The two take turns, and each figure is the median of the rounds. Shuttle has its own locks, and threads
//! where its benchmarks have them; blitz-io has tasks and the locks that ship. Both switch before each operation. Both
//! use one thread at a time, and the seconds are those of the processor, so that other programs matter less.
//!
//! The arguments are the number of rounds, and a part of the names of the shapes. With the first argument `search`, it
//! counts the schedules to the first failure instead: see `search.rs`. With `hour` it measures an hour of simulated
//! time: see `hour.rs`. With `ours` or `theirs` it only runs one side, for a profiler: `ours 1000 "create, 5" random`.

mod corpus;
mod hour;
mod ours;
mod search;
mod theirs;

use std::time::Duration;

/// How long one measurement takes at least.
const LEAST: Duration = Duration::from_millis(300);

/// A schedule that both have.
#[derive(Clone, Copy)]
pub enum Schedule {
    Random,
    /// With depth 2.
    Pct,
}

/// One shape: its name, and a function for each that runs it with this schedule so many times.
struct Shape {
    name: &'static str,
    ours: fn(Schedule, usize),
    theirs: fn(Schedule, usize),
}

const SHAPES: [Shape; 7] = [
    Shape {
        name: "buffer",
        ours: ours::buffer,
        theirs: theirs::buffer,
    },
    Shape {
        name: "counter, 5 tasks",
        ours: |schedule, n| ours::counter(schedule, n, 5, 2_000),
        theirs: |schedule, n| theirs::counter(schedule, n, 5, 2_000),
    },
    Shape {
        name: "counter, 100 tasks",
        ours: |schedule, n| ours::counter(schedule, n, 100, 100),
        theirs: |schedule, n| theirs::counter(schedule, n, 100, 100),
    },
    Shape {
        name: "lock, 5 tasks",
        ours: |schedule, n| ours::lock(schedule, n, 5, 2_000),
        theirs: |schedule, n| theirs::lock(schedule, n, 5, 2_000),
    },
    Shape {
        name: "lock, 100 tasks",
        ours: |schedule, n| ours::lock(schedule, n, 100, 100),
        theirs: |schedule, n| theirs::lock(schedule, n, 100, 100),
    },
    Shape {
        name: "create, 5 tasks",
        ours: |schedule, n| ours::create(schedule, n, 5),
        theirs: |schedule, n| theirs::create(schedule, n, 5),
    },
    Shape {
        name: "create, 100 tasks",
        ours: |schedule, n| ours::create(schedule, n, 100),
        theirs: |schedule, n| theirs::create(schedule, n, 100),
    },
];

const SCHEDULES: [(&str, Schedule); 2] = [("random", Schedule::Random), ("pct:2", Schedule::Pct)];

/// Returns the schedules per second of one measurement.
fn measure(run: fn(Schedule, usize), schedule: Schedule) -> f64 {
    let mut runs = 1;
    loop {
        let start = processor_time();
        run(schedule, runs);
        let elapsed = processor_time() - start;
        if elapsed >= LEAST {
            return runs as f64 / elapsed.as_secs_f64();
        }
        runs *= 2;
    }
}

/// Returns the time for which processors have run this process.
pub fn processor_time() -> Duration {
    // SAFETY: zeros are a valid value of all fields.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a `timespec`.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "the system has no such clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs one side of the shapes with this part in their names, without a measurement.
fn run_only(is_ours: bool, runs: usize, part: &str, schedule: &str) {
    let schedule = SCHEDULES.iter().find(|(name, _)| *name == schedule);
    let (_, schedule) = schedule.expect("the last argument is a schedule");
    for shape in SHAPES.iter().filter(|shape| shape.name.contains(part)) {
        let run = if is_ours { shape.ours } else { shape.theirs };
        run(*schedule, runs);
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let modes = ["search", "hour", "ours", "theirs"];
    let what = arguments.next_if(|text| modes.contains(&text.as_str()));
    let rounds: usize = match arguments.next() {
        Some(text) => text.parse().expect("the argument is the number of rounds"),
        None => 5,
    };
    let part = arguments.next().unwrap_or_default();
    match what.as_deref() {
        Some("search") => return search::print(rounds as u64),
        Some("hour") => return hour::print(rounds as u64),
        Some(side) => {
            let schedule = arguments.next().unwrap_or_else(|| "random".into());
            return run_only(side == "ours", rounds, &part, &schedule);
        }
        None => {}
    }
    println!("| shape | schedule | blitz-io, per second | shuttle 0.9.3 | times |");
    println!("|---|---|---:|---:|---:|");
    for shape in SHAPES.iter().filter(|shape| shape.name.contains(&part)) {
        for (name, schedule) in SCHEDULES {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                ours.push(measure(shape.ours, schedule));
                theirs.push(measure(shape.theirs, schedule));
            }
            let (ours, theirs) = (median(ours), median(theirs));
            let times = ours / theirs;
            println!(
                "| {} | {name} | {ours:.0} | {theirs:.0} | {times:.1} |",
                shape.name
            );
        }
    }
    println!(
        "\nblitz-io takes {:.1} million steps a second in `lock, 5 tasks`",
        ours::steps() / 1e6
    );
}
