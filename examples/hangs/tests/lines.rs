//! A thread that blocks has the line of the program in its record, and not one of the library.
#![cfg(unix)]

use std::sync::Arc;
use std::thread as os;
use std::time::{Duration, Instant};

use blitz_io::inspect;
use blitz_io::ipc::{self, Queue, Route};
use blitz_io::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpmc, mpsc, oneshot,
    watch,
};
use blitz_io::thread;

/// No wait of a test ends by its deadline.
const LONG: Duration = Duration::from_secs(1 << 20);

fn late() -> Instant {
    Instant::now() + LONG
}

/// Runs `form` in a thread until the thread blocks, and returns what is wrong with the record. The thread stays.
fn wrong(kind: &str, text: &str, form: impl FnOnce() + Send + 'static) -> Option<String> {
    let thread = os::Builder::new().name(text.into()).spawn(form);
    let thread = thread.expect("the system has threads");
    let wait = loop {
        assert!(!thread.is_finished(), "{text} did not block");
        let snapshot = inspect::snapshot();
        let mut threads = snapshot.threads.iter();
        let own = threads.find(|thread| thread.name == text);
        let mut waits = snapshot.waits.iter();
        let wait = waits.find(|wait| {
            let is_own = own.is_some_and(|own| own.id == wait.thread);
            is_own && wait.blocks_thread && wait.kind != "unknown futex"
        });
        match wait {
            Some(wait) => break wait.clone(),
            None => os::yield_now(),
        }
    };
    let is_here = wait.location.starts_with(&format!("{}:", file!()));
    let is_right = wait.kind == kind && is_here;
    (!is_right).then(|| format!("{text}: {} at {:?}", wait.kind, wait.location))
}

/// Checks forms: the kind of their waits, and the call, whose texts are the names of the threads.
macro_rules! check {
    ($($kind:literal: $form:expr;)*) => {
        let wrong: Vec<String> = [$(wrong($kind, stringify!($form), move || {
            _ = $form;
        }),)*].into_iter().flatten().collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    };
}

#[test]
fn locks_of_threads() {
    let lock = &*Box::leak(Box::new(thread::Mutex::new(())));
    let table = &*Box::leak(Box::new(thread::RwLock::new(())));
    let permits = &*Box::leak(Box::new(thread::Semaphore::new(0)));
    std::mem::forget((lock.lock(), table.write()));
    check! {
        "thread::Mutex": lock.lock();
        "thread::Mutex": lock.try_lock_for(LONG);
        "thread::Mutex": lock.try_lock_until(late());
        "thread::RwLock (read)": table.read();
        "thread::RwLock (read)": table.try_read_for(LONG);
        "thread::RwLock (write)": table.write();
        "thread::RwLock (write)": table.try_write_for(LONG);
        "thread::Semaphore": permits.acquire();
        "thread::Semaphore": permits.acquire_many_timeout(2, LONG);
    }
}

/// The value of a watch channel is in a lock. A reader waits behind a sender that waits.
#[test]
fn values_of_watch_channels() {
    let (sender, receiver) = watch::channel(0_u8);
    let (sender, receiver) = (
        &*Box::leak(Box::new(sender)),
        &*Box::leak(Box::new(receiver)),
    );
    std::mem::forget(receiver.borrow());
    let (mut updated, mut waits) = (receiver.clone(), receiver.clone());
    check! {
        "thread::RwLock (write)": sender.send(1);
        "thread::RwLock (write)": sender.send_modify(|value| *value = 1);
        "thread::RwLock (write)": sender.send_if_modified(|_| false);
        "thread::RwLock (write)": sender.send_replace(1);
        "thread::RwLock (read)": sender.borrow();
        "thread::RwLock (read)": receiver.borrow();
        "thread::RwLock (read)": updated.borrow_and_update();
        "thread::RwLock (read)": waits.blocking_wait_for(|_| true);
    }
}

#[test]
fn events_of_threads() {
    let guarded = &*Box::leak(Box::new(thread::Mutex::new(())));
    let signal = &*Box::leak(Box::new(thread::Condvar::new()));
    let event = &*Box::leak(Box::new(thread::Event::new_manual(false)));
    let latch = &*Box::leak(Box::new(thread::Latch::new(1)));
    let once = &*Box::leak(Box::new(thread::Once::new()));
    let value = &*Box::leak(Box::new(thread::OnceLock::<u8>::new()));
    let group = thread::WaitGroup::new();
    std::mem::forget(group.clone());
    check! {
        "thread::Condvar": signal.wait(&mut guarded.lock());
        "thread::Condvar": signal.wait_for(&mut guarded.lock(), LONG);
        "thread::Condvar": signal.wait_while(&mut guarded.lock(), |()| true);
        "thread::Event": event.wait();
        "thread::Event": event.wait_timeout(LONG);
        "thread::Latch": latch.wait();
        "thread::Latch": latch.wait_deadline(late());
        "thread::WaitGroup": group.wait();
        "thread::Once": once.wait();
        "thread::Once": once.wait_timeout(LONG);
        "thread::Once": value.wait();
    }
}

#[test]
fn events_of_tasks() {
    let notify = &*Box::leak(Box::new(Notify::new()));
    let cell = &*Box::leak(Box::new(OnceCell::<u8>::new()));
    let set = &*Box::leak(Box::new(SetOnce::<u8>::new()));
    let barrier = &*Box::leak(Box::new(Barrier::new(3)));
    check! {
        "Notify": notify.blocking_notified();
        "Notify": notify.blocking_notified_timeout(LONG);
        "OnceCell": cell.blocking_wait();
        "OnceCell": cell.blocking_wait_deadline(late());
        "OnceCell": set.blocking_wait();
        "thread::Barrier": barrier.blocking_wait();
    }
}

#[test]
fn locks_of_tasks() {
    let lock = &*Box::leak(Box::new(Mutex::new(())));
    let owned = Arc::new(Mutex::new(()));
    let table = &*Box::leak(Box::new(RwLock::new(())));
    let permits = &*Box::leak(Box::new(Semaphore::new(0)));
    std::mem::forget((lock.blocking_lock(), table.blocking_write()));
    std::mem::forget(owned.clone().blocking_lock_owned());
    check! {
        "Mutex": lock.blocking_lock();
        "Mutex": lock.blocking_lock_timeout(LONG);
        "Mutex": lock.blocking_lock_deadline(late());
        "Mutex": owned.blocking_lock_owned();
        "RwLock (read)": table.blocking_read();
        "RwLock (read)": table.blocking_read_timeout(LONG);
        "RwLock (read)": table.blocking_read_deadline(late());
        "RwLock (write)": table.blocking_write();
        "RwLock (write)": table.blocking_write_timeout(LONG);
        "RwLock (write)": table.blocking_write_deadline(late());
        "Semaphore": permits.blocking_acquire();
        "Semaphore": permits.blocking_acquire_many(2);
        "Semaphore": permits.blocking_acquire_timeout(LONG);
        "Semaphore": permits.blocking_acquire_many_deadline(2, late());
    }
}

/// A folder for segments whose participants never leave. Only this user can enter it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Self {
        use std::os::unix::fs::DirBuilderExt;

        let memory = std::path::PathBuf::from("/dev/shm");
        let parent = Some(memory).filter(|folder| folder.is_dir());
        let parent = parent.unwrap_or_else(std::env::temp_dir);
        let folder = parent.join(format!("blitz-io-lines-{}", std::process::id()));
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700).create(&folder).expect("it is new");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn messages_between_processes() {
    if !ipc::is_supported() {
        return;
    }
    let folder = Folder::new();
    let receiver = |name: &str| {
        let builder = Route::builder().directory(&folder.0);
        std::mem::forget(builder.sender(name).expect("the name is new"));
        builder.receiver(name).expect("it is the first receiver")
    };
    let (mut one, mut two, mut three) = (receiver("one"), receiver("two"), receiver("three"));
    let (mut four, mut five, mut six) = (receiver("four"), receiver("five"), receiver("six"));
    check! {
        "ipc::Receiver": one.recv();
        "ipc::Receiver": two.recv_timeout(LONG);
        "ipc::Receiver": three.recv_deadline(late());
        "ipc::Receiver": four.recv_value::<u64>();
        "ipc::Receiver": five.recv_value_timeout::<u64>(LONG);
        "ipc::Receiver": six.recv_value_deadline::<u64>(late());
    }
    let sender = |name: &str| {
        let builder = Queue::builder().directory(&folder.0);
        let mut sender = builder.sender(name).expect("the name is new");
        std::mem::forget(builder.receiver(name).expect("the queue has room"));
        while sender.try_send_value(&0_u64).is_ok() {}
        sender
    };
    let (mut one, mut two, mut three) = (sender("1"), sender("2"), sender("3"));
    check! {
        "ipc::Sender": one.send_value(&0_u64);
        "ipc::Sender": two.send_value_timeout(&0_u64, LONG);
        "ipc::Sender": three.send_value_deadline(&0_u64, late());
    }
}

#[test]
fn channels() {
    let (full, _receiver) = mpmc::bounded(1);
    full.try_send(0).expect("there is room");
    let (_sender, empty) = mpmc::bounded::<u8>(1);
    let [send, send_until] = [full.clone(), full];
    let [receive, receive_until, iterated] = [empty.clone(), empty.clone(), empty];
    check! {
        "mpmc::Sender": send.blocking_send(0);
        "mpmc::Sender": send_until.blocking_send_timeout(0, LONG);
        "mpmc::Receiver": receive.blocking_recv();
        "mpmc::Receiver": receive_until.blocking_recv_deadline(late());
        "mpmc::Receiver": iterated.iter().next();
    }
    let (full, _receiver) = mpsc::channel(1);
    full.try_send(0).expect("there is room");
    let (_sender, mut empty) = mpsc::channel::<u8>(1);
    check! {
        "mpsc::Sender": full.blocking_send(0);
        "mpsc::Receiver": empty.blocking_recv();
    }
    let (_sender, receiver) = oneshot::channel::<u8>();
    let (_sender, mut heard) = broadcast::channel::<u8>(1);
    let (_sender, mut seen) = watch::channel(0_u8);
    check! {
        "oneshot::Receiver": receiver.blocking_recv();
        "broadcast::Receiver": heard.blocking_recv();
        "watch::Receiver": seen.blocking_changed();
    }
}
