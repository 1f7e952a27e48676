//! The key-value server, with a simple client of this test and with `redis-benchmark`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::server::Server;

fn server() -> Server {
    Server::start("key_value", &[])
}

struct Client {
    write: TcpStream,
    read: BufReader<TcpStream>,
}

impl Client {
    fn new(server: &Server) -> Self {
        let write = server.connect();
        write.set_nodelay(true).unwrap();
        let read = BufReader::new(write.try_clone().unwrap());
        Self { write, read }
    }

    /// Returns the next reply as text: bulk strings in quotes, arrays in brackets.
    fn reply(&mut self) -> String {
        let mut line = String::new();
        self.read.read_line(&mut line).unwrap();
        let line = line.strip_suffix("\r\n").expect("a whole line");
        let (kind, rest) = line.split_at(1);
        match kind {
            "$" if rest == "-1" => "nil".into(),
            "$" => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.read.read_exact(&mut bytes).unwrap();
                assert!(bytes.ends_with(b"\r\n"));
                bytes.truncate(bytes.len() - 2);
                format!("{:?}", String::from_utf8(bytes).unwrap())
            }
            "*" => {
                let values = (0..rest.parse().unwrap()).map(|_| self.reply());
                format!("[{}]", values.collect::<Vec<_>>().join(" "))
            }
            _ => line.into(),
        }
    }

    fn send(&mut self, command: &[&str]) {
        let mut text = format!("*{}\r\n", command.len());
        for argument in command {
            text += &format!("${}\r\n{argument}\r\n", argument.len());
        }
        self.write.write_all(text.as_bytes()).unwrap();
    }

    fn ask(&mut self, command: &str) -> String {
        let words: Vec<_> = command.split(' ').collect();
        self.send(&words);
        self.reply()
    }
}

#[test]
fn what_the_commands_answer() {
    let server = server();
    let mut client = Client::new(&server);
    let mut check = |command: &str, expected: &str| {
        assert_eq!(client.ask(command), expected, "{command}");
    };
    check("PING", "+PONG");
    check("ping text", "\"text\"");
    check("GET a", "nil");
    check("SET a 1", "+OK");
    check("GET a", "\"1\"");
    check("SET a 2 NX", "nil");
    check("SET b 2 XX", "nil");
    check("SET a 5 XX", "+OK");
    check("INCR a", ":6");
    check("INCRBY a 10", ":16");
    check("DECRBY a 7", ":9");
    check("DECR new", ":-1");
    check("SET a x", "+OK");
    check("INCR a", "-ERR value is not an integer or out of range");
    check("SET a 9223372036854775807", "+OK");
    check("INCR a", "-ERR increment or decrement would overflow");
    check("MSET a 1 b 2", "+OK");
    check(
        "MSET a",
        "-ERR wrong number of arguments for 'mset' command",
    );
    check("MGET a none b", "[\"1\" nil \"2\"]");
    check("EXISTS a b none", ":2");
    check("DEL a none", ":1");
    check("RPUSH list b c", ":2");
    check("LPUSH list a", ":3");
    check("LRANGE list 0 -1", "[\"a\" \"b\" \"c\"]");
    check("LRANGE list -2 100", "[\"b\" \"c\"]");
    check("LRANGE list 2 1", "[]");
    check("LRANGE list 5 9", "[]");
    check(
        "LRANGE list -9223372036854775808 9223372036854775807",
        "[\"a\" \"b\" \"c\"]",
    );
    check(
        "GET list",
        "-WRONGTYPE Operation against a key holding the wrong kind of value",
    );
    check("LPOP list", "\"a\"");
    check("RPOP list", "\"c\"");
    check("LLEN list", ":1");
    check("LPOP list", "\"b\"");
    check("EXISTS list", ":0");
    check("SADD set x y x", ":2");
    check("SCARD set", ":2");
    check("SPOP set", "\"x\"");
    check("SPOP set", "\"y\"");
    check("SPOP set", "nil");
    check("HSET hash f 1 g 2", ":2");
    check("HSET hash f 3", ":0");
    check("HGET hash f", "\"3\"");
    check("HGET hash none", "nil");
    check("TTL hash", ":-1");
    check("TTL none", ":-2");
    check("SET c 1 EX 0", "-ERR invalid expire time in 'set' command");
    check("SET c 1 EX 9223372036854775807", "-ERR invalid expire time");
    check("SET c 1 WHAT", "-ERR syntax error");
    check("SELECT 0", "+OK");
    check("SELECT 1", "-ERR DB index is out of range");
    check("NOSUCH x", "-ERR unknown command 'NOSUCH'");
    check("GET", "-ERR wrong number of arguments for 'get' command");
    check("FLUSHALL", "+OK");
    check("DBSIZE", ":0");
    check("SET d 1 PX 20", "+OK");
    crate::eventually("the key expires", || client.ask("GET d") == "nil");
    crate::eventually("its memory is free", || client.ask("DBSIZE") == ":0");
    // A second may pass between the two.
    crate::eventually("the time that is left", || {
        assert_eq!(client.ask("SET c 1 EX 100"), "+OK");
        client.ask("TTL c") == ":100"
    });
    crate::eventually("the time that is left", || {
        assert_eq!(client.ask("EXPIRE c 1000"), ":1");
        client.ask("TTL c") == ":1000"
    });
    assert_eq!(client.ask("QUIT"), "+OK");
    assert_eq!(client.read.read(&mut [0]).unwrap(), 0);
}

#[test]
fn commands_in_pieces_in_one_piece_and_typed() {
    let server = server();
    let mut client = Client::new(&server);
    // One command, byte by byte.
    for byte in b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\na\r\nb\0\r\n" {
        client.write.write_all(&[*byte]).unwrap();
    }
    assert_eq!(client.reply(), "+OK");
    // Many commands at once.
    let gets = "GET key\r\n\r\n  get\tkey \n*0\r\n*-1\r\n".repeat(1000);
    client.write.write_all(gets.as_bytes()).unwrap();
    for _ in 0..2000 {
        assert_eq!(client.reply(), "\"a\\r\\nb\\0\"");
    }
    // A value that is larger than any buffer.
    let large = "x".repeat(3_000_000);
    client.send(&["SET", "large", &large]);
    assert_eq!(client.reply(), "+OK");
    client.send(&["GET", "large"]);
    assert!(client.reply() == format!("{large:?}"));
}

#[test]
fn what_breaks_the_protocol_ends_the_connection_alone() {
    let server = server();
    let long = "x".repeat(100_000);
    for (sent, error) in [
        ("*x\r\n", "invalid multibulk length"),
        ("*1048577\r\n", "invalid multibulk length"),
        ("*1\r\n:1\r\n", "expected '$'"),
        ("*1\r\n$-1\r\n", "invalid bulk length"),
        ("*1\r\n$99999999999\r\n", "invalid bulk length"),
        ("*1\r\n$1\r\nabc", "expected a line break after an argument"),
        (long.as_str(), "too big inline request"),
    ] {
        let mut client = Client::new(&server);
        client.write.write_all(b"PING\r\n").unwrap();
        // The server may close the connection before all of it is sent.
        _ = client.write.write_all(sent.as_bytes());
        assert_eq!(client.reply(), "+PONG");
        // Bytes that the server did not read reset the connection, which may lose the
        // reply.
        let mut reply = String::new();
        if client.read.read_line(&mut reply).is_ok() && sent.len() < 100 {
            assert_eq!(reply, format!("-ERR Protocol error: {error}\r\n"));
        }
    }
    assert_eq!(Client::new(&server).ask("PING"), "+PONG");
}

#[test]
fn counting_from_many_connections() {
    let server = server();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut client = Client::new(&server);
            std::thread::spawn(move || {
                for _ in 0..500 {
                    client.send(&["INCR", "count"]);
                }
                let mut last = 0;
                for _ in 0..500 {
                    let count = client.reply()[1..].parse().unwrap();
                    assert!(last < count);
                    last = count;
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    assert_eq!(Client::new(&server).ask("GET count"), "\"4000\"");
}

#[cfg(unix)]
#[test]
fn redis_benchmark_drives_it() {
    if Command::new("redis-benchmark")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        eprintln!("left out: there is no redis-benchmark (Debian package redis-tools)");
        return;
    }
    const TESTS: &str = "ping,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,lrange_100,mset";
    let server = server();
    for pipelined in ["1", "16"] {
        let mut command = Command::new("redis-benchmark");
        command.args(["-p", &server.address.port().to_string()]);
        command.args(["-q", "-n", "500", "-c", "20", "-P", pipelined, "-t", TESTS]);
        let ran = crate::run(command, "");
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(!ran.err.contains("rror"), "{}", ran.err);
        let rates = ran.out.matches("requests per second").count();
        assert!(rates >= TESTS.split(',').count(), "{}", ran.out);
    }
    // It rounds up to whole pipelines.
    let count = Client::new(&server).ask("GET counter:__rand_int__");
    assert!(count.trim_matches('"').parse::<u32>().unwrap() >= 1000);
    assert_eq!(server.interrupt(), Some(0));
}
