//! Senders and receivers that are awaited, in the runtime of blitz-io and in two others.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use async_io::Async;
use blitz_io_ipc::{
    Builder, Channel, Doorbell, Message, Queue, Receiver, RecvError, Route, SendOptions, Sender,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::common::{LONG, Place, Process, check, directory_of, message, role};

const MAX: usize = 100;

fn small(place: &Place, builder: Builder) -> Builder {
    place.in_it(builder.capacity(4).max_len(MAX))
}

fn registered(doorbell: Doorbell) -> AsyncFd<Doorbell> {
    // SAFETY: a doorbell has the same descriptor for as long as it lives.
    unsafe { AsyncFd::register_with_interest(doorbell, Interest::READABLE) }.unwrap()
}

async fn recv<'a>(
    receiver: &'a mut Receiver,
    doorbell: &AsyncFd<Doorbell>,
) -> Result<Message<'a>, RecvError> {
    let ready = || async {
        doorbell.readable().await?.clear_ready();
        Ok(())
    };
    let received = tokio::time::timeout(LONG, receiver.recv_when(ready)).await;
    received.expect("a lost wake-up")
}

async fn send(sender: &mut Sender, doorbell: &AsyncFd<Doorbell>, message: &[u8]) {
    let ready = || async {
        doorbell.readable().await?.clear_ready();
        Ok(())
    };
    let sent = tokio::time::timeout(
        LONG,
        sender.with(SendOptions::new()).send_when(message, ready),
    )
    .await;
    sent.expect("a lost wake-up").unwrap();
}

#[test]
fn tasks_of_tokio_send_and_receive() {
    const COUNT: u64 = 5000;
    let place = Place::new();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for builder in [Route::builder(), Channel::builder(), Queue::builder()] {
        let builder = small(&place, builder);
        let mut sender = builder.sender("t").unwrap();
        let mut receiver = builder.receiver("t").unwrap();
        let sending = async move {
            let doorbell = registered(sender.doorbell().unwrap());
            for number in 0..COUNT {
                send(&mut sender, &doorbell, &message(1, number, MAX)).await;
            }
        };
        let receiving = async move {
            let doorbell = registered(receiver.doorbell().unwrap());
            for number in 0..COUNT {
                let message = recv(&mut receiver, &doorbell).await.unwrap();
                assert_eq!(check(&message, MAX), (1, number));
            }
            let end = recv(&mut receiver, &doorbell).await.map(drop);
            assert_eq!(end, Err(RecvError::Disconnected));
        };
        runtime.block_on(async {
            let tasks = [tokio::spawn(sending), tokio::spawn(receiving)];
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
    assert_eq!(place.segments(), 0);
}

#[test]
fn a_task_of_async_io_waits_for_a_thread() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let mut receiver = route.receiver("a").unwrap();
    let mut sender = route.sender("a").unwrap();
    let sending = thread::spawn(move || {
        for number in 0..300 {
            sender.send_timeout(&message(1, number, MAX), LONG).unwrap();
            if number % 30 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
    });
    pollster::block_on(async {
        let doorbell = Async::new_nonblocking(receiver.doorbell().unwrap()).unwrap();
        for number in 0..300 {
            let message = receiver.recv_when(|| doorbell.readable()).await;
            assert_eq!(check(&message.unwrap(), MAX), (1, number));
        }
        let end = receiver.recv_when(|| doorbell.readable()).await;
        assert_eq!(end.unwrap_err(), RecvError::Disconnected);
    });
    sending.join().unwrap();
}

#[test]
fn a_future_that_is_dropped_receives_nothing() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let (mut sender, mut receiver) = (route.sender("c").unwrap(), route.receiver("c").unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let doorbell = registered(receiver.doorbell().unwrap());
        let short = Duration::from_millis(1);
        for number in 0..50_u8 {
            let waiting = recv(&mut receiver, &doorbell);
            assert!(tokio::time::timeout(short, waiting).await.is_err());
            sender.send(&[number]).unwrap();
            assert_eq!(*recv(&mut receiver, &doorbell).await.unwrap(), [number]);
        }
    });
}

fn ours(workers: usize) -> blitz_io::runtime::Runtime {
    let mut builder = blitz_io::runtime::Builder::new_multi_thread();
    builder.worker_threads(workers).enable_all();
    builder.build().unwrap()
}

#[test]
fn tasks_of_ours_send_and_receive() {
    const COUNT: u64 = 5000;
    let place = Place::new();
    let runtime = ours(2);
    for builder in [Route::builder(), Channel::builder(), Queue::builder()] {
        let builder = small(&place, builder);
        let mut sender = builder.sender("o").unwrap();
        let mut receiver = builder.receiver("o").unwrap();
        let sending = async move {
            for number in 0..COUNT {
                let message = message(1, number, MAX);
                if number % 2 == 0 {
                    sender.send_async(&message).await.unwrap();
                } else {
                    let mut loan = sender.loan_async(message.len()).await.unwrap();
                    loan.copy_from_slice(&message);
                    loan.send().unwrap();
                }
            }
        };
        let receiving = async move {
            for number in 0..COUNT {
                if number % 2 == 0 {
                    let message = receiver.recv_async().await.unwrap();
                    assert_eq!(check(&message, MAX), (1, number));
                } else {
                    let mut buffer = [0; MAX];
                    let len = receiver.recv_into_async(&mut buffer).await.unwrap();
                    assert_eq!(check(&buffer[..len], MAX), (1, number));
                }
            }
            let end = receiver.recv_async().await.map(drop);
            assert_eq!(end, Err(RecvError::Disconnected));
        };
        runtime.block_on(async {
            let tasks = [blitz_io::spawn(sending), blitz_io::spawn(receiving)];
            for task in tasks {
                let ended = blitz_io::time::timeout(LONG, task).await;
                ended.expect("a lost wake-up").unwrap();
            }
        });
    }
    assert_eq!(place.segments(), 0);
}

/// Receives and sends are dropped at every stage, many times, and no message is lost,
/// doubled or torn.
#[test]
fn futures_of_ours_are_dropped() {
    const COUNT: u64 = 400;
    let place = Place::new();
    let queue = small(&place, Queue::builder());
    let (mut sender, mut receiver) = (queue.sender("d").unwrap(), queue.receiver("d").unwrap());
    let short = |number: u64| Duration::from_micros(number % 7 * 50);
    let runtime = ours(2);
    runtime.block_on(async {
        let sending = blitz_io::spawn(async move {
            for number in 0..COUNT {
                let message = message(1, number, MAX);
                loop {
                    let sent = sender.send_async(&message);
                    match blitz_io::time::timeout(short(number), sent).await {
                        Ok(sent) => break sent.unwrap(),
                        Err(_) => blitz_io::task::yield_now().await,
                    }
                }
            }
        });
        for number in 0..COUNT {
            loop {
                let received = receiver.recv_async();
                match blitz_io::time::timeout(short(number + 3), received).await {
                    Ok(message) => {
                        assert_eq!(check(&message.unwrap(), MAX), (1, number));
                        break;
                    }
                    Err(_) => blitz_io::task::yield_now().await,
                }
            }
        }
        sending.await.unwrap();
    });
}

/// A receiver that always finds a message does not keep other tasks from running on its
/// thread.
#[test]
fn a_busy_receiver_lets_other_tasks_run() {
    let place = Place::new();
    let route = place.in_it(Route::builder().capacity(1024).max_len(8));
    let (mut sender, mut receiver) = (route.sender("b").unwrap(), route.receiver("b").unwrap());
    for _ in 0..1024 {
        sender.send(&[1]).unwrap();
    }
    let runtime = blitz_io::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let other = blitz_io::spawn(async {});
        let mut received = 0;
        while !other.is_finished() {
            receiver.recv_async().await.unwrap();
            received += 1;
        }
        assert!(received < 1024);
    });
}

/// Tokio does not know this crate's budget, but an operation that is always ready still
/// yields.
#[test]
fn a_busy_receiver_and_a_busy_sender_let_other_tasks_of_tokio_run() {
    const COUNT: usize = 1024;
    let place = Place::new();
    let route = place.in_it(Route::builder().capacity(COUNT).max_len(8));
    let (mut sender, mut receiver) = (route.sender("k").unwrap(), route.receiver("k").unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let doorbell = registered(sender.doorbell().unwrap());
        let ready = || async {
            doorbell.readable().await?.clear_ready();
            Ok(())
        };
        let other = tokio::spawn(async {});
        let mut sent = 0;
        while !other.is_finished() {
            sender
                .with(SendOptions::new())
                .send_when(&[1], ready)
                .await
                .unwrap();
            sent += 1;
        }
        assert!(sent < COUNT);
        (sent..COUNT).for_each(|_| sender.send(&[1]).unwrap());
        let other = tokio::spawn(async {});
        let mut received = 0;
        while !other.is_finished() {
            receiver.recv_when(ready).await.unwrap();
            received += 1;
        }
        assert!(received < COUNT);
    });
}

/// The runtime that awaited before has ended.
#[test]
fn a_receiver_moves_to_another_runtime() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let (mut sender, mut receiver) = (route.sender("m").unwrap(), route.receiver("m").unwrap());
    for _ in 0..3 {
        let runtime = ours(1);
        let received = runtime.block_on(async {
            let short = Duration::from_millis(2);
            let early = blitz_io::time::timeout(short, receiver.recv_async()).await;
            assert!(early.map(drop).is_err());
            let sending = blitz_io::spawn(async move {
                blitz_io::time::sleep(short).await;
                sender.send_async(&[5]).await.unwrap();
                sender
            });
            let received = blitz_io::time::timeout(LONG, receiver.recv_async()).await;
            assert_eq!(*received.unwrap().unwrap(), [5]);
            sending.await.unwrap()
        });
        sender = received;
    }
}

/// Polls a future once, which has to wait.
async fn begin(future: &mut (impl Future + Unpin)) {
    let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context).is_pending()));
    assert!(polled.await, "it did not wait");
}

/// The driver of a runtime with one thread watches nothing while no task of it runs.
#[test]
fn a_receiver_is_woken_although_its_first_runtime_is_idle() {
    let place = Place::new();
    let queue = small(&place, Queue::builder());
    let (mut sender, mut receiver) = (queue.sender("i").unwrap(), queue.receiver("i").unwrap());
    let runtimes = [(); 2].map(|()| {
        let mut builder = blitz_io::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    });
    for number in 0..4 {
        for runtime in &runtimes {
            runtime.block_on(begin(&mut Box::pin(receiver.recv_async())));
        }
        let received = runtimes[number % 2].block_on(async {
            let mut receives = Box::pin(receiver.recv_async());
            begin(&mut receives).await;
            sender.send(&[number as u8]).unwrap();
            let received = blitz_io::time::timeout(LONG, receives).await;
            received.expect("a lost wake-up").unwrap()[0]
        });
        assert_eq!(usize::from(received), number);
    }
}

#[test]
fn a_wait_is_woken_although_the_runtime_that_began_it_is_idle() {
    let place = Place::new();
    let queue = small(&place, Queue::builder());
    let (mut sender, mut receiver) = (queue.sender("w").unwrap(), queue.receiver("w").unwrap());
    let [first, second] = [(); 2].map(|()| {
        let mut builder = blitz_io::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    });
    let mut receives = Box::pin(receiver.recv_async());
    first.block_on(begin(&mut receives));
    second.block_on(begin(&mut receives));
    first.block_on(begin(&mut receives));
    let received = second.block_on(async {
        begin(&mut receives).await;
        sender.send(&[7]).unwrap();
        blitz_io::time::timeout(LONG, receives).await
    });
    assert_eq!(*received.expect("a lost wake-up").unwrap(), [7]);
}

#[test]
fn values_are_awaited_as_well() {
    let place = Place::new();
    let queue = small(&place, Queue::builder());
    let (mut sender, mut receiver) = (queue.sender("v").unwrap(), queue.receiver("v").unwrap());
    ours(2).block_on(async {
        let sending = blitz_io::spawn(async move {
            for number in 0..500_u64 {
                sender.send_value_async(&number).await.unwrap();
            }
        });
        for number in 0..500_u64 {
            let received = blitz_io::time::timeout(LONG, receiver.recv_value_async::<u64>()).await;
            assert_eq!(received.unwrap(), Ok(number));
        }
        sending.await.unwrap();
        let end = receiver.recv_value_async::<u64>().await;
        assert_eq!(end, Err(RecvError::Disconnected));
    });
}

/// Counts the files of doorbells of the segment `name`.
fn files_of_doorbells(place: &Place, name: &str) -> usize {
    let folder = place.path().join(format!("{name}.participants"));
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().path());
    names
        .filter(|path| path.extension().is_some_and(|ending| ending == "doorbell"))
        .count()
}

/// Number of files of a doorbell on this system.
const FILES: usize = cfg!(feature = "fifo-doorbells") as usize;

#[test]
fn a_doorbell_leaves_no_file() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let _sender = route.sender("f").unwrap();
    let (mut first, mut second) = (route.receiver("f").unwrap(), route.receiver("f").unwrap());
    first.try_recv_or_arm().unwrap_err();
    _ = second.doorbell().unwrap();
    assert_eq!(files_of_doorbells(&place, "f"), 2 * FILES);
    drop(first);
    assert_eq!(files_of_doorbells(&place, "f"), FILES);
    // The doorbell outlives its receiver, and no participant rings it any more.
    let doorbell = second.doorbell().unwrap();
    drop(second);
    assert_eq!(files_of_doorbells(&place, "f"), 0);
    drop(doorbell);
}

/// A receiver is killed while it waits: the participant that reaps it removes its file, and
/// a receiver that joins in its place has another.
#[test]
fn a_dead_receiver_leaves_no_doorbell() {
    let place = Place::new();
    let route = small(&place, Route::builder()).max_receivers(2);
    let mut sender = route.sender("k").unwrap();
    let mut receiver = route.receiver("k").unwrap();
    let arguments = ["wait".to_owned(), place.path().display().to_string()];
    let child = Process::start("awaiting::child", &arguments);
    let deadline = Instant::now() + LONG;
    while !place.path().join("waits").exists() {
        assert!(Instant::now() < deadline, "the child does not come");
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(files_of_doorbells(&place, "k"), FILES);
    child.kill();
    // Only this receiver makes the sender wait.
    for number in 0..8 {
        sender.send_timeout(&[number], LONG).unwrap();
        assert_eq!(*receiver.recv_timeout(LONG).unwrap(), [number]);
    }
    assert_eq!(files_of_doorbells(&place, "k"), 0);
    let mut next = route.receiver("k").unwrap();
    next.try_recv_or_arm().unwrap_err();
    assert_eq!(files_of_doorbells(&place, "k"), FILES);
    drop((sender, receiver, next));
    assert_eq!(place.segments(), 0);
}

/// Sends one message, or arms its doorbell, and waits to be killed, if this process is the
/// child. Does nothing in the parent.
#[test]
fn child() {
    let Some(arguments) = role() else { return };
    let directory = directory_of(&arguments);
    let mut route = Route::builder()
        .capacity(4)
        .max_len(MAX)
        .directory(&directory);
    if arguments[0] == "wait" {
        route = route.max_receivers(2);
        let mut receiver = route.receiver("k").unwrap();
        receiver.try_recv_or_arm().unwrap_err();
        std::fs::write(directory.join("waits"), "").unwrap();
        thread::sleep(LONG);
    }
    let mut sender = route.sender("k").unwrap();
    sender.send(b"alive").unwrap();
    thread::sleep(LONG);
}

#[test]
fn a_message_that_does_not_fit_stays_after_the_doorbell_was_armed() {
    let place = Place::new();
    let route = small(&place, Route::builder());
    let (mut sender, mut receiver) = (route.sender("f").unwrap(), route.receiver("f").unwrap());
    let mut buffer = [0; 3];
    let empty = receiver.try_recv_into_or_arm(&mut buffer);
    assert!(matches!(empty, Err(RecvError::Empty)), "{empty:?}");
    sender.send(b"four").unwrap();
    let short = receiver.try_recv_into_or_arm(&mut buffer);
    assert!(
        matches!(short, Err(RecvError::TooShort { .. })),
        "{short:?}"
    );
    let mut buffer = [0; 4];
    assert_eq!(receiver.try_recv_into_or_arm(&mut buffer), Ok(4));
    assert_eq!(&buffer, b"four");
}

#[test]
fn a_task_notices_that_the_sender_was_killed() {
    let place = Place::new();
    let mut receiver = small(&place, Route::builder()).receiver("k").unwrap();
    let arguments = ["".to_owned(), place.path().display().to_string()];
    let child = Process::start("awaiting::child", &arguments);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let doorbell = registered(receiver.doorbell().unwrap());
        assert_eq!(*recv(&mut receiver, &doorbell).await.unwrap(), *b"alive");
        child.kill();
        let end = recv(&mut receiver, &doorbell).await;
        assert_eq!(end.unwrap_err(), RecvError::Disconnected);
    });
}

#[test]
fn a_task_of_ours_notices_that_the_sender_was_killed() {
    let place = Place::new();
    let mut receiver = small(&place, Route::builder()).receiver("k").unwrap();
    let arguments = ["".to_owned(), place.path().display().to_string()];
    let child = Process::start("awaiting::child", &arguments);
    ours(1).block_on(async {
        assert_eq!(*receiver.recv_async().await.unwrap(), *b"alive");
        child.kill();
        let end = blitz_io::time::timeout(LONG, receiver.recv_async()).await;
        assert_eq!(end.unwrap().unwrap_err(), RecvError::Disconnected);
    });
}
