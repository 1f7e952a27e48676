//! Programs that wait for the operating system: sockets, processes, files, and threads for blocking work.

use std::io;
use std::process::Stdio;
use std::sync::Arc;

use blitz_io::io::AsyncReadExt;
use blitz_io::net::{TcpListener, TcpSocket, TcpStream};
use blitz_io::process::Command;
#[cfg(unix)]
use blitz_io::signal::{self, unix::SignalKind};
use blitz_io::sync::Mutex;
use blitz_io::task::spawn_blocking;
use blitz_io::{fs, inspect::Named};

use crate::spawn;

/// A client waits without a limit of time for the answer of a server that never sends one.
///
/// After <https://github.com/stacks-network/stacks-core/issues/6400>.
pub async fn peer_never_answers() -> io::Result<()> {
    let server = TcpListener::bind("127.0.0.1:0").await?;
    let address = server.local_addr()?;
    let server = spawn("server", async move {
        let first = server.accept().await;
        _ = server.accept().await;
        first
    });
    let client = spawn("client", async move {
        let mut stream = TcpStream::connect(address).await?;
        stream.read_u8().await
    });
    _ = (client.await, server.await);
    Ok(())
}

/// A client connects without a limit of time to a server that has no room for more connections.
///
/// After <https://github.com/cardano-foundation/jormungandr/pull/1836>.
pub async fn peer_never_accepts() -> io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    let full = socket.listen(0)?;
    let address = full.local_addr()?;
    let accepted = TcpStream::connect(address).await;
    let client = spawn("client", TcpStream::connect(address));
    _ = client.await;
    drop((accepted, full));
    Ok(())
}

/// A task waits for the end of a child that has filled the pipe of its output, which no task reads.
///
/// After <https://github.com/yegor256/jaxec/issues/165>.
pub async fn child_fills_its_pipe() -> io::Result<()> {
    let mut child = Command::new("yes").stdout(Stdio::piped()).spawn()?;
    _ = spawn("parent", async move { child.wait().await }).await;
    Ok(())
}

/// Two tasks wait for signals that are not sent.
#[cfg(unix)]
pub async fn signal_that_never_comes() -> io::Result<()> {
    let mut terminate = signal::unix::signal(SignalKind::terminate())?;
    let stop = spawn("stop", async move { terminate.recv().await });
    let interrupt = spawn("ctrl-c", signal::ctrl_c());
    _ = (stop.await, interrupt.await);
    Ok(())
}

/// A task opens a named pipe to which no program writes.
///
/// After <https://github.com/containerd/rust-extensions/pull/346>.
pub async fn pipe_without_a_writer() -> io::Result<()> {
    let folder = std::env::temp_dir().join(format!("blitz-io-hangs-{}", std::process::id()));
    fs::create_dir(&folder).await?;
    let path = folder.join("events");
    let made = Command::new("mkfifo").arg(&path).status().await?;
    assert!(made.success());
    // The test knows the path, and removes the folder.
    _ = spawn("reader", fs::File::open(path)).await;
    Ok(())
}

/// A closure on a thread for blocking work wants a lock which the task holds that awaits it.
///
/// After <https://github.com/tokio-rs/tokio/issues/7892>, where the closure runs on the thread of the task.
pub async fn job_wants_lock() -> io::Result<()> {
    let state = Arc::new(Mutex::new(0).named("state"));
    _ = spawn("owner", async move {
        let _held = state.lock().await;
        let state = state.clone();
        spawn_blocking(move || *state.blocking_lock() += 1).await
    })
    .await;
    Ok(())
}
