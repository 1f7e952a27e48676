//! What programs use that carry messages between machines: marks, positions, states.

use std::thread;

use blitz_io_ipc::{Builder, Channel, MessageState, Queue, RecvError, Route, SendError, WhenFull};
use blitz_io_testing::file_of_panic;

fn place() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_gap_is_reported_once_to_each_receiver_in_its_place() {
    let place = place();
    let route = Route::builder().directory(place.path()).capacity(8);
    let mut receivers = [route.receiver("g").unwrap(), route.receiver("g").unwrap()];
    let mut observer = route.observer("g").unwrap();
    let mut sender = route.sender("g").unwrap();
    sender.send(b"1").unwrap();
    sender.loan(0).unwrap().send_gap(7).unwrap();
    sender.send(b"9").unwrap();
    for receiver in receivers.iter_mut().chain([&mut observer]) {
        assert_eq!(*receiver.recv().unwrap(), *b"1");
        assert_eq!(receiver.recv().unwrap_err(), RecvError::Gap(7));
        assert_eq!(*receiver.recv().unwrap(), *b"9");
        assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
    }
}

#[test]
fn the_place_of_a_gap_is_used_again() {
    let place = place();
    let route = Route::builder().directory(place.path()).capacity(2);
    let (mut receiver, mut sender) = (route.receiver("u").unwrap(), route.sender("u").unwrap());
    for round in 0..10 {
        sender.loan(0).unwrap().send_gap(round).unwrap();
        sender.send(b"x").unwrap();
        assert_eq!(receiver.recv().unwrap_err(), RecvError::Gap(round));
        assert_eq!(*receiver.recv().unwrap(), *b"x");
    }
}

#[test]
#[should_panic(expected = "a queue has no gaps")]
fn a_queue_has_no_gaps() {
    let place = place();
    let mut sender = Queue::builder()
        .directory(place.path())
        .sender("q")
        .unwrap();
    _ = sender.loan(0).unwrap().send_gap(1);
}

#[test]
fn a_gap_that_is_refused_names_the_callers_file() {
    let place = place();
    let queue = Queue::builder().directory(place.path());
    let channel = Channel::builder().directory(place.path());
    let (mut queue, mut channel) = (queue.sender("g").unwrap(), channel.sender("h").unwrap());
    let places = [
        file_of_panic(|| queue.loan(0).unwrap().send_gap(1)),
        file_of_panic(|| channel.loan(0).unwrap().send_gap(u64::MAX)),
    ];
    assert_eq!(places, [file!(); 2]);
}

fn imports(builder: Builder) {
    let place = place();
    let builder = builder.directory(place.path()).max_len(64);
    let mut receiver = builder.receiver("i").unwrap();
    let mut sender = builder.sender("i").unwrap();
    let mut loan = sender.loan(64).unwrap();
    loan.fill(5);
    let position = loan.position();
    loan.send_imported().unwrap();
    sender.send(b"local").unwrap();
    let message = receiver.recv().unwrap();
    assert!(message.is_imported() && *message == [5; 64]);
    assert_eq!(message.position(), position);
    drop(message);
    let message = receiver.recv().unwrap();
    assert!(!message.is_imported() && *message == *b"local");
    assert_eq!(message.position(), position + 1);
}

#[test]
fn an_imported_message_is_marked() {
    imports(Route::builder());
    imports(Channel::builder().when_full(WhenFull::DropOldest));
    imports(Queue::builder());
}

#[test]
fn places_without_a_message_are_counted() {
    let place = place();
    let route = Route::builder().directory(place.path()).capacity(8);
    let (mut receiver, mut sender) = (route.receiver("s").unwrap(), route.sender("s").unwrap());
    assert_eq!(receiver.next_position(), 0);
    let given_up = sender.loan(1).unwrap();
    let position = given_up.position();
    drop(given_up);
    sender.send(b"next").unwrap();
    assert_eq!(sender.message_state(position), MessageState::Absent);
    let message = receiver.recv().unwrap();
    assert_eq!((message.position(), message.skipped()), (position + 1, 1));
    drop(message);
    assert_eq!(
        (receiver.skipped(), receiver.next_position()),
        (1, position + 2)
    );
}

#[test]
fn a_message_has_a_state() {
    let place = place();
    let queue = Queue::builder().directory(place.path()).capacity(2);
    let (mut receiver, mut sender) = (queue.receiver("m").unwrap(), queue.sender("m").unwrap());
    assert_eq!(sender.message_state(0), MessageState::Ahead);
    sender.send(b"0").unwrap();
    assert_eq!(sender.message_state(0), MessageState::Sent);
    let message = receiver.recv().unwrap();
    assert_eq!(sender.message_state(0), MessageState::Sent);
    drop(message);
    assert_eq!(sender.message_state(0), MessageState::Consumed);
    sender.send(b"1").unwrap();
    sender.send(b"2").unwrap();
    assert_eq!(sender.message_state(0), MessageState::Overwritten);
    assert_eq!(sender.message_state(3), MessageState::Ahead);
}

#[test]
fn a_message_that_is_put_back_goes_to_another_receiver() {
    let place = place();
    let queue = Queue::builder().directory(place.path()).capacity(4);
    let mut receivers = [queue.receiver("b").unwrap(), queue.receiver("b").unwrap()];
    let mut sender = queue.sender("b").unwrap();
    for number in 0..4 {
        sender.send(&[number]).unwrap();
    }
    let [one, two] = &mut receivers;
    let message = one.recv().unwrap();
    let later = two.recv().unwrap();
    assert_eq!((&*message, &*later), (&[0][..], &[1][..]));
    let position = message.position();
    drop(later);
    message.put_back();
    assert_eq!(sender.message_state(position), MessageState::Sent);
    // It comes before those behind it, and keeps its place.
    let again = two.recv().unwrap();
    assert_eq!((&*again, again.position()), (&[0][..], position));
    drop(again);
    assert_eq!(sender.message_state(position), MessageState::Consumed);
    drop(sender);
    for number in [2, 3] {
        assert_eq!(*one.recv().unwrap(), [number]);
    }
    assert_eq!(one.recv().unwrap_err(), RecvError::Disconnected);
}

/// The message of a future that is dropped, for example when its runtime ends.
#[test]
fn the_only_message_is_put_back_without_a_sender() {
    let place = place();
    let queue = Queue::builder().directory(place.path());
    let (mut busy, mut idle) = (queue.receiver("o").unwrap(), queue.receiver("o").unwrap());
    queue.sender("o").unwrap().send(b"it").unwrap();
    let message = busy.recv().unwrap();
    let waits = thread::spawn(move || {
        assert_eq!(*idle.recv().unwrap(), *b"it");
        assert_eq!(idle.recv().unwrap_err(), RecvError::Disconnected);
    });
    message.put_back();
    waits.join().unwrap();
}

#[test]
fn a_message_of_a_route_that_is_put_back_is_received_again() {
    for when_full in [WhenFull::Block, WhenFull::DropOldest] {
        let place = place();
        let route = Route::builder().directory(place.path()).capacity(2);
        let route = route.when_full(when_full);
        let (mut receiver, mut sender) = (route.receiver("a").unwrap(), route.sender("a").unwrap());
        sender.send(b"1").unwrap();
        sender.send(b"2").unwrap();
        receiver.recv().unwrap().put_back();
        if when_full == WhenFull::Block {
            assert_eq!(sender.try_send(b"3").unwrap_err(), SendError::Full);
        }
        assert_eq!(*receiver.recv().unwrap(), *b"1");
        assert_eq!(*receiver.recv().unwrap(), *b"2");
    }
}

#[test]
fn segments_of_one_name_differ_in_their_number() {
    let place = place();
    let route = Route::builder().directory(place.path());
    let sender = route.sender("n").unwrap();
    let first = sender.segment_id();
    assert_eq!(route.receiver("n").unwrap().segment_id(), first);
    drop(sender);
    assert_ne!(route.sender("n").unwrap().segment_id(), first);
}
