//! What `blitz lint` finds in a service of axum whose handlers take two locks, one handler after the other.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use blitz_io_inspect::Certainty;
use blitz_io_inspect::lint::{Lint, Run, judge};

/// Sends a request, and returns the first line of the answer, or an empty string if the service exits.
fn answer(address: &str, name: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let text = format!("GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(text.as_bytes()).expect("it reads");
    let mut line = String::new();
    // A service that exits may reset the connection.
    _ = BufReader::new(stream).read_line(&mut line);
    line
}

/// The connection's task waits for its socket all the time, and for the end of the service.
#[test]
fn two_handlers_of_axum_take_two_locks_in_two_orders() {
    let folder = std::env::temp_dir().join(format!("blitz-services-lint-{}", std::process::id()));
    fs::create_dir(&folder).expect("the name is new");
    let mut service = Command::new(env!("CARGO_BIN_EXE_blitz-io-hanging-services"))
        .arg("axum")
        .env("BLITZ_LINT", &folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was built");
    let mut stdout = BufReader::new(service.stdout.take().expect("it is a pipe"));
    let mut address = String::new();
    stdout.read_line(&mut address).expect("it is a pipe");
    let address = address.trim_end();
    for name in ["transfer-alone", "report-alone"] {
        assert!(answer(address, name).starts_with("HTTP/1.1 200"), "{name}");
    }
    assert_eq!(answer(address, "exit"), "");
    stdout.read_to_end(&mut Vec::new()).expect("it is a pipe");
    assert!(service.wait().expect("it is our child").success());
    let files = fs::read_dir(&folder).expect("it is ours");
    let texts = files.map(|file| fs::read_to_string(file.expect("it is there").path()));
    let runs: Vec<Run> = texts
        .map(|text| Run::parse(&text.expect("it is text")).expect("it is a record"))
        .collect();
    fs::remove_dir_all(&folder).expect("it is ours");
    let found = judge(&runs);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].lint, Lint::LockOrder, "{found:#?}");
    assert_eq!(found[0].certainty, Certainty::Certain, "{found:#?}");
}
