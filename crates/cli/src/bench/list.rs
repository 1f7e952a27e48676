//! `blitz bench --list`.

use blitz_io_bench::report::wrapped;
use blitz_io_bench::tier::tier;
use blitz_io_bench::{Scenario, Settings};
use serde::Serialize;

use crate::exit::Exit;
use crate::output;

#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    tier: u8,
    title: &'a str,
    threads: usize,
    ops_per_iter: u64,
    peers: Vec<&'static str>,
}

/// Prints the scenarios, for a reader or as JSON.
pub fn print(scenarios: &[Scenario], settings: &Settings, json: bool) -> Result<(), Exit> {
    let entries: Vec<Entry<'_>> = scenarios
        .iter()
        .map(|scenario| Entry {
            id: &scenario.id,
            tier: scenario.tier,
            title: &scenario.title,
            threads: scenario.threads_under(settings),
            ops_per_iter: scenario.scaled_ops(settings),
            peers: scenario.peers().collect(),
        })
        .collect();
    if json {
        return output::print_json(&entries);
    }
    output::print(&text(&entries, output::width()))
}

fn text(entries: &[Entry<'_>], width: Option<usize>) -> String {
    let lines = table(entries);
    let widest = lines.lines().map(|line| line.chars().count()).max();
    match width {
        Some(width) if widest > Some(width) => blocks(entries, width),
        _ => lines,
    }
}

/// Returns a line for each scenario.
fn table(entries: &[Entry<'_>]) -> String {
    let widest = |length: fn(&Entry<'_>) -> usize| entries.iter().map(length).max().unwrap_or(0);
    let ids = widest(|e| e.id.len());
    let titles = widest(|e| e.title.chars().count());
    let counts = widest(|e| e.count().len());
    by_tier(entries, |entry| {
        let (id, title, count) = (entry.id, entry.title, entry.count());
        let peers = entry.peers.join(", ");
        format!("  {id:ids$}  {title:titles$}  {count:counts$}  {peers}\n")
    })
}

/// Returns several lines for each scenario, none longer than `width`.
fn blocks(entries: &[Entry<'_>], width: usize) -> String {
    let text = by_tier(entries, |entry| {
        let (id, title, count) = (entry.id, entry.title, entry.count());
        let peers = entry.peers.join(", ");
        format!("  {id}\n      {title}\n      {count}; against {peers}\n")
    });
    wrapped(&text, Some(width))
}

fn by_tier(entries: &[Entry<'_>], show: impl Fn(&Entry<'_>) -> String) -> String {
    let mut text = String::new();
    let mut number = 0;
    for entry in entries {
        if entry.tier != number {
            number = entry.tier;
            let title = tier(number).map_or("", |tier| tier.title);
            text.push_str(&format!("Tier {number}: {title}\n"));
        }
        text.push_str(&show(entry));
    }
    text
}

impl Entry<'_> {
    /// Returns the number of threads, workers or processes.
    fn count(&self) -> String {
        tier(self.tier).map_or_else(String::new, |tier| tier.count(self.threads))
    }
}
