//! Real processes, killed and stopped at random moments under load.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use blitz_io_ipc::{Builder, Channel, Queue, Receiver, RecvError, Route};

use crate::common::{LONG, Log, Place, Process, Random, check, directory_of, message, role};

const MAX: usize = 200;

/// Returns the number of participants to kill; `BLITZ_IPC_KILLS=1000` makes it more.
fn kills() -> usize {
    let set = std::env::var("BLITZ_IPC_KILLS").ok();
    set.map_or(40, |kills| {
        kills.parse().expect("BLITZ_IPC_KILLS is a number")
    })
}

fn builder(kind: &str) -> Builder {
    let builder = match kind {
        "route" => Route::builder(),
        "channel" => Channel::builder(),
        _ => Queue::builder(),
    };
    builder.capacity(16).max_len(MAX)
}

/// Plays the role of a child. Does nothing in the parent.
#[test]
fn child() {
    let Some(arguments) = role() else { return };
    let directory = directory_of(&arguments);
    let (task, kind, id) = (
        &*arguments[0],
        &*arguments[2],
        arguments[3].parse::<u64>().unwrap(),
    );
    let builder = builder(kind).directory(&directory);
    let mut log = Log::create(&directory.join(format!("{task}-{id}.log")));
    match task {
        "send" => {
            let mut sender = builder.sender("k").unwrap();
            for number in 0.. {
                sender
                    .send_timeout(&message(id, number, MAX), LONG)
                    .unwrap();
                log.set(number + 1);
            }
        }
        "work" => {
            let mut receiver = builder.receiver("k").unwrap();
            loop {
                match receiver.recv_timeout(LONG) {
                    Ok(message) => {
                        let (sender, number) = check(&message, MAX);
                        log.push([sender, number]);
                    }
                    Err(RecvError::Disconnected) => std::thread::sleep(Duration::from_millis(1)),
                    Err(error) => panic!("{error}"),
                }
            }
        }
        _ => unreachable!(),
    }
}

fn start(place: &Place, task: &str, kind: &str, id: u64) -> Process {
    let directory = place.path().display().to_string();
    let arguments = [task.to_owned(), directory, kind.to_owned(), id.to_string()];
    Process::start("crash::child", &arguments)
}

/// Returns how many messages were reported as sent to a sender.
fn reported(place: &Place, id: u64) -> u64 {
    let log = Log::read(&place.path().join(format!("send-{id}.log")));
    log.first().copied().unwrap_or(0)
}

/// A receiver that stays joined through the whole test: it must see every message, in
/// order, once.
struct Witness {
    receiver: Receiver,
    next: HashMap<u64, u64>,
}

impl Witness {
    fn receive_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.receive(Duration::from_millis(1));
        }
    }

    /// Returns `false` if there is no message and no sender.
    fn receive(&mut self, timeout: Duration) -> bool {
        match self.receiver.recv_timeout(timeout) {
            Ok(message) => {
                let (sender, number) = check(&message, MAX);
                let next = self.next.entry(sender).or_default();
                assert_eq!(number, *next, "lost or doubled, from {sender}");
                *next += 1;
                true
            }
            Err(RecvError::TimedOut) => true,
            Err(RecvError::Disconnected) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Kills senders and receivers of a route or channel, and stops some for a while.
fn broadcast(kind: &str, senders: usize) {
    let place = Place::new();
    let builder = place.in_it(builder(kind));
    let mut witness = Witness {
        receiver: builder.receiver("k").unwrap(),
        next: HashMap::new(),
    };
    let mut random = Random(kind.len() as u64);
    let mut ids = 0..;
    let mut id = || ids.next().unwrap();
    let mut children: Vec<_> = ["send"]
        .repeat(senders)
        .into_iter()
        .chain(["work"; 2])
        .map(|task| (task, start(&place, task, kind, id())))
        .collect();
    let mut killed = 0;
    while killed < kills() {
        witness.receive_for(Duration::from_micros(random.below(30_000)));
        let chosen = random.below(children.len() as u64) as usize;
        let (task, victim) = children.swap_remove(chosen);
        if random.below(4) == 0 {
            victim.signal(libc::SIGSTOP);
            witness.receive_for(Duration::from_millis(random.below(70)));
            victim.signal(libc::SIGCONT);
            children.push((task, victim));
            continue;
        }
        victim.kill();
        killed += 1;
        children.push((task, start(&place, task, kind, id())));
    }
    let until = Instant::now() + LONG;
    while witness.next.is_empty() {
        witness.receive(Duration::from_millis(1));
        assert!(Instant::now() < until, "nothing arrives");
    }
    for (_, child) in children {
        child.kill();
    }
    let until = Instant::now() + LONG;
    while witness.receive(Duration::from_millis(100)) {
        assert!(Instant::now() < until, "the end was not noticed");
    }
    for sender in 0..id() {
        let received = witness.next.get(&sender).copied().unwrap_or(0);
        let reported = reported(&place, sender);
        assert!(
            received >= reported,
            "{sender}: {reported} sent, {received} arrived"
        );
    }
    drop(witness);
    assert_eq!(place.segments(), 0);
}

#[test]
fn a_route_survives_kills() {
    broadcast("route", 1);
}

#[test]
fn a_channel_survives_kills() {
    broadcast("channel", 3);
}

/// Every message that was reported as sent is worked on; twice only if its worker was
/// killed before it was done.
#[test]
fn a_queue_survives_kills() {
    let place = Place::new();
    let builder = place.in_it(builder("queue"));
    let mut last = builder.receiver("k").unwrap();
    let mut random = Random(3);
    let mut ids = 0..;
    let mut id = || ids.next().unwrap();
    let mut children: Vec<_> = ["send", "send", "work", "work", "work"]
        .map(|task| (task, start(&place, task, "queue", id())))
        .into();
    let mut killed = 0;
    while killed < kills() {
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        let chosen = random.below(children.len() as u64) as usize;
        let (task, victim) = children.swap_remove(chosen);
        if random.below(4) == 0 {
            victim.signal(libc::SIGSTOP);
            std::thread::sleep(Duration::from_millis(random.below(70)));
            victim.signal(libc::SIGCONT);
            children.push((task, victim));
            continue;
        }
        victim.kill();
        killed += 1;
        children.push((task, start(&place, task, "queue", id())));
    }
    // A child that takes long to start may be killed before it is a sender.
    let (until, started) = (Instant::now() + LONG, id());
    while !(0..started).any(|sender| reported(&place, sender) > 0) {
        std::thread::sleep(Duration::from_millis(1));
        assert!(Instant::now() < until, "nothing is sent");
    }
    for (_, child) in children {
        child.kill();
    }
    // The rest, and the messages on which the last workers were working.
    let mut logs: Vec<Vec<(u64, u64)>> = vec![Vec::new()];
    loop {
        match last.recv_timeout(LONG) {
            Ok(message) => logs[0].push(check(&message, MAX)),
            Err(RecvError::Disconnected) => break,
            Err(error) => panic!("{error}"),
        }
    }
    let count = id();
    for worker in 0..count {
        let words = Log::read(&place.path().join(format!("work-{worker}.log")));
        logs.push(
            words
                .chunks_exact(2)
                .map(|pair| (pair[0], pair[1]))
                .collect(),
        );
    }
    let mut seen: HashMap<(u64, u64), usize> = HashMap::new();
    for message in logs.iter().flatten() {
        *seen.entry(*message).or_default() += 1;
    }
    for sender in 0..count {
        for number in 0..reported(&place, sender) {
            assert!(
                seen.contains_key(&(sender, number)),
                "lost: {number} of {sender}"
            );
        }
    }
    // Only the last message of a killed worker may be doubled.
    let mut excess = seen;
    for log in &logs[1..] {
        if let Some(last) = log.last() {
            excess.entry(*last).and_modify(|count| *count -= 1);
        }
    }
    assert!(excess.values().all(|&count| count <= 1), "doubled");
    drop(last);
    assert_eq!(place.segments(), 0);
}

/// All are killed at once, many times; each group begins as if it were the first.
#[test]
fn a_killed_group_leaves_nothing_in_the_way() {
    let place = Place::new();
    for round in 0..5 {
        let group = [
            start(&place, "send", "channel", round * 10),
            start(&place, "work", "channel", round * 10 + 1),
        ];
        std::thread::sleep(Duration::from_millis(20));
        for process in group {
            process.kill();
        }
    }
    let route = place.in_it(Route::builder().max_len(8));
    let (mut sender, mut receiver) = (route.sender("k").unwrap(), route.receiver("k").unwrap());
    sender.send(b"new").unwrap();
    assert_eq!(*receiver.recv().unwrap(), *b"new");
    drop((sender, receiver));
    assert_eq!(place.segments(), 0);
}
