//! A market feed: one process sends quotes, and several other processes each receive all of
//! them.
//!
//! ```sh
//! cargo run --release --example market_feed -- --readers 4 --quotes 1000000
//! ```
//!
//! It shows a route between processes with messages that are plain data, a barrier at which
//! all of them begin together, and the end: readers stop when the sender has left. It
//! starts the readers itself, as separate processes.
//!
//! The exit code is 0 if every reader has received every quote, in order.

use std::error::Error;
use std::process::{Child, Command, ExitCode};
use std::time::Instant;

use blitz_io::ipc::{Barrier, RecvError, Route, plain_data};
use clap::Parser;

/// Sends quotes from one process to several others.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// How many processes receive them
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=60))]
    readers: u16,
    /// How many to send
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    quotes: u64,
    /// Be a reader of this feed
    #[arg(long, hide = true, value_name = "NAME")]
    read: Option<String>,
}

plain_data! {
    /// The present price of a share.
    struct Quote {
        number: u64,
        price: f64,
        symbol: [u8; 8],
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match &options.read {
        Some(name) => read(name, &options),
        None => send(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("market_feed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn send(options: &Options) -> Result<(), Box<dyn Error>> {
    let name = format!("market-feed-{}", std::process::id());
    let mut sender = Route::builder().max_len(size_of::<Quote>()).sender(&name)?;
    let mut begin = Barrier::open(&format!("{name}-begin"), options.readers as usize + 1)?;
    let readers: Vec<Child> = (0..options.readers)
        .map(|_| {
            Command::new(std::env::current_exe()?)
                .args(["--read", &name])
                .args(["--readers", &options.readers.to_string()])
                .args(["--quotes", &options.quotes.to_string()])
                .spawn()
        })
        .collect::<Result<_, _>>()?;
    begin.wait()?;
    let began = Instant::now();
    for number in 0..options.quotes {
        sender.send_value(&Quote {
            number,
            price: 100.0 + (number % 1000) as f64 / 100.0,
            symbol: *b"ACME    ",
        })?;
    }
    drop(sender);
    for mut reader in readers {
        if !reader.wait()?.success() {
            return Err("a reader has missed something".into());
        }
    }
    let each = began.elapsed().as_nanos() / u128::from(options.quotes.max(1));
    println!("{} quotes sent, {each} ns each", options.quotes);
    Ok(())
}

fn read(name: &str, options: &Options) -> Result<(), Box<dyn Error>> {
    let mut receiver = Route::receiver(name)?;
    let mut begin = Barrier::open(&format!("{name}-begin"), options.readers as usize + 1)?;
    begin.wait()?;
    let (mut count, mut highest) = (0, 0.0_f64);
    loop {
        match receiver.recv_value::<Quote>() {
            Ok(quote) if quote.number == count => {
                count += 1;
                highest = highest.max(quote.price);
            }
            Ok(quote) => return Err(format!("quote {} after {count}", quote.number).into()),
            Err(RecvError::Disconnected) => break,
            Err(error) => return Err(error.into()),
        }
    }
    println!("reader: {count} quotes, the highest at {highest}");
    if count == options.quotes {
        Ok(())
    } else {
        Err(format!("{count} of {} quotes", options.quotes).into())
    }
}
