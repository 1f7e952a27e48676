//! How fast simulation is. These tests print figures, and gate nothing:
//! `cargo test --release -p blitz-io-sim --test it -- --ignored --nocapture --test-threads 1 speed`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use blitz_io_sim::{Program, Schedule, Simulator, Verdict};

use crate::counts::independent;
use crate::service::REQUESTS;
use crate::support::{c, run, test};

#[test]
#[ignore = "measures"]
fn schedules_in_a_second() {
    // Two threads with five operations each.
    let compiled = c(&independent(5));
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for schedule in [Schedule::Random, Schedule::Portfolio] {
        let start = Instant::now();
        let mut seeds = 0;
        while start.elapsed() < Duration::from_secs(2) {
            let outcome = run(&mut simulator, schedule, seeds);
            assert_eq!(outcome.verdict, Verdict::Passed);
            seeds += 1;
        }
        let rate = seeds as f64 / start.elapsed().as_secs_f64();
        println!("{schedule}: {rate:.0} schedules a second");
    }
}

#[test]
#[ignore = "measures"]
fn points_in_a_second() {
    let compiled = c(&independent(400_000));
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for schedule in [Schedule::Script, Schedule::Random, Schedule::RoundRobin] {
        let start = Instant::now();
        let outcome = run(&mut simulator, schedule, 1);
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
        let rate = outcome.points as f64 / start.elapsed().as_secs_f64();
        println!("{schedule}: {rate:.0} points a second");
    }
}

fn natively(program: &Program) -> Duration {
    let start = Instant::now();
    let status = Command::new(&program.path)
        .args(&program.arguments)
        .envs(program.variables.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    start.elapsed()
}

#[test]
#[ignore = "measures"]
fn a_request_of_http() {
    let program = test("service::service_program_answers_many_requests");
    let mut simulator = Simulator::start(&program).unwrap();
    let native = natively(&program);
    for seed in [1, 2, 4] {
        let start = Instant::now();
        let outcome = run(&mut simulator, Schedule::Random, seed);
        let took = start.elapsed();
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
        let each = |time: Duration| time.as_secs_f64() * 1e6 / REQUESTS as f64;
        println!(
            "seed {seed}: {:.1} us a request, {:.1} natively, {:.1} points",
            each(took),
            each(native),
            outcome.points as f64 / REQUESTS as f64
        );
    }
}
