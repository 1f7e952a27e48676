//! Fifty servers that echo, of which forty fail one after the other, and fifty clients that look for one that answers.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::random::Random;
use crate::world::{TcpListener, TcpStream};

pub const SERVERS: u64 = 50;
const CLIENTS: u64 = 50;
/// Number of requests that each client has answered.
const REQUESTS: u32 = 100;
const FAILURES: usize = 40;
/// The longest time between two failures.
const PAUSE: u64 = 250;
/// The time after which a client looks for another server.
const LIMIT: Duration = Duration::from_secs(1);
const MESSAGE: &[u8] = b"is anybody there?";

pub fn name(server: u64) -> String {
    format!("server-{server}")
}

pub async fn serve() -> io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:8080").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut buffer = [0; 1_024];
            while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                if stream.write_all(&buffer[..n]).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Connects to one of the servers.
async fn connect(random: &mut Random) -> TcpStream {
    let mut longest = 100;
    loop {
        let server = format!("{}:8080", name(random.below(SERVERS)));
        if let Ok(Ok(stream)) = timeout(LIMIT, TcpStream::connect(server)).await {
            return stream;
        }
        sleep(Duration::from_millis(random.below(longest))).await;
        longest = (longest * 2).min(3_600);
    }
}

async fn ask(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(MESSAGE).await?;
    let mut answer = [0; MESSAGE.len()];
    stream.read_exact(&mut answer).await?;
    assert_eq!(answer, MESSAGE);
    Ok(())
}

/// Returns the number of answers.
async fn client(seed: u64) -> u32 {
    let (mut random, mut answers) = (Random(seed), 0);
    while answers < REQUESTS {
        let mut stream = connect(&mut random).await;
        while answers < REQUESTS {
            match timeout(LIMIT, ask(&mut stream)).await {
                Ok(Ok(())) => answers += 1,
                _ => break,
            }
        }
    }
    answers
}

/// Returns the number of answers of all clients.
pub async fn clients(seed: u64) -> u32 {
    let clients: JoinSet<u32> = (0..CLIENTS).map(|n| client(seed << 16 | n)).collect();
    clients.join_all().await.into_iter().sum()
}

/// Crashes servers. Returns their number.
pub async fn fail(seed: u64, crash: impl Fn(u64)) -> usize {
    let mut random = Random(!seed);
    let mut left: Vec<u64> = (0..SERVERS).collect();
    for _ in 0..FAILURES {
        sleep(Duration::from_millis(random.below(PAUSE))).await;
        crash(left.swap_remove(random.below(left.len() as u64) as usize));
    }
    FAILURES
}
