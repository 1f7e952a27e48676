//! What a service does besides: it accepts connections, a ticker ticks, and a task waits for a signal. So not all
//! threads of the process sleep, and not all its tasks wait.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use blitz_io::net::TcpListener;
use blitz_io::runtime::Builder;
use blitz_io::signal::unix::{SignalKind, signal};
use blitz_io::time;

use crate::spawn;

/// The variable that asks for it.
const SWITCH: &str = "BLITZ_HANGS_LIVE";

/// Returns `true` if the program runs beside such tasks.
pub fn is_asked() -> bool {
    std::env::var_os(SWITCH).is_some()
}

/// Runs such tasks in a runtime of their own. When this returns, they are spawned, as those of a service are when a
/// later request hangs.
pub fn start() {
    let (begins, has_begun) = mpsc::channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.expect("the system has threads").block_on(async {
            spawn_all();
            _ = begins.send(());
            std::future::pending::<()>().await;
        });
    });
    has_begun.recv().expect("the thread sends");
}

/// Spawns the tasks into the current runtime.
pub fn spawn_all() {
    drop(spawn("accepts", async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        loop {
            drop(listener.accept().await?);
        }
        #[allow(unreachable_code, reason = "the type of the errors above")]
        Ok::<(), std::io::Error>(())
    }));
    drop(spawn("ticks", async {
        let mut interval = time::interval(Duration::from_millis(20));
        loop {
            interval.tick().await;
        }
    }));
    drop(spawn("signals", async {
        let signals = signal(SignalKind::user_defined1());
        let mut signals = signals.expect("a program can handle it");
        while signals.recv().await.is_some() {}
    }));
}
