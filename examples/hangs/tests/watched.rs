//! `#[blitz_io::test(deadlock = "panic")]`: a test that can never end panics.

use blitz_io::inspect::Named;
use blitz_io::sync::Mutex;
use blitz_io::task;

#[blitz_io::test(deadlock = "panic")]
#[should_panic(expected = "self-wait")]
async fn a_test_that_waits_for_itself_panics() {
    let lock = Mutex::new(()).named("mine");
    let _guard = lock.lock().await;
    let _again = lock.lock().await;
}

#[blitz_io::test(deadlock = "panic", flavor = "multi_thread", worker_threads = 1)]
#[should_panic(expected = "self-wait")]
async fn a_test_that_awaits_a_stuck_task_panics() {
    let task = task::spawn(async {
        let lock = Mutex::new(());
        let _guard = lock.lock().await;
        let _again = lock.lock().await;
    });
    _ = task.await;
}

#[blitz_io::test(deadlock = "panic")]
async fn a_test_that_ends_is_left_alone() -> Result<(), task::JoinError> {
    let lock = std::sync::Arc::new(Mutex::new(1));
    let guard = lock.lock().await;
    let other = lock.clone();
    let task = task::spawn(async move { *other.lock().await += 1 });
    // Longer than the watchdog needs to see it twice.
    blitz_io::time::sleep(std::time::Duration::from_secs(1)).await;
    drop(guard);
    task.await?;
    assert_eq!(*lock.lock().await, 2);
    Ok(())
}
