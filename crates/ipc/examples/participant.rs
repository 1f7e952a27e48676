//! A participant in a segment that programs in four languages share.
//!
//! `bindings/languages` has the same program in C, C++ and Zig, and the test that runs them together; its
//! README has the protocol. The C++ program uses the interface of cpp-ipc, so all of them form the
//! messages and the name of the segment as that interface does.

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use blitz_io_ipc::{self as ipc, Builder, Channel, RecvError, Route};

/// Origin, size and offset of a part: the header of the interface of cpp-ipc.
const PART: usize = 24;
/// Sender, number, mark of the last message, and checksum.
const HEAD: usize = 32;
/// The most bytes of the padding.
const PADDING: u64 = 300;

/// A message of the test.
#[derive(Clone, Copy)]
struct Numbered {
    sender: u64,
    number: u64,
    is_last: bool,
}

impl Numbered {
    fn padding(self) -> usize {
        ((self.sender * 31 + self.number * 7) % PADDING) as usize
    }

    /// Returns FNV-1a over the fields and the padding.
    fn checksum(self, padding: &[u8]) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for word in [self.sender, self.number, u64::from(self.is_last)] {
            hash = fnv(hash, &word.to_ne_bytes());
        }
        fnv(hash, padding)
    }

    fn encode(self, message: &mut Vec<u8>) {
        let padding: Vec<u8> = (0..self.padding())
            .map(|at| (self.number as usize + at) as u8)
            .collect();
        let size = (HEAD + padding.len()) as u64;
        message.clear();
        for word in [
            self.sender,
            size,
            0,
            self.sender,
            self.number,
            u64::from(self.is_last),
            self.checksum(&padding),
        ] {
            message.extend_from_slice(&word.to_ne_bytes());
        }
        message.extend_from_slice(&padding);
    }

    fn decode(message: &[u8]) -> Result<Self, Box<dyn Error>> {
        let word = |at: usize| {
            let bytes = message.get(8 * at..8 * at + 8).ok_or("a short message")?;
            Ok::<_, Box<dyn Error>>(u64::from_ne_bytes(bytes.try_into()?))
        };
        let padding = message.get(PART + HEAD..).ok_or("a short message")?;
        let numbered = Self {
            sender: word(3)?,
            number: word(4)?,
            is_last: word(5)? != 0,
        };
        let whole = word(1)? == (message.len() - PART) as u64 && word(2)? == 0;
        if !whole || padding.len() != numbered.padding() || word(6)? != numbered.checksum(padding) {
            return Err("a torn message".into());
        }
        Ok(numbered)
    }
}

fn fnv(mut hash: u64, bytes: &[u8]) -> u64 {
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

fn builder(kind: &str) -> Builder {
    let builder = if kind == "route" {
        Route::builder()
    } else {
        Channel::builder().max_senders(448)
    };
    builder.capacity(256).max_len(4096)
}

/// Joins, again while another participant joins, or while the sender before holds the only place.
fn joined<E>(mut join: impl FnMut() -> Result<E, ipc::Error>) -> Result<E, ipc::Error> {
    loop {
        match join() {
            Err(ipc::Error::Busy | ipc::Error::Occupied { .. }) => {
                thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn wait_for_line() -> io::Result<()> {
    io::stdin().read_line(&mut String::new()).map(drop)
}

/// Sends so many messages for each line that it reads; 0 is without end.
fn send(builder: &Builder, name: &str, id: u64, phases: &[u64]) -> Result<(), Box<dyn Error>> {
    let mut sender = joined(|| builder.sender(name))?;
    say("joined")?;
    let mut message = Vec::new();
    let mut number = 0;
    for (phase, &count) in phases.iter().enumerate() {
        wait_for_line()?;
        let end = if count == 0 { u64::MAX } else { number + count };
        while number < end {
            let is_last = phase + 1 == phases.len() && number + 1 == end;
            let numbered = Numbered {
                sender: id,
                number,
                is_last,
            };
            numbered.encode(&mut message);
            sender.send(&message)?;
            number += 1;
            if number % 64 == 0 {
                say(&format!("at {number}"))?;
            }
        }
        say(&format!("sent {number}"))?;
    }
    Ok(())
}

/// Receives until so many senders have sent their last message. After `stall` messages it waits for a line.
fn receive(builder: &Builder, name: &str, lasts: u64, stall: u64) -> Result<(), Box<dyn Error>> {
    let mut receiver = joined(|| builder.receiver(name))?;
    say("joined")?;
    let mut next = std::collections::BTreeMap::new();
    let (mut ended, mut total, mut order) = (0, 0_u64, 0xcbf2_9ce4_8422_2325_u64);
    while ended < lasts {
        let numbered = match receiver.recv() {
            Ok(message) => Numbered::decode(&message)?,
            // No sender has joined, or all have left: another one comes.
            Err(RecvError::Disconnected) => {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let expected = next.entry(numbered.sender).or_insert(0);
        if numbered.number != *expected {
            let Numbered { sender, number, .. } = numbered;
            return Err(format!("{sender} sent {number} after {expected}").into());
        }
        *expected += 1;
        for word in [numbered.sender, numbered.number] {
            order = fnv(order, &word.to_ne_bytes());
        }
        ended += u64::from(numbered.is_last);
        total += 1;
        if total % 64 == 0 {
            say(&format!("at {total}"))?;
        }
        if total == stall {
            say("stalled")?;
            wait_for_line()?;
        }
    }
    let counts: Vec<String> = next
        .iter()
        .map(|(id, count)| format!("{id}:{count}"))
        .collect();
    say(&format!("end {order:016x} {}", counts.join(" ")))?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [kind, name, role, rest @ ..] = arguments.as_slice() else {
        return Err(
            "usage: participant route|channel NAME send ID COUNT... | receive SENDERS STALL".into(),
        );
    };
    let numbers = rest
        .iter()
        .map(|text| text.parse())
        .collect::<Result<Vec<u64>, _>>()?;
    let name = format!("libipc-..{name}");
    match (role.as_str(), numbers.as_slice()) {
        ("send", [id, phases @ ..]) => send(&builder(kind), &name, *id, phases),
        ("receive", [lasts, stall]) => receive(&builder(kind), &name, *lasts, *stall),
        _ => Err("the role is send or receive".into()),
    }
}
