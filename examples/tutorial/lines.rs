//! Chapter 2: requests are lines, and each gets a line as its answer.

use std::io;

use blitz_io::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::time::{Duration, sleep};

// ANCHOR: answer
/// Returns the answer to a request such as `square 7`.
fn answer(request: &str) -> Result<String, String> {
    match request.split_once(' ') {
        Some(("square", number)) => {
            let number: u64 = number
                .parse()
                .map_err(|error| format!("{number}: {error}"))?;
            let square = number.checked_mul(number);
            square
                .map(|square| square.to_string())
                .ok_or("too large".to_owned())
        }
        _ => Err(format!("unknown request: {request}")),
    }
}
// ANCHOR_END: answer

// ANCHOR: connection
async fn connection(mut socket: TcpStream) -> io::Result<()> {
    let (reader, mut writer) = socket.split();
    let mut requests = BufReader::new(reader).lines();
    while let Some(request) = requests.next_line().await? {
        let line = match answer(&request) {
            Ok(result) => format!("{result}\n"),
            Err(error) => format!("error: {error}\n"),
        };
        writer.write_all(line.as_bytes()).await?;
    }
    Ok(())
}
// ANCHOR_END: connection

async fn serve(listener: TcpListener) {
    loop {
        let (socket, _) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        blitz_io::spawn(connection(socket));
    }
}

#[blitz_io::main]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = blitz_io::spawn(serve(listener));

    let mut socket = TcpStream::connect(address).await?;
    socket.write_all(b"square 7\nsquare x\nsquare 9\n").await?;
    socket.shutdown().await?;
    let mut answers = BufReader::new(socket).lines();
    assert_eq!(answers.next_line().await?.unwrap(), "49");
    assert!(answers.next_line().await?.unwrap().starts_with("error: x"));
    assert_eq!(answers.next_line().await?.unwrap(), "81");
    assert_eq!(answers.next_line().await?, None);
    println!("three requests, three answers");
    server.abort();
    Ok(())
}
