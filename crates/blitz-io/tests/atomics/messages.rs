//! The rings of IPC, with all participants in one process. Each has its own mapping of the segment.

#![cfg(target_os = "linux")]

use blitz_io::ipc::{Builder, Channel, Queue, Receiver, RecvError, Route, Sender};

/// Joins a segment with a ring of two messages.
fn ends(builder: Builder, senders: usize, receivers: usize) -> (Vec<Sender>, Vec<Receiver>) {
    let segment = builder.capacity(2).max_len(8).anonymous().unwrap();
    let receivers = (0..receivers)
        .map(|_| segment.receiver().unwrap())
        .collect();
    let senders = (0..senders).map(|_| segment.sender().unwrap()).collect();
    (senders, receivers)
}

/// Each sender sends two messages. Returns what each receiver got until the senders were gone.
fn exchange(senders: Vec<Sender>, receivers: Vec<Receiver>) -> Vec<Vec<u8>> {
    std::thread::scope(|scope| {
        for (me, mut sender) in senders.into_iter().enumerate() {
            scope.spawn(move || {
                for number in 0..2 {
                    sender.send(&[2 * me as u8 + number]).unwrap();
                }
            });
        }
        let receivers: Vec<_> = receivers
            .into_iter()
            .map(|mut receiver| {
                scope.spawn(move || {
                    let mut got = vec![];
                    loop {
                        match receiver.recv() {
                            Ok(message) => got.push(message[0]),
                            Err(RecvError::Disconnected) => return got,
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        receivers.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

#[test]
fn each_receiver_of_a_route_gets_all_messages() {
    let (senders, receivers) = ends(Route::builder(), 1, 2);
    assert_eq!(exchange(senders, receivers), [[0, 1], [0, 1]]);
}

#[test]
fn receivers_of_a_channel_get_one_order() {
    let (senders, receivers) = ends(Channel::builder(), 2, 2);
    let got = exchange(senders, receivers);
    assert_eq!(got[0], got[1]);
    let of = |sender: u8| got[0].iter().filter(move |it| **it / 2 == sender);
    assert!(of(0).eq(&[0, 1]) && of(1).eq(&[2, 3]), "{got:?}");
}

#[test]
fn each_message_of_a_queue_has_one_receiver() {
    let (senders, receivers) = ends(Queue::builder(), 2, 2);
    let mut got = exchange(senders, receivers).concat();
    got.sort_unstable();
    assert_eq!(got, [0, 1, 2, 3]);
}
