//! A chat room that members join over TCP.
//!
//! ```sh
//! cargo run --release --example chat_server -- --listen 127.0.0.1:4000
//! nc 127.0.0.1 4000      # in other terminals: the first line is your name
//! ```
//!
//! Each connection is a task with two halves: what the member types goes to a broadcast
//! channel, and what comes from there is written to the member. A member that reads too
//! slowly misses the oldest lines, and is told how many; it never delays the others. Ctrl-C
//! says goodbye to all members and ends the server.
//!
//! The exit code is 0, 1 if the address cannot be used, and 2 if the command line is wrong.

mod shutdown;

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use blitz_io::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use blitz_io::net::tcp::OwnedReadHalf;
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::select;
use blitz_io::sync::CancellationToken;
use blitz_io::sync::broadcast::{self, error::RecvError};
use blitz_io::task::TaskTracker;
use blitz_io::time::sleep;
use clap::Parser;

/// A chat room over TCP. The first line that a member sends is its name.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where to listen; port 0 lets the system choose
    #[arg(long, default_value = "127.0.0.1:4000", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// How many lines a member may be behind before it misses some
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    backlog: u32,
}

/// Longer lines are refused.
const LONGEST: u64 = 4096;

/// What the connections share.
struct Room {
    names: Mutex<BTreeSet<String>>,
    lines: broadcast::Sender<Arc<str>>,
}

impl Room {
    fn say(&self, line: String) {
        // An error means that there is no member.
        _ = self.lines.send(line.into());
    }

    fn names<R>(&self, with: impl FnOnce(&mut BTreeSet<String>) -> R) -> R {
        with(&mut self.names.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A name is in use as long as this is alive.
struct Member<'a> {
    room: &'a Room,
    name: &'a str,
}

impl<'a> Member<'a> {
    fn join(room: &'a Room, name: &'a str) -> Option<Self> {
        let is_new = room.names(|names| names.insert(name.to_owned()));
        is_new.then(|| {
            room.say(format!("* {name} has joined"));
            Self { room, name }
        })
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.room.names(|names| names.remove(self.name));
        self.room.say(format!("* {} has left", self.name));
    }
}

#[blitz_io::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let listener = match TcpListener::bind(options.listen).await {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("chat_server: cannot listen at {}: {error}", options.listen);
            return ExitCode::FAILURE;
        }
    };
    let end = CancellationToken::new();
    let ending = end.clone();
    shutdown::on_request("chat_server", move || ending.cancel());
    if let Ok(address) = listener.local_addr() {
        println!("listening on {address}");
    }
    serve(listener, options.backlog as usize, end).await;
    ExitCode::SUCCESS
}

/// Accepts members until the end, and waits until all have left.
async fn serve(listener: TcpListener, backlog: usize, end: CancellationToken) {
    let room = Arc::new(Room {
        names: Mutex::default(),
        lines: broadcast::Sender::new(backlog),
    });
    let members = TaskTracker::new();
    loop {
        let accepted = select! {
            accepted = listener.accept() => accepted,
            () = end.cancelled() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (room, end) = (room.clone(), end.clone());
                members.spawn(async move {
                    select! {
                        // A member that has left cannot be told about an error.
                        _ = welcome(stream, &room) => {}
                        () = end.cancelled() => {}
                    }
                });
            }
            Err(error) => {
                // For example, there are no descriptors left, which lasts for a while.
                eprintln!("chat_server: cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
    members.close();
    members.wait().await;
}

/// Serves one connection, from the name to the end.
async fn welcome(stream: TcpStream, room: &Room) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let Some(name) = line(&mut read).await? else {
        return Ok(());
    };
    let name = name.trim();
    if name.is_empty() {
        return write.write_all(b"* a name is needed\n").await;
    }
    let mut lines = room.lines.subscribe();
    let Some(_member) = Member::join(room, name) else {
        let refusal = format!("* somebody here is called {name} already\n");
        return write.write_all(refusal.as_bytes()).await;
    };
    let listening = async {
        loop {
            let line = match lines.recv().await {
                Ok(line) => format!("{line}\n"),
                Err(RecvError::Lagged(count)) => format!("* {count} lines missed\n"),
                Err(RecvError::Closed) => return io::Result::Ok(()),
            };
            write.write_all(line.as_bytes()).await?;
        }
    };
    let talking = async {
        while let Some(text) = line(&mut read).await? {
            room.say(format!("{name}: {}", text.trim_end()));
        }
        Ok(())
    };
    select! {
        result = listening => result,
        result = talking => result,
    }
}

/// Returns the next line, or `None` at the end.
async fn line(read: &mut BufReader<OwnedReadHalf>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let n = read.take(LONGEST).read_until(b'\n', &mut line).await?;
    if n as u64 == LONGEST && !line.ends_with(b"\n") {
        return Err(io::Error::other("the line is too long"));
    }
    Ok((n > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
}
