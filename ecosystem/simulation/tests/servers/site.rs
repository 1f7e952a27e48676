//! A server, two clients, and faults: the scenario of all tests.

use std::net::IpAddr;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sim::{self, Builder, Faults, Report};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::ledger::Ledger;

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The port of the server.
pub const PORT: u16 = 80;
/// The time that a client waits for an answer.
pub const LIMIT: Duration = Duration::from_secs(3);
/// The number of clients.
const CLIENTS: usize = 2;
/// The time after which no fault begins.
pub const FAULTS: Duration = Duration::from_secs(12);
/// The time after a client's request until its next one.
const PAUSE: Duration = Duration::from_millis(300);

/// Returns all faults, with less time between them than by default.
pub fn faults() -> Faults {
    sooner(Faults::all())
}

/// Returns these faults with less time between them than by default.
pub fn sooner(faults: Faults) -> Faults {
    let (least, most) = (Duration::from_millis(500), Duration::from_secs(3));
    faults
        .interval(least, most)
        .length(least, most)
        .until(FAULTS)
}

/// A signal for a server to end.
pub type Stop = watch::Receiver<bool>;

/// Waits for the signal.
pub async fn stopped(mut stop: Stop) {
    // Without a sender there is no test any more.
    _ = stop.wait_for(|is_stopped| *is_stopped).await;
}

/// Sends requests, one after the other, as long as the ledger has some.
pub async fn send_requests<F>(ledger: Ledger, mut ask: impl FnMut(u64) -> F)
where
    F: Future<Output = Result<u64, BoxError>>,
{
    let me = sim::Host::current();
    while let Some(number) = ledger.new_request() {
        let asked = timeout(LIMIT, ask(number)).await;
        if let Ok(Ok(answer)) = asked {
            ledger.answered(me.name(), number, answer);
        }
        sim::sometimes("an answer", matches!(asked, Ok(Ok(_))));
        sim::sometimes("an error", matches!(asked, Ok(Err(_))));
        sim::sometimes("no answer in time", asked.is_err());
        sleep(PAUSE).await;
    }
}

/// Runs a server and its clients with faults. Then requires that
///
/// 1. each request was served at most once, and each answered one exactly once (`ledger.rs`);
/// 2. each client has answers again, when the faults are over;
/// 3. clients and server end when they are asked to, and no task is left.
pub fn check<S, C>(
    serve: impl Fn(Ledger, Stop) -> S + Copy + 'static,
    client: impl Fn(Ledger, IpAddr) -> C + Copy + 'static,
) -> Report
where
    S: Future<Output = Result<(), BoxError>> + 'static,
    C: Future<Output = ()> + 'static,
{
    let builder = Builder::new().seeds(100).from_env();
    builder.run(move || async move {
        let ledger = Ledger::default();
        let (stop, stops) = watch::channel(false);
        let of_server = ledger.clone();
        let server = sim::host("server", move |_| serve(of_server.clone(), stops.clone()));
        let (of_clients, address) = (ledger.clone(), server.address());
        let clients = sim::hosts(CLIENTS, move |_| client(of_clients.clone(), address));
        sim::inject(faults());
        // The last fault begins before the end of that time, and lasts a quarter of it at most.
        sleep(FAULTS * 5 / 4).await;
        // Attempts that are under way may still fail, and Tokio's limit of retransmissions is longer than all of this.
        sleep(LIMIT * 2).await;
        for client in &clients {
            let before = ledger.answers(client.name());
            let has_more = async {
                while ledger.answers(client.name()) == before {
                    sleep(PAUSE).await;
                }
            };
            let recovered = timeout(LIMIT * 4, has_more).await;
            assert!(recovered.is_ok(), "{client:?} has no answers any more");
        }
        ledger.close();
        sleep(LIMIT * 2).await;
        stop.send_replace(true);
        let is_left = async {
            while Handle::current().metrics().num_alive_tasks() > 1 {
                sleep(PAUSE).await;
            }
        };
        let left = timeout(LIMIT * 20, is_left).await;
        assert!(left.is_ok(), "tasks are left");
        ledger.report_lost_answers();
    })
}
