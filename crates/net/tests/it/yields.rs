//! A task that yields until a socket is ready sees that with its next poll.

use std::io::ErrorKind;

use blitz_io::io::AsyncWriteExt;
use blitz_io::net::TcpStream;
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::task::{LocalSet, spawn, spawn_local, yield_now};

use crate::help::pair;

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Returns how often this task yields at least, in some tries, until it can read a byte that has
/// arrived.
///
/// One try says nothing: where processors are scarce, the system delivers a byte later, and another
/// thread that has just begun to poll the driver may lose its processor before it wakes the task.
async fn yields_until_read() -> usize {
    let mut fewest = usize::MAX;
    for _ in 0..50 {
        fewest = fewest.min(yields_in_a_try().await);
    }
    fewest
}

async fn yields_in_a_try() -> usize {
    let (mut near, far) = pair().await;
    // The socket has no readiness left.
    while far.try_read(&mut [0; 8]).is_ok() {}
    near.write_all(b"x").await.unwrap();
    let mut yields = 0;
    while !has_read(&far) {
        yield_now().await;
        yields += 1;
    }
    yields
}

fn has_read(stream: &TcpStream) -> bool {
    match stream.try_read(&mut [0; 8]) {
        Ok(count) => count == 1,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

#[test]
fn a_main_future_sees_a_socket_after_one_yield() {
    let yields = current().block_on(yields_until_read());
    assert!(yields <= 1, "{yields} yields");
}

#[test]
fn a_task_sees_a_socket_after_one_yield() {
    let yields = current().block_on(async { spawn(yields_until_read()).await.unwrap() });
    assert!(yields <= 1, "{yields} yields");
}

#[test]
fn a_local_task_sees_a_socket_after_one_yield() {
    let yields = LocalSet::new().block_on(&current(), async {
        spawn_local(yields_until_read()).await.unwrap()
    });
    assert!(yields <= 1, "{yields} yields");
}

#[test]
fn a_task_among_tasks_that_yield_sees_a_socket_after_a_round() {
    let yields = current().block_on(async {
        for _ in 0..1000 {
            spawn(async {
                loop {
                    yield_now().await;
                }
            });
        }
        spawn(yields_until_read()).await.unwrap()
    });
    assert!(yields <= 2, "{yields} yields");
}

#[test]
fn a_task_of_the_only_worker_sees_a_socket_after_one_yield() {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build().unwrap();
    let yields = runtime.block_on(async { spawn(yields_until_read()).await.unwrap() });
    assert!(yields <= 1, "{yields} yields");
    let yields = runtime.block_on(async {
        for _ in 0..20 {
            spawn(async {
                loop {
                    yield_now().await;
                }
            });
        }
        spawn(yields_until_read()).await.unwrap()
    });
    assert!(yields <= 2, "{yields} yields");
}
