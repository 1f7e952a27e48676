//! A future made by hand, and a `block_on` in twenty lines.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

// ANCHOR: future
/// What the future and the thread that works for it share.
#[derive(Default)]
struct Shared {
    answer: Option<u32>,
    waker: Option<Waker>,
}

/// Is ready when a thread has put an answer there.
struct Answer(Arc<Mutex<Shared>>);

impl Future for Answer {
    type Output = u32;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        let mut shared = self.0.lock().unwrap();
        match shared.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                // Under the lock, so the thread finds either no question yet, or this waker.
                shared.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn ask() -> Answer {
    let shared = Arc::new(Mutex::new(Shared::default()));
    let there = shared.clone();
    thread::spawn(move || {
        let mut shared = there.lock().unwrap();
        shared.answer = Some(6 * 7);
        if let Some(waker) = shared.waker.take() {
            waker.wake();
        }
    });
    Answer(shared)
}
// ANCHOR_END: future

// ANCHOR: block_on
/// Wakes a thread that has parked itself.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            // A wake-up that came first is remembered: then this returns at once.
            Poll::Pending => thread::park(),
        }
    }
}
// ANCHOR_END: block_on

fn main() {
    let answer = block_on(async {
        let answer = ask().await; // `await` polls, and returns `Pending` to its own caller
        answer + ask().await
    });
    println!("the answers add up to {answer}");
    assert_eq!(answer, 84);

    // blitz-io's primitives are futures like this one: they work here too.
    let notify = blitz_io::sync::Notify::new();
    notify.notify_one();
    block_on(notify.notified());
}
