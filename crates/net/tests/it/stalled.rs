//! A worker whose thread is blocked does not delay the events of other tasks.

use std::io::Write;
use std::sync::mpsc::channel;

use blitz_io::io::AsyncReadExt;
use blitz_io::net::TcpListener;

use crate::help::{LIMIT, multi, pair};

/// The sockets are registered with the driver of a worker that then blocks until another
/// task has read from one of them.
#[test]
fn the_driver_of_a_blocked_worker_is_polled_by_others() {
    for in_place in [false, true] {
        let runtime = multi(2);
        // blitz-lint: allow(blocking-in-poll): the test needs a worker that blocks
        let blocked = runtime.spawn(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (done, is_done) = channel();
            blitz_io::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                assert_eq!(stream.read_u8().await.unwrap(), 7);
                done.send(()).unwrap();
            });
            let client = std::thread::spawn(move || {
                // By now, this worker is most likely blocked.
                std::thread::sleep(std::time::Duration::from_millis(20));
                let mut client = std::net::TcpStream::connect(address).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(20));
                client.write_all(&[7]).unwrap();
                client
            });
            let wait = || {
                is_done
                    .recv_timeout(LIMIT)
                    .expect("nobody polls the driver")
            };
            if in_place {
                blitz_io::task::block_in_place(wait);
            } else {
                wait();
            }
            drop(client.join().unwrap());
        });
        runtime.block_on(blocked).unwrap();
    }
}

/// The worker has slept in its driver, and blocks as soon as an event has woken it.
#[test]
fn a_worker_that_blocks_after_an_event_is_relieved() {
    let runtime = multi(2);
    let (first, second) = runtime.block_on(async {
        let pairs = async { (pair().await, pair().await) };
        blitz_io::spawn(pairs).await.unwrap()
    });
    let ((mut a, mut b), (mut c, mut d)) = (first, second);
    let (done, is_done) = channel();
    // blitz-lint: allow(blocking-in-poll): the test needs a worker that blocks
    let blocked = runtime.spawn(async move {
        a.read_u8().await.unwrap();
        is_done
            .recv_timeout(LIMIT)
            .expect("nobody polls the driver");
    });
    let other = runtime.spawn(async move {
        c.read_u8().await.unwrap();
        done.send(()).unwrap();
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    runtime.block_on(async {
        use blitz_io::io::AsyncWriteExt;
        b.write_u8(1).await.unwrap();
        blitz_io::time::sleep(std::time::Duration::from_millis(20)).await;
        d.write_u8(1).await.unwrap();
        blocked.await.unwrap();
        other.await.unwrap();
    });
}
