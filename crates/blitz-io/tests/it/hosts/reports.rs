//! What the report of a failure says about hosts and the network.

use std::time::Duration;

use blitz_io::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use blitz_io::net::{TcpListener, TcpStream, UdpSocket};
use blitz_io::sim::{self, Builder, Failure, Faults, Link, Outcome};
use blitz_io::time::{sleep, timeout};

fn fails<F>(test: impl Fn() -> F) -> Failure
where
    F: Future<Output: Outcome> + 'static,
{
    *super::builder().check(test).unwrap_err()
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        write.write_all(format!("{line}\n").as_bytes()).await?;
    }
    Ok(())
}

async fn serve() -> std::io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:4300").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        blitz_io::spawn(answer(stream));
    }
}

async fn ask(text: &str) -> std::io::Result<String> {
    let work = async {
        let mut stream = TcpStream::connect("server:4300").await?;
        stream.write_all(format!("{text}\n").as_bytes()).await?;
        let mut lines = BufReader::new(&mut stream).lines();
        let line = lines.next_line().await?;
        line.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
    };
    timeout(Duration::from_secs(1), work).await?
}

/// The client does not retry, and the test cuts it off for too long.
async fn is_cut_off() {
    sim::host("server", |_me| serve());
    let client = blitz_io::spawn(async {
        for n in 0..5 {
            let answer = ask(&format!("line {n}")).await;
            assert_eq!(answer.unwrap(), format!("line {n}"));
            sleep(Duration::from_millis(100)).await;
        }
    });
    sleep(Duration::from_millis(150)).await;
    sim::partition("server", "test");
    sleep(Duration::from_millis(sim::random() % 1500)).await;
    sim::heal_all();
    client.await.unwrap();
}

#[test]
fn a_report_shows_the_cut_and_what_it_has_held() {
    let failure = fails(is_cut_off);
    println!("{failure}");
}
