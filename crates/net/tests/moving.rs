//! A task that is on another thread, and another worker's, at every await.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::runtime::Handle;

use crate::help::{multi, pair};

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task between two polls; a wake sends it to the next thread.
struct Moving {
    task: Mutex<State>,
    threads: Vec<SyncSender<Arc<Moving>>>,
}

struct State {
    task: Option<Task>,
    /// It was woken while it was polled.
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
        // A thread that is gone had no more to do.
        _ = self.threads[next].send(self.clone());
    }
}

fn run(tasks: &Receiver<Arc<Moving>>, handle: &Handle) {
    let _runtime = handle.enter();
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

#[test]
fn a_task_may_move_at_every_await() {
    let runtime = multi(2);
    let (mut client, mut server) = runtime.block_on(pair());
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..3).map(|_| sync_channel(64)).unzip();
    let threads: Vec<_> = receivers
        .into_iter()
        .map(|tasks| {
            let handle = runtime.handle().clone();
            thread::spawn(move || run(&tasks, &handle))
        })
        .collect();
    let (done, both) = sync_channel(2);
    let other = done.clone();
    let start = |task: Task| {
        let state = State {
            task: Some(task),
            woken: false,
            next: 0,
        };
        let moving = Moving {
            task: Mutex::new(state),
            threads: senders.clone(),
        };
        Arc::new(moving).wake();
    };
    start(Box::pin(async move {
        let mut buffer = [0; 4];
        for _ in 0..2_000 {
            server.read_exact(&mut buffer).await.unwrap();
            server.write_all(&buffer).await.unwrap();
        }
        done.send(()).unwrap();
    }));
    start(Box::pin(async move {
        for round in 0..2_000 {
            client.write_u32(round).await.unwrap();
            assert_eq!(client.read_u32().await.unwrap(), round);
        }
        other.send(()).unwrap();
    }));
    for _ in 0..2 {
        both.recv_timeout(crate::help::LIMIT)
            .expect("an event was lost");
    }
    drop(senders);
    drop(runtime);
    for thread in threads {
        thread.join().unwrap();
    }
}
