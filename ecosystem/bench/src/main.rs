//! Three servers, each written as usual for a Tokio program of its kind, and a client for
//! one of them. `../run` builds this file twice, measures and compares.
//!
//! ```text
//! servers [--workers N] http FILE KEYS-PORT | keys | rpc
//!                                     listens on a port that it prints; ends with its input
//! servers [--workers N] rpc-client PORT call|stream CONNECTIONS SECONDS
//! ```
//!
//! Without `--workers` the runtime has as many as it likes.

mod http;
mod keys;
mod load;
mod rpc;

use std::io::{self, Read};
use std::process::ExitCode;

use tokio::net::TcpListener;

const USAGE: &str = "servers [--workers N] http FILE KEYS-PORT|keys|rpc, \
                     or servers [--workers N] rpc-client PORT call|stream CONNECTIONS SECONDS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match start(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("servers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(mut arguments: &[&str]) -> io::Result<()> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let ["--workers", workers, rest @ ..] = arguments {
        let workers: usize = number(workers)?;
        if !(1..=1024).contains(&workers) {
            return Err(invalid("--workers: a number from 1 to 1024"));
        }
        builder.worker_threads(workers);
        arguments = rest;
    }
    builder.enable_all().build()?.block_on(run(arguments))
}

async fn run(arguments: &[&str]) -> io::Result<()> {
    match arguments {
        ["http", file, second] => http::serve(listen().await?, file, number(second)?).await,
        ["keys"] => keys::serve(listen().await?).await,
        ["rpc"] => rpc::serve(listen().await?).await,
        ["rpc-client", port, kind, connections, seconds] => {
            load::run(number(port)?, kind, number(connections)?, number(seconds)?).await
        }
        _ => Err(invalid(USAGE)),
    }
}

/// Returns a listener on a free port, which is printed. When the standard input ends, the
/// program ends: no server is left behind, however the program that has started it ended.
async fn listen() -> io::Result<TcpListener> {
    std::thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0)
    });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    Ok(listener)
}

fn number<N: std::str::FromStr>(text: &str) -> io::Result<N> {
    text.parse()
        .map_err(|_| invalid(&format!("not a number that fits: {text}")))
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}
