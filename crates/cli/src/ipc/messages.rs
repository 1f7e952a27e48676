//! `blitz ipc tail` and `blitz ipc send`.

use std::io::{self, BufRead};
use std::time::Duration;

use blitz_io_ipc::{Kind, RecvError};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::json;

use super::{Arguments, cannot_join, existing, failed, names};
use crate::duration;
use crate::exit::Exit;
use crate::output;

#[derive(Args)]
pub struct Tail {
    /// The segment.
    #[arg(add = ArgValueCompleter::new(names::complete))]
    name: String,
    /// Prints every message in hexadecimal, not only those that are not text.
    #[arg(long)]
    hex: bool,
    /// Ends after this many messages.
    #[arg(long, value_name = "NUMBER")]
    count: Option<u64>,
    /// Begins with the messages that the ring still holds.
    #[arg(long)]
    history: bool,
    /// Misses no message: senders wait for this program when the ring is full.
    #[arg(long)]
    lossless: bool,
    /// Takes messages from a queue; its workers will then not receive them.
    #[arg(long)]
    take: bool,
}

#[derive(Args)]
pub struct Send {
    /// The segment.
    #[arg(add = ArgValueCompleter::new(names::complete))]
    name: String,
    /// The messages; without any, each line of standard input is one.
    messages: Vec<String>,
    /// Gives up on a message if there is no room for it for this time, such as 500ms; a number alone is in seconds.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = duration::parse_or_zero, allow_negative_numbers = true)]
    timeout: Duration,
}

pub fn tail(arguments: &Arguments, tail: &Tail) -> Result<Exit, Exit> {
    let (builder, segment) = existing(arguments, &tail.name)?;
    if segment.kind == Kind::Queue && !tail.take {
        return Err(Exit::usage(
            format!(
                "{:?} is a queue: a message that is printed is gone for its workers",
                tail.name
            ),
            "With --take it is printed all the same.",
        ));
    }
    let builder = builder.with_history(tail.history);
    let joined = if tail.lossless || segment.kind == Kind::Queue {
        builder.receiver(&tail.name)
    } else {
        builder.observer(&tail.name)
    };
    let mut receiver = joined.map_err(|error| cannot_join(error, &segment))?;
    let mut printed = 0;
    while tail.count.is_none_or(|count| printed < count) {
        match receiver.recv() {
            Ok(message) => output::print_next(&line(&message, tail.hex, arguments.json))?,
            Err(RecvError::Disconnected) => break,
            Err(error @ RecvError::Lagged(_)) => {
                output::tell(format_args!("{error}\n"));
                continue;
            }
            Err(error) => return Err(failed(error)),
        }
        printed += 1;
    }
    Ok(Exit::Done)
}

/// Formats a message as one line: as text if it is text, otherwise in hexadecimal.
fn line(message: &[u8], hex: bool, as_json: bool) -> String {
    let printable = |text: &&str| !text.chars().any(char::is_control);
    let text = std::str::from_utf8(message).ok().filter(printable);
    let digits = || {
        message
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    match (text.filter(|_| !hex), as_json) {
        (Some(text), false) => format!("{text}\n"),
        (None, false) => format!("{}\n", digits()),
        (Some(text), true) => format!("{}\n", json!({"len": message.len(), "text": text})),
        (None, true) => format!("{}\n", json!({"len": message.len(), "hex": digits()})),
    }
}

pub fn send(arguments: &Arguments, send: &Send) -> Result<Exit, Exit> {
    let (builder, segment) = existing(arguments, &send.name)?;
    let mut sender = builder
        .sender(&send.name)
        .map_err(|error| cannot_join(error, &segment))?;
    let mut sent = 0_u64;
    let mut one = |message: &[u8]| {
        let result = sender.send_timeout(message, send.timeout);
        sent += u64::from(result.is_ok());
        result.map_err(failed)
    };
    if send.messages.is_empty() {
        for message in io::stdin().lock().split(b'\n') {
            one(&message.map_err(failed)?)?;
        }
    } else {
        for message in &send.messages {
            one(message.as_bytes())?;
        }
    }
    if arguments.json {
        output::print_json(&json!({ "sent": sent }))?;
    } else {
        output::print(&format!("{sent} sent\n"))?;
    }
    Ok(Exit::Done)
}
