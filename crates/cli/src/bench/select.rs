//! Selects scenarios and peers.

use std::collections::BTreeSet;

use blitz_io_bench::scenario::OURS;
use blitz_io_bench::tier::tier;
use blitz_io_bench::{Scenario, scenarios};
use regex::{Regex, RegexBuilder};

use super::Arguments;
use crate::exit::Exit;

/// The word for "no peers at all".
const NOBODY: &str = "none";

/// Returns the scenarios that the arguments select, with the selected peers.
pub fn select(arguments: &Arguments) -> Result<Vec<Scenario>, Exit> {
    let mut chosen = scenarios::registry();
    let tiers: BTreeSet<u8> = chosen.iter().map(|s| s.tier).collect();
    if let Some(unknown) = arguments.tier.iter().find(|tier| !tiers.contains(tier)) {
        return Err(Exit::usage(
            format_args!("--tier: there is no tier {unknown}"),
            format_args!("The tiers are {}.", named(&tiers)),
        ));
    }
    keep_peers(&mut chosen, &arguments.peers)?;
    if let Some(pattern) = &arguments.filter {
        let pattern = regex(pattern)?;
        chosen
            .retain(|scenario| pattern.is_match(&scenario.id) || pattern.is_match(&scenario.title));
    }
    if !arguments.tier.is_empty() {
        chosen.retain(|scenario| arguments.tier.contains(&scenario.tier));
    }
    let rows_are_chosen = arguments.filter.is_some() || !arguments.tier.is_empty();
    if arguments.quick && !arguments.all && !rows_are_chosen {
        keep_one_of_each_kind(&mut chosen);
    }
    if chosen.is_empty() {
        return Err(nothing_left(arguments, &tiers));
    }
    Ok(chosen)
}

fn regex(pattern: &str) -> Result<Regex, Exit> {
    let regex = RegexBuilder::new(pattern).case_insensitive(true).build();
    regex.map_err(|error| {
        Exit::usage(
            format_args!("--filter: {error}"),
            "Characters such as ( [ * + have a meaning there; put a backslash before one that is meant literally.",
        )
    })
}

/// Keeps the first scenario of each kind. Scenarios of one kind differ only in numbers, such as
/// threads, workers and capacities.
fn keep_one_of_each_kind(scenarios: &mut Vec<Scenario>) {
    let mut kinds = BTreeSet::new();
    scenarios.retain(|scenario| kinds.insert((scenario.tier, kind(&scenario.id))));
}

/// Returns the parts of a scenario's name that have no digit: `mutex_contended_8_short` is of the
/// kind `mutex_contended_short`.
fn kind(id: &str) -> String {
    let words = id.split('_');
    let named: Vec<&str> = words
        .filter(|word| !word.contains(|c: char| c.is_ascii_digit()))
        .collect();
    named.join("_")
}

/// Removes the other peers, and the scenarios that have no peer left.
fn keep_peers(scenarios: &mut Vec<Scenario>, wanted: &[String]) -> Result<(), Exit> {
    if wanted.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<&str> = scenarios.iter().flat_map(Scenario::peers).collect();
    let alone = wanted == [NOBODY];
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(name.as_str()))
        && !alone
    {
        let known: Vec<&str> = known.into_iter().collect();
        let problem = match unknown.as_str() {
            NOBODY => format!("--peers: '{NOBODY}' and others exclude each other"),
            unknown => format!("--peers: there is no peer '{unknown}'"),
        };
        return Err(Exit::usage(
            problem,
            format_args!(
                "The peers are {}. {OURS} always takes part; `--peers {NOBODY}` runs it alone.",
                known.join(", ")
            ),
        ));
    }
    for scenario in scenarios.iter_mut() {
        scenario
            .contenders
            .retain(|c| c.name == OURS || wanted.iter().any(|name| name == c.name));
    }
    scenarios.retain(|scenario| alone || scenario.peers().count() > 0);
    Ok(())
}

fn nothing_left(arguments: &Arguments, tiers: &BTreeSet<u8>) -> Exit {
    let mut asked = Vec::new();
    for tier in &arguments.tier {
        asked.push(format!("--tier {tier}"));
    }
    if let Some(pattern) = &arguments.filter {
        asked.push(format!("--filter '{pattern}'"));
    }
    if !arguments.peers.is_empty() {
        asked.push(format!("--peers {}", arguments.peers.join(",")));
    }
    Exit::usage(
        format_args!("no scenario is left with {}", asked.join(" ")),
        format_args!(
            "`blitz bench --list` shows all scenarios. The tiers are {}.",
            named(tiers)
        ),
    )
}

/// Lists the tiers with their titles.
fn named(tiers: &BTreeSet<u8>) -> String {
    let name = |&number: &u8| match tier(number) {
        Some(tier) => format!("{number} ({})", tier.title),
        None => number.to_string(),
    };
    tiers.iter().map(name).collect::<Vec<_>>().join(", ")
}
