//! The chat server, with real sockets.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::program;
use crate::server::Server;

fn server() -> Server {
    Server::start("chat_server", &[])
}

struct Client {
    write: TcpStream,
    read: BufReader<TcpStream>,
}

impl Client {
    fn join(server: &Server, name: &str) -> Self {
        let stream = TcpStream::connect(server.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(900)))
            .unwrap();
        let read = BufReader::new(stream.try_clone().unwrap());
        let mut client = Self {
            write: stream,
            read,
        };
        client.say(name);
        client
    }

    fn say(&mut self, line: &str) {
        writeln!(self.write, "{line}").unwrap();
    }

    fn hears(&mut self, expected: &str) {
        let mut line = String::new();
        self.read.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), expected);
    }
}

#[test]
fn members_talk_over_sockets() {
    let server = server();
    let mut ann = Client::join(&server, "ann");
    ann.hears("* ann has joined");
    let mut bob = Client::join(&server, "bob");
    bob.hears("* bob has joined");
    ann.hears("* bob has joined");
    ann.say("hello");
    ann.hears("ann: hello");
    bob.hears("ann: hello");
    let mut other = Client::join(&server, "ann");
    other.hears("* somebody here is called ann already");
    other.hears("");
    drop(bob);
    ann.hears("* bob has left");
    // The name is free again.
    let mut bob = Client::join(&server, "bob");
    bob.hears("* bob has joined");
    ann.hears("* bob has joined");
    // A line without an end is not kept for ever.
    bob.write.write_all(&[b'x'; 5000]).unwrap();
    ann.hears("* bob has left");
    Client::join(&server, "").hears("* a name is needed");
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let server = server();
    let mut command = program("chat_server");
    command.args(["--listen", &server.address.to_string()]);
    let ran = crate::run(command, "");
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.starts_with("chat_server: cannot listen at "),
        "{}",
        ran.err
    );
}
