//! Peers that reset, closed ends, empty buffers, dropped futures, and runtimes that end.

use std::io::ErrorKind;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt, Interest};
use blitz_io::net::{TcpListener, TcpStream, UdpSocket};
use blitz_io::runtime::{Builder, is_rt_shutdown_err};
use blitz_io::time::{sleep, timeout};

use crate::help::{LIMIT, multi, on_both, pair};

#[test]
fn a_peer_that_resets_is_an_error() {
    on_both(|| async {
        let (client, mut server) = pair().await;
        client.set_zero_linger().unwrap();
        drop(client);
        let error = server.read(&mut [0; 8]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        // After the error comes the end, and a write fails at once.
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
        let error = server.write_all(b"x").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        server.shutdown().await.unwrap();
    });
}

#[test]
fn a_connection_to_nobody_is_refused() {
    on_both(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let error = TcpStream::connect(&[][..]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn one_end_may_be_closed_and_the_other_go_on() {
    on_both(|| async {
        let (mut client, mut server) = pair().await;
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        let mut text = String::new();
        server.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "question");
        server
            .write_all(&[7; 300_000])
            .await
            .unwrap_or_else(|_| panic!("the peer reads"));
        drop(server);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, [7; 300_000]);
    });
}

#[test]
fn halves_that_are_dropped_close_their_direction() {
    on_both(|| async {
        let (client, mut server) = pair().await;
        let (mut read, write) = client.into_split();
        drop(write);
        assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0);
        server.write_all(b"still").await.unwrap();
        let mut buffer = [0; 5];
        read.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"still");
    });
}

#[test]
fn empty_buffers_move_nothing() {
    on_both(|| async {
        let (mut client, mut server) = pair().await;
        assert_eq!(client.write(&[]).await.unwrap(), 0);
        client.write_all(b"x").await.unwrap();
        server.readable().await.unwrap();
        assert_eq!(server.read(&mut []).await.unwrap(), 0);
        assert_eq!(server.try_read(&mut []).unwrap(), 0);
        assert_eq!(server.try_write(&[]).unwrap(), 0);
        let mut buffer = [0; 4];
        assert_eq!(server.read(&mut buffer).await.unwrap(), 1);
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        udp.connect(udp.local_addr().unwrap()).await.unwrap();
        assert_eq!(udp.send(&[]).await.unwrap(), 0);
        assert_eq!(udp.recv(&mut buffer).await.unwrap(), 0);
    });
}

/// The next future gets all data that a dropped future has not taken.
#[test]
fn futures_that_are_dropped_lose_nothing() {
    on_both(|| async {
        let (mut client, mut server) = pair().await;
        let writer = blitz_io::spawn(async move {
            for byte in 0..200u8 {
                client.write_all(&[byte]).await.unwrap();
                if byte % 16 == 0 {
                    sleep(Duration::from_micros(300)).await;
                }
            }
        });
        let mut all = Vec::new();
        while all.len() < 200 {
            let mut buffer = [0; 7];
            // Each wait is dropped many times before it is over.
            for _ in 0..3 {
                let mut read = pin!(server.read(&mut buffer));
                let poll = read.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                if let Poll::Ready(n) = poll {
                    all.extend_from_slice(&buffer[..n.unwrap()]);
                    break;
                }
            }
            let mut waits = pin!(server.ready(Interest::READABLE));
            _ = waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Ok(ready) = timeout(Duration::from_micros(50), server.readable()).await {
                ready.unwrap();
            }
        }
        assert_eq!(all, (0..200).collect::<Vec<u8>>());
        writer.await.unwrap();
    });
}

#[test]
fn an_accept_that_is_dropped_loses_no_connection() {
    on_both(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let clients = blitz_io::spawn(async move {
            let mut clients = Vec::new();
            for _ in 0..50 {
                clients.push(TcpStream::connect(address).await.unwrap());
            }
            clients
        });
        let mut accepted = 0;
        while accepted < 50 {
            // Dropped before it can be ready, most of the time.
            if timeout(Duration::ZERO, listener.accept())
                .await
                .is_ok_and(|it| it.is_ok())
            {
                accepted += 1;
            }
            blitz_io::task::yield_now().await;
        }
        assert_eq!(clients.await.unwrap().len(), 50);
    });
}

#[test]
fn a_runtime_that_ends_ends_what_waits() {
    let build = || Builder::new_current_thread().enable_all().build().unwrap();
    for runtime in [build(), multi(2)] {
        let (client, mut server) = runtime.block_on(pair());
        let reader = runtime.spawn(async move {
            let mut client = client;
            client.read(&mut [0; 8]).await
        });
        let other = build();
        let waits = std::thread::spawn(move || {
            // A waker of another runtime, which continues to run.
            other.block_on(async move {
                let result = timeout(LIMIT, server.read(&mut [0; 8])).await.unwrap();
                // The cancelled task has closed its end, or the runtime of this socket has
                // ended.
                if let Err(error) = &result {
                    assert!(is_rt_shutdown_err(error));
                }
                // The driver may go away between the two.
                match timeout(LIMIT, server.ready(Interest::PRIORITY))
                    .await
                    .unwrap()
                {
                    Ok(ready) => assert!(ready.is_read_closed() && result.is_ok()),
                    Err(error) => assert!(is_rt_shutdown_err(&error)),
                }
                server
            })
        });
        std::thread::sleep(Duration::from_millis(20));
        drop(runtime);
        let server = waits.join().unwrap();
        // Operations that do not wait work until it is dropped.
        assert!(server.peer_addr().is_ok() || server.take_error().is_ok());
        build().block_on(async { assert!(reader.await.unwrap_err().is_cancelled()) });
    }
}

#[test]
fn sources_of_a_runtime_that_has_ended_are_an_error() {
    let runtime = multi(2);
    let udp = runtime.block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
    drop(runtime);
    let runtime = multi(1);
    let error = runtime.block_on(udp.recv(&mut [0; 8])).unwrap_err();
    assert!(is_rt_shutdown_err(&error));
    // It belongs to another runtime once it has been registered there.
    let udp = runtime
        .block_on(async { UdpSocket::from_std(udp.into_std().unwrap()) })
        .unwrap();
    assert_eq!(
        udp.try_recv(&mut [0; 8]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
}

/// In a process of its own, in which no runtime with I/O has been built.
#[test]
fn without_io_it_is_said_so() {
    if std::env::var_os("BLITZ_TEST_ALONE").is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let test = blitz_io_testing::limited(&mut command)
            .args(["--exact", "bad_days::without_io_it_is_said_so"])
            .env("BLITZ_TEST_ALONE", "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&test.stdout);
        assert!(test.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let bind = std::panic::AssertUnwindSafe(|| runtime.block_on(TcpListener::bind("127.0.0.1:0")));
    let panic = std::panic::catch_unwind(bind).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("IO is disabled. Call `enable_io`"), "{text}");
}

#[test]
fn what_is_registered_is_counted() {
    let runtime = multi(2);
    let metrics = runtime.metrics();
    runtime.block_on(async {
        let (mut client, mut server) = pair().await;
        client.write_all(b"x").await.unwrap();
        server.read_exact(&mut [0]).await.unwrap();
        // The listener is already gone.
        assert_eq!(metrics.io_driver_fd_registered_count(), 3);
        assert_eq!(metrics.io_driver_fd_deregistered_count(), 1);
        assert!(metrics.io_driver_ready_count() >= 1);
    });
}

#[test]
fn more_connections_than_events_fit_into_a_poll() {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(2)
        .enable_all()
        .max_io_events_per_tick(2);
    let runtime = builder.max_io_events_per_busy_tick(1).build().unwrap();
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for index in 0..50u8 {
            let (mut client, mut server) = pair().await;
            tasks.push(blitz_io::spawn(async move {
                let mut buffer = [0];
                for _ in 0..20 {
                    server.read_exact(&mut buffer).await.unwrap();
                    server.write_all(&buffer).await.unwrap();
                }
            }));
            tasks.push(blitz_io::spawn(async move {
                for round in 0..20u8 {
                    let sent = index.wrapping_add(round);
                    client.write_all(&[sent]).await.unwrap();
                    assert_eq!(client.read_u8().await.unwrap(), sent);
                }
            }));
        }
        for task in tasks {
            timeout(LIMIT, task).await.unwrap().unwrap();
        }
    });
}

/// An operation on a socket in blocking mode would stop the thread.
#[cfg(all(unix, debug_assertions))]
#[test]
fn sockets_in_blocking_mode_are_refused() {
    use std::net;
    use std::os::unix::net as unix;

    use blitz_io::net::{UnixDatagram, UnixListener, UnixStream};
    use blitz_io_testing::panic_of;

    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let _inside = runtime.enter();
    let refused = |from_std: &dyn Fn()| {
        let text = panic_of(from_std);
        assert!(text.contains("Registering a blocking socket"), "{text}");
    };
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let (near, _far) = unix::UnixStream::pair().unwrap();
    let path = std::env::temp_dir().join(format!("blocking-{}", std::process::id()));
    let local = unix::UnixListener::bind(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let datagram = unix::UnixDatagram::unbound().unwrap();
    refused(&|| drop(TcpListener::from_std(listener.try_clone().unwrap())));
    refused(&|| drop(TcpStream::from_std(stream.try_clone().unwrap())));
    refused(&|| drop(UdpSocket::from_std(socket.try_clone().unwrap())));
    refused(&|| drop(UnixStream::from_std(near.try_clone().unwrap())));
    refused(&|| drop(UnixListener::from_std(local.try_clone().unwrap())));
    refused(&|| drop(UnixDatagram::from_std(datagram.try_clone().unwrap())));
    listener.set_nonblocking(true).unwrap();
    assert!(TcpListener::from_std(listener).is_ok());
}
