//! The methods for tasks that block a thread: they have Tokio's prefix, or crossbeam's names, and panic
//! in a task as Tokio's do.

use std::cell::Cell;
use std::panic::{self, catch_unwind};
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io::runtime::Builder;
use blitz_io::sync::mpmc::Select;
use blitz_io::sync::mpsc::error::RecvTimeoutError;
use blitz_io::sync::{
    Barrier, CancellationToken, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce,
};
use blitz_io::sync::{broadcast, mpmc, mpsc, oneshot, watch};
use blitz_io::task;

const SOON: Duration = Duration::from_millis(1);

/// An operation, with its name.
type Operation = (&'static str, fn());

/// Each would return at once: a task learns of its mistake before the channel happens to be full.
const ALL: &[Operation] = &[
    ("Mutex::blocking_lock", || {
        drop(Mutex::new(()).blocking_lock());
    }),
    ("Mutex::blocking_lock_timeout", || {
        let mutex = Mutex::new(());
        drop(mutex.blocking_lock_timeout(SOON).unwrap());
    }),
    ("Mutex::blocking_lock_deadline", || {
        let mutex = Mutex::new(());
        drop(mutex.blocking_lock_deadline(Instant::now()).unwrap());
    }),
    ("Mutex::blocking_lock_owned", || {
        drop(Arc::new(Mutex::new(())).blocking_lock_owned());
    }),
    ("RwLock::blocking_read", || {
        drop(RwLock::new(()).blocking_read());
    }),
    ("RwLock::blocking_read_timeout", || {
        let lock = RwLock::new(());
        drop(lock.blocking_read_timeout(SOON).unwrap());
    }),
    ("RwLock::blocking_read_deadline", || {
        let lock = RwLock::new(());
        drop(lock.blocking_read_deadline(Instant::now()).unwrap());
    }),
    ("RwLock::blocking_write", || {
        drop(RwLock::new(()).blocking_write());
    }),
    ("RwLock::blocking_write_timeout", || {
        let lock = RwLock::new(());
        drop(lock.blocking_write_timeout(SOON).unwrap());
    }),
    ("RwLock::blocking_write_deadline", || {
        let lock = RwLock::new(());
        drop(lock.blocking_write_deadline(Instant::now()).unwrap());
    }),
    ("Semaphore::blocking_acquire", || {
        drop(Semaphore::new(1).blocking_acquire().unwrap());
    }),
    ("Semaphore::blocking_acquire_many", || {
        drop(Semaphore::new(2).blocking_acquire_many(2).unwrap());
    }),
    ("Semaphore::blocking_acquire_timeout", || {
        let semaphore = Semaphore::new(1);
        drop(semaphore.blocking_acquire_timeout(SOON).unwrap());
    }),
    ("Semaphore::blocking_acquire_deadline", || {
        let semaphore = Semaphore::new(1);
        let now = Instant::now();
        drop(semaphore.blocking_acquire_deadline(now).unwrap());
    }),
    ("Semaphore::blocking_acquire_many_timeout", || {
        let semaphore = Semaphore::new(2);
        drop(semaphore.blocking_acquire_many_timeout(2, SOON).unwrap());
    }),
    ("Semaphore::blocking_acquire_many_deadline", || {
        let semaphore = Semaphore::new(2);
        let now = Instant::now();
        drop(semaphore.blocking_acquire_many_deadline(2, now).unwrap());
    }),
    ("Semaphore::blocking_acquire_owned", || {
        let semaphore = Arc::new(Semaphore::new(1));
        drop(semaphore.blocking_acquire_owned().unwrap());
    }),
    ("Semaphore::blocking_acquire_many_owned", || {
        let semaphore = Arc::new(Semaphore::new(2));
        drop(semaphore.blocking_acquire_many_owned(2).unwrap());
    }),
    ("Barrier::blocking_wait", || {
        assert!(Barrier::new(1).blocking_wait().is_leader());
    }),
    ("Notify::blocking_notified", || {
        let notify = Notify::new();
        notify.notify_one();
        notify.blocking_notified();
    }),
    ("Notify::blocking_notified_timeout", || {
        assert!(!Notify::new().blocking_notified_timeout(SOON));
    }),
    ("Notify::blocking_notified_deadline", || {
        assert!(!Notify::new().blocking_notified_deadline(Instant::now()));
    }),
    ("Notified::blocking_wait", || {
        let notify = Notify::new();
        notify.notify_one();
        notify.notified().blocking_wait();
    }),
    ("Notified::blocking_wait_timeout", || {
        assert!(!Notify::new().notified().blocking_wait_timeout(SOON));
    }),
    ("Notified::blocking_wait_deadline", || {
        let notify = Notify::new();
        assert!(!notify.notified().blocking_wait_deadline(Instant::now()));
    }),
    ("OwnedNotified::blocking_wait", || {
        let notify = Arc::new(Notify::new());
        notify.notify_one();
        notify.notified_owned().blocking_wait();
    }),
    ("OwnedNotified::blocking_wait_timeout", || {
        let notified = Arc::new(Notify::new()).notified_owned();
        assert!(!notified.blocking_wait_timeout(SOON));
    }),
    ("OwnedNotified::blocking_wait_deadline", || {
        let notified = Arc::new(Notify::new()).notified_owned();
        assert!(!notified.blocking_wait_deadline(Instant::now()));
    }),
    ("OnceCell::blocking_get_or_init", || {
        assert_eq!(OnceCell::new().blocking_get_or_init(|| 7), &7);
    }),
    ("OnceCell::blocking_get_or_init with a value", || {
        assert_eq!(OnceCell::from(7).blocking_get_or_init(|| 8), &7);
    }),
    ("OnceCell::blocking_get_or_try_init", || {
        let cell = OnceCell::<i32>::new();
        assert_eq!(cell.blocking_get_or_try_init(|| Err(7)), Err(7));
    }),
    ("OnceCell::blocking_wait", || {
        assert_eq!(OnceCell::from(7).blocking_wait(), &7);
    }),
    ("OnceCell::blocking_wait_timeout", || {
        assert_eq!(OnceCell::from(7).blocking_wait_timeout(SOON), Some(&7));
    }),
    ("OnceCell::blocking_wait_deadline", || {
        let cell = OnceCell::from(7);
        assert_eq!(cell.blocking_wait_deadline(Instant::now()), Some(&7));
    }),
    ("SetOnce::blocking_wait", || {
        assert_eq!(SetOnce::from(7).blocking_wait(), &7);
    }),
    ("SetOnce::blocking_wait_timeout", || {
        assert_eq!(SetOnce::from(7).blocking_wait_timeout(SOON), Some(&7));
    }),
    ("SetOnce::blocking_wait_deadline", || {
        let cell = SetOnce::from(7);
        assert_eq!(cell.blocking_wait_deadline(Instant::now()), Some(&7));
    }),
    ("CancellationToken::blocking_cancelled", || {
        let token = CancellationToken::new();
        token.cancel();
        token.blocking_cancelled();
    }),
    ("CancellationToken::blocking_cancelled_timeout", || {
        assert!(!CancellationToken::new().blocking_cancelled_timeout(SOON));
    }),
    ("CancellationToken::blocking_cancelled_deadline", || {
        let token = CancellationToken::new();
        assert!(!token.blocking_cancelled_deadline(Instant::now()));
    }),
    ("mpsc::Sender::blocking_send", || {
        let (sender, _receiver) = mpsc::channel(1);
        sender.blocking_send(()).unwrap();
    }),
    ("mpsc::Sender::blocking_send_timeout", || {
        let (sender, _receiver) = mpsc::channel(1);
        sender.blocking_send_timeout((), SOON).unwrap();
    }),
    ("mpsc::Sender::blocking_send_deadline", || {
        let (sender, _receiver) = mpsc::channel(1);
        sender.blocking_send_deadline((), Instant::now()).unwrap();
    }),
    ("mpsc::Sender::blocking_closed", || {
        let (sender, _) = mpsc::channel::<()>(1);
        sender.blocking_closed();
    }),
    ("mpsc::Sender::blocking_closed_timeout", || {
        let (sender, _receiver) = mpsc::channel::<()>(1);
        assert!(!sender.blocking_closed_timeout(SOON));
    }),
    ("mpsc::Sender::blocking_closed_deadline", || {
        let (sender, _receiver) = mpsc::channel::<()>(1);
        assert!(!sender.blocking_closed_deadline(Instant::now()));
    }),
    ("mpsc::UnboundedSender::blocking_closed", || {
        let (sender, _) = mpsc::unbounded_channel::<()>();
        sender.blocking_closed();
    }),
    ("mpsc::UnboundedSender::blocking_closed_timeout", || {
        let (sender, _receiver) = mpsc::unbounded_channel::<()>();
        assert!(!sender.blocking_closed_timeout(SOON));
    }),
    ("mpsc::UnboundedSender::blocking_closed_deadline", || {
        let (sender, _receiver) = mpsc::unbounded_channel::<()>();
        assert!(!sender.blocking_closed_deadline(Instant::now()));
    }),
    ("mpsc::Receiver::blocking_recv", || {
        let (_, mut receiver) = mpsc::channel::<()>(1);
        assert!(receiver.blocking_recv().is_none());
    }),
    ("mpsc::Receiver::blocking_recv_timeout", || {
        let (_, mut receiver) = mpsc::channel::<()>(1);
        let received = receiver.blocking_recv_timeout(SOON);
        assert_eq!(received, Err(RecvTimeoutError::Closed));
    }),
    ("mpsc::Receiver::blocking_recv_deadline", || {
        let (_, mut receiver) = mpsc::channel::<()>(1);
        let received = receiver.blocking_recv_deadline(Instant::now());
        assert_eq!(received, Err(RecvTimeoutError::Closed));
    }),
    ("mpsc::Receiver::blocking_recv_many", || {
        let (_, mut receiver) = mpsc::channel::<()>(1);
        assert_eq!(receiver.blocking_recv_many(&mut Vec::new(), 1), 0);
    }),
    ("mpsc::UnboundedReceiver::blocking_recv", || {
        let (_, mut receiver) = mpsc::unbounded_channel::<()>();
        assert!(receiver.blocking_recv().is_none());
    }),
    ("mpsc::UnboundedReceiver::blocking_recv_timeout", || {
        let (_sender, mut receiver) = mpsc::unbounded_channel::<()>();
        let received = receiver.blocking_recv_timeout(SOON);
        assert_eq!(received, Err(RecvTimeoutError::Timeout));
    }),
    ("mpsc::UnboundedReceiver::blocking_recv_deadline", || {
        let (_sender, mut receiver) = mpsc::unbounded_channel::<()>();
        let received = receiver.blocking_recv_deadline(Instant::now());
        assert_eq!(received, Err(RecvTimeoutError::Timeout));
    }),
    ("mpsc::UnboundedReceiver::blocking_recv_many", || {
        let (_, mut receiver) = mpsc::unbounded_channel::<()>();
        assert_eq!(receiver.blocking_recv_many(&mut Vec::new(), 1), 0);
    }),
    ("oneshot::Receiver::blocking_recv", || {
        let (_, receiver) = oneshot::channel::<()>();
        assert!(receiver.blocking_recv().is_err());
    }),
    ("oneshot::Receiver::blocking_recv_timeout", || {
        let (_sender, mut receiver) = oneshot::channel::<()>();
        let received = receiver.blocking_recv_timeout(SOON);
        assert_eq!(received, Err(RecvTimeoutError::Timeout));
    }),
    ("oneshot::Receiver::blocking_recv_deadline", || {
        let (_sender, mut receiver) = oneshot::channel::<()>();
        let received = receiver.blocking_recv_deadline(Instant::now());
        assert_eq!(received, Err(RecvTimeoutError::Timeout));
    }),
    ("oneshot::Sender::blocking_closed", || {
        let (mut sender, _) = oneshot::channel::<()>();
        sender.blocking_closed();
    }),
    ("oneshot::Sender::blocking_closed_timeout", || {
        let (mut sender, _receiver) = oneshot::channel::<()>();
        assert!(!sender.blocking_closed_timeout(SOON));
    }),
    ("oneshot::Sender::blocking_closed_deadline", || {
        let (mut sender, _receiver) = oneshot::channel::<()>();
        assert!(!sender.blocking_closed_deadline(Instant::now()));
    }),
    ("broadcast::Receiver::blocking_recv", || {
        let (_, mut receiver) = broadcast::channel::<()>(1);
        assert!(receiver.blocking_recv().is_err());
    }),
    ("broadcast::Receiver::blocking_recv_timeout", || {
        let (_, mut receiver) = broadcast::channel::<()>(1);
        assert!(receiver.blocking_recv_timeout(SOON).is_err());
    }),
    ("broadcast::Receiver::blocking_recv_deadline", || {
        let (_, mut receiver) = broadcast::channel::<()>(1);
        assert!(receiver.blocking_recv_deadline(Instant::now()).is_err());
    }),
    ("broadcast::Sender::blocking_closed", || {
        let (sender, _) = broadcast::channel::<()>(1);
        sender.blocking_closed();
    }),
    ("broadcast::Sender::blocking_closed_timeout", || {
        let (sender, _receiver) = broadcast::channel::<()>(1);
        assert!(!sender.blocking_closed_timeout(SOON));
    }),
    ("broadcast::Sender::blocking_closed_deadline", || {
        let (sender, _receiver) = broadcast::channel::<()>(1);
        assert!(!sender.blocking_closed_deadline(Instant::now()));
    }),
    ("watch::Receiver::blocking_changed", || {
        let (_, mut receiver) = watch::channel(());
        assert!(receiver.blocking_changed().is_err());
    }),
    ("watch::Receiver::blocking_changed_timeout", || {
        let (_sender, mut receiver) = watch::channel(());
        let changed = receiver.blocking_changed_timeout(SOON);
        assert_eq!(changed, Err(RecvTimeoutError::Timeout));
    }),
    ("watch::Receiver::blocking_changed_deadline", || {
        let (_sender, mut receiver) = watch::channel(());
        let changed = receiver.blocking_changed_deadline(Instant::now());
        assert_eq!(changed, Err(RecvTimeoutError::Timeout));
    }),
    ("watch::Receiver::blocking_wait_for", || {
        let (_sender, mut receiver) = watch::channel(7);
        assert_eq!(*receiver.blocking_wait_for(|&n| n == 7).unwrap(), 7);
    }),
    ("watch::Receiver::blocking_wait_for_timeout", || {
        let (_sender, mut receiver) = watch::channel(7);
        let value = receiver.blocking_wait_for_timeout(|&n| n == 7, SOON);
        assert_eq!(*value.unwrap(), 7);
    }),
    ("watch::Receiver::blocking_wait_for_deadline", || {
        let (_sender, mut receiver) = watch::channel(7);
        let now = Instant::now();
        let value = receiver.blocking_wait_for_deadline(|&n| n == 7, now);
        assert_eq!(*value.unwrap(), 7);
    }),
    ("watch::Sender::blocking_closed", || {
        let (sender, _) = watch::channel(());
        sender.blocking_closed();
    }),
    ("watch::Sender::blocking_closed_timeout", || {
        let (sender, _receiver) = watch::channel(());
        assert!(!sender.blocking_closed_timeout(SOON));
    }),
    ("watch::Sender::blocking_closed_deadline", || {
        let (sender, _receiver) = watch::channel(());
        assert!(!sender.blocking_closed_deadline(Instant::now()));
    }),
    ("mpmc::Sender::blocking_send", || {
        let (sender, _receiver) = mpmc::bounded(1);
        sender.blocking_send(()).unwrap();
    }),
    ("mpmc::Sender::blocking_send_timeout", || {
        let (sender, _receiver) = mpmc::bounded(1);
        sender.blocking_send_timeout((), SOON).unwrap();
    }),
    ("mpmc::Sender::blocking_send_deadline", || {
        let (sender, _receiver) = mpmc::bounded(1);
        sender.blocking_send_deadline((), Instant::now()).unwrap();
    }),
    ("mpmc::Sender::blocking_closed", || {
        let (sender, _) = mpmc::bounded::<()>(1);
        sender.blocking_closed();
    }),
    ("mpmc::Sender::blocking_closed_timeout", || {
        let (sender, _receiver) = mpmc::bounded::<()>(1);
        assert!(!sender.blocking_closed_timeout(SOON));
    }),
    ("mpmc::Sender::blocking_closed_deadline", || {
        let (sender, _receiver) = mpmc::bounded::<()>(1);
        assert!(!sender.blocking_closed_deadline(Instant::now()));
    }),
    ("mpmc::Receiver::blocking_recv", || {
        let (_, receiver) = mpmc::bounded::<()>(1);
        assert!(receiver.blocking_recv().is_err());
    }),
    ("mpmc::Receiver::blocking_recv_timeout", || {
        let (_sender, receiver) = mpmc::bounded::<()>(1);
        let received = receiver.blocking_recv_timeout(SOON);
        assert_eq!(received, Err(RecvTimeoutError::Timeout));
    }),
    ("mpmc::Receiver::blocking_recv_deadline", || {
        let (_sender, receiver) = mpmc::bounded::<()>(1);
        let received = receiver.blocking_recv_deadline(Instant::now());
        assert_eq!(received, Err(RecvTimeoutError::Timeout));
    }),
    ("mpmc::Receiver::iter", || {
        let (_, receiver) = mpmc::bounded::<()>(1);
        assert_eq!(receiver.iter().next(), None);
    }),
    ("mpmc::Receiver::into_iter", || {
        let (_, receiver) = mpmc::bounded::<()>(1);
        assert_eq!(receiver.into_iter().next(), None);
    }),
    ("Select::select", || {
        let (_, receiver) = mpmc::bounded::<()>(1);
        let mut select = Select::new();
        select.recv(&receiver);
        assert!(select.select().recv(&receiver).is_err());
    }),
    ("Select::select_timeout", || {
        assert!(Select::new().select_timeout(SOON).is_err());
    }),
    ("Select::select_deadline", || {
        assert!(Select::new().select_deadline(Instant::now()).is_err());
    }),
    ("Select::ready", || {
        let (_, receiver) = mpmc::bounded::<()>(1);
        let mut select = Select::new();
        let closed = select.recv(&receiver);
        assert_eq!(select.ready(), closed);
    }),
    ("Select::ready_timeout", || {
        assert!(Select::new().ready_timeout(SOON).is_err());
    }),
    ("Select::ready_deadline", || {
        assert!(Select::new().ready_deadline(Instant::now()).is_err());
    }),
];

thread_local! {
    static EXPECTS_PANIC: Cell<bool> = const { Cell::new(false) };
    /// The file that this thread's last panic named.
    static PANICKED_IN: Cell<Option<String>> = const { Cell::new(None) };
}

/// From now on a panic that a thread expects is not printed, and sets `PANICKED_IN`.
fn remember_locations() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if EXPECTS_PANIC.get() {
                PANICKED_IN.set(info.location().map(|location| location.file().to_owned()));
            } else {
                before(info);
            }
        }));
    });
}

/// Checks that each operation panics with Tokio's message, at the line of the caller.
fn all_are_refused() {
    remember_locations();
    for (name, operation) in ALL {
        EXPECTS_PANIC.set(true);
        let result = catch_unwind(operation);
        EXPECTS_PANIC.set(false);
        let Err(panicked) = result else {
            panic!("{name} blocks a task");
        };
        let text = panicked.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| panicked.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_default();
        let expected = "Cannot block the current thread from within a runtime.";
        assert!(text.starts_with(expected), "{name}: {text}");
        let file = PANICKED_IN.take();
        assert_eq!(file.as_deref(), Some(file!()), "{name}");
    }
}

fn all_work() {
    for (_, operation) in ALL {
        operation();
    }
}

#[test]
fn a_thread_may_block() {
    all_work();
}

#[blitz_io::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_must_not_block() {
    // In the future of `block_on`, and in a task.
    all_are_refused();
    let task = blitz_io::spawn(async {
        all_are_refused();
        task::yield_now().await;
        task::block_in_place(all_work);
        all_are_refused();
    });
    task.await.unwrap();
    task::spawn_blocking(all_work).await.unwrap();
    thread::spawn(all_work).join().unwrap();
    all_are_refused();
}

#[blitz_io::test]
async fn a_task_of_one_thread_must_not_block() {
    all_are_refused();
    blitz_io::spawn(async { all_are_refused() }).await.unwrap();
    task::spawn_blocking(all_work).await.unwrap();
    thread::spawn(all_work).join().unwrap();
    let local = task::LocalSet::new();
    let in_local_set = local.run_until(async {
        all_are_refused();
        task::spawn_local(async { all_are_refused() }).await
    });
    in_local_set.await.unwrap();
}

#[blitz_io::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_without_a_limit_must_not_block_either() {
    task::coop::unconstrained(async { all_are_refused() }).await;
    let task = blitz_io::spawn(task::coop::unconstrained(async {
        all_are_refused();
        task::block_in_place(all_work);
        all_are_refused();
    }));
    task.await.unwrap();
}

/// Between the polls of a runtime, and beside it, its thread is any other.
#[test]
fn a_thread_that_only_enters_a_runtime_may_block() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let _entered = runtime.enter();
    all_work();
    runtime.block_on(async { all_are_refused() });
    all_work();
}

/// Code with the names of async-channel and crossbeam-channel compiles, with a hint at ours.
#[test]
#[allow(deprecated)]
fn the_names_of_other_channels_work() {
    let (sender, receiver) = mpmc::bounded(1);
    sender.send_blocking(1).unwrap();
    assert_eq!(receiver.recv_blocking(), Ok(1));
    let soon = Instant::now() + SOON;
    assert_eq!(sender.send_timeout(1, SOON), Ok(()));
    assert!(sender.send_deadline(2, soon).unwrap_err().is_timeout());
    assert_eq!(receiver.recv_timeout(SOON), Ok(1));
    assert!(receiver.recv_deadline(soon).unwrap_err().is_timeout());
}
