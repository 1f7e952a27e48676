//! Messages between servers, and from and to clients, and the data of a server, as bytes.
//!
//! A message is a list of numbers of eight bytes each.

use super::command::{Command, Operation, State};
use super::data::{Entry, Saved, Snapshot};

/// A message from one server to another, with the sender's term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// A candidate asks for a vote. It has the log up to this index and term.
    Ask {
        index: u64,
        term: u64,
    },
    /// The answer.
    Vote {
        is_granted: bool,
    },
    /// The entries after this index and term, and the index of the last one that is committed.
    Append {
        index: u64,
        term: u64,
        committed: u64,
        entries: Vec<Entry>,
    },
    /// The receiver has the log up to this index; or it does not, and has not more than that.
    Appended {
        is_known: bool,
        index: u64,
    },
    Install(Snapshot),
}

/// A message with its sender and the sender's term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Envelope {
    pub from: u64,
    pub term: u64,
    pub message: Message,
}

/// Writes numbers.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn put(&mut self, numbers: &[u64]) -> &mut Self {
        for number in numbers {
            self.0.extend(number.to_le_bytes());
        }
        self
    }

    fn command(&mut self, command: &Command) {
        let [kind, key, amount] = match command.operation {
            Operation::Nothing => [0, 0, 0],
            Operation::Add(key, amount) => [1, key, amount],
            Operation::Get(key) => [2, key, 0],
        };
        self.put(&[command.client, command.number, kind, key, amount]);
    }

    fn state(&mut self, state: &State) {
        self.put(&[state.counters.len() as u64]);
        for (key, value) in &state.counters {
            self.put(&[*key, *value]);
        }
        self.put(&[state.last.len() as u64]);
        for (client, (number, result)) in &state.last {
            self.put(&[*client, *number, *result]);
        }
    }
}

/// Reads numbers. `None` means that the bytes are no message.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn get(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn command(&mut self) -> Option<Command> {
        let (client, number) = (self.get()?, self.get()?);
        let operation = match (self.get()?, self.get()?, self.get()?) {
            (0, _, _) => Operation::Nothing,
            (1, key, amount) => Operation::Add(key, amount),
            (2, key, _) => Operation::Get(key),
            _ => return None,
        };
        Some(Command {
            client,
            number,
            operation,
        })
    }

    fn state(&mut self) -> Option<State> {
        let mut state = State::default();
        for _ in 0..self.get()? {
            state.counters.insert(self.get()?, self.get()?);
        }
        for _ in 0..self.get()? {
            (state.last).insert(self.get()?, (self.get()?, self.get()?));
        }
        Some(state)
    }

    fn entry(&mut self) -> Option<Entry> {
        let (term, command) = (self.get()?, self.command()?);
        Some(Entry { term, command })
    }
}

impl Envelope {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.put(&[self.from, self.term]);
        match &self.message {
            Message::Ask { index, term } => _ = to.put(&[0, *index, *term]),
            Message::Vote { is_granted } => _ = to.put(&[1, u64::from(*is_granted)]),
            Message::Append {
                index,
                term,
                committed,
                entries,
            } => {
                to.put(&[2, *index, *term, *committed, entries.len() as u64]);
                for entry in entries {
                    to.put(&[entry.term]).command(&entry.command);
                }
            }
            Message::Appended { is_known, index } => {
                to.put(&[3, u64::from(*is_known), *index]);
            }
            Message::Install(snapshot) => {
                to.put(&[4, snapshot.index, snapshot.term]);
                to.state(&snapshot.state);
            }
        }
        to.0
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let (sender, term) = (from.get()?, from.get()?);
        let message = match from.get()? {
            0 => Message::Ask {
                index: from.get()?,
                term: from.get()?,
            },
            1 => Message::Vote {
                is_granted: from.get()? != 0,
            },
            2 => Message::Append {
                index: from.get()?,
                term: from.get()?,
                committed: from.get()?,
                entries: (0..from.get()?)
                    .map(|_| from.entry())
                    .collect::<Option<_>>()?,
            },
            3 => Message::Appended {
                is_known: from.get()? != 0,
                index: from.get()?,
            },
            4 => Message::Install(Snapshot {
                index: from.get()?,
                term: from.get()?,
                state: from.state()?,
            }),
            _ => return None,
        };
        Some(Self {
            from: sender,
            term,
            message,
        })
    }
}

pub fn saved_to_bytes(saved: &Saved) -> Vec<u8> {
    let mut to = Writer::default();
    let vote = saved.vote.map_or(0, |vote| vote + 1);
    to.put(&[saved.term, vote]);
    to.put(&[saved.snapshot.index, saved.snapshot.term]);
    to.state(&saved.snapshot.state);
    to.put(&[saved.log.len() as u64]);
    for entry in &saved.log {
        to.put(&[entry.term]).command(&entry.command);
    }
    to.0
}

pub fn saved_from_bytes(bytes: &[u8]) -> Option<Saved> {
    let mut from = Reader(bytes);
    Some(Saved {
        term: from.get()?,
        vote: from.get()?.checked_sub(1),
        snapshot: Snapshot {
            index: from.get()?,
            term: from.get()?,
            state: from.state()?,
        },
        log: (0..from.get()?)
            .map(|_| from.entry())
            .collect::<Option<_>>()?,
    })
}

/// The number of bytes of a command of a client.
pub const REQUEST: usize = 40;
/// The number of bytes of the answer: whether the server is the leader, and the result.
pub const REPLY: usize = 16;

pub fn request_to_bytes(command: &Command) -> Vec<u8> {
    let mut to = Writer::default();
    to.command(command);
    to.0
}

pub fn request_from_bytes(bytes: &[u8]) -> Option<Command> {
    Reader(bytes).command()
}

pub fn reply_to_bytes(result: Option<u64>) -> Vec<u8> {
    let mut to = Writer::default();
    to.put(&[u64::from(result.is_some()), result.unwrap_or(0)]);
    to.0
}

pub fn reply_from_bytes(bytes: &[u8]) -> Option<u64> {
    let mut from = Reader(bytes);
    (from.get()? == 1).then(|| from.get())?
}
