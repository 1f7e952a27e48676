//! Redis' protocol: the messages of clients and the replies.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

/// Longer lines are refused.
const LONGEST_LINE: usize = 64 * 1024;
/// Longer arguments are refused.
const LONGEST_ARGUMENT: i64 = 64 * 1024 * 1024;
/// Commands with more arguments are refused.
const MOST_ARGUMENTS: i64 = 1024 * 1024;

/// A reply of the server.
#[derive(Debug, PartialEq)]
pub enum Reply {
    Simple(&'static str),
    Error(String),
    Integer(i64),
    Bulk(Option<Bytes>),
    Array(Vec<Reply>),
}

impl Reply {
    fn write(&self, target: &mut BytesMut) {
        let mut line = |kind: u8, text: &[u8]| {
            target.extend_from_slice(&[kind]);
            target.extend_from_slice(text);
            target.extend_from_slice(b"\r\n");
        };
        match self {
            Reply::Simple(text) => line(b'+', text.as_bytes()),
            // A line break would end the error early.
            Reply::Error(text) => line(b'-', text.replace(['\r', '\n'], " ").as_bytes()),
            Reply::Integer(number) => line(b':', number.to_string().as_bytes()),
            Reply::Bulk(None) => line(b'$', b"-1"),
            Reply::Bulk(Some(bytes)) => {
                line(b'$', bytes.len().to_string().as_bytes());
                target.extend_from_slice(bytes);
                target.extend_from_slice(b"\r\n");
            }
            Reply::Array(replies) => {
                line(b'*', replies.len().to_string().as_bytes());
                for reply in replies {
                    reply.write(target);
                }
            }
        }
    }
}

/// The server's codec. A command is its name and its arguments, and is never empty.
///
/// It keeps what it has read of a command, so that a long command that arrives in small
/// pieces is read only once.
#[derive(Default)]
pub struct Resp {
    arguments: Vec<Bytes>,
    /// How many arguments are missing.
    left: usize,
    /// The length of the next argument.
    len: Option<usize>,
}

impl Encoder<Reply> for Resp {
    type Error = io::Error;

    fn encode(&mut self, reply: Reply, target: &mut BytesMut) -> io::Result<()> {
        reply.write(target);
        Ok(())
    }
}

impl Decoder for Resp {
    type Item = Vec<Bytes>;
    type Error = io::Error;

    fn decode(&mut self, source: &mut BytesMut) -> io::Result<Option<Vec<Bytes>>> {
        while self.left == 0 {
            let Some(line) = line(source)? else {
                return Ok(None);
            };
            if let Some(count) = line.strip_prefix(b"*") {
                let count = number(count, MOST_ARGUMENTS, "invalid multibulk length")?;
                // A command without arguments asks for nothing.
                self.left = count;
                continue;
            }
            // A line that was typed by a person.
            let words = line.split(u8::is_ascii_whitespace);
            let words = words.filter(|word| !word.is_empty());
            let command: Vec<_> = words.map(|word| line.slice_ref(word)).collect();
            if !command.is_empty() {
                return Ok(Some(command));
            }
        }
        while self.left > 0 {
            let Some(argument) = self.argument(source)? else {
                return Ok(None);
            };
            self.arguments.push(argument);
            self.left -= 1;
        }
        Ok(Some(std::mem::take(&mut self.arguments)))
    }
}

impl Resp {
    /// Returns the next argument, or `None` if it has not arrived completely.
    fn argument(&mut self, source: &mut BytesMut) -> io::Result<Option<Bytes>> {
        let len = match self.len {
            Some(len) => len,
            None => {
                let Some(line) = line(source)? else {
                    return Ok(None);
                };
                let Some(len) = line.strip_prefix(b"$") else {
                    return Err(invalid("expected '$'"));
                };
                let len = number(len, LONGEST_ARGUMENT, "invalid bulk length")?;
                *self.len.insert(len)
            }
        };
        if source.len() < len + 2 {
            return Ok(None);
        }
        self.len = None;
        let argument = source.split_to(len).freeze();
        if !source.starts_with(b"\r\n") {
            return Err(invalid("expected a line break after an argument"));
        }
        source.advance(2);
        Ok(Some(argument))
    }
}

/// Returns the next line, without its end, or `None` if it has not arrived completely.
fn line(source: &mut BytesMut) -> io::Result<Option<Bytes>> {
    let seen = source.len().min(LONGEST_LINE);
    let Some(end) = source[..seen].iter().position(|byte| *byte == b'\n') else {
        if seen == LONGEST_LINE {
            return Err(invalid("too big inline request"));
        }
        return Ok(None);
    };
    let mut line = source.split_to(end + 1).freeze();
    line.truncate(end);
    if line.ends_with(b"\r") {
        line.truncate(end - 1);
    }
    Ok(Some(line))
}

/// Parses a count from 0 to the limit. As in Redis, -1 means 0 for the number of arguments.
fn number(text: &[u8], most: i64, or_else: &'static str) -> io::Result<usize> {
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse::<i64>().ok());
    match number {
        Some(-1) if most == MOST_ARGUMENTS => Ok(0),
        Some(number) if (0..=most).contains(&number) => Ok(number as usize),
        _ => Err(invalid(or_else)),
    }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}
