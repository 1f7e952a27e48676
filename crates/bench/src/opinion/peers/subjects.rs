//! The compared primitives, the promises of each, and one uncontended operation of it.

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs an operation as often as requested.
pub type Operate = Box<dyn Fn(u32)>;

/// One primitive.
pub struct Subject {
    pub what: &'static str,
    pub who: &'static str,
    /// Which of several waiters is served.
    pub order: &'static str,
    /// Whether a panic inside is remembered.
    pub poisons: bool,
    /// The kind of waiter: a thread, or a task.
    pub waits: &'static str,
    pub bytes: usize,
    make: fn() -> Operate,
}

impl Subject {
    /// Returns the argument that names the subject.
    pub fn id(&self) -> String {
        format!("{} of {}", self.what, self.who)
    }

    /// Creates a fresh primitive, and returns how to use it.
    pub fn operate(&self) -> Operate {
        (self.make)()
    }
}

/// The loop around the operations, without any operation.
pub const NOTHING: &str = "loop of nobody";

pub fn find(id: &str) -> Option<Subject> {
    all().into_iter().find(|subject| subject.id() == id)
}

/// Returns the output of a future that need not wait.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("nobody else is there, and yet it waits"),
    }
}

/// Drops the result of an operation, be it a guard or nothing.
#[inline(always)]
fn finish<T>(_: T) {}

/// The operation is to get `$get` from `$thing`, and to drop it.
macro_rules! subject {
    ($what:literal, $who:literal, $order:literal, $poisons:literal, $waits:literal,
     $type:ty, $new:expr, |$thing:ident| $get:expr) => {
        Subject {
            what: $what,
            who: $who,
            order: $order,
            poisons: $poisons,
            waits: $waits,
            bytes: size_of::<$type>(),
            make: || {
                let thing: Box<$type> = Box::new($new);
                Box::new(move |operations| {
                    for _ in 0..operations {
                        let $thing: &$type = black_box(&*thing);
                        finish($get);
                    }
                })
            },
        }
    };
}

const BARGE: &str = "whoever comes; in turn after 2 ms";

/// All primitives, ours first in each group.
#[rustfmt::skip]
pub fn all() -> Vec<Subject> {
    use blitz_io_sync::task as tasks;
    use blitz_io_sync::thread as ours;
    use tokio::sync as tokio;

    vec![
        Subject {
            what: "loop", who: "nobody", order: "", poisons: false, waits: "", bytes: 0,
            make: || Box::new(|operations| for _ in 0..operations { black_box(&()); }),
        },
        Subject { order: BARGE, ..subject!("mutex", "blitz-io", "", false, "thread", ours::Mutex<()>, ours::Mutex::new(()), |m| m.lock()) },
        subject!("mutex", "blitz-io, fair", "first come", false, "thread", ours::FairMutex<()>, ours::FairMutex::new(()), |m| m.lock()),
        subject!("mutex", "std", "whoever comes", true, "thread", std::sync::Mutex<()>, std::sync::Mutex::new(()), |m| m.lock()),
        subject!("mutex", "parking_lot", "whoever comes; in turn after 0.5 ms", false, "thread", parking_lot::Mutex<()>, parking_lot::Mutex::new(()), |m| m.lock()),
        subject!("mutex", "tokio", "first come", false, "task", tokio::Mutex<()>, tokio::Mutex::new(()), |m| now(m.lock())),
        subject!("mutex", "blitz-io, tasks", "first come", false, "task", tasks::Mutex<()>, tasks::Mutex::new(()), |m| now(m.lock())),

        Subject { order: BARGE, ..subject!("read", "blitz-io", "", false, "thread", ours::RwLock<()>, ours::RwLock::new(()), |l| l.read()) },
        subject!("read", "std", "whoever comes", true, "thread", std::sync::RwLock<()>, std::sync::RwLock::new(()), |l| l.read()),
        subject!("read", "parking_lot", "whoever comes; in turn after 0.5 ms", false, "thread", parking_lot::RwLock<()>, parking_lot::RwLock::new(()), |l| l.read()),
        subject!("read", "tokio", "first come", false, "task", tokio::RwLock<()>, tokio::RwLock::new(()), |l| now(l.read())),
        subject!("read", "blitz-io, tasks", "first come", false, "task", tasks::RwLock<()>, tasks::RwLock::new(()), |l| now(l.read())),

        Subject { order: BARGE, ..subject!("write", "blitz-io", "", false, "thread", ours::RwLock<()>, ours::RwLock::new(()), |l| l.write()) },
        subject!("write", "std", "whoever comes", true, "thread", std::sync::RwLock<()>, std::sync::RwLock::new(()), |l| l.write()),
        subject!("write", "parking_lot", "whoever comes; in turn after 0.5 ms", false, "thread", parking_lot::RwLock<()>, parking_lot::RwLock::new(()), |l| l.write()),
        subject!("write", "tokio", "first come", false, "task", tokio::RwLock<()>, tokio::RwLock::new(()), |l| now(l.write())),
        subject!("write", "blitz-io, tasks", "first come", false, "task", tasks::RwLock<()>, tasks::RwLock::new(()), |l| now(l.write())),

        Subject { order: BARGE, ..subject!("semaphore", "blitz-io", "", false, "thread", ours::Semaphore, ours::Semaphore::new(1), |s| s.acquire()) },
        subject!("semaphore", "tokio", "first come", false, "task", tokio::Semaphore, tokio::Semaphore::new(1), |s| now(s.acquire())),
        subject!("semaphore", "blitz-io, tasks", "first come", false, "task", tasks::Semaphore, tasks::Semaphore::new(1), |s| now(s.acquire())),

        subject!("parker", "blitz-io", "–", false, "thread", ours::Parker, ours::Parker::new(), |p| { p.unparker().unpark(); p.park() }),
        subject!("parker", "std", "–", false, "thread", std::thread::Thread, std::thread::current(), |t| { t.unpark(); std::thread::park() }),
    ]
}
