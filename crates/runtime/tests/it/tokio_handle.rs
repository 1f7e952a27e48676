//! A runtime of Tokio's that is entered in ours: libraries that call Tokio by name work in tasks.

#![cfg(feature = "tokio")]

use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::task;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::time::DelayQueue;

/// Tokio's runtime, and each kind of ours with that one entered.
fn runtimes() -> (tokio::runtime::Runtime, [Runtime; 2]) {
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let ours = [Builder::new_current_thread(), Builder::new_multi_thread()].map(|mut builder| {
        builder
            .worker_threads(2)
            .enable_all()
            .enter_tokio(tokio.handle().clone())
            .build()
            .unwrap()
    });
    (tokio, ours)
}

#[test]
fn tasks_spawn_and_sleep_with_tokio() {
    let (tokio, ours) = runtimes();
    for runtime in &ours {
        let work = || async {
            let began = Instant::now();
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(began.elapsed() >= Duration::from_millis(5));
            let late = tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>());
            assert!(late.await.is_err());
            tokio::spawn(async { tokio::runtime::Handle::current().id() })
                .await
                .unwrap()
        };
        let id = tokio.handle().id();
        assert_eq!(runtime.block_on(work()), id);
        assert_eq!(runtime.block_on(runtime.spawn(work())).unwrap(), id);
    }
}

#[test]
fn sockets_of_tokio_work_in_a_task() {
    let (_tokio, ours) = runtimes();
    for runtime in &ours {
        let echoed = runtime.spawn(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let serving = task::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (mut input, mut output) = stream.split();
                tokio::io::copy(&mut input, &mut output).await.unwrap()
            });
            let mut stream = TcpStream::connect(address).await.unwrap();
            let (mut echo, text) = (String::new(), "there and back");
            stream.write_all(text.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            stream.read_to_string(&mut echo).await.unwrap();
            assert_eq!(serving.await.unwrap(), text.len() as u64);
            echo
        });
        assert_eq!(runtime.block_on(echoed).unwrap(), "there and back");
    }
}

#[test]
fn a_library_that_calls_tokio_works_in_a_task() {
    let (_tokio, ours) = runtimes();
    for runtime in &ours {
        let expired = runtime.spawn(async {
            let mut queue = DelayQueue::new();
            let now = tokio::time::Instant::now();
            queue.insert_at("second", now + Duration::from_millis(10));
            queue.insert_at("first", now + Duration::from_millis(2));
            let mut order = Vec::new();
            while let Some(expired) = std::future::poll_fn(|cx| queue.poll_expired(cx)).await {
                order.push(expired.into_inner());
            }
            order
        });
        assert_eq!(runtime.block_on(expired).unwrap(), ["first", "second"]);

        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let waits = runtime.spawn(async move {
            stopped
                .run_until_cancelled(std::future::pending::<()>())
                .await
        });
        stop.cancel();
        assert_eq!(runtime.block_on(waits).unwrap(), None);
    }
}

#[test]
fn blocking_threads_have_it_too() {
    let (_tokio, ours) = runtimes();
    for runtime in &ours {
        let answer = runtime.spawn_blocking(|| {
            let task = tokio::spawn(async { 42 });
            tokio::runtime::Handle::current().block_on(task).unwrap()
        });
        assert_eq!(runtime.block_on(answer).unwrap(), 42);
    }
}

#[test]
fn both_are_current_and_neither_is_left_behind() {
    let (tokio, ours) = runtimes();
    for runtime in &ours {
        assert!(tokio::runtime::Handle::try_current().is_err());
        let (theirs, mine) = runtime.block_on(async {
            let mine = blitz_io_runtime::runtime::Handle::current().id();
            (tokio::runtime::Handle::current().id(), mine)
        });
        assert_eq!(theirs, tokio.handle().id());
        assert_eq!(mine, runtime.handle().id());
        assert!(tokio::runtime::Handle::try_current().is_err());
    }
}

#[test]
fn after_a_panic_it_is_still_entered() {
    let (_tokio, ours) = runtimes();
    for runtime in &ours {
        let panics = runtime.spawn(async { panic!("on purpose") });
        assert!(runtime.block_on(panics).unwrap_err().is_panic());
        let spawns = runtime.spawn(async { tokio::spawn(async { 1 }).await.unwrap() });
        assert_eq!(runtime.block_on(spawns).unwrap(), 1);
    }
}

#[test]
fn without_it_tokio_finds_no_runtime() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let task = runtime.spawn(async {
        task::yield_now().await;
        tokio::runtime::Handle::try_current().is_err()
    });
    assert!(runtime.block_on(task).unwrap());
}
