//! `blitz bench --list`.

use blitz_bench::scenario::TIERS;
use blitz_bench::{Scenario, Settings};
use serde::Serialize;

use crate::exit::Exit;
use crate::output;

/// The tier in which threads are a runtime's workers.
const RUNTIME: u8 = 5;

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
    output::print(&text(&entries))
}

fn text(entries: &[Entry<'_>]) -> String {
    let widest = |length: fn(&Entry<'_>) -> usize| entries.iter().map(length).max().unwrap_or(0);
    let ids = widest(|e| e.id.len());
    let titles = widest(|e| e.title.chars().count());
    let mut text = String::new();
    let mut tier = 0;
    for entry in entries {
        if entry.tier != tier {
            tier = entry.tier;
            let title = TIERS[usize::from(tier) - 1];
            text.push_str(&format!("Tier {tier}: {title}\n"));
        }
        let (id, title, threads) = (entry.id, entry.title, entry.threads);
        let threads = match (entry.tier, threads) {
            (RUNTIME, 1) => "1 worker ".to_owned(),
            (RUNTIME, n) => format!("{n} workers"),
            (_, 1) => "1 thread ".to_owned(),
            (_, n) => format!("{n} threads"),
        };
        let peers = entry.peers.join(", ");
        text.push_str(&format!(
            "  {id:ids$}  {title:titles$}  {threads}  {peers}\n"
        ));
    }
    text
}
