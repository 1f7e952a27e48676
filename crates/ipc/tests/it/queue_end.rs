//! When a queue is over: not before every message that was sent is consumed.

use std::thread;
use std::time::Duration;

use blitz_io_ipc::{Queue, Receiver, RecvError};

use crate::common::{LONG, Log, Place, Process, directory_of, role};

fn queue(place: &Place) -> blitz_io_ipc::Builder {
    place.in_it(Queue::builder().capacity(4).max_len(16))
}

/// Takes a message, says so, and keeps it, if this process is the child. Does nothing in the parent.
#[test]
fn child() {
    let Some(arguments) = role() else { return };
    let directory = directory_of(&arguments);
    let queue = Queue::builder().directory(&directory);
    let mut receiver = queue.receiver("q").unwrap();
    let mut log = Log::create(&directory.join("log"));
    std::mem::forget(receiver.recv_timeout(LONG).unwrap());
    log.push([1, 1]);
    thread::sleep(LONG);
}

/// Starts a process that takes one message, and waits until it has.
fn taker(place: &Place) -> Process {
    let directory = place.path().display().to_string();
    let child = Process::start("queue_end::child", &["take".to_owned(), directory]);
    Log::wait(&place.path().join("log"));
    child
}

#[test]
fn a_queue_is_not_over_while_another_receiver_has_a_message() {
    let place = Place::new();
    let queue = queue(&place);
    let (mut sender, mut first) = (queue.sender("q").unwrap(), queue.receiver("q").unwrap());
    let mut second = queue.receiver("q").unwrap();
    sender.send(b"job").unwrap();
    let message = first.recv().unwrap();
    drop(sender);
    assert_eq!(second.try_recv().unwrap_err(), RecvError::Empty);
    let short = Duration::from_millis(10);
    assert_eq!(second.recv_timeout(short).unwrap_err(), RecvError::TimedOut);
    drop(message);
    assert_eq!(second.recv().unwrap_err(), RecvError::Disconnected);
    assert_eq!(first.try_recv().unwrap_err(), RecvError::Disconnected);
}

/// A receiver that leaves with a message puts it back.
#[test]
fn a_message_that_is_put_back_after_the_last_sender_left_is_received() {
    let place = Place::new();
    let queue = queue(&place);
    let (mut sender, mut first) = (queue.sender("q").unwrap(), queue.receiver("q").unwrap());
    let mut second = queue.receiver("q").unwrap();
    sender.send(b"job").unwrap();
    std::mem::forget(first.recv().unwrap());
    drop(sender);
    let waiting = thread::spawn(move || second.recv_timeout(LONG).map(|job| job.to_vec()));
    drop(first);
    assert_eq!(waiting.join().unwrap().unwrap(), b"job");
}

fn receives_the_job(receiver: &mut Receiver) {
    assert_eq!(*receiver.recv_timeout(LONG).unwrap(), *b"job");
    assert_eq!(receiver.recv().unwrap_err(), RecvError::Disconnected);
}

#[test]
fn a_killed_worker_loses_no_message_though_the_last_sender_leaves_at_once() {
    for _ in 0..10 {
        let place = Place::new();
        let queue = queue(&place);
        let (mut sender, mut receiver) = (queue.sender("q").unwrap(), queue.receiver("q").unwrap());
        sender.send(b"job").unwrap();
        let taker = taker(&place);
        taker.kill();
        drop(sender);
        receives_the_job(&mut receiver);
    }
}

#[test]
fn a_worker_that_is_killed_after_the_last_sender_left_loses_no_message() {
    let place = Place::new();
    let queue = queue(&place);
    let (mut sender, mut receiver) = (queue.sender("q").unwrap(), queue.receiver("q").unwrap());
    sender.send(b"job").unwrap();
    let taker = taker(&place);
    drop(sender);
    assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
    let waiting = thread::spawn(move || receives_the_job(&mut receiver));
    taker.kill();
    waiting.join().unwrap();
}

/// A receiver that waits for the others is also woken by a new sender's message.
#[test]
fn a_new_sender_is_noticed_while_a_message_is_taken() {
    let place = Place::new();
    let queue = queue(&place);
    let (mut sender, mut first) = (queue.sender("q").unwrap(), queue.receiver("q").unwrap());
    let mut second = queue.receiver("q").unwrap();
    sender.send(b"one").unwrap();
    let message = first.recv().unwrap();
    drop(sender);
    let waiting = thread::spawn(move || second.recv_timeout(LONG).map(|job| job.to_vec()));
    let mut sender = queue.sender("q").unwrap();
    sender.send(b"two").unwrap();
    assert_eq!(waiting.join().unwrap().unwrap(), b"two");
    drop(message);
}

/// A task also waits for the messages that other receivers have taken.
#[test]
fn a_task_waits_for_messages_that_are_taken() {
    let place = Place::new();
    let queue = queue(&place);
    let (mut sender, mut first) = (queue.sender("q").unwrap(), queue.receiver("q").unwrap());
    let mut second = queue.receiver("q").unwrap();
    sender.send(b"job").unwrap();
    let message = first.recv().unwrap();
    drop(sender);
    let (armed, is_armed) = std::sync::mpsc::channel();
    let waiting = thread::spawn(move || {
        let doorbell = async_io::Async::new_nonblocking(second.doorbell().unwrap()).unwrap();
        let received = second.recv_when(|| {
            _ = armed.send(());
            doorbell.readable()
        });
        pollster::block_on(received).map(drop)
    });
    is_armed.recv().unwrap();
    drop(message);
    assert_eq!(waiting.join().unwrap(), Err(RecvError::Disconnected));
}

#[test]
fn one_that_polls_sees_the_last_sender_go_at_its_next_poll() {
    let place = Place::new();
    for builder in [blitz_io_ipc::Route::builder(), Queue::builder()] {
        let builder = place.in_it(builder.capacity(4).max_len(16));
        let (sender, mut receiver) = (builder.sender("p").unwrap(), builder.receiver("p").unwrap());
        assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
        assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
        drop(sender);
        assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Disconnected);
    }
}

/// It polls so seldom that each poll must look.
#[test]
fn one_that_polls_seldom_notices_a_death_at_its_next_poll() {
    let place = Place::new();
    let queue = queue(&place);
    let mut receiver = queue.receiver("q").unwrap();
    let mut sender = queue.sender("q").unwrap();
    sender.send(b"job").unwrap();
    let taker = taker(&place);
    drop(sender);
    assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
    taker.kill();
    // At least the time between two looks.
    thread::sleep(Duration::from_millis(100));
    assert_eq!(*receiver.try_recv().unwrap(), *b"job");
}
