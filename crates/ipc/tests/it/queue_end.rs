//! When a queue is over: not before every message that was sent is consumed.

use std::thread;
use std::time::Duration;

use blitz_io_ipc::{Queue, Receiver, RecvError, WaitError};

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

/// The restart of a worker: the queue is over for the new one, too.
#[test]
fn a_receiver_that_joins_after_the_last_sender_left_gets_what_is_left_and_ends() {
    let place = Place::new();
    let queue = queue(&place);
    let (mut sender, mut first) = (queue.sender("q").unwrap(), queue.receiver("q").unwrap());
    sender.send(b"one").unwrap();
    sender.send(b"job").unwrap();
    drop(sender);
    let job = first.recv().unwrap();
    let mut second = queue.receiver("q").unwrap();
    assert_eq!(*second.recv_timeout(LONG).unwrap(), *b"job");
    drop(job);
    let mut third = queue.receiver("q").unwrap();
    for receiver in [&mut first, &mut second, &mut third] {
        let end = receiver.recv_timeout(LONG).unwrap_err();
        assert_eq!(end, RecvError::Disconnected);
    }
    // It also sees a new sender.
    queue.sender("q").unwrap().send(b"job").unwrap();
    receives_the_job(&mut third);
}

#[test]
fn a_receiver_of_a_route_that_joins_after_the_sender_left_waits_for_the_next() {
    let place = Place::new();
    let route = place.in_it(blitz_io_ipc::Route::builder());
    let keeps = route.receiver("r").unwrap();
    drop(route.sender("r").unwrap());
    let mut late = route.receiver("r").unwrap();
    assert_eq!(late.try_recv().unwrap_err(), RecvError::Empty);
    drop(keeps);
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

#[test]
fn a_sender_waits_until_its_messages_are_consumed() {
    let place = Place::new();
    let queue = queue(&place);
    let (mut sender, mut receiver) = (queue.sender("q").unwrap(), queue.receiver("q").unwrap());
    let mut other = queue.sender("q").unwrap();
    assert_eq!(sender.drained(), Ok(()));
    // More than a lap, with a position that has no message.
    for round in 0..10 {
        sender.send(b"job").unwrap();
        drop(other.loan(1).unwrap());
        other.send(b"job").unwrap();
        let soon = Duration::from_millis(1);
        assert_eq!(sender.drained_timeout(soon), Err(WaitError::TimedOut));
        let (started, has_started) = std::sync::mpsc::channel();
        let waiting = thread::spawn(move || {
            started.send(()).unwrap();
            let drained = sender.drained_timeout(LONG);
            (sender, drained)
        });
        has_started.recv().unwrap();
        assert_eq!(*receiver.recv().unwrap(), *b"job");
        if round % 2 == 0 {
            receiver.recv().unwrap().put_back();
        }
        assert_eq!(*receiver.recv().unwrap(), *b"job");
        let drained;
        (sender, drained) = waiting.join().unwrap();
        assert_eq!(drained, Ok(()));
    }
}

/// Later messages do not prolong the wait.
#[test]
fn a_sender_waits_for_earlier_messages_only() {
    let place = Place::new();
    let queue = queue(&place);
    let (mut sender, mut receiver) = (queue.sender("q").unwrap(), queue.receiver("q").unwrap());
    let mut other = queue.sender("q").unwrap();
    sender.send(b"job").unwrap();
    let claimed = other.loan(1).unwrap();
    let job = receiver.recv().unwrap();
    let waiting = thread::spawn(move || sender.drained_timeout(LONG));
    drop(job);
    assert_eq!(waiting.join().unwrap(), Ok(()));
    claimed.send().unwrap();
}

#[test]
#[should_panic(expected = "only a queue's receivers consume messages")]
fn a_route_is_never_drained() {
    let place = Place::new();
    let route = place.in_it(blitz_io_ipc::Route::builder());
    _ = route.sender("r").unwrap().drained();
}
