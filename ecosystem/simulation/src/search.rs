//! The number of schedules to the first failure: each search on each program of the corpus. It is a count, and so
//! depends on no clock. Each figure is the median of searches from different seeds.

use blitz_io::sim::{Builder, Schedule};

use crate::corpus::{ALL, Mistake};

/// A search ends after so many schedules.
const LIMIT: u64 = 20_000;
/// The distance between the seeds of two searches.
const DISTANCE: u64 = 1_000_003;

const SCHEDULES: [&str; 6] = ["random", "pct:3", "pos", "surw", "portfolio", "guided"];

fn runs(mistake: &Mistake, schedule: Schedule, search: u64) -> u64 {
    let builder = Builder::new()
        .schedule(schedule)
        .seed(search * DISTANCE)
        .seeds(LIMIT)
        .max_steps(10_000)
        .shrink(false);
    let checked = builder.check(mistake.run);
    checked.map_or_else(|failure| failure.runs(), |_| LIMIT)
}

/// Returns the geometric mean of numbers.
fn mean(figures: &[u64]) -> f64 {
    let logs: f64 = figures.iter().map(|&figure| (figure as f64).ln()).sum();
    (logs / figures.len() as f64).exp()
}

/// Prints the table, with the median of so many searches.
pub fn print(searches: u64) {
    std::panic::set_hook(Box::new(|_| {}));
    println!("| mistake | {} |", SCHEDULES.join(" | "));
    println!("|---|{}", "---:|".repeat(SCHEDULES.len()));
    let mut all = SCHEDULES.map(|_| Vec::new());
    for mistake in ALL {
        let mut cells = Vec::new();
        for (text, figures) in SCHEDULES.iter().zip(&mut all) {
            let schedule = text.parse().expect("it is a schedule");
            let mut found: Vec<u64> = (0..searches)
                .map(|search| runs(mistake, schedule, search))
                .collect();
            found.sort_unstable();
            let median = found[found.len() / 2];
            figures.push(median);
            cells.push(match median {
                LIMIT => "–".to_owned(),
                median => median.to_string(),
            });
        }
        println!("| {} | {} |", mistake.name, cells.join(" | "));
    }
    let means: Vec<String> = all
        .iter()
        .map(|figures| format!("{:.0}", mean(figures)))
        .collect();
    println!("| **geometric mean** | {} |", means.join(" | "));
}
