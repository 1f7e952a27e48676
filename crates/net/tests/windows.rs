//! Named pipes of Windows.

#![cfg(windows)]

use std::io::ErrorKind;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use blitz_io::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Interest};
use blitz_io::net::windows::named_pipe::{
    ClientOptions, NamedPipeClient, NamedPipeServer, PipeEnd, PipeMode, ServerOptions,
};
use blitz_io::runtime::Builder;
use blitz_io::time::{sleep, timeout};

const ERROR_PIPE_BUSY: i32 = 231;
const LIMIT: Duration = Duration::from_secs(900);

/// Runs the test on both kinds of runtime.
fn run<F: Future<Output = ()>>(test: impl Fn(&'static str) -> F) {
    let one = Builder::new_current_thread().enable_all().build().unwrap();
    let two = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for (runtime, name) in [(one, "one"), (two, "two")] {
        runtime.block_on(async {
            timeout(LIMIT, test(name)).await.expect("it hangs");
        });
    }
}

/// Returns a name that no other test uses, neither in this process nor in another.
fn name(test: &str, runtime: &str) -> String {
    format!(r"\\.\pipe\blitz-{}-{test}-{runtime}", std::process::id())
}

async fn pair(name: &str) -> (NamedPipeServer, NamedPipeClient) {
    let server = ServerOptions::new().create(name).unwrap();
    let client = ClientOptions::new().open(name).unwrap();
    server.connect().await.unwrap();
    (server, client)
}

#[test]
fn many_clients_one_after_another_and_at_once() {
    run(|runtime| async move {
        const CLIENTS: usize = 10;
        let name = name("clients", runtime);
        let mut server = ServerOptions::new()
            .first_pipe_instance(true)
            .create(&name)
            .unwrap();
        let its_name = name.clone();
        let server = blitz_io::spawn(async move {
            for _ in 0..CLIENTS {
                server.connect().await.unwrap();
                let mut connected = BufReader::new(server);
                server = ServerOptions::new().create(&its_name).unwrap();
                blitz_io::spawn(async move {
                    let mut line = String::new();
                    connected.read_line(&mut line).await.unwrap();
                    connected.write_all(line.as_bytes()).await.unwrap();
                    // Closing a pipe discards what its client has not read.
                    assert_eq!(connected.read(&mut [0]).await.unwrap(), 0);
                });
            }
        });
        let mut clients = Vec::new();
        for number in 0..CLIENTS {
            let name = name.clone();
            clients.push(blitz_io::spawn(async move {
                let client = loop {
                    match ClientOptions::new().open(&name) {
                        Ok(client) => break client,
                        Err(error) => assert_eq!(error.raw_os_error(), Some(ERROR_PIPE_BUSY)),
                    }
                    sleep(Duration::from_millis(5)).await;
                };
                let mut client = BufReader::new(client);
                let sent = format!("number {number}\n");
                client.write_all(sent.as_bytes()).await.unwrap();
                let mut line = String::new();
                client.read_line(&mut line).await.unwrap();
                assert_eq!(line, sent);
            }));
        }
        for client in clients {
            client.await.unwrap();
        }
        server.await.unwrap();
    });
}

#[test]
fn more_bytes_than_the_buffers_hold_in_both_directions() {
    run(|runtime| async move {
        let (server, client) = pair(&name("much", runtime)).await;
        let sent: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
        let (mut server_reads, mut server_writes) = blitz_io::io::split(server);
        let (mut client_reads, mut client_writes) = blitz_io::io::split(client);
        let (mut one, mut other) = (vec![0; sent.len()], vec![0; sent.len()]);
        let (a, b, c, d) = blitz_io::join!(
            server_writes.write_all(&sent),
            client_writes.write_all(&sent),
            server_reads.read_exact(&mut one),
            client_reads.read_exact(&mut other),
        );
        a.unwrap();
        b.unwrap();
        c.unwrap();
        d.unwrap();
        assert!(one == sent && other == sent);
    });
}

#[test]
fn readiness_and_attempts() {
    run(|runtime| async move {
        let (server, client) = pair(&name("ready", runtime)).await;
        let mut buf = [0; 8];
        let error = server.try_read(&mut buf).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        client.writable().await.unwrap();
        while let Err(error) = client.try_write(b"ping") {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            client.writable().await.unwrap();
        }
        let count = loop {
            let ready = server.ready(Interest::READABLE).await.unwrap();
            assert!(ready.is_readable());
            match server.try_read(&mut buf) {
                Ok(count) => break count,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        };
        assert_eq!(&buf[..count], b"ping");
    });
}

#[test]
fn what_the_system_says_of_a_pipe() {
    run(|runtime| async move {
        let name = name("info", runtime);
        let mut options = ServerOptions::new();
        options.max_instances(2).pipe_mode(PipeMode::Message);
        let server = options.create(&name).unwrap();
        let client = ClientOptions::new().open(&name).unwrap();
        let info = server.info().unwrap();
        assert_eq!((info.end, info.mode), (PipeEnd::Server, PipeMode::Message));
        assert_eq!(info.max_instances, 2);
        assert_eq!(client.info().unwrap().end, PipeEnd::Client);
        let _second = options.create(&name).unwrap();
        options.create(&name).unwrap_err();
    });
}

#[test]
fn messages_stay_apart() {
    run(|runtime| async move {
        let name = name("message", runtime);
        let mode = PipeMode::Message;
        let mut server = ServerOptions::new().pipe_mode(mode).create(&name).unwrap();
        let mut client = ClientOptions::new().pipe_mode(mode).open(&name).unwrap();
        server.connect().await.unwrap();
        for _ in 0..10 {
            client.write_all(b"hello").await.unwrap();
            server.write_all(b"world!").await.unwrap();
        }
        let mut buf = [0; 32];
        for _ in 0..10 {
            assert_eq!(server.read(&mut buf).await.unwrap(), 5);
            assert_eq!(client.read(&mut buf).await.unwrap(), 6);
        }
    });
}

#[test]
fn a_client_that_has_gone() {
    run(|runtime| async move {
        let (mut server, client) = pair(&name("gone", runtime)).await;
        drop(client);
        // Under Wine the system accepts the first write, which completes with an error.
        // Windows does the same if the client disconnects before the write.
        let error = loop {
            if let Err(error) = server.write_all(b"ping").await {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        // The instance serves the next client.
        server.disconnect().unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(pin!(server.connect()).poll(&mut cx).is_pending());
        let mut client = ClientOptions::new().open(name("gone", runtime)).unwrap();
        server.connect().await.unwrap();
        client.write_all(b"x").await.unwrap();
        assert_eq!(server.read_u8().await.unwrap(), b'x');
    });
}

#[test]
fn one_direction_only() {
    run(|runtime| async move {
        for (inbound, outbound) in [(true, false), (false, true)] {
            let name = name(&format!("access-{inbound}"), runtime);
            let server = ServerOptions::new()
                .access_inbound(inbound)
                .access_outbound(outbound)
                .create(&name)
                .unwrap();
            let task = blitz_io::spawn(async move { server.connect().await });
            ClientOptions::new()
                .read(outbound)
                .write(inbound)
                .open(&name)
                .unwrap();
            task.await.unwrap().unwrap();
        }
    });
}

#[test]
fn bad_names_and_second_first_instances_are_errors() {
    run(|runtime| async move {
        let name = name("bad", runtime);
        let error = ClientOptions::new().open(&name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let error = ServerOptions::new()
            .create("\\\\.\\pipe\\a\0b")
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        ServerOptions::new()
            .create("no name of a pipe")
            .unwrap_err();
        let _first = ServerOptions::new().create(&name).unwrap();
        let mut first = ServerOptions::new();
        // Wine 8 knows the flag and ignores it.
        if let Err(error) = first.first_pipe_instance(true).create(&name) {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        }
        let too_many = std::panic::catch_unwind(|| {
            ServerOptions::new().max_instances(255);
        });
        assert!(too_many.is_err());
    });
}
