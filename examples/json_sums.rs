//! A server that reads JSON from sockets with a library that knows only `std::io::Read`.
//!
//! ```sh
//! cargo run --release --example json_sums -- --listen 127.0.0.1:4000
//! printf '[1, 2, {"three": 3}] 4' | nc -N 127.0.0.1 4000     # prints 6 and 4
//! ```
//!
//! Each connection is a fiber. `serde_json` calls `read` whenever it needs more bytes, in the
//! middle of its parser; the fiber waits for them there, and its thread goes on with other
//! connections. For each value that a client sends, the server answers with the sum of the
//! numbers in it, or with what is wrong, and then ends the connection.
//!
//! The exit code is 0, 1 if the address cannot be used, and 2 if the command line is wrong.

mod shutdown;

use std::io::{self, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

use blitz_io::fiber;
use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::select;
use blitz_io::sync::CancellationToken;
use blitz_io::time::{Duration, sleep};
use clap::Parser;
use serde_json::{Deserializer, Value};

/// Adds up the numbers in the JSON values that clients send.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where to listen; port 0 lets the system choose
    #[arg(long, default_value = "127.0.0.1:4000", value_name = "ADDRESS")]
    listen: SocketAddr,
}

/// One direction of a socket for code that blocks, in a fiber.
struct Blocking<T>(T);

impl Read for Blocking<OwnedReadHalf> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        fiber::block_on(self.0.read(buffer))
    }
}

impl Write for Blocking<OwnedWriteHalf> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fiber::block_on(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        fiber::block_on(self.0.flush())
    }
}

/// The sum of all numbers in a value.
fn sum(value: &Value) -> f64 {
    match value {
        Value::Number(number) => number.as_f64().unwrap_or_default(),
        Value::Array(values) => values.iter().map(sum).sum(),
        Value::Object(members) => members.values().map(sum).sum(),
        Value::Null | Value::Bool(_) | Value::String(_) => 0.0,
    }
}

/// Answers a client until it has sent all, or something that is no JSON.
fn serve(stream: TcpStream) -> io::Result<()> {
    let (input, output) = stream.into_split();
    let (input, mut output) = (BufReader::new(Blocking(input)), Blocking(output));
    for value in Deserializer::from_reader(input).into_iter::<Value>() {
        match value {
            Ok(value) => writeln!(output, "{}", sum(&value))?,
            Err(error) => return writeln!(output, "{error}"),
        }
    }
    Ok(())
}

#[blitz_io::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let listener = match TcpListener::bind(options.listen).await {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("json_sums: {}: {error}", options.listen);
            return ExitCode::FAILURE;
        }
    };
    if let Ok(address) = listener.local_addr() {
        println!("listening on {address}");
    }
    let stop = CancellationToken::new();
    let stops = stop.clone();
    shutdown::on_request("json_sums", move || stops.cancel());
    loop {
        let accepted = select! {
            () = stop.cancelled() => return ExitCode::SUCCESS,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => {
                fiber::spawn(move || {
                    if let Err(error) = serve(stream) {
                        eprintln!("json_sums: {client}: {error}");
                    }
                });
            }
            Err(error) => {
                // For example, there are no descriptors left, which lasts for a while.
                eprintln!("json_sums: cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
