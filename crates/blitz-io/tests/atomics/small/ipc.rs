//! Rings of IPC with one or two messages.

use std::thread::scope;

use blitz_io::ipc::{Builder, Channel, Queue, Receiver, RecvError, Route, Sender};

fn ends(builder: Builder) -> (Sender, [Receiver; 2]) {
    let segment = builder.capacity(1).max_len(8).anonymous().unwrap();
    let receivers = [(); 2].map(|()| segment.receiver().unwrap());
    (segment.sender().unwrap(), receivers)
}

/// One sender sends two messages through a ring with room for one. Returns what the receiver gets.
fn two_messages(builder: Builder) -> Vec<u8> {
    let segment = builder.capacity(1).max_len(8).anonymous().unwrap();
    let mut receiver = segment.receiver().unwrap();
    let mut sender = segment.sender().unwrap();
    scope(|scope| {
        scope.spawn(move || {
            sender.send(&[1]).unwrap();
            sender.send(&[2]).unwrap();
        });
        let mut got = vec![];
        loop {
            match receiver.recv() {
                Ok(message) => got.push(message[0]),
                Err(RecvError::Disconnected) => return got,
                Err(error) => panic!("{error}"),
            }
        }
    })
}

/// All ends stay, so that none can stand in for a lost wake-up.
fn a_message_wakes(builder: Builder) {
    let segment = builder.capacity(1).max_len(8).anonymous().unwrap();
    let mut receiver = segment.receiver().unwrap();
    let mut sender = segment.sender().unwrap();
    scope(|scope| {
        scope.spawn(|| assert_eq!(*receiver.recv().unwrap(), [7]));
        scope.spawn(|| sender.send(&[7]).unwrap());
    });
}

/// The ring is full, and all ends stay.
fn room_wakes(builder: Builder) {
    let segment = builder.capacity(1).max_len(8).anonymous().unwrap();
    let mut receiver = segment.receiver().unwrap();
    let mut sender = segment.sender().unwrap();
    sender.try_send(&[1]).unwrap();
    scope(|scope| {
        scope.spawn(|| sender.send(&[2]).unwrap());
        scope.spawn(|| assert_eq!(*receiver.recv().unwrap(), [1]));
    });
    assert_eq!(*receiver.recv().unwrap(), [2]);
}

#[test]
fn a_route() {
    assert_eq!(two_messages(Route::builder()), [1, 2]);
}

#[test]
fn a_channel() {
    assert_eq!(two_messages(Channel::builder()), [1, 2]);
}

#[test]
fn a_queue() {
    assert_eq!(two_messages(Queue::builder()), [1, 2]);
}

#[test]
fn a_message_wakes_a_receiver() {
    a_message_wakes(Route::builder());
}

#[test]
fn a_message_wakes_a_receiver_of_a_queue() {
    a_message_wakes(Queue::builder());
}

#[test]
fn room_wakes_a_sender() {
    room_wakes(Route::builder());
}

#[test]
fn room_wakes_a_sender_of_a_queue() {
    room_wakes(Queue::builder());
}

#[test]
fn two_receivers_of_a_queue_and_one_message() {
    let (mut sender, receivers) = ends(Queue::builder());
    sender.try_send(&[7]).unwrap();
    let got: usize = scope(|scope| {
        let receive =
            |mut receiver: Receiver| scope.spawn(move || usize::from(receiver.try_recv().is_ok()));
        let receivers = receivers.map(receive);
        receivers.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!(got, 1);
}

/// There is room for one message, so the second one is written over the first as soon as both receivers have read that.
#[test]
fn each_receiver_of_a_route_gets_whole_messages() {
    let (mut sender, receivers) = ends(Route::builder());
    scope(|scope| {
        for mut receiver in receivers {
            scope.spawn(move || {
                assert_eq!(*receiver.recv().unwrap(), [1, 1]);
                assert_eq!(*receiver.recv().unwrap(), [2, 2]);
            });
        }
        scope.spawn(move || {
            sender.send(&[1, 1]).unwrap();
            sender.send(&[2, 2]).unwrap();
        });
    });
}
