//! A parser that blocks, in fibers.

use std::io::{BufRead, BufReader, Write};

use crate::server::Server;

#[test]
fn each_value_is_answered_when_it_is_complete() {
    let server = Server::start("json_sums", &[]);
    // The connections are open at the same time, each in the middle of a value.
    let mut clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.write_all(b"[1, 2, {\"three\": 3, \"fo").unwrap();
    }
    for client in &mut clients {
        client.write_all(b"ur\": [4, \"5\", null]}] 0.5 ").unwrap();
        let mut answers = BufReader::new(&*client);
        let mut text = String::new();
        answers.read_line(&mut text).unwrap();
        answers.read_line(&mut text).unwrap();
        assert_eq!(text, "10\n0.5\n");
    }
    let client = &mut clients[0];
    client.write_all(b"[1, ?]").unwrap();
    let answers: Vec<_> = BufReader::new(client).lines().map(Result::unwrap).collect();
    assert_eq!(answers, ["expected value at line 1 column 54"]);
}

#[cfg(unix)]
#[test]
fn it_ends_with_connections_open() {
    let server = Server::start("json_sums", &[]);
    let mut client = server.connect();
    client.write_all(b"1 ").unwrap();
    let mut answer = String::new();
    BufReader::new(&client).read_line(&mut answer).unwrap();
    assert_eq!((answer.as_str(), server.interrupt()), ("1\n", Some(0)));
}
