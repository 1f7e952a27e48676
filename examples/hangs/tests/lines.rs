//! A thread that blocks has the line of the program in its record, and not one of the library.
#![cfg(unix)]

use std::sync::Arc;
use std::thread as os;
use std::time::{Duration, Instant};

use blitz_io::inspect;
use blitz_io::ipc::{self, Queue, Route};
use blitz_io::sync::{Mutex, RwLock, Semaphore, mpmc, mpsc, oneshot};
use blitz_io::thread;

/// No wait of a test ends by its deadline.
const LONG: Duration = Duration::from_secs(1 << 20);

fn late() -> Instant {
    Instant::now() + LONG
}

/// Runs `form` in a thread until the thread blocks in a wait of this kind, and checks the line of the wait. `line`: that of
/// the call. The thread stays.
fn check(kind: &'static str, line: u32, form: impl FnOnce() + Send + 'static) {
    let name = format!("{kind} at {line}");
    let thread = os::Builder::new().name(name.clone()).spawn(form);
    let thread = thread.expect("the system has threads");
    let wait = loop {
        assert!(!thread.is_finished(), "{name} ended");
        let snapshot = inspect::snapshot();
        let mut threads = snapshot.threads.iter();
        let own = threads.find(|thread| thread.name == name);
        let mut waits = snapshot.waits.iter();
        let wait = waits.find(|wait| {
            let is_own = own.is_some_and(|own| own.id == wait.thread);
            is_own && wait.blocks_thread
        });
        match wait {
            Some(wait) => break wait.clone(),
            None => os::yield_now(),
        }
    };
    assert_eq!(wait.kind, kind, "{wait:?}");
    let here = format!("{}:{line}", file!());
    assert!(wait.location.ends_with(&here), "{name}: {wait:?}");
}

/// Checks forms: the kind of their waits, and the call.
macro_rules! check {
    ($($kind:literal: $form:expr;)*) => {
        $(check($kind, line!(), move || {
            _ = $form;
        });)*
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

#[test]
fn messages_between_processes() {
    if !ipc::is_supported() {
        return;
    }
    let name = |what: &str| format!("blitz-io-lines-{what}-{}", std::process::id());
    let receiver = |what: &str| {
        let name = name(what);
        std::mem::forget(Route::sender(&name).expect("the name is new"));
        Route::receiver(&name).expect("it is the first receiver")
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
    let sender = |what: &str| {
        let name = name(what);
        let mut sender = Queue::sender(&name).expect("the name is new");
        std::mem::forget(Queue::receiver(&name).expect("the queue has room"));
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
    check! {
        "oneshot::Receiver": receiver.blocking_recv();
    }
}
