//! Passwords are hashed by closures that may block, and there are two threads for them.

use std::io;
use std::thread;
use std::time::Duration;

use blitz_io::task::spawn_blocking;
use blitz_io_slow::{Load, planted, serve, two_workers};

fn main() -> io::Result<()> {
    let load = Load {
        clients: 12,
        requests: 20,
    };
    let runtime = two_workers()
        .max_blocking_threads(planted(2) as usize)
        .build()?;
    runtime.block_on(serve("POST /login", load, |_| async {
        // The hash, which takes as long on each machine.
        let hash = spawn_blocking(|| thread::sleep(Duration::from_millis(4)));
        hash.await.expect("it does not panic");
    }))
}
