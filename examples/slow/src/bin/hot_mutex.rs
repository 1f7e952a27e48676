//! Each request keeps one lock while it asks the database.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::sync::Mutex;
use blitz_io::time::sleep;
use blitz_io_slow::{Load, planted, serve, two_workers};

fn main() -> io::Result<()> {
    let sessions = Arc::new(Mutex::new(0_u64).named("sessions"));
    let database = Duration::from_millis(planted(2).into());
    let load = Load {
        clients: 12,
        requests: 20,
    };
    two_workers()
        .build()?
        .block_on(serve("GET /session", load, move |_| {
            let sessions = sessions.clone();
            async move {
                let mut sessions = sessions.lock().await;
                // The database.
                sleep(database).await;
                *sessions += 1;
            }
        }))
}
