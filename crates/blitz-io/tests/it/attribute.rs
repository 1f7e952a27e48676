//! The attribute `#[blitz_io::sim]`.

use std::time::Duration;

use blitz_io::sim;
use blitz_io::sync::{Mutex, mpsc};
use blitz_io::{task, time};

#[blitz_io::sim(seeds = 100)]
async fn a_value_arrives() {
    let (sender, mut receiver) = mpsc::channel(1);
    let task = task::spawn(async move { sender.send(7).await });
    assert_eq!(receiver.recv().await, Some(7));
    task.await.unwrap().unwrap();
}

#[blitz_io::sim(schedule = "exhaustive", check_determinism = true)]
async fn a_result_may_be_returned() -> Result<(), task::JoinError> {
    task::spawn(async {}).await
}

/// The number of runs ends it long before the time does.
#[blitz_io::sim(time = "1h", seeds = 20, schedule = "guided")]
async fn a_time_may_limit_the_runs() {
    let task = task::spawn(async { 1 });
    assert_eq!(task.await.unwrap(), 1);
}

#[blitz_io::sim(seed = 3, seeds = 50)]
#[should_panic(expected = "deadlock: no task is ready")]
async fn a_deadlock_is_a_panic() {
    let lock = Mutex::new(());
    let _guard = lock.lock().await;
    let _again = lock.lock().await;
}

#[blitz_io::sim]
#[should_panic(expected = "--test it attribute::the_panic_says_how_to_replay -- --exact")]
async fn the_panic_says_how_to_replay() {
    panic!("on purpose");
}

#[blitz_io::sim(
    allow_leaks = true,
    allow_panics = true,
    max_steps = 1_000,
    early_timers = true
)]
async fn a_test_may_leave_tasks() {
    task::spawn(std::future::pending::<()>());
    task::spawn(async { panic!("on purpose") });
}

/// The time is a simulated one, also if timers are early.
#[blitz_io::sim(early_timers = true, max_time = "2s", shrink = false)]
#[should_panic(expected = "it does not end in 2s of simulated time")]
async fn a_livelock_ends_in_simulated_time() {
    let tasks = [0; 2].map(|_| {
        task::spawn(async {
            loop {
                time::sleep(Duration::from_millis(100)).await;
                task::yield_now().await;
            }
        })
    });
    let [first, ..] = tasks;
    first.await.unwrap();
}

#[blitz_io::sim(seeds = 20, check_sometimes = true)]
#[should_panic(expected = "in 20 runs, `it rains` has never happened")]
async fn a_test_may_have_to_reach_each_state() {
    sim::sometimes("it rains", false);
    sim::sometimes("it does not rain", true);
}

/// A replay shows nothing of other runs.
#[blitz_io::sim(seeds = 1, check_sometimes = true)]
async fn a_single_run_need_not_reach_each_state() {
    sim::sometimes("it rains", false);
}

/// Programs for the next test.
#[blitz_io::sim(seeds = 20)]
async fn a_state_is_never_reached() {
    sim::sometimes("it rains", false);
}

#[blitz_io::sim(schedule = "exhaustive")]
async fn each_order_is_tried() {
    let task = task::spawn(async {});
    task::yield_now().await;
    task.await.unwrap();
}

/// It has more orders than other searches have runs by default.
#[blitz_io::sim(schedule = "exhaustive")]
async fn all_orders_are_tried() {
    let tasks = [(); 2].map(|()| {
        task::spawn(async {
            for _ in 0..4 {
                task::yield_now().await;
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
}

#[blitz_io::sim(schedule = "exhaustive:1", seeds = 1)]
async fn one_order_is_tried() {
    let task = task::spawn(async {});
    task::yield_now().await;
    task.await.unwrap();
}

fn output_of(test: &str) -> String {
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--show-output"])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn a_test_that_passes_says_what_it_has_tried() {
    let text = output_of("attribute::a_state_is_never_reached");
    assert!(
        text.contains("in 20 runs, `it rains` has never happened"),
        "{text}"
    );
    let text = output_of("attribute::each_order_is_tried");
    assert!(
        text.contains("all passed: ") && text.contains(" orders\n"),
        "{text}"
    );
    let text = output_of("attribute::all_orders_are_tried");
    let (_, count) = text.split_once("all passed: ").expect(&text);
    let count: u64 = count.split(' ').next().unwrap().parse().unwrap();
    assert!(count > 1_000, "{text}");
    // One run is no search.
    assert!(!output_of("attribute::one_order_is_tried").contains("passed: "));
}
