//! The programs with sockets, written anew for turmoil: tasks in place of threads, a host for each side.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::time;
use turmoil::net::{TcpListener, TcpStream, UdpSocket};
use turmoil::{Builder, Result};

use crate::LIMIT;

/// A program: one run with a seed.
type Program = fn(u64) -> Result;

/// Their names in the corpus.
pub const PROGRAMS: [(&str, Program); 2] = [
    ("late-answer", late_answer),
    ("late-connection", late_connection),
];

const PORT: u16 = 1_000;
/// What the programs say of their faults.
const LOST: &str = "a confirmed entry is not there";
const MADE: &str = "connections were made for one place";

/// Returns the number of runs until the first failure or the limit, and whether there was one.
pub fn search(program: Program, first: u64) -> (u64, bool) {
    let start = Instant::now();
    for runs in 1.. {
        if let Err(error) = program(first + runs) {
            let error = error.to_string();
            let is_fault = error == LOST || error.ends_with(MADE);
            assert!(is_fault, "another failure: {error}");
            return (runs, true);
        }
        if start.elapsed() > LIMIT {
            return (runs, false);
        }
    }
    unreachable!("the limit comes before the end of the numbers")
}

/// A message takes up to a tenth of a second, as turmoil has it without options, so they overtake each other.
fn late_answer(seed: u64) -> Result {
    let mut sim = Builder::new()
        .rng_seed(seed)
        .simulation_duration(Duration::from_secs(60))
        .build();
    let log = Arc::new(Mutex::new([0u8; 4]));
    let of_follower = log.clone();
    sim.host("follower", move || {
        let log = of_follower.clone();
        async move {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
            let mut entry = [0; 2];
            loop {
                let (_, leader) = socket.recv_from(&mut entry).await?;
                let [index, term] = entry;
                let at = &mut log.lock().unwrap()[index as usize];
                *at = term.max(*at);
                socket.try_send_to(&[index], leader)?;
            }
        }
    });
    sim.client("leader", async move {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
        let limit = Duration::from_millis(20);
        for term in 1..=2 {
            for index in 0..4 {
                let mut answer = [255];
                for _ in 0..5 {
                    socket.send_to(&[index, term], ("follower", PORT)).await?;
                    let received = time::timeout(limit, socket.recv_from(&mut answer)).await;
                    if received.is_ok() && answer[0] == index {
                        break;
                    }
                }
                let stored = log.lock().unwrap()[index as usize];
                if answer[0] == index && stored != term {
                    return Err(LOST.into());
                }
            }
        }
        Ok(())
    });
    sim.run()
}

/// A message takes up to a second.
fn late_connection(seed: u64) -> Result {
    const LIMIT: Duration = Duration::from_millis(500);
    const PAUSE: Duration = Duration::from_millis(100);
    struct Pool {
        places: Semaphore,
        idle: Mutex<Option<TcpStream>>,
        made: AtomicU32,
    }
    async fn client(pool: &Pool) -> Result {
        let start = time::Instant::now();
        let Ok(place) = time::timeout(LIMIT, pool.places.acquire()).await else {
            return Ok(());
        };
        let idle = pool.idle.lock().unwrap().take();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                pool.made.fetch_add(1, Ordering::SeqCst);
                let mut stream = TcpStream::connect(("server", PORT)).await?;
                stream.write_all(b"hello").await?;
                stream.read_exact(&mut [0; 5]).await?;
                stream
            }
        };
        if start.elapsed() < LIMIT {
            *pool.idle.lock().unwrap() = Some(connection);
        }
        drop(place);
        Ok(())
    }
    let mut sim = Builder::new()
        .rng_seed(seed)
        .simulation_duration(Duration::from_secs(60))
        .max_message_latency(Duration::from_secs(1))
        .build();
    sim.host("server", || async {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
        loop {
            let (mut stream, _) = listener.accept().await?;
            tokio::spawn(async move {
                let mut greeting = [0; 5];
                if stream.read_exact(&mut greeting).await.is_ok() {
                    let _ = stream.write_all(&greeting).await;
                    let _ = stream.read(&mut greeting).await;
                }
            });
        }
    });
    sim.client("clients", async {
        let pool = Arc::new(Pool {
            places: Semaphore::new(1),
            idle: Mutex::new(None),
            made: AtomicU32::new(0),
        });
        let clients: Vec<_> = (0..12)
            .map(|before| {
                let pool = pool.clone();
                tokio::spawn(async move {
                    time::sleep(PAUSE * before).await;
                    client(&pool).await.map_err(|error| error.to_string())
                })
            })
            .collect();
        for client in clients {
            client.await??;
        }
        match pool.made.load(Ordering::SeqCst) {
            0 | 1 => Ok(()),
            made => Err(format!("{made} {MADE}").into()),
        }
    });
    sim.run()
}
