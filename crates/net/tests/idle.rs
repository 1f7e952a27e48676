//! A runtime whose tasks all wait makes no system call.

use std::time::Duration;

use blitz_io::io::AsyncReadExt;

use crate::help::{multi, pair};

/// How often the threads of this name have gone to sleep so far.
fn sleeps(name: &str) -> u64 {
    let mut all = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let path = task.unwrap().path();
        let read = |file| std::fs::read_to_string(path.join(file)).unwrap_or_default();
        if read("comm").trim() != name {
            continue;
        }
        let status = read("status");
        let count = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        all += count.map_or(0, |count| count.trim().parse::<u64>().unwrap());
    }
    all
}

#[test]
fn an_idle_runtime_sleeps() {
    let mut builder = blitz_io::runtime::Builder::new_multi_thread();
    builder
        .worker_threads(2)
        .enable_all()
        .thread_name("idle-io-test");
    let runtime = builder.build().unwrap();
    let ends = runtime.block_on(async {
        let mut ends = Vec::new();
        for _ in 0..10 {
            let (client, mut server) = blitz_io::spawn(pair()).await.unwrap();
            blitz_io::spawn(async move { server.read_u8().await });
            ends.push(client);
        }
        ends
    });
    // Until it is quiet: other tests may keep this one's threads from running.
    for _ in 0..100 {
        let before = sleeps("idle-io-test");
        assert!(before > 0);
        std::thread::sleep(Duration::from_millis(100));
        if sleeps("idle-io-test") == before {
            drop((ends, multi(1)));
            return;
        }
    }
    panic!("the workers wake up again and again");
}
