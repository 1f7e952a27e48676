//! A runtime whose tasks all wait makes no system call.

use std::time::Duration;

use blitz_io::io::AsyncReadExt;

use crate::help::{multi, pair};

/// Returns how often the threads with this name have gone to sleep so far.
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
    // Wait until it is quiet: other tests may keep this one's threads from running. This is
    // longer than any interval at which a runtime does maintenance.
    for _ in 0..10 {
        let before = sleeps("idle-io-test");
        assert!(before > 0);
        std::thread::sleep(Duration::from_secs(3));
        if sleeps("idle-io-test") == before {
            drop((ends, multi(1)));
            return;
        }
    }
    panic!("the workers wake up again and again");
}

#[test]
fn a_worker_waits_once_for_each_event() {
    use std::io::{Read, Write};
    const ROUNDS: u64 = 20;
    let runtime = multi(1);
    let (client, mut server) = runtime.block_on(pair());
    drop(runtime.spawn(async move {
        let mut byte = [0];
        while server.read_exact(&mut byte).await.is_ok() {
            blitz_io::io::AsyncWriteExt::write_all(&mut server, &byte)
                .await
                .unwrap();
        }
    }));
    let mut client = client.into_std().unwrap();
    client.set_nonblocking(false).unwrap();
    let mut echo = || {
        // The worker waits by then.
        std::thread::sleep(Duration::from_millis(2));
        client.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
    };
    let mut waits = || {
        echo();
        let before = runtime.metrics().worker_park_count(0);
        (0..ROUNDS).for_each(|_| echo());
        runtime.metrics().worker_park_count(0) - before
    };
    // The worker unparks itself when it wakes the task; that must not cause an extra wait
    // that ends at once. The fewest of some tries: the monitor also ends waits while the worker
    // has lost its processor.
    let (mut fewest, mut tries) = (u64::MAX, 0);
    while fewest > ROUNDS * 5 / 4 {
        fewest = fewest.min(waits());
        tries += 1;
        assert!(tries < 50, "{fewest} waits for {ROUNDS} events");
    }
}
