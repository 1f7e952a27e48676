//! The programs of `crates/sim/examples/corpus` with shuttle and turmoil: schedules and seconds to the first failure, as
//! the median of five searches from different seeds.
//!
//! Shuttle runs the same source with its own locks, channels and threads (`system.rs`). It has no sockets. Turmoil
//! runs tasks in one order, with a network: the two programs with sockets are written anew for it (`network.rs`).
//!
//! Arguments are names of programs.

#[path = "../../../crates/sim/examples/corpus/bugs.rs"]
#[allow(dead_code, reason = "the names of faults are for `blitz sim`")]
mod bugs;
mod network;
mod schedules;
mod system;

use std::env;
use std::time::{Duration, Instant};

use bugs::BUGS;
use schedules::Order;

/// Time of each search.
const LIMIT: Duration = Duration::from_secs(60);
/// Searches for each figure.
const SEARCHES: u64 = 5;
/// The distance between the first seeds of two searches.
const DISTANCE: u64 = 1_000_003;

/// Searches from five seeds. Ends with the first search that finds nothing.
fn median(search: impl Fn(u64) -> (u64, bool)) -> String {
    let mut all = vec![];
    for number in 0..SEARCHES {
        let start = Instant::now();
        let (runs, is_found) = search(number * DISTANCE);
        let took = start.elapsed();
        if !is_found {
            return format!("nothing in {runs}");
        }
        all.push((runs, took.as_secs_f64()));
    }
    all.sort_by_key(|(runs, _)| *runs);
    let (runs, took) = all[all.len() / 2];
    format!("{runs} ({took:.2} s)")
}

fn main() {
    // Failures are what is looked for.
    std::panic::set_hook(Box::new(|_| {}));
    let wanted: Vec<String> = env::args().skip(1).collect();
    println!("| fault | like | shuttle, random | shuttle, pct:3 | shuttle, urw | turmoil |");
    println!("|---|---|--:|--:|--:|--:|");
    for bug in &BUGS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == bug.name) {
            continue;
        }
        let program = network::PROGRAMS.iter().find(|(name, _)| *name == bug.name);
        let cells = match program {
            Some((_, run)) => [
                "–".into(),
                "–".into(),
                "–".into(),
                median(|seed| network::search(*run, seed)),
            ],
            None => {
                let [random, pct, urw] = [Order::Random, Order::Pct, Order::Urw]
                    .map(|order| median(|seed| schedules::search(bug.run, order, seed)));
                [random, pct, urw, "–".into()]
            }
        };
        println!("| {} | {} | {} |", bug.name, bug.origin, cells.join(" | "));
    }
}
