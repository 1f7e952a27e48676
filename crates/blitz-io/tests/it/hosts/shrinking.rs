//! Shrunk failures of tests with faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::sim::{self, Builder, Faults};
use blitz_io::time::{sleep, timeout};

const ADDS: u32 = 10;

/// Adds each number that a client sends, and answers.
async fn serve(sum: Arc<AtomicU32>) -> std::io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        let sum = sum.clone();
        blitz_io::spawn(async move {
            while let Ok(number) = stream.read_u8().await {
                sum.fetch_add(number.into(), SeqCst);
                if stream.write_u8(number).await.is_err() {
                    break;
                }
            }
        });
    }
}

async fn add() -> std::io::Result<()> {
    let mut stream = TcpStream::connect("server:80").await?;
    stream.write_u8(1).await?;
    stream.read_u8().await?;
    Ok(())
}

/// A client that tries again until it has an answer. If the answer is lost and not the question, the server adds twice.
async fn retries_add_once() {
    let sum = Arc::new(AtomicU32::new(0));
    let kept = sum.clone();
    sim::host("server", move |_me| serve(kept.clone()));
    sim::inject(Faults::all());
    for _ in 0..ADDS {
        while !matches!(timeout(Duration::from_secs(1), add()).await, Ok(Ok(()))) {
            sleep(Duration::from_millis(100)).await;
        }
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(sum.load(SeqCst), ADDS);
}

/// Returns the number after which a line of the report has `what`.
fn count(text: &str, what: &str) -> usize {
    let before = text.split(what).next().unwrap_or_default();
    let digits = before.rsplit(|char: char| !char.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[test]
fn a_failure_has_only_the_faults_that_it_needs() {
    for seed in [40, 200, 320] {
        let builder = Builder::new().seed(seed).allow_leaks(true);
        let failure = builder.check(retries_add_once).unwrap_err();
        let text = failure.to_string();
        assert!(!text.contains("fewer may be enough"), "{text}");
        // One kind is left, and one fault: a crash, a pause, a cut, or links that lose packets.
        let faults = failure.faults();
        let kinds = faults
            .split_once("injected: ")
            .and_then(|(_, rest)| rest.split_once(';'));
        let (kinds, off) = kinds.expect(faults);
        let (kinds, off) = (kinds.split(", ").count(), off.split(", ").count());
        assert!(kinds == 1 && kinds + off == 6, "{faults}");
        let begun: usize = [" crash", " kill", " pause", " cut", " change", " blackout"]
            .map(|kind| count(faults, kind))
            .iter()
            .sum();
        assert_eq!(begun, 1, "{faults}");
        assert!(failure.trace().len() < 15, "{text}");
    }
}
