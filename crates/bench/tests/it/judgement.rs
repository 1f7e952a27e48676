//! Winners, losers and wrong results, seen from outside.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use blitz_io_bench::scenario::{OURS, verify};
use blitz_io_bench::tier::tier;
use blitz_io_bench::{
    Context, Document, Load, Sample, Scenario, Settings, runner, scenarios, threads,
};

/// Two warm-ups would make no difference here.
const SHORT: Settings = Settings {
    warmup: 1,
    iterations: 5,
    workers: 2,
    divisor: 1,
    load: Load::NONE,
};

fn document(scenario: Scenario) -> Document {
    let scenarios = [scenario];
    let outcome = runner::run(&scenarios, &SHORT, &AtomicBool::new(false), &mut ());
    Document::new(&outcome, &SHORT)
}

/// Returns a body that says that it took so long.
fn takes(time: Duration) -> impl Fn(&Context) -> blitz_io_bench::scenario::Measured {
    move |cx| {
        let (mut span, ()) = threads::solo(|| ());
        span.elapsed = time;
        Ok(Sample::new(span, cx.ops))
    }
}

#[test]
fn a_row_that_we_lose_is_called_lost() {
    let document = document(
        Scenario::new(1, "slow", "Slow", 10)
            .with(OURS, takes(Duration::from_millis(20)))
            .with("fast", takes(Duration::from_millis(1)))
            .with("middling", takes(Duration::from_millis(5))),
    );
    let row = &document.benchmarks["slow"];
    assert_eq!(row.best_peer.as_deref(), Some("fast"));
    assert_eq!(row.winner.as_deref(), Some("fast"));
    assert!(row.ratio.unwrap() < 1.0, "{row:?}");
    assert!(row.ratio_ci95.unwrap()[1] < 1.0, "{row:?}");
}

#[test]
fn who_loses_a_message_is_named_and_has_no_figures() {
    let document = document(
        Scenario::new(2, "leak", "Leak", 10)
            .with(OURS, takes(Duration::from_millis(1)))
            .with("leaky", |cx| {
                verify("messages that arrived", cx.ops, cx.ops - 1)?;
                unreachable!("the verification fails");
            }),
    );
    let failed = document.failure.unwrap();
    assert_eq!(
        (failed.scenario.as_str(), failed.contender.as_str()),
        ("leak", "leaky")
    );
    assert!(document.benchmarks.is_empty());
}

#[test]
fn the_registry_runs_tier_by_tier_and_its_names_can_be_typed() {
    let scenarios = scenarios::registry();
    assert!(scenarios.is_sorted_by_key(|scenario| scenario.tier));
    let mut names = HashSet::new();
    for scenario in &scenarios {
        assert!(names.insert(&scenario.id), "{} is there twice", scenario.id);
        let typed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(scenario.id.chars().all(typed), "{}", scenario.id);
        assert!(tier(scenario.tier).is_some());
    }
    for tier in 1..=5 {
        assert!(scenarios.iter().any(|s| s.tier == tier), "tier {tier}");
    }
}

#[test]
fn tokio_takes_part_in_every_row_of_the_first_three_tiers() {
    // The mean of the heap bytes is over these rows.
    for scenario in scenarios::registry() {
        let tokio = scenario.peers().any(|peer| peer == "tokio");
        assert!(tokio || scenario.tier > 3, "{}", scenario.id);
    }
}

#[test]
fn runtimes_are_measured_with_one_two_and_four_workers() {
    let scenarios = scenarios::registry();
    let rows: Vec<_> = scenarios.iter().filter(|s| s.tier == 5).collect();
    for family in [
        "spawn_await",
        "spawn_many",
        "yield_now",
        "spawn_chain",
        "join_set",
        "timer_cancel",
    ] {
        for workers in [1, 2, 4] {
            let id = format!("{family}_{workers}");
            let row = rows.iter().find(|row| row.id == id).expect(&id);
            assert_eq!(row.threads_under(&SHORT), workers, "{id}");
        }
    }
    for row in rows {
        assert!(row.peers().any(|peer| peer == "tokio"), "{}", row.id);
    }
}

#[test]
fn scenarios_on_a_runtime_have_as_many_threads_as_workers() {
    let scenarios = scenarios::registry();
    let on_runtime: Vec<_> = scenarios.iter().filter(|s| s.tier == 3).collect();
    assert!(!on_runtime.is_empty());
    for scenario in on_runtime {
        assert_eq!(scenario.threads_under(&Settings::FULL), 4);
        assert_eq!(scenario.threads_under(&SHORT), 2);
    }
}
