// Included twice, with `sync` being Tokio's or this crate's.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::sync::Arc;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sync::futures::{Notified, OwnedNotified};
use sync::{
    AcquireError, Barrier, BarrierWaitResult, MappedMutexGuard, Mutex, MutexGuard, Notify,
    OnceCell, OwnedMappedMutexGuard, OwnedMutexGuard, OwnedRwLockMappedWriteGuard,
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit,
    SetError, SetOnce, SetOnceError, TryAcquireError, TryLockError, broadcast, mpsc, oneshot,
    watch,
};
use tokio::time::{sleep, timeout};

// Names and traits

fn is_send_sync<T: Send + Sync>() {}
fn is_error<T: Error + Debug + Display + Send + Sync>() {}

#[test]
fn the_types_can_be_shared() {
    is_send_sync::<Barrier>();
    is_send_sync::<BarrierWaitResult>();
    is_send_sync::<Mutex<u8>>();
    is_send_sync::<MutexGuard<'_, u8>>();
    is_send_sync::<MappedMutexGuard<'_, u8>>();
    is_send_sync::<OwnedMutexGuard<u8>>();
    is_send_sync::<OwnedMappedMutexGuard<u8, u8>>();
    is_send_sync::<Notify>();
    is_send_sync::<Notified<'_>>();
    is_send_sync::<OwnedNotified>();
    is_send_sync::<OnceCell<u8>>();
    is_send_sync::<RwLock<u8>>();
    is_send_sync::<RwLockReadGuard<'_, u8>>();
    is_send_sync::<RwLockWriteGuard<'_, u8>>();
    is_send_sync::<RwLockMappedWriteGuard<'_, u8>>();
    is_send_sync::<OwnedRwLockReadGuard<u8, u8>>();
    is_send_sync::<OwnedRwLockWriteGuard<u8>>();
    is_send_sync::<OwnedRwLockMappedWriteGuard<u8, u8>>();
    is_send_sync::<Semaphore>();
    is_send_sync::<SemaphorePermit<'_>>();
    is_send_sync::<OwnedSemaphorePermit>();
    is_send_sync::<SetOnce<u8>>();
    is_send_sync::<broadcast::Sender<u8>>();
    is_send_sync::<broadcast::WeakSender<u8>>();
    is_send_sync::<broadcast::Receiver<u8>>();
    is_send_sync::<mpsc::Sender<u8>>();
    is_send_sync::<mpsc::WeakSender<u8>>();
    is_send_sync::<mpsc::Receiver<u8>>();
    is_send_sync::<mpsc::UnboundedSender<u8>>();
    is_send_sync::<mpsc::WeakUnboundedSender<u8>>();
    is_send_sync::<mpsc::UnboundedReceiver<u8>>();
    is_send_sync::<mpsc::Permit<'_, u8>>();
    is_send_sync::<mpsc::PermitIterator<'_, u8>>();
    is_send_sync::<mpsc::OwnedPermit<u8>>();
    is_send_sync::<oneshot::Sender<u8>>();
    is_send_sync::<oneshot::Receiver<u8>>();
    is_send_sync::<watch::Sender<u8>>();
    is_send_sync::<watch::Receiver<u8>>();
}

#[test]
fn the_errors_are_errors() {
    is_error::<AcquireError>();
    is_error::<TryAcquireError>();
    is_error::<TryLockError>();
    is_error::<SetError<u8>>();
    is_error::<SetOnceError<u8>>();
    is_error::<broadcast::error::RecvError>();
    is_error::<broadcast::error::SendError<u8>>();
    is_error::<broadcast::error::TryRecvError>();
    is_error::<mpsc::error::SendError<u8>>();
    is_error::<mpsc::error::TryRecvError>();
    is_error::<mpsc::error::TrySendError<u8>>();
    is_error::<oneshot::error::RecvError>();
    is_error::<oneshot::error::TryRecvError>();
    is_error::<watch::error::RecvError>();
    is_error::<watch::error::SendError<u8>>();
}

/// The `Debug` and `Display` output that programs have in their logs.
#[tokio::test]
async fn texts() {
    fn both(error: impl Error) -> (String, String) {
        (error.to_string(), format!("{error:?}"))
    }
    let mut seen = Vec::new();

    let mutex = Mutex::new(1);
    let guard = mutex.lock().await;
    seen.push((format!("{guard}"), format!("{guard:?} {mutex:?}")));
    seen.push(both(mutex.try_lock().unwrap_err()));
    drop(guard);
    seen.push((format!("{mutex:?}"), String::new()));

    let lock = RwLock::new(1);
    seen.push((format!("{lock:?}"), format!("{:?}", lock.read().await)));
    seen.push(both(lock.try_write().map(|_| ()).map_or_else(
        |e| e,
        |()| {
            let _read = lock.try_read().unwrap();
            lock.try_write().unwrap_err()
        },
    )));

    let semaphore = Semaphore::new(0);
    seen.push(both(semaphore.try_acquire().unwrap_err()));
    semaphore.close();
    seen.push(both(semaphore.try_acquire().unwrap_err()));
    seen.push(both(semaphore.acquire().await.unwrap_err()));

    let cell = OnceCell::new_with(Some(1));
    seen.push(both(cell.set(2).unwrap_err()));
    seen.push((format!("{cell:?}"), format!("{:?}", OnceCell::<u8>::new())));
    let once = SetOnce::new_with(Some(1));
    seen.push(both(once.set(2).unwrap_err()));
    seen.push((format!("{once:?}"), String::new()));

    let (tx, mut rx) = mpsc::channel(1);
    seen.push(both(rx.try_recv().unwrap_err()));
    tx.try_send(1).unwrap();
    seen.push(both(tx.try_send(2).unwrap_err()));
    drop(rx);
    seen.push(both(tx.try_send(3).unwrap_err()));
    seen.push(both(tx.send(4).await.unwrap_err()));
    let (tx, mut rx) = mpsc::unbounded_channel::<u8>();
    drop(tx);
    seen.push(both(rx.try_recv().unwrap_err()));

    let (tx, mut rx) = oneshot::channel::<u8>();
    seen.push(both(rx.try_recv().unwrap_err()));
    drop(tx);
    seen.push(both(rx.await.unwrap_err()));

    let (tx, rx) = watch::channel(1);
    let mut other = rx.clone();
    drop((rx, tx));
    seen.push(both(other.changed().await.unwrap_err()));
    let (tx, rx) = watch::channel(1);
    drop(rx);
    seen.push(both(tx.send(5).unwrap_err()));

    let expected = [
        ("1", "1 Mutex { data: <locked> }"),
        ("operation would block", "TryLockError(())"),
        ("Mutex { data: 1 }", ""),
        ("RwLock { data: 1 }", "1"),
        ("operation would block", "TryLockError(())"),
        ("no permits available", "NoPermits"),
        ("semaphore closed", "Closed"),
        ("semaphore closed", "AcquireError(())"),
        ("AlreadyInitializedError", "AlreadyInitializedError(2)"),
        ("OnceCell { value: Some(1) }", "OnceCell { value: None }"),
        ("SetOnceError", "SetOnceError(2)"),
        ("SetOnce { value: Some(1) }", ""),
        ("receiving on an empty channel", "Empty"),
        ("no available capacity", "\"Full(..)\""),
        ("channel closed", "\"Closed(..)\""),
        ("channel closed", "SendError { .. }"),
        ("receiving on a closed channel", "Disconnected"),
        ("channel empty", "Empty"),
        ("channel closed", "RecvError(())"),
        ("channel closed", "RecvError(())"),
        ("channel closed", "SendError { .. }"),
    ];
    for ((text, debug), expected) in seen.iter().zip(expected) {
        assert_eq!((text.as_str(), debug.as_str()), expected);
    }
    assert_eq!(seen.len(), expected.len());
}

// oneshot

#[tokio::test(flavor = "multi_thread")]
async fn a_task_answers_once() {
    async fn work() -> String {
        "represents the result".to_string()
    }
    let (tx, rx) = oneshot::channel();
    tokio::spawn(async move {
        let result = work().await;
        tx.send(result).unwrap();
    });
    assert_eq!(rx.await.unwrap(), "represents the result");
}

#[tokio::test]
async fn who_asks_may_go_away() {
    let (mut tx, rx) = oneshot::channel::<u32>();
    assert!(!tx.is_closed());
    let asking = tokio::spawn(timeout(Duration::from_millis(10), rx));
    tx.closed().await;
    assert!(asking.await.unwrap().is_err());
    assert_eq!(tx.send(1), Err(1));
}

#[tokio::test]
async fn a_receiver_in_a_select() {
    let (tx, mut rx) = oneshot::channel();
    let mut tx = Some(tx);
    let mut turns = 0;
    let result = loop {
        tokio::select! {
            result = &mut rx => break result,
            () = sleep(Duration::from_millis(1)) => {
                turns += 1;
                if turns == 5 {
                    tx.take().unwrap().send("shutdown").unwrap();
                }
            }
        }
    };
    assert_eq!((result, turns), (Ok("shutdown"), 5));
}

#[tokio::test]
async fn a_closed_receiver_still_gets_what_was_sent() {
    let (tx, mut rx) = oneshot::channel();
    tx.send("late").unwrap();
    rx.close();
    assert_eq!(rx.await, Ok("late"));
}

// mpsc

enum Command {
    Increment,
    Get(String, oneshot::Sender<Option<u64>>),
    Put(String, u64),
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_owns_a_resource() {
    let (tx, mut rx) = mpsc::channel::<Command>(4);
    let owner = tokio::spawn(async move {
        let mut map = HashMap::new();
        let mut count = 0;
        while let Some(command) = rx.recv().await {
            match command {
                Command::Increment => count += 1,
                Command::Put(key, value) => _ = map.insert(key, value),
                Command::Get(key, answer) => _ = answer.send(map.get(&key).copied()),
            }
        }
        (map.len(), count)
    });
    let askers: Vec<_> = (0..10)
        .map(|i| {
            let tx = tx.clone();
            tokio::spawn(async move {
                let key = format!("key {i}");
                tx.send(Command::Put(key.clone(), i)).await.unwrap();
                let (answer, value) = oneshot::channel();
                tx.send(Command::Get(key, answer)).await.unwrap();
                assert_eq!(value.await.unwrap(), Some(i));
                for _ in 0..i {
                    tx.send(Command::Increment).await.unwrap();
                }
            })
        })
        .collect();
    drop(tx);
    for asker in askers {
        asker.await.unwrap();
    }
    assert_eq!(owner.await.unwrap(), (10, 45));
}

#[tokio::test]
async fn permits_are_reserved() {
    let (tx, mut rx) = mpsc::channel(2);
    let permit = tx.reserve().await.unwrap();
    assert_eq!((tx.capacity(), tx.max_capacity()), (1, 2));
    permit.send(1);
    let owned = tx.clone().reserve_owned().await.unwrap();
    assert!(matches!(
        tx.try_reserve(),
        Err(mpsc::error::TrySendError::Full(()))
    ));
    let second = owned.send(2);
    assert_eq!(rx.recv().await, Some(1));
    assert_eq!(rx.recv().await, Some(2));
    for permit in tx.reserve_many(2).await.unwrap() {
        permit.send(3);
    }
    let mut buffer = Vec::new();
    assert_eq!(rx.recv_many(&mut buffer, 10).await, 2);
    assert_eq!(buffer, [3, 3]);
    drop((tx, second));
    assert_eq!(rx.recv_many(&mut buffer, 10).await, 0);
}

#[tokio::test]
async fn closing_lets_the_receiver_finish() {
    let (tx, mut rx) = mpsc::channel(8);
    (0..3).for_each(|i| tx.try_send(i).unwrap());
    rx.close();
    assert!(tx.is_closed());
    assert!(matches!(tx.send(3).await, Err(mpsc::error::SendError(3))));
    for i in 0..3 {
        assert_eq!(rx.recv().await, Some(i));
    }
    assert_eq!(rx.recv().await, None);
}

#[tokio::test]
async fn weak_senders_do_not_keep_a_channel_open() {
    let (tx, mut rx) = mpsc::channel(8);
    let weak = tx.downgrade();
    weak.upgrade().unwrap().send(1).await.unwrap();
    drop(tx);
    assert!(weak.upgrade().is_none());
    assert_eq!(rx.recv().await, Some(1));
    assert_eq!(rx.recv().await, None);
    let (tx, mut rx) = mpsc::unbounded_channel();
    let weak = tx.downgrade();
    weak.upgrade().unwrap().send(1).unwrap();
    drop(tx);
    assert_eq!(rx.recv().await, Some(1));
    assert_eq!(rx.recv().await, None);
}

#[test]
fn threads_and_tasks_talk() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (requests, mut inbox) = mpsc::channel::<u64>(2);
    let (results, mut outbox) = mpsc::unbounded_channel();
    runtime.spawn(async move {
        while let Some(number) = inbox.recv().await {
            results.send(number * number).unwrap();
        }
    });
    for i in 0..100 {
        requests.blocking_send(i).unwrap();
    }
    drop(requests);
    let mut sum = 0;
    while let Some(square) = outbox.blocking_recv() {
        sum += square;
    }
    assert_eq!(sum, (0..100).map(|i| i * i).sum::<u64>());
}

#[tokio::test(flavor = "multi_thread")]
async fn shutting_down_by_dropping() {
    let (tx, mut rx) = mpsc::channel::<()>(1);
    let done = Arc::new(AtomicUsize::new(0));
    for i in 0..10 {
        let (tx, done) = (tx.clone(), done.clone());
        tokio::spawn(async move {
            sleep(Duration::from_millis(i % 3)).await;
            done.fetch_add(1, Ordering::SeqCst);
            drop(tx);
        });
    }
    drop(tx);
    assert_eq!(rx.recv().await, None);
    assert_eq!(done.load(Ordering::SeqCst), 10);
}

// broadcast

#[tokio::test(flavor = "multi_thread")]
async fn a_chat() {
    let (tx, _) = broadcast::channel(16);
    let members: Vec<_> = (0..4)
        .map(|_| {
            let mut rx = tx.subscribe();
            tokio::spawn(async move {
                let mut heard = Vec::new();
                loop {
                    match rx.recv().await {
                        Ok(line) => heard.push(line),
                        Err(broadcast::error::RecvError::Lagged(_)) => unreachable!(),
                        Err(broadcast::error::RecvError::Closed) => return heard,
                    }
                }
            })
        })
        .collect();
    for line in ["hello", "world"] {
        assert_eq!(tx.send(line).unwrap(), 4);
    }
    drop(tx);
    for member in members {
        assert_eq!(member.await.unwrap(), ["hello", "world"]);
    }
}

#[tokio::test]
async fn a_slow_listener() {
    let (tx, mut rx) = broadcast::channel(2);
    for i in [10, 20, 30] {
        tx.send(i).unwrap();
    }
    assert!(matches!(
        rx.recv().await,
        Err(broadcast::error::RecvError::Lagged(1))
    ));
    assert_eq!(rx.recv().await.unwrap(), 20);
    assert_eq!(rx.recv().await.unwrap(), 30);
}

// watch

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_loaded_again() {
    #[derive(Clone, PartialEq, Debug, Default)]
    struct Config {
        timeout: u32,
    }
    let (tx, rx) = watch::channel(Config::default());
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let mut rx = rx.clone();
            tokio::spawn(async move {
                let mut seen = rx.borrow_and_update().timeout;
                while rx.changed().await.is_ok() {
                    let timeout = rx.borrow_and_update().timeout;
                    assert!(timeout > seen);
                    seen = timeout;
                }
                seen
            })
        })
        .collect();
    for timeout in 1..=20 {
        tx.send(Config { timeout }).unwrap();
        tokio::task::yield_now().await;
    }
    assert!(!tx.send_if_modified(|_| false));
    tx.send_modify(|config| config.timeout += 1);
    assert_eq!(
        tx.send_replace(Config { timeout: 30 }),
        Config { timeout: 21 }
    );
    drop(tx);
    for worker in workers {
        assert_eq!(worker.await.unwrap(), 30);
    }
    assert!(rx.has_changed().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_a_state() {
    let (tx, mut rx) = watch::channel(0);
    let counting = tokio::spawn(async move {
        for i in 1..=10 {
            tx.send(i).unwrap();
            tokio::task::yield_now().await;
        }
        tx.closed().await;
    });
    assert!(*rx.wait_for(|&i| i >= 7).await.unwrap() >= 7);
    assert_eq!(*rx.wait_for(|&i| i == 10).await.unwrap(), 10);
    drop(rx);
    counting.await.unwrap();
}

// Mutex and RwLock

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_count() {
    let count = Arc::new(Mutex::new(0));
    let tasks: Vec<_> = (0..5)
        .map(|_| {
            let count = Arc::clone(&count);
            tokio::spawn(async move {
                for _ in 0..10 {
                    let mut count = count.lock().await;
                    tokio::task::yield_now().await;
                    *count += 1;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*count.lock().await, 50);
    assert_eq!(Arc::try_unwrap(count).unwrap().into_inner(), 50);
}

#[tokio::test]
async fn guards_of_a_mutex() {
    let mutex = Arc::new(Mutex::new((1, String::from("a"))));
    {
        let guard = mutex.lock().await;
        let mut name: MappedMutexGuard<'_, String> = MutexGuard::map(guard, |pair| &mut pair.1);
        name.push('b');
        assert!(mutex.try_lock().is_err());
    }
    let guard: OwnedMutexGuard<_> = mutex.clone().lock_owned().await;
    assert!(mutex.clone().try_lock_owned().is_err());
    assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex));
    let name: OwnedMappedMutexGuard<_, _> = OwnedMutexGuard::map(guard, |pair| &mut pair.1);
    let worker = tokio::spawn(async move { name.len() });
    assert_eq!(worker.await.unwrap(), 2);
    let guard = MutexGuard::try_map(mutex.lock().await, |_| None::<&mut u32>).unwrap_err();
    assert_eq!((guard.0, guard.1.as_str()), (1, "ab"));
}

#[tokio::test]
async fn guards_of_a_reader_writer_lock() {
    let lock = Arc::new(RwLock::with_max_readers((1, String::from("a")), 8));
    {
        let (first, second) = (lock.read().await, lock.try_read().unwrap());
        assert_eq!(first.0, second.0);
        assert!(lock.try_write().is_err());
        assert_eq!(*RwLockReadGuard::map(first, |pair| &pair.1), "a");
    }
    {
        let mut guard = lock.write().await;
        guard.0 = 2;
        let guard = guard.downgrade();
        assert_eq!((guard.0, lock.read().await.0), (2, 2));
    }
    let guard = RwLockWriteGuard::map(lock.write().await, |pair| &mut pair.0);
    assert_eq!(*guard, 2);
    drop::<RwLockMappedWriteGuard<'_, i32>>(guard);
    let guard: OwnedRwLockWriteGuard<_> = lock.clone().write_owned().await;
    let guard: OwnedRwLockMappedWriteGuard<_, _> =
        OwnedRwLockWriteGuard::map(guard, |pair| &mut pair.1);
    let worker = tokio::spawn(async move {
        let mut guard = guard;
        guard.push('b');
    });
    worker.await.unwrap();
    let guard: OwnedRwLockReadGuard<_, _> =
        OwnedRwLockReadGuard::map(lock.clone().read_owned().await, |pair| &pair.1);
    assert_eq!(*guard, "ab");
}

// Semaphore, Barrier, Notify

#[tokio::test(flavor = "multi_thread")]
async fn only_so_many_at_once() {
    static PERMITS: Semaphore = Semaphore::const_new(3);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (running, most) = (running.clone(), most.clone());
            tokio::spawn(async move {
                let _permit = PERMITS.acquire().await.unwrap();
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_millis(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert!((1..=3).contains(&most.load(Ordering::SeqCst)));
    assert_eq!(PERMITS.available_permits(), 3);
}

#[tokio::test]
async fn permits_are_split_and_merged() {
    let semaphore = Arc::new(Semaphore::new(5));
    let mut many: OwnedSemaphorePermit = semaphore.clone().acquire_many_owned(4).await.unwrap();
    let two = many.split(2).unwrap();
    assert_eq!((many.num_permits(), two.num_permits()), (2, 2));
    assert!(matches!(
        semaphore.try_acquire_many(2),
        Err(TryAcquireError::NoPermits)
    ));
    many.merge(two);
    drop(many);
    semaphore.acquire().await.unwrap().forget();
    assert_eq!(semaphore.available_permits(), 4);
    semaphore.add_permits(3);
    assert_eq!(semaphore.forget_permits(2), 2);
    assert_eq!(semaphore.available_permits(), 5);
    semaphore.close();
    assert!(semaphore.is_closed());
    assert!(semaphore.clone().acquire_owned().await.is_err());
}

/// A token bucket that a timer fills.
#[tokio::test]
async fn a_token_bucket() {
    let bucket = Arc::new(Semaphore::new(2));
    let filling = tokio::spawn({
        let bucket = bucket.clone();
        async move {
            loop {
                sleep(Duration::from_millis(2)).await;
                if bucket.available_permits() < 2 {
                    bucket.add_permits(1);
                }
            }
        }
    });
    for _ in 0..6 {
        bucket.acquire().await.unwrap().forget();
    }
    filling.abort();
    assert!(filling.await.unwrap_err().is_cancelled());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_all_who_meet_is_the_leader() {
    let barrier = Arc::new(Barrier::new(5));
    for _ in 0..3 {
        let tasks: Vec<_> = (0..5)
            .map(|_| {
                let barrier = barrier.clone();
                tokio::spawn(async move { barrier.wait().await.is_leader() })
            })
            .collect();
        let mut leaders = 0;
        for task in tasks {
            leaders += usize::from(task.await.unwrap());
        }
        assert_eq!(leaders, 1);
    }
}

/// An unbounded channel made of `Notify`.
struct Channel<T> {
    values: StdMutex<VecDeque<T>>,
    notify: Notify,
}

impl<T> Channel<T> {
    fn send(&self, value: T) {
        self.values.lock().unwrap().push_back(value);
        self.notify.notify_one();
    }

    async fn recv(&self) -> T {
        loop {
            let value = self.values.lock().unwrap().pop_front();
            if let Some(value) = value {
                return value;
            }
            self.notify.notified().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_made_of_notify() {
    let channel = Arc::new(Channel {
        values: StdMutex::default(),
        notify: Notify::const_new(),
    });
    let sending = tokio::spawn({
        let channel = channel.clone();
        async move {
            for i in 0..100 {
                channel.send(i);
                if i % 10 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
    });
    for i in 0..100 {
        assert_eq!(channel.recv().await, i);
    }
    sending.await.unwrap();
}

#[tokio::test]
async fn notifications() {
    let notify = Arc::new(Notify::new());
    notify.notify_one();
    notify.notify_one();
    notify.notified().await;
    assert!(
        timeout(Duration::from_millis(5), notify.notified())
            .await
            .is_err()
    );

    let mut first = Box::pin(notify.notified());
    let second: OwnedNotified = notify.clone().notified_owned();
    assert!(!first.as_mut().enable());
    notify.notify_waiters();
    first.await;
    second.await;
    assert!(
        timeout(Duration::from_millis(5), notify.notified())
            .await
            .is_err()
    );
}

// OnceCell and SetOnce

#[tokio::test(flavor = "multi_thread")]
async fn a_value_is_made_once() {
    static CELL: OnceCell<u32> = OnceCell::const_new();
    static MADE: AtomicUsize = AtomicUsize::new(0);
    assert_eq!(CELL.get(), None);
    assert!(CELL.get_or_try_init(|| async { Err(()) }).await.is_err());
    let tasks: Vec<_> = (0..10)
        .map(|i| {
            tokio::spawn(async move {
                let value = CELL.get_or_init(|| async move {
                    MADE.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    i
                });
                *value.await
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), *CELL.get().unwrap());
    }
    assert_eq!(MADE.load(Ordering::SeqCst), 1);
    assert!(matches!(
        CELL.set(1),
        Err(SetError::AlreadyInitializedError(1))
    ));
    let mut cell = OnceCell::from(1);
    assert_eq!(
        (cell.take(), cell.initialized(), cell.into_inner()),
        (Some(1), false, None)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_is_waited_for() {
    static ONCE: SetOnce<u32> = SetOnce::const_new();
    let waiting: Vec<_> = (0..5)
        .map(|_| tokio::spawn(async { *ONCE.wait().await }))
        .collect();
    tokio::task::yield_now().await;
    assert!(!ONCE.initialized());
    ONCE.set(7).unwrap();
    for task in waiting {
        assert_eq!(task.await.unwrap(), 7);
    }
    assert_eq!(ONCE.get(), Some(&7));
    assert_eq!(ONCE.set(8).unwrap_err().0, 8);
}
