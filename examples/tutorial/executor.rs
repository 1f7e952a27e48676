//! An executor for many tasks, in one thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

// ANCHOR: executor
type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task: a future, and the queue that it enters when it is woken.
struct Task {
    future: Mutex<Option<Work>>,
    ready: Sender<Arc<Task>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        _ = self.ready.clone().send(self); // the executor may have ended
    }
}

/// Runs tasks until none of them can go on.
fn run(futures: Vec<Work>) -> usize {
    let (ready, queue) = channel();
    for future in futures {
        let future = Mutex::new(Some(future));
        ready
            .send(Arc::new(Task {
                future,
                ready: ready.clone(),
            }))
            .unwrap();
    }
    let mut polls = 0;
    // `recv` would sleep until a task is woken; this example ends instead.
    while let Ok(task) = queue.try_recv() {
        polls += 1;
        let mut future = task.future.lock().unwrap();
        let Some(running) = &mut *future else {
            continue;
        };
        let waker = Waker::from(task.clone());
        if running
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready()
        {
            *future = None; // drops all that the task had
        }
    }
    polls
}
// ANCHOR_END: executor

/// Lets the other tasks run once.
async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref(); // into the queue again, at its end
        Poll::Pending
    })
    .await;
}

fn main() {
    let (sender, mut receiver) = blitz_io::sync::mpsc::channel(1);
    let polls = run(vec![
        Box::pin(async move {
            for number in 1..=3 {
                sender.send(number).await.unwrap();
                pause().await;
            }
        }),
        Box::pin(async move {
            while let Some(number) = receiver.recv().await {
                println!("received {number}");
            }
            println!("all senders are gone");
        }),
    ]);
    println!("{polls} polls of two tasks, in one thread");
}
