use std::thread;
use std::time::{Duration, Instant};

use blitz_io_ipc::{Builder, Channel, Queue, RecvError, Route, SendError, SendOptions, WhenFull};

use crate::common::{LONG, Place, check, message};

fn small(place: &Place, builder: Builder) -> Builder {
    place.in_it(builder.capacity(8).max_len(256))
}

fn within(timeout: Duration) -> SendOptions {
    SendOptions::new().timeout(timeout)
}

fn until(deadline: Instant) -> SendOptions {
    SendOptions::new().deadline(deadline)
}

#[test]
fn every_receiver_of_a_route_gets_every_message() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let mut sender = route.sender("r").unwrap();
    let receivers: Vec<_> = (0..64).map(|_| route.receiver("r").unwrap()).collect();
    let threads: Vec<_> = receivers
        .into_iter()
        .map(|mut receiver| {
            thread::spawn(move || {
                for number in 0..2000 {
                    let message = receiver.recv_timeout(LONG).unwrap();
                    assert_eq!(check(&message, 256), (1, number));
                }
                let end = receiver.recv_timeout(LONG).map(drop);
                assert_eq!(end, Err(RecvError::Disconnected));
            })
        })
        .collect();
    for number in 0..2000 {
        sender.send_timeout(&message(1, number, 256), LONG).unwrap();
    }
    drop(sender);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(place.segments(), 0);
}

#[test]
fn all_receivers_of_a_channel_see_one_order() {
    let place = Place::new();
    let channel = small(&place, Channel::builder());
    let receivers = [(); 3].map(|()| channel.receiver("c").unwrap());
    let senders = [1, 2, 3, 4].map(|id| {
        let mut sender = channel.sender("c").unwrap();
        thread::spawn(move || {
            for number in 0..2000 {
                sender
                    .send_timeout(&message(id, number, 256), LONG)
                    .unwrap();
            }
        })
    });
    let receivers = receivers.map(|mut receiver| {
        thread::spawn(move || {
            let mut seen = Vec::new();
            let mut next = [0; 5];
            for _ in 0..8000 {
                let (sender, number) = check(&receiver.recv_timeout(LONG).unwrap(), 256);
                assert_eq!(number, next[sender as usize]);
                next[sender as usize] += 1;
                seen.push(sender);
            }
            seen
        })
    });
    for sender in senders {
        sender.join().unwrap();
    }
    let [one, two, three] = receivers.map(|receiver| receiver.join().unwrap());
    assert!(one == two && two == three);
    assert_eq!(place.segments(), 0);
}

#[test]
fn each_message_of_a_queue_goes_to_one_receiver() {
    let place = Place::new();
    let queue = small(&place, Queue::builder());
    let receivers = [(); 4].map(|()| queue.receiver("q").unwrap());
    let senders = [0, 1, 2].map(|id| {
        let mut sender = queue.sender("q").unwrap();
        thread::spawn(move || {
            for number in 0..3000 {
                sender
                    .send_timeout(&message(id, number, 256), LONG)
                    .unwrap();
            }
        })
    });
    let receivers = receivers.map(|mut receiver| {
        thread::spawn(move || {
            let mut seen = Vec::new();
            let mut buffer = [0; 256];
            loop {
                match receiver.recv_into(&mut buffer) {
                    Ok(len) => seen.push(check(&buffer[..len], 256)),
                    Err(RecvError::Disconnected) => return seen,
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    for sender in senders {
        sender.join().unwrap();
    }
    let mut all: Vec<_> = receivers
        .into_iter()
        .flat_map(|receiver| receiver.join().unwrap())
        .collect();
    all.sort_unstable();
    let expected: Vec<_> = (0..3)
        .flat_map(|id| (0..3000).map(move |n| (id, n)))
        .collect();
    assert_eq!(all, expected);
    assert_eq!(place.segments(), 0);
}

#[test]
fn a_full_ring_blocks_fails_or_drops_the_oldest() {
    let place = Place::new();
    for builder in [Route::builder(), Queue::builder()] {
        let blocking = small(&place, builder.clone());
        let mut receiver = blocking.receiver("b").unwrap();
        let mut sender = blocking.sender("b").unwrap();
        for number in 0..8_u8 {
            sender.send(&[number]).unwrap();
        }
        assert_eq!(sender.try_send(&[8]), Err(SendError::Full));
        let start = Instant::now();
        let timeout = Duration::from_millis(120);
        assert_eq!(sender.send_timeout(&[8], timeout), Err(SendError::TimedOut));
        assert!(start.elapsed() >= timeout);
        assert_eq!(*receiver.recv().unwrap(), [0]);
        sender.try_send(&[8]).unwrap();

        let failing = small(&place, builder.clone()).when_full(WhenFull::Fail);
        let _receiver = failing.receiver("f").unwrap();
        let mut sender = failing.sender("f").unwrap();
        for number in 0..8_u8 {
            sender.send(&[number]).unwrap();
        }
        assert_eq!(sender.send(&[8]), Err(SendError::Full));
    }
    let dropping = small(&place, Route::builder()).when_full(WhenFull::DropOldest);
    let mut receiver = dropping.receiver("d").unwrap();
    let mut sender = dropping.sender("d").unwrap();
    for number in 0..20_u8 {
        sender.send(&[number]).unwrap();
    }
    assert_eq!(receiver.recv().unwrap_err(), RecvError::Lagged(12));
    assert_eq!(*receiver.recv().unwrap(), [12]);

    let dropping = small(&place, Queue::builder()).when_full(WhenFull::DropOldest);
    let mut receiver = dropping.receiver("e").unwrap();
    let mut sender = dropping.sender("e").unwrap();
    for number in 0..20_u8 {
        sender.send(&[number]).unwrap();
    }
    for number in 12..20 {
        assert_eq!(*receiver.recv().unwrap(), [number]);
    }
    assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
}

#[test]
fn copies_of_a_ring_that_drops_are_whole() {
    let place = Place::new();
    let route = small(&place, Route::builder()).when_full(WhenFull::DropOldest);
    let mut sender = route.sender("d").unwrap();
    let receivers = [(); 3].map(|()| {
        let mut receiver = route.receiver("d").unwrap();
        thread::spawn(move || {
            let mut next = 0;
            while next < 20_000 {
                match receiver.recv_timeout(LONG) {
                    Ok(bytes) => {
                        assert_eq!(check(&bytes, 256), (1, next));
                        next += 1;
                    }
                    Err(RecvError::Lagged(missed)) => next += missed,
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    for number in 0..20_000 {
        sender.send(&message(1, number, 256)).unwrap();
    }
    for receiver in receivers {
        receiver.join().unwrap();
    }
}

#[test]
fn a_late_receiver_begins_now_or_with_history() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let mut sender = route.sender("h").unwrap();
    for number in 0..11_u8 {
        sender.send(&[number]).unwrap();
    }
    let mut late = route.receiver("h").unwrap();
    let mut historian = route.clone().with_history(true).receiver("h").unwrap();
    sender.send(&[11]).unwrap();
    assert_eq!(*late.recv().unwrap(), [11]);
    let mut seen = Vec::new();
    while let Ok(message) = historian.try_recv() {
        seen.push(message[0]);
    }
    assert!(
        seen == (4..12).collect::<Vec<_>>() || seen == (3..12).collect::<Vec<_>>(),
        "{seen:?}"
    );
}

/// The history is the content of the ring; a queue has no history, as it gives no message
/// twice.
#[cfg(not(feature = "lock-files"))] // There a segment needs a name.
#[test]
fn history_is_for_every_late_receiver_of_a_channel() {
    let place = Place::new();
    let channel = small(&place, Channel::builder());
    let anonymous = channel.anonymous().unwrap().with_history(true);
    let historian = channel.clone().with_history(true);
    let (mut named, mut unnamed) = (channel.sender("h").unwrap(), anonymous.sender().unwrap());
    for number in 0..3_u8 {
        named.send(&[number]).unwrap();
        unnamed.send(&[number]).unwrap();
    }
    for _ in 0..2 {
        let mut late = [
            historian.receiver("h").unwrap(),
            anonymous.receiver().unwrap(),
        ];
        for receiver in &mut late {
            for number in 0..3 {
                assert_eq!(*receiver.recv_timeout(LONG).unwrap(), [number]);
            }
            assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
        }
    }
}

/// A receiver that searches the ring for messages that were put back leaves behind the
/// position where receivers look otherwise.
#[test]
fn a_message_is_received_at_once_after_others_were_found_by_a_search() {
    let place = Place::new();
    let queue = place.in_it(Queue::builder().capacity(4).max_len(16));
    let (mut receiver, mut sender) = (queue.receiver("q").unwrap(), queue.sender("q").unwrap());
    // A participant that leaves may put a message back, so the receiver searches.
    drop(queue.sender("q").unwrap());
    for _ in 0..4 {
        sender.try_send(b"one").unwrap();
    }
    for _ in 0..1000 {
        assert_eq!(*receiver.try_recv().unwrap(), *b"one");
        sender.try_send(b"one").unwrap();
    }
    for _ in 0..4 {
        assert_eq!(*receiver.try_recv().unwrap(), *b"one");
    }
    assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
    sender.try_send(b"next").unwrap();
    assert_eq!(*receiver.try_recv().unwrap(), *b"next");
}

#[test]
fn the_oldest_message_of_a_queue_is_received_at_once_after_many_were_dropped() {
    let place = Place::new();
    let queue = place.in_it(Queue::builder().capacity(4).max_len(16));
    let queue = queue.when_full(WhenFull::DropOldest);
    let (mut receiver, mut sender) = (queue.receiver("q").unwrap(), queue.sender("q").unwrap());
    for number in 0..100_u8 {
        sender.try_send(&[number]).unwrap();
    }
    for number in 96..100 {
        assert_eq!(*receiver.try_recv().unwrap(), [number]);
    }
    assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
}

/// Messages that were sent before it joined do not count as missed; later ones do.
#[test]
fn an_observer_with_history_is_told_what_it_missed_since_it_joined() {
    let place = Place::new();
    let route = place.in_it(Route::builder().capacity(2).max_len(16));
    let mut sender = route.sender("o").unwrap();
    let join = || route.clone().with_history(true).observer("o").unwrap();
    sender.send(&[0]).unwrap();
    sender.send(&[1]).unwrap();
    let mut observer = join();
    for number in 2..12 {
        sender.send(&[number]).unwrap();
    }
    assert_eq!(observer.recv().unwrap_err(), RecvError::Lagged(8));
    assert_eq!(*observer.recv().unwrap(), [10]);
    assert_eq!(*observer.recv().unwrap(), [11]);
    let mut observer = join();
    sender.send(&[12]).unwrap();
    assert_eq!(*observer.recv().unwrap(), [11]);
    assert_eq!(*observer.recv().unwrap(), [12]);
}

#[test]
fn an_observer_holds_no_sender_up() {
    let place = Place::new();
    for builder in [Route::builder(), Channel::builder()] {
        let builder = small(&place, builder);
        let mut receiver = builder.receiver("o").unwrap();
        let mut observer = builder.observer("o").unwrap();
        let mut sender = builder.sender("o").unwrap();
        for number in 0..20_u8 {
            sender.try_send(&[number]).unwrap();
            assert_eq!(*receiver.recv().unwrap(), [number]);
        }
        assert_eq!(observer.recv().unwrap_err(), RecvError::Lagged(12));
        for number in 12..20 {
            assert_eq!(*observer.recv().unwrap(), [number]);
        }
        assert_eq!(observer.try_recv().unwrap_err(), RecvError::Empty);
        let mut historian = builder.clone().with_history(true).observer("o").unwrap();
        for number in 12..20 {
            assert_eq!(*historian.recv().unwrap(), [number]);
        }
        let listed = blitz_io_ipc::list_in(place.path()).unwrap();
        let depths = listed[0].participants.iter().map(|one| one.depth);
        assert_eq!(depths.flatten().collect::<Vec<_>>(), [0]);
        let waiting = thread::spawn(move || {
            let seen = observer.recv_timeout(LONG).map(|message| message[0]);
            (seen, observer.recv_timeout(LONG).map(drop))
        });
        sender.send(&[20]).unwrap();
        drop(sender);
        let (seen, end) = waiting.join().unwrap();
        assert_eq!((seen, end), (Ok(20), Err(RecvError::Disconnected)));
    }
    let error = small(&place, Queue::builder()).observer("q").unwrap_err();
    assert!(
        matches!(error, blitz_io_ipc::Error::Setting { .. }),
        "{error}"
    );
    assert_eq!(place.segments(), 0);
}

/// They are private buffers.
#[test]
fn loans_that_receivers_may_copy_arrive_whole() {
    let place = Place::new();
    let observed = small(&place, Route::builder());
    let dropping = small(&place, Channel::builder()).when_full(WhenFull::DropOldest);
    for builder in [observed, dropping] {
        let receivers = [
            builder.receiver("l").unwrap(),
            builder.observer("l").unwrap(),
        ];
        let mut sender = builder.sender("l").unwrap();
        let receivers = receivers.map(|mut receiver| {
            thread::spawn(move || {
                let mut next = 0;
                loop {
                    match receiver.recv_timeout(LONG) {
                        Ok(bytes) => {
                            let (_, number) = check(&bytes, 256);
                            assert!(number >= next, "{number} after {next}");
                            next = number + 1;
                        }
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Disconnected) => return next,
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        });
        for number in 0..5000 {
            let text = message(1, number, 256);
            // Its position is not used for a message.
            drop(sender.loan(3).unwrap());
            let mut loan = sender.with(within(LONG)).loan(256).unwrap();
            loan[..text.len()].copy_from_slice(&text);
            loan.truncate(text.len());
            loan.send().unwrap();
        }
        drop(sender);
        for receiver in receivers {
            assert_eq!(receiver.join().unwrap(), 5000);
        }
    }
}

#[test]
fn a_message_that_does_not_fit_is_kept_and_a_too_long_one_refused() {
    let place = Place::new();
    for builder in [Route::builder(), Queue::builder()] {
        let builder = small(&place, builder);
        let mut receiver = builder.receiver("s").unwrap();
        let mut sender = builder.sender("s").unwrap();
        let too_long = SendError::TooLong { len: 257, max: 256 };
        assert_eq!(sender.send(&[0; 257]), Err(too_long));
        sender.send(&[1, 2, 3]).unwrap();
        sender.send(&[]).unwrap();
        let short = receiver.recv_into(&mut [0; 2]);
        assert_eq!(short, Err(RecvError::TooShort { len: 3 }));
        std::mem::forget(receiver.recv().unwrap());
        let mut buffer = [0; 3];
        assert_eq!(receiver.try_recv_into(&mut buffer), Ok(3));
        assert_eq!(buffer, [1, 2, 3]);
        assert_eq!(receiver.recv().unwrap().len(), 0);
        assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
    }
}

#[test]
fn a_loan_is_written_and_read_in_place_or_leaves_nothing() {
    let place = Place::new();
    for builder in [Route::builder(), Queue::builder()] {
        let builder = small(&place, builder);
        let mut receiver = builder.receiver("l").unwrap();
        let mut sender = builder.sender("l").unwrap();
        for round in 0..30_u8 {
            drop(sender.loan(10).unwrap());
            std::mem::forget(sender.with(SendOptions::new().no_wait()).loan(10).unwrap());
            let mut loan = sender.loan(200).unwrap();
            loan.fill(round);
            loan.truncate(100);
            loan.send().unwrap();
            let message = receiver.recv().unwrap();
            assert_eq!(*message, [round; 100]);
        }
        assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
    }
}

#[test]
fn a_receiver_waits_for_the_first_sender_and_sees_the_last_one_go() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let mut receiver = route.receiver("w").unwrap();
    assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Empty);
    let short = Duration::from_millis(10);
    assert_eq!(
        receiver.recv_timeout(short).unwrap_err(),
        RecvError::TimedOut
    );
    let waiting = thread::spawn(move || {
        assert_eq!(*receiver.recv_timeout(LONG).unwrap(), [1]);
        receiver
    });
    thread::sleep(short);
    let mut sender = route.sender("w").unwrap();
    sender.send(&[1]).unwrap();
    let mut receiver = waiting.join().unwrap();
    sender.send(&[2]).unwrap();
    drop(sender);
    assert_eq!(*receiver.recv().unwrap(), [2]);
    assert_eq!(receiver.recv().unwrap_err(), RecvError::Disconnected);
    assert_eq!(receiver.try_recv().unwrap_err(), RecvError::Disconnected);
    // With a new sender, everything works again.
    let mut sender = route.sender("w").unwrap();
    sender.send(&[3]).unwrap();
    assert_eq!(*receiver.recv().unwrap(), [3]);
}

#[test]
fn a_receiver_that_leaves_holds_nobody_up() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let slow = route.receiver("g").unwrap();
    let mut sender = route.sender("g").unwrap();
    for number in 0..8_u8 {
        sender.send(&[number]).unwrap();
    }
    let waiting = thread::spawn(move || sender.send_timeout(&[8], LONG));
    thread::sleep(Duration::from_millis(20));
    drop(slow);
    waiting.join().unwrap().unwrap();
}

#[test]
fn a_queue_gives_back_what_a_receiver_left_with() {
    let place = Place::new();
    let queue = small(&place, Queue::builder());
    let mut sender = queue.sender("x").unwrap();
    let mut leaving = queue.receiver("x").unwrap();
    let mut staying = queue.receiver("x").unwrap();
    for number in 0..3_u8 {
        sender.send(&[number]).unwrap();
    }
    std::mem::forget(leaving.recv().unwrap());
    assert_eq!(*staying.recv().unwrap(), [1]);
    drop(leaving);
    let mut rest = [(); 2].map(|()| staying.recv().unwrap()[0]);
    rest.sort_unstable();
    assert_eq!(rest, [0, 2]);
}

#[test]
fn ends_can_move_between_threads_and_say_what_they_are() {
    fn is_send<T: Send>(_: &T) {}
    let place = Place::new();
    let route = small(&place, Route::builder());
    let (sender, mut receiver) = (route.sender("t").unwrap(), route.receiver("t").unwrap());
    is_send(&sender);
    is_send(&receiver);
    assert!(format!("{sender:?}").contains("Route"));
    assert!(format!("{receiver:?}").contains("t.ring"));
    assert_eq!((sender.capacity(), receiver.max_len()), (8, 256));
    drop(sender);
    assert!(receiver.try_recv().is_err());
}

blitz_io_ipc::plain_data! {
    /// A value with all kinds of fields.
    #[derive(Debug, PartialEq)]
    struct Reading {
        at: u64,
        value: f64,
        place: [u16; 3],
        rest: [u8; 2],
    }
}

/// Derived, with another derived one in it.
#[derive(Clone, Copy, Debug, PartialEq, blitz_io_ipc::PlainData)]
#[repr(C)]
struct Readings {
    two: [Derived; 2],
    count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, blitz_io_ipc::PlainData)]
#[repr(transparent)]
struct Derived(Reading);

#[test]
fn derived_values_arrive_as_they_were() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let (mut sender, mut receiver) = (route.sender("d").unwrap(), route.receiver("d").unwrap());
    let reading = |at| {
        Derived(Reading {
            at,
            value: f64::MAX,
            place: [1, 2, 3],
            rest: [4, 5],
        })
    };
    let readings = Readings {
        two: [reading(1), reading(u64::MAX)],
        count: 2,
    };
    sender.send_value(&readings).unwrap();
    assert_eq!(receiver.recv_value::<Readings>(), Ok(readings));
    sender.send_value(&readings.two[1]).unwrap();
    assert_eq!(receiver.recv_value::<Derived>(), Ok(readings.two[1]));
}

#[test]
fn values_arrive_as_they_were_and_other_lengths_are_refused() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let (mut sender, mut receiver) = (route.sender("v").unwrap(), route.receiver("v").unwrap());
    for at in 0..20 {
        let reading = Reading {
            at,
            value: -0.5,
            place: [1, 2, u16::MAX],
            rest: [3, 4],
        };
        sender.try_send_value(&reading).unwrap();
        assert_eq!(receiver.try_recv_value::<Reading>(), Ok(reading));
        sender.send_value(&at).unwrap();
        let wrong = RecvError::WrongLength {
            len: 8,
            expected: 24,
        };
        assert_eq!(receiver.recv_value::<Reading>(), Err(wrong));
    }
    assert_eq!(receiver.try_recv_value::<u64>(), Err(RecvError::Empty));
}

/// Declarations of one length: as in several programs.
mod declared {
    /// `Payment` as below, declared by the derive macro.
    pub(super) mod derived {
        #[derive(Clone, Copy, Debug, PartialEq, blitz_io_ipc::PlainData)]
        #[repr(C)]
        pub struct Payment {
            pub number: u64,
            pub cents: [u32; 2],
        }
    }

    pub(super) mod with_another_type {
        blitz_io_ipc::plain_data! {
            #[derive(Debug)]
            pub struct Payment { number: u64, cents: [i32; 2] }
        }
    }

    pub(super) mod with_another_name {
        blitz_io_ipc::plain_data! {
            #[derive(Debug)]
            pub struct Payment { number: u64, euros: [u32; 2] }
        }
    }

    pub(super) mod called_otherwise {
        blitz_io_ipc::plain_data! {
            #[derive(Debug)]
            pub struct Order { number: u64, cents: [u32; 2] }
        }
    }

    blitz_io_ipc::plain_data! {
        #[derive(Debug, PartialEq)]
        pub struct Payment { pub number: u64, pub cents: [u32; 2] }
    }

    /// Nothing is known of its fields.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    pub(super) struct ByHand(pub u64, pub [u32; 2]);

    // SAFETY: integers without padding.
    unsafe impl blitz_io_ipc::PlainData for ByHand {}

    blitz_io_ipc::plain_data! {
        #[derive(Debug, PartialEq)]
        pub struct OfUnknown { pub field: ByHand }
    }
}

#[test]
fn a_value_of_another_type_of_its_length_is_refused() {
    use declared::{ByHand, OfUnknown, Payment};

    #[track_caller]
    fn is_refused<T: blitz_io_ipc::PlainData + std::fmt::Debug>(
        receiver: &mut blitz_io_ipc::Receiver,
    ) {
        let expected = std::any::type_name::<T>();
        let error = receiver.recv_value::<T>().unwrap_err();
        assert_eq!(error, RecvError::WrongType { expected });
        assert!(error.to_string().contains(expected), "{error}");
    }

    let place = Place::new();
    let (number, cents) = (7, [1, 2]);
    for builder in [
        Route::builder(),
        Queue::builder().when_full(WhenFull::DropOldest),
    ] {
        let builder = small(&place, builder);
        let mut sender = builder.sender("p").unwrap();
        let mut receiver = builder.receiver("p").unwrap();
        let payment = Payment { number, cents };
        let mut send = || sender.send_value(&payment).unwrap();
        send();
        is_refused::<declared::with_another_type::Payment>(&mut receiver);
        send();
        is_refused::<declared::with_another_name::Payment>(&mut receiver);
        send();
        is_refused::<declared::called_otherwise::Order>(&mut receiver);
        send();
        is_refused::<u128>(&mut receiver);
        send();
        is_refused::<[u64; 2]>(&mut receiver);
        // The same declaration, by the other macro; and types of which nothing is known.
        send();
        let derived = declared::derived::Payment { number, cents };
        assert_eq!(receiver.recv_value(), Ok(derived));
        send();
        assert_eq!(receiver.recv_value(), Ok(ByHand(number, cents)));
        send();
        let field = ByHand(number, cents);
        assert_eq!(receiver.recv_value(), Ok(OfUnknown { field }));
        sender.send_value(&ByHand(number, cents)).unwrap();
        assert_eq!(receiver.recv_value(), Ok(payment));
        // Bytes are a value of any type, and any value is bytes.
        sender.send(&[0; 16]).unwrap();
        assert_eq!(receiver.recv_value(), Ok(0_u128));
        sender.send_value(&payment).unwrap();
        assert_eq!(receiver.recv().unwrap()[..8], 7_u64.to_ne_bytes());
    }
}

#[test]
fn every_form_keeps_its_deadline() {
    let place = Place::new();
    let short = Duration::from_millis(5);
    for builder in [Route::builder(), Queue::builder()] {
        let builder = small(&place, builder);
        let (mut sender, mut receiver) =
            (builder.sender("d").unwrap(), builder.receiver("d").unwrap());
        let mut buffer = [0; 8];
        let began = Instant::now();
        let late = [
            receiver.recv_into_timeout(&mut buffer, short).err(),
            receiver.recv_into_deadline(&mut buffer, began).err(),
            receiver.recv_value_timeout::<u64>(short).err(),
            receiver.recv_value_deadline::<u64>(began).err(),
            receiver.recv_deadline(began).err(),
        ];
        assert_eq!(late, [Some(RecvError::TimedOut); 5]);
        assert!(began.elapsed() >= short * 2);
        for number in 0..2_u64 {
            sender.send_value_timeout(&number, LONG).unwrap();
            sender
                .send_value_deadline(&number, Instant::now() + LONG)
                .unwrap();
            sender.with(within(LONG)).loan(8).unwrap().send().unwrap();
            let mut loan = sender.with(until(Instant::now() + LONG)).loan(8).unwrap();
            loan.fill(1);
            loan.send().unwrap();
        }
        let began = Instant::now();
        let late = [
            sender.send_value_timeout(&0_u64, short).err(),
            sender.send_value_deadline(&0_u64, began).err(),
            sender.with(within(short)).loan(8).err(),
            sender.with(until(began)).loan(8).err(),
            sender.with(until(began)).send(&[]).err(),
        ];
        assert_eq!(late, [Some(SendError::TimedOut); 5]);
        assert!(began.elapsed() >= short * 2);
        for number in 0..2_u64 {
            assert_eq!(receiver.recv_value_timeout(LONG), Ok(number));
            let message = receiver.recv().unwrap();
            let wrong = RecvError::WrongLength {
                len: 8,
                expected: 4,
            };
            assert_eq!(message.value::<u32>(), Err(wrong));
            assert_eq!(message.value(), Ok(number));
            drop(message);
            assert_eq!(receiver.recv_into_timeout(&mut buffer, LONG), Ok(8));
            let until = Instant::now() + LONG;
            assert_eq!(receiver.recv_into_deadline(&mut buffer, until), Ok(8));
            assert_eq!(buffer, [1; 8]);
        }
    }
}
