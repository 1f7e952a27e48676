//! A server: elections, the log and snapshots.
//!
//! One task does everything, so the server is in a consistent state between two messages. It syncs its disk before it
//! grants a vote, and before it acknowledges entries.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use blitz_io::net::UdpSocket;
use blitz_io::select;
use blitz_io::sync::{mpsc, oneshot};
use blitz_io::time::{Instant, sleep_until};

use super::Bug;
use super::command::{Command, Operation, State};
use super::data::{Entry, Saved, Snapshot};
use super::disk::Disk;
use super::message::{Envelope, Message};
use super::service::Request;

/// The time between two messages of a leader.
const HEARTBEAT: Duration = Duration::from_millis(60);
/// The shortest time without a leader after which an election begins, in milliseconds. The longest is twice as long.
const ELECTION: u64 = 200;
/// The largest number of entries of a message.
const BATCH: usize = 16;
/// The number of applied entries after which a server makes a snapshot.
const LOG: usize = 6;
/// A server whose disk fails stops.
const DISK: &str = "the disk works";

/// An observer of the servers.
pub trait Watch {
    /// The server has become the leader of a term.
    fn leads(&self, server: u64, term: u64);
    /// The server has applied an entry.
    fn applied(&self, index: u64, entry: &Entry, result: u64);
    /// The server has got a snapshot.
    fn installed(&self);
}

/// The environment of a server.
pub struct Settings {
    pub me: u64,
    /// The addresses of all servers, for messages between them.
    pub servers: Vec<SocketAddr>,
    pub disk: Disk,
    pub watch: Rc<dyn Watch>,
    pub random: fn() -> u64,
    pub bug: Option<Bug>,
}

/// How much of the log another server has.
#[derive(Clone, Copy)]
struct Progress {
    /// The index of the first entry to send.
    next: u64,
    /// The index of the last entry that it has.
    known: u64,
}

enum Role {
    Follower,
    /// The servers that have voted for this one.
    Candidate(BTreeSet<u64>),
    Leader(Vec<Progress>),
}

/// A command of a client that is not committed yet.
struct Waiting {
    index: u64,
    term: u64,
    result: oneshot::Sender<u64>,
}

pub struct Node {
    settings: Settings,
    socket: UdpSocket,
    saved: Saved,
    state: State,
    /// The index of the last entry that was applied.
    applied: u64,
    /// The index of the last entry that a majority has.
    committed: u64,
    role: Role,
    deadline: Instant,
    waiting: Vec<Waiting>,
}

impl Node {
    /// Creates a server with the data of its disk.
    pub fn new(settings: Settings, saved: Saved, socket: UdpSocket) -> Self {
        let mut node = Self {
            settings,
            socket,
            state: saved.snapshot.state.clone(),
            applied: saved.snapshot.index,
            committed: saved.snapshot.index,
            saved,
            role: Role::Follower,
            deadline: Instant::now(),
            waiting: Vec::new(),
        };
        node.wait_for_leader();
        node
    }

    pub async fn run(mut self, mut requests: mpsc::Receiver<Request>) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            select! {
                received = self.socket.recv_from(&mut buffer) => {
                    let (n, _) = received?;
                    if let Some(envelope) = Envelope::from_bytes(&buffer[..n]) {
                        self.receive(envelope).await;
                    }
                }
                Some((command, result)) = requests.recv() => self.request(command, result).await,
                () = sleep_until(self.deadline) => self.time_is_up().await,
            }
        }
    }

    fn has(&self, bug: Bug) -> bool {
        self.settings.bug == Some(bug)
    }

    fn is_majority(&self, servers: usize) -> bool {
        servers > self.settings.servers.len() / 2
    }

    fn others(&self) -> impl Iterator<Item = u64> + use<> {
        let me = self.settings.me;
        (0..self.settings.servers.len() as u64).filter(move |server| *server != me)
    }

    async fn send(&self, to: u64, message: Message) {
        let envelope = Envelope {
            from: self.settings.me,
            term: self.saved.term,
            message,
        };
        let to = self.settings.servers[to as usize];
        // A message may be lost anyway.
        _ = self.socket.send_to(&envelope.to_bytes(), to).await;
    }

    async fn save(&mut self) {
        self.write().await;
        let synced = self.settings.disk.sync().await;
        synced.expect(DISK);
    }

    /// Writes what a crash may lose.
    async fn write(&mut self) {
        let written = self.settings.disk.write(&self.saved).await;
        written.expect(DISK);
    }

    fn wait_for_leader(&mut self) {
        let millis = ELECTION + (self.settings.random)() % ELECTION;
        self.deadline = Instant::now() + Duration::from_millis(millis);
    }

    /// Becomes a follower. If the term is new, it has not voted in it.
    fn follow(&mut self, term: u64) {
        if term > self.saved.term {
            (self.saved.term, self.saved.vote) = (term, None);
        }
        if matches!(self.role, Role::Leader(_)) {
            self.wait_for_leader();
        }
        self.role = Role::Follower;
        // Their clients learn that this is not the leader.
        self.waiting.clear();
    }

    async fn time_is_up(&mut self) {
        if matches!(self.role, Role::Leader(_)) {
            return self.send_log_to_all().await;
        }
        self.saved.term += 1;
        self.saved.vote = Some(self.settings.me);
        self.role = Role::Candidate(BTreeSet::from([self.settings.me]));
        self.save().await;
        self.wait_for_leader();
        let index = self.saved.last_index();
        let term = self.saved.term_at(index).unwrap_or(0);
        for server in self.others() {
            self.send(server, Message::Ask { index, term }).await;
        }
    }

    async fn receive(&mut self, envelope: Envelope) {
        let Envelope {
            from,
            term,
            message,
        } = envelope;
        if term > self.saved.term {
            self.follow(term);
        }
        let is_current = term == self.saved.term;
        match message {
            Message::Ask { index, term } => self.asked(from, is_current, (term, index)).await,
            Message::Vote { is_granted } => {
                if is_granted && (is_current || self.has(Bug::LateVotes)) {
                    self.voted(from).await;
                }
            }
            Message::Append { .. } | Message::Install(_) if !is_current => {
                // The answer has the new term.
                let (is_known, index) = (false, 0);
                self.send(from, Message::Appended { is_known, index }).await;
            }
            Message::Append {
                index,
                term,
                committed,
                entries,
            } => self.append(from, (index, term), committed, entries).await,
            Message::Install(snapshot) => self.install(from, snapshot).await,
            Message::Appended { is_known, index } if is_current => {
                self.appended(from, is_known, index).await;
            }
            Message::Appended { .. } => {}
        }
    }

    /// A candidate has the log up to `log`: a term and an index.
    async fn asked(&mut self, from: u64, is_current: bool, log: (u64, u64)) {
        let index = self.saved.last_index();
        let own = (self.saved.term_at(index).unwrap_or(0), index);
        let is_free = self.saved.vote.is_none_or(|vote| vote == from);
        let has_all = log >= own || self.has(Bug::ShortLogs);
        let is_granted = is_current && is_free && has_all;
        if is_granted {
            self.saved.vote = Some(from);
            self.save().await;
            self.wait_for_leader();
        }
        self.send(from, Message::Vote { is_granted }).await;
    }

    async fn voted(&mut self, from: u64) {
        let Role::Candidate(votes) = &mut self.role else {
            return;
        };
        votes.insert(from);
        let count = votes.len();
        if self.is_majority(count) {
            self.lead().await;
        }
    }

    async fn lead(&mut self) {
        let progress = Progress {
            next: self.saved.last_index() + 1,
            known: 0,
        };
        self.role = Role::Leader(vec![progress; self.settings.servers.len()]);
        (self.settings.watch).leads(self.settings.me, self.saved.term);
        // Entries of earlier terms are committed with this one.
        let nothing = Command {
            client: u64::MAX,
            number: 0,
            operation: Operation::Nothing,
        };
        self.add(nothing).await;
    }

    /// Appends a command to the log, as the leader. Returns its index.
    async fn add(&mut self, command: Command) -> u64 {
        let term = self.saved.term;
        self.saved.log.push(Entry { term, command });
        self.save().await;
        self.send_log_to_all().await;
        self.saved.last_index()
    }

    async fn send_log_to_all(&mut self) {
        self.deadline = Instant::now() + HEARTBEAT;
        for server in self.others() {
            self.send_log(server).await;
        }
    }

    async fn send_log(&self, to: u64) {
        let Role::Leader(progress) = &self.role else {
            return;
        };
        let next = progress[to as usize].next;
        let index = next - 1;
        let message = match self.saved.term_at(index) {
            Some(term) => {
                let from = (index - self.saved.snapshot.index) as usize;
                let entries = self.saved.log[from..].iter().take(BATCH);
                Message::Append {
                    index,
                    term,
                    committed: self.committed,
                    entries: entries.copied().collect(),
                }
            }
            None => Message::Install(self.saved.snapshot.clone()),
        };
        self.send(to, message).await;
    }

    async fn append(
        &mut self,
        from: u64,
        (index, term): (u64, u64),
        committed: u64,
        entries: Vec<Entry>,
    ) {
        self.follow(self.saved.term);
        self.wait_for_leader();
        let is_known =
            index <= self.saved.snapshot.index || self.saved.term_at(index) == Some(term);
        if !is_known {
            let index = self.saved.last_index().min(index - 1);
            return self.send(from, Message::Appended { is_known, index }).await;
        }
        let last = index + entries.len() as u64;
        self.take_over(index + 1, entries);
        if self.has(Bug::LateSync) {
            self.write().await;
        } else {
            self.save().await;
        }
        self.committed = self.committed.max(committed.min(last));
        self.apply().await;
        let (is_known, index) = (true, last);
        self.send(from, Message::Appended { is_known, index }).await;
    }

    /// Makes these entries those of the log from this index on. What contradicts them goes.
    fn take_over(&mut self, first: u64, entries: Vec<Entry>) {
        for (index, entry) in (first..).zip(entries) {
            if index <= self.saved.snapshot.index {
                continue;
            }
            match self.saved.term_at(index) {
                Some(term) if term == entry.term => continue,
                Some(_) => self.saved.truncate(index),
                None => {}
            }
            self.saved.log.push(entry);
        }
    }

    async fn appended(&mut self, from: u64, is_known: bool, index: u64) {
        let last = self.saved.last_index();
        let Role::Leader(progress) = &mut self.role else {
            return;
        };
        let progress = &mut progress[from as usize];
        if is_known {
            progress.known = progress.known.max(index);
            progress.next = progress.known + 1;
        } else {
            progress.next = (index + 1).max(progress.known + 1);
        }
        let is_behind = progress.next <= last;
        self.commit().await;
        if is_behind {
            self.send_log(from).await;
        }
    }

    /// Commits what a majority has. An entry of an earlier term is committed only with a later one of this term.
    async fn commit(&mut self) {
        let Role::Leader(progress) = &self.role else {
            return;
        };
        let last = self.saved.last_index();
        let is_committed = |index: &u64| {
            let others = progress.iter().filter(|other| other.known >= *index);
            self.is_majority(others.count() + 1)
                && self.saved.term_at(*index) == Some(self.saved.term)
        };
        if let Some(index) = (self.committed + 1..=last).rev().find(is_committed) {
            self.committed = index;
            self.apply().await;
        }
    }

    /// Applies the committed entries, and answers their clients.
    async fn apply(&mut self) {
        while self.applied < self.committed {
            let Some(entry) = self.saved.entry(self.applied + 1) else {
                break;
            };
            self.applied += 1;
            let (index, term) = (self.applied, entry.term);
            let result = self.state.apply(&entry.command);
            self.settings.watch.applied(index, entry, result);
            let is_it = |it: &Waiting| (it.index, it.term) == (index, term);
            if let Some(at) = self.waiting.iter().position(is_it) {
                // The client may have given up.
                _ = self.waiting.swap_remove(at).result.send(result);
            }
        }
        self.compact().await;
    }

    /// Replaces the applied part of the log by a snapshot, if it is long.
    async fn compact(&mut self) {
        let count = (self.applied - self.saved.snapshot.index) as usize;
        if count < LOG {
            return;
        }
        let mut state = self.state.clone();
        if self.has(Bug::ForgottenRetries) {
            state.last.clear();
        }
        let term = self.saved.term_at(self.applied).unwrap_or(0);
        self.saved.log.drain(..count);
        self.saved.snapshot = Snapshot {
            index: self.applied,
            term,
            state,
        };
        self.write().await;
    }

    async fn install(&mut self, from: u64, snapshot: Snapshot) {
        self.follow(self.saved.term);
        self.wait_for_leader();
        let index = snapshot.index;
        if index > self.applied {
            self.settings.watch.installed();
            if self.saved.term_at(index) == Some(snapshot.term) {
                let known = (index - self.saved.snapshot.index) as usize;
                self.saved.log.drain(..known);
            } else {
                self.saved.log.clear();
            }
            self.state = snapshot.state.clone();
            (self.applied, self.committed) = (index, index);
            self.saved.snapshot = snapshot;
            self.save().await;
        }
        let is_known = true;
        self.send(from, Message::Appended { is_known, index }).await;
    }

    async fn request(&mut self, command: Command, result: oneshot::Sender<u64>) {
        if !matches!(self.role, Role::Leader(_)) {
            // The client learns it from the sender that is dropped.
            return;
        }
        if let (Operation::Get(key), true) = (command.operation, self.has(Bug::StaleReads)) {
            _ = result.send(self.state.get(key));
            return;
        }
        let term = self.saved.term;
        let index = self.add(command).await;
        self.waiting.push(Waiting {
            index,
            term,
            result,
        });
    }
}
