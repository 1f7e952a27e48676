//! A thread and tasks on both ends of channels: one side blocks, the other awaits.

use blitz_io::sync::{mpsc, oneshot};

type Request = (String, oneshot::Sender<usize>);

/// A thread with a library that is not `Send`, or blocks.
fn library(mut requests: mpsc::Receiver<Request>) -> usize {
    let mut served = 0;
    while let Some((text, answer)) = requests.blocking_recv() {
        served += 1;
        // An error means that the task no longer wants the answer.
        _ = answer.send(text.len());
    }
    served
}

#[blitz_io::main]
async fn main() {
    let (requests, inbox) = mpsc::channel(16);
    let thread = std::thread::spawn(move || library(inbox));
    let mut tasks = blitz_io::task::JoinSet::new();
    for length in 0..10 {
        let requests = requests.clone();
        tasks.spawn(async move {
            let (answer, result) = oneshot::channel();
            requests.send(("x".repeat(length), answer)).await.unwrap();
            assert_eq!(result.await.unwrap(), length);
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    drop(requests); // ends the thread
    let served = thread.join().unwrap();
    println!("the thread has served {served} requests");
    assert_eq!(served, 10);
}
