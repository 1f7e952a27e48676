//! The attribute `#[blitz_io::sim]`.

use blitz_io::sync::{Mutex, mpsc};
use blitz_io::task;

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
#[should_panic(expected = "to replay: BLITZ_SIM_TRACE=1: cargo test --")]
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
