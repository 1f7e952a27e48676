//! A chat room, made of channels. Members are simulated, or come from the input.
//!
//! ```sh
//! cargo run --release --example chat -- --members 4 --messages 3
//! printf '/join ann\n/join bob\nann: hello\n/leave bob\n' | cargo run --release --example chat
//! ```
//!
//! The room is a task that owns the list of its members, so that no lock is needed. It gets
//! requests through an mpsc channel, answers each through a oneshot channel, and announces
//! events through a broadcast channel. A member that listens too slowly misses the oldest
//! events, and is told how many; it never delays the others.
//!
//! The exit code is 0, 1 if a line of the input was wrong, and 2 if the command line is.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use blitz_io::sync::{Barrier, broadcast, mpsc, oneshot};
use blitz_io::task::{JoinSet, spawn_blocking};
use blitz_io::time::sleep;
use broadcast::error::RecvError;
use clap::Parser;

/// A chat room. Reads `/join NAME`, `/leave NAME`, `/who` and `NAME: TEXT` from the input,
/// or simulates its members.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Simulate this many members instead of reading the input
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    members: Option<u16>,
    /// How many messages each of them sends
    #[arg(long, default_value_t = 3, value_name = "N")]
    messages: u32,
    /// How many events a member may be behind before it misses some
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    backlog: u32,
    /// Print only the table at the end
    #[arg(long)]
    quiet: bool,
}

#[blitz_io::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let (events, audience) = broadcast::channel(options.backlog as usize);
    let (requests, inbox) = mpsc::channel(64);
    blitz_io::spawn(Room::new(events).open(inbox));
    let quiet = options.quiet;
    let board = spawn_blocking(move || board(audience, quiet));

    let door = Door(requests);
    let (heard, all_well) = match options.members {
        Some(members) => (invent(door, members, options.messages).await, true),
        None => follow_the_input(door).await,
    };
    let printed = board.await.expect("the board has panicked");
    match printed.and_then(|()| print_table(&heard)) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("chat: cannot write: {error}");
            ExitCode::FAILURE
        }
        _ if all_well => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

type Name = Arc<str>;

// The messages in the channels.

enum Event {
    Joined(Name),
    Left(Name),
    Said(Name, String),
    Present(Vec<Name>),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined(name) => write!(f, "* {name} has joined"),
            Self::Left(name) => write!(f, "* {name} has left"),
            Self::Said(name, text) => write!(f, "{name}: {text}"),
            Self::Present(names) if names.is_empty() => write!(f, "* nobody is here"),
            Self::Present(names) => write!(f, "* here: {}", names.join(", ")),
        }
    }
}

/// A receiver of events.
type Ear = broadcast::Receiver<Arc<Event>>;

/// A request and the sender for its answer.
enum Request {
    Join(Name, oneshot::Sender<Result<Ear, Refused>>),
    Leave(Name, oneshot::Sender<Result<(), Refused>>),
    Say(Name, String, oneshot::Sender<Result<(), Refused>>),
    Who(oneshot::Sender<Result<(), Refused>>),
}

#[derive(Debug)]
enum Refused {
    NameTaken(Name),
    NotHere(Name),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken(name) => write!(f, "somebody here is called {name} already"),
            Self::NotHere(name) => write!(f, "nobody here is called {name}"),
        }
    }
}

// The room, and the handle that sends requests to it.

struct Room {
    members: BTreeSet<Name>,
    events: broadcast::Sender<Arc<Event>>,
}

impl Room {
    fn new(events: broadcast::Sender<Arc<Event>>) -> Self {
        let members = BTreeSet::new();
        Self { members, events }
    }

    /// Serves until all request senders are dropped. Then the broadcast channel closes,
    /// which ends its receivers.
    async fn open(mut self, mut inbox: mpsc::Receiver<Request>) {
        while let Some(request) = inbox.recv().await {
            // An error means that the sender of the request has dropped the receiver.
            match request {
                Request::Join(name, answer) => _ = answer.send(self.join(name)),
                Request::Leave(name, answer) => _ = answer.send(self.leave(name)),
                Request::Say(name, text, answer) => _ = answer.send(self.say(name, text)),
                Request::Who(answer) => {
                    self.tell(Event::Present(self.members.iter().cloned().collect()));
                    _ = answer.send(Ok(()));
                }
            }
        }
    }

    fn join(&mut self, name: Name) -> Result<Ear, Refused> {
        if !self.members.insert(name.clone()) {
            return Err(Refused::NameTaken(name));
        }
        let ear = self.events.subscribe();
        self.tell(Event::Joined(name));
        Ok(ear)
    }

    fn leave(&mut self, name: Name) -> Result<(), Refused> {
        if !self.members.remove(&name) {
            return Err(Refused::NotHere(name));
        }
        self.tell(Event::Left(name));
        Ok(())
    }

    fn say(&self, name: Name, text: String) -> Result<(), Refused> {
        if !self.members.contains(&name) {
            return Err(Refused::NotHere(name));
        }
        self.tell(Event::Said(name, text));
        Ok(())
    }

    fn tell(&self, event: Event) {
        // An error means that there is no receiver.
        _ = self.events.send(Arc::new(event));
    }
}

#[derive(Clone)]
struct Door(mpsc::Sender<Request>);

impl Door {
    async fn ask<A>(&self, request: impl FnOnce(oneshot::Sender<A>) -> Request) -> A {
        let (answer, answered) = oneshot::channel();
        _ = self.0.send(request(answer)).await;
        answered
            .await
            .expect("the room is open as long as a door is")
    }

    async fn join(&self, name: &Name) -> Result<Ear, Refused> {
        self.ask(|answer| Request::Join(name.clone(), answer)).await
    }

    async fn leave(&self, name: &Name) -> Result<(), Refused> {
        self.ask(|answer| Request::Leave(name.clone(), answer))
            .await
    }

    async fn say(&self, name: &Name, text: String) -> Result<(), Refused> {
        self.ask(|answer| Request::Say(name.clone(), text, answer))
            .await
    }

    async fn who(&self) -> Result<(), Refused> {
        self.ask(Request::Who).await
    }
}

// The members.

/// What a member has received.
struct Heard {
    name: Name,
    messages: u64,
    /// Events that were overwritten before the member received them.
    missed: u64,
}

/// Listens until the member leaves or the room closes.
async fn listen(name: Name, mut ear: Ear) -> Heard {
    let (mut messages, mut missed) = (0, 0);
    loop {
        match ear.recv().await.as_deref() {
            Ok(Event::Said(..)) => messages += 1,
            Ok(Event::Left(who)) if *who == name => break,
            Ok(_) => {}
            Err(RecvError::Lagged(events)) => missed += events,
            Err(RecvError::Closed) => break,
        }
    }
    Heard {
        name,
        messages,
        missed,
    }
}

/// Simulates members that all join, then talk and listen to each other.
async fn invent(door: Door, members: u16, messages: u32) -> Vec<Heard> {
    let all_here = Arc::new(Barrier::new(members.into()));
    let mut tasks = JoinSet::new();
    for number in 1..=members {
        let (door, all_here) = (door.clone(), all_here.clone());
        tasks.spawn(async move {
            let name = Name::from(format!("member-{number}"));
            let ear = door.join(&name).await.expect("each name is given once");
            let listening = blitz_io::spawn(listen(name.clone(), ear));
            all_here.wait().await;
            for message in 1..=messages {
                let milliseconds = (u32::from(number) * 7 + message * 13) % 5;
                sleep(Duration::from_millis(milliseconds.into())).await;
                let text = format!("message {message} of {messages}");
                door.say(&name, text).await.expect("we are here");
            }
            drop(door);
            listening.await.expect("a listener has panicked")
        });
    }
    drop(door);
    let mut heard = tasks.join_all().await;
    heard.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
    heard
}

/// Runs the members that the input describes. Returns whether every line was correct.
async fn follow_the_input(door: Door) -> (Vec<Heard>, bool) {
    let mut lines = lines();
    let mut members = Vec::new();
    let mut all_well = true;
    while let Some((number, line)) = lines.recv().await {
        if let Err(why) = follow(&line, &door, &mut members).await {
            eprintln!("chat: line {number}: {why}");
            all_well = false;
        }
    }
    drop(door);
    let mut heard = Vec::new();
    for member in members {
        heard.push(member.await.expect("a listener has panicked"));
    }
    (heard, all_well)
}

async fn follow(
    line: &str,
    door: &Door,
    members: &mut Vec<blitz_io::task::JoinHandle<Heard>>,
) -> Result<(), String> {
    let refused = |refused: Refused| refused.to_string();
    if let Some(name) = line.strip_prefix("/join ") {
        let name = Name::from(name.trim());
        let ear = door.join(&name).await.map_err(refused)?;
        members.push(blitz_io::spawn(listen(name, ear)));
        Ok(())
    } else if let Some(name) = line.strip_prefix("/leave ") {
        door.leave(&name.trim().into()).await.map_err(refused)
    } else if line.trim() == "/who" {
        door.who().await.map_err(refused)
    } else if let Some((name, text)) = line.split_once(':') {
        let (name, text) = (name.trim().into(), text.trim().to_owned());
        door.say(&name, text).await.map_err(refused)
    } else if line.trim().is_empty() {
        Ok(())
    } else {
        Err("neither `/join NAME`, `/leave NAME`, `/who` nor `NAME: TEXT`".into())
    }
}

/// Starts a thread that reads the input; the other end of the channel is a task.
fn lines() -> mpsc::Receiver<(usize, String)> {
    let (found, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for (line, number) in io::stdin().lock().lines().zip(1..) {
            match line {
                Ok(line) => {
                    if found.blocking_send((number, line)).is_err() {
                        break;
                    }
                }
                Err(error) => {
                    eprintln!("chat: cannot read the input: {error}");
                    break;
                }
            }
        }
    });
    lines
}

// Output.

/// Prints events, on a separate thread, because printing may block.
fn board(mut ear: Ear, quiet: bool) -> io::Result<()> {
    loop {
        match ear.blocking_recv() {
            Ok(_) if quiet => {}
            Ok(event) => writeln!(io::stdout(), "{event}")?,
            Err(RecvError::Lagged(events)) if quiet => _ = events,
            Err(RecvError::Lagged(events)) => writeln!(io::stdout(), "* {events} events missed")?,
            Err(RecvError::Closed) => return Ok(()),
        }
    }
}

fn print_table(heard: &[Heard]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let width = heard.iter().map(|one| one.name.chars().count());
    let width = width.max().unwrap_or(0).max(6);
    writeln!(out, "{:width$}  heard  missed", "member")?;
    for Heard {
        name,
        messages,
        missed,
    } in heard
    {
        writeln!(out, "{name:width$}  {messages:>5}  {missed:>6}")?;
    }
    Ok(())
}
