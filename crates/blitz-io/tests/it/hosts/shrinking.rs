//! Shrunk failures of tests with faults.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
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

/// Fails after a crash, and if the tasks begin in the reverse order of their spawns.
async fn fails_by_a_crash_or_an_order() {
    let starts = Arc::new(AtomicU32::new(0));
    let kept = starts.clone();
    sim::host("host", move |_me| {
        kept.fetch_add(1, SeqCst);
        std::future::pending::<()>()
    });
    let short = Duration::from_secs(2);
    sim::inject(Faults::new().crashes().length(short, short).until(short));
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks = [0, 1, 2, 3].map(|number| {
        let order = order.clone();
        blitz_io::spawn(async move { order.lock().unwrap().push(number) })
    });
    for task in tasks {
        task.await.unwrap();
    }
    sleep(3 * short).await;
    let is_reversed = *order.lock().unwrap() == [3, 2, 1, 0];
    assert!(starts.load(SeqCst) == 1 && !is_reversed, "on purpose");
}

#[test]
fn a_shorter_failure_has_no_more_faults() {
    let mut without = 0;
    for seed in 0..100 {
        let one = Builder::new().seed(seed).seeds(1);
        let found = one.clone().shrink(false);
        let Err(found) = found.check(fails_by_a_crash_or_an_order) else {
            continue;
        };
        let shorter = one.check(fails_by_a_crash_or_an_order).unwrap_err();
        let crashes = |failure: &sim::Failure| count(failure.faults(), " crash");
        assert!(crashes(&shorter) <= crashes(&found), "{found}\n{shorter}");
        without += u32::from(crashes(&found) == 0);
    }
    assert!(without > 0);
}
