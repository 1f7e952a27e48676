//! Workloads for rayon's iterators. Without arguments, prints a line for each workload,
//! with its nanoseconds and a checksum. `compare ROUNDS OURS THEIRS` runs two such programs
//! alternately and prints the medians.

use std::error::Error;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::Instant;

use rayon::prelude::*;

type Row = (String, u64, u64);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => {
            measure();
            Ok(())
        }
        ["compare", rounds, ours, theirs] => compare(rounds, ours, theirs),
        _ => Err("usage: rayon-bench [compare ROUNDS OURS THEIRS]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rayon-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() {
    let numbers = numbers(10_000_000);
    row("sum of 10 M", || black_box(&numbers).par_iter().sum());
    let short = &numbers[..10_000];
    row("sum of 10 k, a thousand times", || {
        (0..1_000)
            .map(|_| black_box(short).par_iter().sum::<u64>())
            .fold(0, u64::wrapping_add)
    });
    let million = &numbers[..1_000_000];
    row("merge sort of 1 M", || {
        let mut sorted = million.to_vec();
        sorted.par_sort();
        in_order(&sorted)
    });
    row("quick sort of 1 M", || {
        let mut sorted = million.to_vec();
        sorted.par_sort_unstable();
        in_order(&sorted)
    });
    row("map, filter and collect of 1 M", || {
        let halves = million.par_iter().map(|n| n / 2).filter(|n| n % 3 == 0);
        halves.collect::<Vec<_>>().into_iter().sum()
    });
    row("chunks of 1 k of 10 M", || {
        let largest = numbers.par_chunks(1_000).map(|chunk| chunk.iter().max());
        largest.flatten().map(|n| n % 1_000).sum()
    });
}

/// Returns the same numbers in every run, small enough for their sum.
fn numbers(len: usize) -> Vec<u64> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        state >> 32
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn in_order(sorted: &[u64]) -> u64 {
    assert!(sorted.is_sorted());
    sorted.iter().sum()
}

/// Prints the median of seven runs after one that warms up.
fn row(name: &str, run: impl Fn() -> u64) {
    let checksum = run();
    let mut times: Vec<u128> = (0..7)
        .map(|_| {
            let begin = Instant::now();
            assert_eq!(run(), checksum, "{name}");
            begin.elapsed().as_nanos()
        })
        .collect();
    times.sort();
    println!("{name}\t{}\t{checksum}", times[3]);
}

fn compare(rounds: &str, ours: &str, theirs: &str) -> Result<(), Box<dyn Error>> {
    let mut runs: [Vec<Vec<Row>>; 2] = Default::default();
    for _ in 0..rounds.parse::<usize>()?.max(1) {
        for (program, runs) in [ours, theirs].into_iter().zip(&mut runs) {
            runs.push(rows_of(program)?);
        }
    }
    let [ours, theirs] = runs;
    println!(
        "{:32} {:>12} {:>12} {:>6}  lowest to highest",
        "", "ours, ms", "theirs, ms", "ratio"
    );
    for (i, (name, _, checksum)) in ours[0].iter().enumerate() {
        let sums = ours.iter().chain(&theirs).map(|run| run[i].2);
        if sums.into_iter().any(|sum| sum != *checksum) {
            return Err(format!("{name}: results differ").into());
        }
        let mut ratios: Vec<f64> = ours
            .iter()
            .zip(&theirs)
            .map(|(ours, theirs)| theirs[i].1 as f64 / ours[i].1 as f64)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let median = |runs: &[Vec<Row>]| {
            let mut times: Vec<u64> = runs.iter().map(|run| run[i].1).collect();
            times.sort();
            times[times.len() / 2] as f64 / 1e6
        };
        println!(
            "{name:32} {:>12.3} {:>12.3} {:>6.2}  {:.2} to {:.2}",
            median(&ours),
            median(&theirs),
            ratios[ratios.len() / 2],
            ratios[0],
            ratios[ratios.len() - 1],
        );
    }
    Ok(())
}

fn rows_of(program: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    let output = Command::new(program).output()?;
    if !output.status.success() {
        return Err(format!("{program}: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    text.lines()
        .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [name, time, checksum] => Ok((name.to_owned(), time.parse()?, checksum.parse()?)),
            _ => Err(format!("{program}: {line:?} is no row").into()),
        })
        .collect()
}
