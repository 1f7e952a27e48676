//! Programs in Rust that know nothing of the simulator. Each is a test of this program that does its
//! work under simulation only.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sim::Faults;

use crate::support::{is_found_and_shrinks, is_simulated, passes_twice, test};

fn is_found(name: &str, message: &str) {
    is_found_and_shrinks(&test(name), Faults::USUAL, message);
}

/// A counter that is read under one lock and written under another one.
#[test]
fn std_program_loses_an_update() {
    if !is_simulated() {
        return;
    }
    let counter = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || {
                let old = *counter.lock().unwrap();
                thread::yield_now();
                *counter.lock().unwrap() = old + 1;
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*counter.lock().unwrap(), 2, "an update was lost");
}

#[test]
fn a_lost_update_of_std_threads_is_found() {
    is_found(
        "programs::std_program_loses_an_update",
        "an update was lost",
    );
}

/// The last worker to send is taken for the last one to be received.
#[test]
fn channel_program_expects_an_order() {
    if !is_simulated() {
        return;
    }
    let (sender, receiver) = mpsc::channel();
    let first = sender.clone();
    thread::spawn(move || first.send(1).unwrap());
    thread::spawn(move || sender.send(2).unwrap());
    let all: Vec<i32> = receiver.iter().collect();
    assert_eq!(all, [1, 2], "out of order");
}

#[test]
fn an_expected_order_of_std_channels_is_found() {
    is_found("programs::channel_program_expects_an_order", "out of order");
}

#[test]
fn parking_lot_program_locks_twice() {
    if !is_simulated() {
        return;
    }
    let lock = Arc::new(parking_lot::Mutex::new(10));
    let other = lock.clone();
    let thread = thread::spawn(move || {
        if *other.lock() >= 10 {
            thread::yield_now();
            *other.lock() -= 10;
        }
    });
    if *lock.lock() >= 10 {
        thread::yield_now();
        *lock.lock() -= 10;
    }
    thread.join().unwrap();
    assert!(*lock.lock() >= 0, "overdrawn");
}

#[test]
fn a_race_between_two_locks_of_parking_lot_is_found() {
    is_found("programs::parking_lot_program_locks_twice", "overdrawn");
}

#[test]
fn crossbeam_program_counts_what_is_left() {
    if !is_simulated() {
        return;
    }
    let (sender, receiver) = crossbeam_channel::bounded(2);
    let other = receiver.clone();
    let thread = thread::spawn(move || other.recv().unwrap());
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    let mine = receiver.recv_timeout(Duration::from_secs(1)).unwrap();
    assert_eq!(mine, 2, "the values were swapped");
    thread.join().unwrap();
}

#[test]
fn a_race_of_crossbeam_receivers_is_found() {
    is_found(
        "programs::crossbeam_program_counts_what_is_left",
        "the values were swapped",
    );
}

/// Every primitive of std that waits.
#[test]
fn std_program_is_right() {
    if !is_simulated() {
        return;
    }
    let (start, barrier) = (Instant::now(), Arc::new(Barrier::new(3)));
    let state = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new(HashMap::new())));
    let threads: Vec<_> = (0..3)
        .map(|id| {
            let (state, barrier) = (state.clone(), barrier.clone());
            thread::Builder::new()
                .name(format!("worker {id}"))
                .spawn(move || {
                    barrier.wait();
                    state.2.write().unwrap().insert(id, Instant::now());
                    let mut turn = state.0.lock().unwrap();
                    while *turn != id {
                        turn = state.1.wait(turn).unwrap();
                    }
                    *turn += 1;
                    state.1.notify_all();
                    drop(turn);
                    thread::sleep(Duration::from_secs(60));
                })
        })
        .collect();
    for thread in threads {
        thread.unwrap().join().unwrap();
    }
    assert_eq!(state.2.read().unwrap().len(), 3);
    let took = start.elapsed();
    assert!(
        took >= Duration::from_secs(60) && took < Duration::from_secs(1_000),
        "{took:?}"
    );
    let (sender, receiver) = mpsc::sync_channel::<u32>(0);
    let thread = thread::spawn(move || receiver.iter().sum::<u32>());
    for value in 0..5 {
        sender.send(value).unwrap();
    }
    drop(sender);
    assert_eq!(thread.join().unwrap(), 10);
    thread::park_timeout(Duration::from_secs(1));
    // In the order of the seed's hashes.
    let map: HashMap<u32, u32> = (0..10).map(|at| (at, at)).collect();
    println!("{:?}", map.keys().collect::<Vec<_>>());
}

#[test]
fn a_right_program_of_std_passes_with_every_seed() {
    passes_twice(&test("programs::std_program_is_right"), Faults::USUAL, 100);
}

#[test]
fn socket_program_is_right() {
    if !is_simulated() {
        return;
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, peer) = listener.accept().unwrap();
            assert_eq!(stream.peer_addr().unwrap(), peer);
            stream.set_nodelay(true).unwrap();
            let mut all = vec![];
            stream.read_to_end(&mut all).unwrap();
            stream.write_all(&all).unwrap();
        }
    });
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), address);
        stream
            .set_read_timeout(Some(Duration::from_secs(100)))
            .unwrap();
        // More than the buffers hold.
        let data = vec![7; 700_000];
        stream.write_all(&data).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut back = vec![];
        stream.read_to_end(&mut back).unwrap();
        assert!(back == data);
    }
    server.join().unwrap();
    assert!(TcpStream::connect(address).is_err());

    let (one, two) = (
        UdpSocket::bind("127.0.0.1:0").unwrap(),
        UdpSocket::bind("127.0.0.1:0").unwrap(),
    );
    one.send_to(b"datagram", two.local_addr().unwrap()).unwrap();
    let mut buffer = [0; 20];
    assert_eq!(
        two.recv_from(&mut buffer).unwrap(),
        (8, one.local_addr().unwrap())
    );
    two.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    let start = Instant::now();
    assert!(two.recv_from(&mut buffer).is_err());
    assert!(start.elapsed() >= Duration::from_secs(3));
}

#[test]
fn sockets_of_std_pass_with_every_seed() {
    passes_twice(&test("programs::socket_program_is_right"), Faults::NONE, 30);
}

/// A multi-threaded runtime with timers, channels, blocking tasks and connections.
#[test]
fn tokio_program_is_right() {
    if !is_simulated() {
        return;
    }
    tokio_main(async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let start = tokio::time::Instant::now();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut line = [0; 4];
                    while stream.read_exact(&mut line).await.is_ok() {
                        tokio::time::sleep(Duration::from_secs(60)).await;
                        stream.write_all(&line).await.unwrap();
                    }
                });
            }
        });
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        for id in 0..3u8 {
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
                for _ in 0..3 {
                    stream.write_all(&[id; 4]).await.unwrap();
                    let mut back = [0; 4];
                    stream.read_exact(&mut back).await.unwrap();
                    assert_eq!(back, [id; 4]);
                }
                let value = tokio::task::spawn_blocking(move || {
                    thread::sleep(Duration::from_secs(3600));
                    u32::from(id)
                });
                sender.send(value.await.unwrap()).await.unwrap();
            });
        }
        drop(sender);
        let mut sum = 0;
        while let Some(value) = receiver.recv().await {
            sum += value;
        }
        assert_eq!(sum, 3);
        let late = tokio::time::timeout(Duration::from_secs(5), std::future::pending::<()>());
        assert!(late.await.is_err());
        assert!(start.elapsed() >= Duration::from_secs(3600 + 3 * 60));
    });
}

fn tokio_main(work: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().build().unwrap().block_on(work);
}

#[test]
fn a_multi_threaded_runtime_of_tokio_passes_with_every_seed() {
    passes_twice(&test("programs::tokio_program_is_right"), Faults::USUAL, 40);
}

#[test]
fn tokio_program_checks_then_acts() {
    if !is_simulated() {
        return;
    }
    static TICKETS: AtomicU32 = AtomicU32::new(1);
    tokio_main(async {
        let buy = || async {
            if TICKETS.load(Ordering::SeqCst) > 0 {
                tokio::task::yield_now().await;
                let before = TICKETS.fetch_sub(1, Ordering::SeqCst);
                assert!(before > 0, "sold twice");
            }
        };
        let (one, two) = (tokio::spawn(buy()), tokio::spawn(buy()));
        one.await.unwrap();
        two.await.unwrap();
    });
}

#[test]
fn a_check_before_an_await_of_tokio_is_found() {
    is_found("programs::tokio_program_checks_then_acts", "sold twice");
}
