//! A test scheduler that moves a task to another thread at every await.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

/// A task for [`move_at_every_await`].
pub type MovingTask = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task between two polls; a wake-up sends it to the next thread.
struct Moving {
    task: Mutex<State>,
    threads: Vec<SyncSender<Arc<Moving>>>,
}

struct State {
    task: Option<MovingTask>,
    /// Tells whether it was woken while it was polled.
    woken: bool,
    next: usize,
}

impl Wake for Moving {
    fn wake(self: Arc<Self>) {
        let mut state = self.task.lock().unwrap();
        if state.task.is_none() {
            state.woken = true;
            return;
        }
        state.next += 1;
        let next = state.next % self.threads.len();
        drop(state);
        // A thread that has ended had no more work.
        _ = self.threads[next].send(self.clone());
    }
}

fn run(tasks: &Receiver<Arc<Moving>>) {
    while let Ok(moving) = tasks.recv() {
        let Some(mut task) = moving.task.lock().unwrap().task.take() else {
            continue;
        };
        let waker = Waker::from(moving.clone());
        let poll = task.as_mut().poll(&mut Context::from_waker(&waker));
        if poll.is_ready() {
            continue;
        }
        let mut state = moving.task.lock().unwrap();
        state.task = Some(task);
        if std::mem::take(&mut state.woken) {
            drop(state);
            waker.wake();
        }
    }
}

/// Runs tasks to their end on three threads. After each await another thread polls the
/// task. `enter` sets up each thread, such as by entering a runtime, and calls the function
/// that it gets.
///
/// # Panics
///
/// Panics if a task takes longer than `limit`: a wake-up was lost, or the task has
/// panicked.
pub fn move_at_every_await(
    tasks: Vec<MovingTask>,
    limit: Duration,
    enter: impl Fn(&mut dyn FnMut()) + Clone + Send + 'static,
) {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| sync_channel(64)).unzip();
    let start = |tasks: Receiver<_>| {
        let enter = enter.clone();
        thread::spawn(move || enter(&mut || run(&tasks)))
    };
    let threads: Vec<_> = receivers.into_iter().map(start).collect();
    let (done, all) = sync_channel(tasks.len());
    let count = tasks.len();
    for task in tasks {
        let done = done.clone();
        let task = async move {
            task.await;
            done.send(()).unwrap();
        };
        let state = State {
            task: Some(Box::pin(task)),
            woken: false,
            next: 0,
        };
        let moving = Moving {
            task: Mutex::new(state),
            threads: senders.clone(),
        };
        Arc::new(moving).wake();
    }
    for _ in 0..count {
        all.recv_timeout(limit).expect("a wake-up was lost");
    }
    drop(senders);
    for thread in threads {
        thread.join().unwrap();
    }
}
