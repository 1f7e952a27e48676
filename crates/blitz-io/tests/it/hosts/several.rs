//! Shrunk failures of three hosts with many tasks: which fault caused it.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::sim::{self, Builder, Faults};
use blitz_io::task::spawn_local;
use blitz_io::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);
const DEPOSITS: u8 = 20;

type Ledger = Rc<RefCell<Vec<u8>>>;

/// A host of the ledger, of which the first one leads.
async fn serve(is_first: bool, ledger: Ledger) -> io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        spawn_local(connection(stream, is_first, ledger.clone()));
    }
}

/// The bug: a deposit that comes again is one more.
async fn connection(mut stream: TcpStream, is_first: bool, ledger: Ledger) -> io::Result<()> {
    while let Ok(number) = stream.read_u8().await {
        ledger.borrow_mut().push(number);
        if is_first {
            let copies = ["b", "c"].map(|host| spawn_local(tell(host, number, SECOND / 4)));
            let mut count = 0;
            for copy in copies {
                count += u32::from(copy.await?.is_ok());
            }
            if count == 0 {
                return Err(io::ErrorKind::NotConnected.into());
            }
        }
        stream.write_u8(number).await?;
    }
    Ok(())
}

async fn tell(host: &'static str, number: u8, limit: Duration) -> io::Result<()> {
    let told = async {
        let mut stream = TcpStream::connect((host, 80)).await?;
        stream.write_u8(number).await?;
        stream.read_u8().await.map(drop)
    };
    timeout(limit, told).await?
}

async fn each_deposit_counts_once() {
    let ledger = Ledger::default();
    for host in ["a", "b", "c"] {
        let kept = ledger.clone();
        sim::host(host, move |_me| {
            let own = if host == "a" {
                kept.clone()
            } else {
                Ledger::default()
            };
            serve(host == "a", own)
        });
    }
    let faults = Faults::all().clock_skews();
    sim::inject(faults.interval(SECOND / 4, 2 * SECOND).until(10 * SECOND));
    for number in 0..DEPOSITS {
        while tell("a", number, SECOND).await.is_err() {
            sleep(SECOND / 10).await;
        }
        sleep(SECOND / 4).await;
        assert_eq!(ledger.borrow().len(), usize::from(number) + 1);
    }
}

#[test]
fn the_fault_that_matters_is_in_the_first_lines() {
    for seed in [0, 1] {
        let builder = Builder::new().seed(seed).allow_leaks(true);
        let failure = builder.check(each_deposit_counts_once).unwrap_err();
        let text = failure.to_string();
        assert!(!text.contains("fewer may be enough"), "{text}");
        assert!(failure.trace().len() < 10, "{text}");
        let kinds = failure.faults().split_once("injected: ");
        let (kinds, _) = kinds
            .and_then(|(_, rest)| rest.split_once(';'))
            .expect(&text);
        // A kind that the found run has not had is never added, so one alone may not be enough.
        assert!(kinds != "none" && kinds.split(',').count() <= 2, "{text}");
        // The list of decisions names the fault and its end, and the task that has failed is the first.
        let mut lines = text.lines().take(40);
        let mut has =
            |part: &str| assert!(lines.any(|line| line.contains(part)), "`{part}`: {text}");
        has("  where the run differs from the plain one");
        has(", until ");
        has("  the hosts and the network");
        has("  task 1 \"the test\"");
    }
}
