//! Tasks of another runtime, which poll futures of this library: a small executor, whose threads share one queue.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex as StdMutex, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread as os;
use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::sync::{Barrier, Mutex};
use blitz_io::thread;

use crate::meeting;

/// The tasks of an executor. It keeps them all, as a task that waits may have no waker.
#[derive(Default)]
struct Executor {
    all: StdMutex<Vec<Arc<Task>>>,
    ready: StdMutex<VecDeque<Arc<Task>>>,
    is_ready: Condvar,
}

struct Task {
    future: StdMutex<Pin<Box<dyn Future<Output = ()> + Send>>>,
    executor: Arc<Executor>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let executor = self.executor.clone();
        executor.ready.lock().unwrap().push_back(self);
        executor.is_ready.notify_one();
    }
}

impl Executor {
    /// Starts a task. Its future is not dropped before the program ends.
    fn spawn(self: &Arc<Self>, future: impl Future<Output = ()> + Send + 'static) {
        let task = Arc::new(Task {
            future: StdMutex::new(Box::pin(async {
                future.await;
                pending().await
            })),
            executor: self.clone(),
        });
        self.all.lock().unwrap().push(task.clone());
        Waker::from(task).wake();
    }

    fn start_thread(self: &Arc<Self>) {
        let this = self.clone();
        start("executor", move || {
            loop {
                let ready = this.ready.lock().unwrap();
                let mut ready = this.is_ready.wait_while(ready, |ready| ready.is_empty());
                let task = ready.as_mut().unwrap().pop_front().expect("there is one");
                drop(ready);
                let waker = Waker::from(task.clone());
                let mut future = task.future.lock().unwrap();
                _ = future.as_mut().poll(&mut Context::from_waker(&waker));
            }
        });
    }
}

fn start(name: &str, body: impl FnOnce() + Send + 'static) {
    let thread = os::Builder::new().name(name.into());
    thread.spawn(body).expect("the system has threads");
}

/// Keeps a thread that might wake a task, as a runtime with timers has one.
fn may_wake() -> ! {
    loop {
        os::sleep(Duration::from_secs(1));
    }
}

/// Two tasks of another runtime take two mutexes in two orders. No finding about them is certain: their runtime may poll
/// them for another reason.
pub fn two_mutexes() {
    let executor = Arc::<Executor>::default();
    let (one, two) = (
        Arc::new(Mutex::new(0).named("one")),
        Arc::new(Mutex::new(0).named("two")),
    );
    let both = Arc::new(Barrier::new(meeting(2)));
    let (ended, has_ended) = mpsc::channel();
    for (first, second) in [(&one, &two), (&two, &one)] {
        let (first, second, both) = (first.clone(), second.clone(), both.clone());
        let ended = ended.clone();
        executor.spawn(async move {
            let _first = first.lock().await;
            both.wait().await;
            let _second = second.lock().await;
            ended.send(()).expect("the main thread waits for it");
        });
    }
    for _ in 0..2 {
        executor.start_thread();
    }
    for _ in 0..2 {
        // A deadline: this thread might wake a task.
        while has_ended.recv_timeout(Duration::from_secs(1)).is_err() {}
    }
}

/// A task of another runtime holds a lock and waits for something without a record. The thread that has polled it last is blocked
/// by another task, for a thread that waits for the lock. It looks like a deadlock of two threads, but any other thread of that
/// runtime may poll the first task. A further task that the same thread has polled waits for the lock, too.
pub fn polled_elsewhere() {
    let executor = Arc::<Executor>::default();
    let ours = Arc::new(thread::Mutex::new(0));
    let theirs = Arc::new(Mutex::new(0).named("theirs"));
    let (locked, is_locked) = mpsc::channel();
    let (a, b) = (ours.clone(), theirs.clone());
    let (hold, holds) = mpsc::channel();
    start("mover", move || {
        let _ours = a.lock();
        hold.send(()).expect("the main thread waits for it");
        is_locked.recv().expect("a task sends it");
        drop(b.blocking_lock());
    });
    holds.recv().expect("the thread sends it");
    let b = theirs.clone();
    executor.spawn(async move {
        let _theirs = b.lock().await;
        locked.send(()).expect("the thread waits for it");
        pending().await
    });
    executor.spawn(async move { drop(theirs.lock().await) });
    executor.spawn(async move { drop(ours.lock()) });
    executor.start_thread();
    may_wake();
}
