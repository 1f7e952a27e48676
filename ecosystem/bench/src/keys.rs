//! Keys and values in memory, and as much of the Redis protocol as `redis-benchmark` uses.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Longer commands are rejected.
const LONGEST: usize = 1 << 20;

type Store = Mutex<HashMap<Bytes, Bytes>>;

pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let store = Arc::new(Store::default());
    loop {
        let (stream, _) = listener.accept().await?;
        let store = store.clone();
        // A client that is gone cannot be told about an error.
        tokio::spawn(async move { converse(stream, &store).await });
    }
}

/// Serves one client, until it leaves or breaks the protocol. Replies are sent when no
/// further command is there.
async fn converse(mut stream: TcpStream, store: &Store) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut input, mut output) = (BytesMut::new(), BytesMut::new());
    loop {
        while let Some(command) = command(&mut input)? {
            run(&command, store, &mut output);
        }
        if !output.is_empty() {
            stream.write_all(&output).await?;
            output.clear();
        }
        input.reserve(4096);
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
    }
}

/// Returns the next command, if it has arrived completely.
fn command(input: &mut BytesMut) -> io::Result<Option<Vec<Bytes>>> {
    let mut rest = &input[..];
    let Some(count) = header(&mut rest, b'*')? else {
        return Ok(None);
    };
    let mut places = Vec::with_capacity(count.min(8));
    for _ in 0..count {
        let Some(len) = header(&mut rest, b'$')? else {
            return Ok(None);
        };
        if rest.len() < len + 2 {
            return Ok(None);
        }
        let start = input.len() - rest.len();
        places.push(start..start + len);
        rest = &rest[len + 2..];
    }
    let whole = input.len() - rest.len();
    let whole = input.split_to(whole).freeze();
    Ok(Some(places.into_iter().map(|p| whole.slice(p)).collect()))
}

/// Reads a line that consists of a mark and a number.
fn header(rest: &mut &[u8], mark: u8) -> io::Result<Option<usize>> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "not a command");
    let Some(end) = rest.iter().take(16).position(|byte| *byte == b'\n') else {
        return if rest.len() < 16 {
            Ok(None)
        } else {
            Err(invalid())
        };
    };
    let line = rest[..end].strip_suffix(b"\r").ok_or_else(invalid)?;
    let number = line.strip_prefix(&[mark]).ok_or_else(invalid)?;
    let number = std::str::from_utf8(number)
        .ok()
        .and_then(|n| n.parse().ok());
    let number = number.filter(|n| *n <= LONGEST).ok_or_else(invalid)?;
    rest.advance(end + 1);
    Ok(Some(number))
}

fn run(command: &[Bytes], store: &Store, output: &mut BytesMut) {
    let Some((name, arguments)) = command.split_first() else {
        return;
    };
    match (name.to_ascii_uppercase().as_slice(), arguments) {
        (b"PING", []) => output.extend_from_slice(b"+PONG\r\n"),
        (b"GET", [key]) => {
            let value = store.lock().unwrap().get(key).cloned();
            match value {
                Some(value) => bulk(output, &value),
                None => output.extend_from_slice(b"$-1\r\n"),
            }
        }
        (b"SET", [key, value]) => {
            // Copies, because slices of the input would keep all of it alive.
            let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
            store.lock().unwrap().insert(key, value);
            output.extend_from_slice(b"+OK\r\n");
        }
        (b"INCR", [key]) => match increment(key, store) {
            Some(number) => output.extend_from_slice(format!(":{number}\r\n").as_bytes()),
            None => output.extend_from_slice(b"-ERR value is not an integer\r\n"),
        },
        // redis-benchmark asks for some settings, and there are none.
        (b"CONFIG", [_, key]) => {
            output.extend_from_slice(b"*2\r\n");
            bulk(output, key);
            bulk(output, b"");
        }
        _ => output.extend_from_slice(b"-ERR unknown command\r\n"),
    }
}

fn bulk(output: &mut BytesMut, value: &[u8]) {
    output.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
    output.extend_from_slice(value);
    output.extend_from_slice(b"\r\n");
}

fn increment(key: &Bytes, store: &Store) -> Option<i64> {
    let mut values = store.lock().unwrap();
    let old = match values.get(key) {
        Some(value) => std::str::from_utf8(value).ok()?.parse::<i64>().ok()?,
        None => 0,
    };
    let new = old.checked_add(1)?;
    values.insert(Bytes::copy_from_slice(key), new.to_string().into());
    Some(new)
}
