//! Kills a process before *each* store to shared memory that its role makes, one store in
//! each run. Then checks the survivors: none hangs, no message that was reported as sent is
//! torn, doubled or lost, and no segment stays behind.
//!
//! Needs the feature `stepping`.

#![cfg(any(target_os = "linux", target_os = "android"))]

mod common;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use async_io::Async;
use blitz_io_ipc::step;
use blitz_io_ipc::{
    Barrier, Builder, Channel, Event, Queue, Receiver, RecvError, Route, Semaphore, SendError,
    SendOptions, Sender, WaitError, WhenFull,
};

use common::{LONG, Log, Place, Process, check, directory_of, message, role};

const MAX: usize = 64;
/// Messages that a child sends or receives: more than the ring holds.
const MESSAGES: u64 = 3;
const CHILD: u64 = 1;
const PARENT: u64 = 2;

fn builder(kind: &str) -> Builder {
    let builder = match kind {
        "route" => Route::builder(),
        "channel" => Channel::builder().max_senders(4),
        "dropping channel" => Channel::builder()
            .max_senders(4)
            .when_full(WhenFull::DropOldest),
        "dropping queue" => Queue::builder()
            .max_senders(4)
            .when_full(WhenFull::DropOldest),
        _ => Queue::builder().max_senders(4),
    };
    builder.capacity(2).max_len(MAX).max_receivers(4)
}

/// Plays the role of a child. Does nothing in the parent.
#[test]
fn child() {
    let Some(arguments) = role() else { return };
    let directory = directory_of(&arguments);
    let builder = builder(&arguments[2]).directory(&directory);
    let mut log = Log::create(&directory.join("log"));
    step::arm(arguments[3].parse().unwrap());
    match &*arguments[0] {
        "send" => {
            let mut sender = builder.sender("k").unwrap();
            for number in 0..MESSAGES {
                let mut loan = sender.loan(1).unwrap();
                loan[0] = 1;
                drop(loan);
                sender
                    .send_timeout(&message(CHILD, number, MAX), LONG)
                    .unwrap();
                log.set(number + 1);
            }
        }
        "receive" => {
            let mut receiver = builder.receiver("k").unwrap();
            let mut count = 0;
            while count < MESSAGES {
                match receiver.recv_timeout(LONG) {
                    Ok(message) => {
                        let (sender, number) = check(&message, MAX);
                        log.push([sender, number]);
                        count += 1;
                    }
                    Err(RecvError::Lagged(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
        "await" => {
            let mut receiver = builder.receiver("k").unwrap();
            pollster::block_on(async {
                let doorbell = Async::new_nonblocking(receiver.doorbell().unwrap()).unwrap();
                for _ in 0..MESSAGES {
                    let message = receiver.recv_when(|| doorbell.readable()).await.unwrap();
                    let (sender, number) = check(&message, MAX);
                    log.push([sender, number]);
                }
            });
        }
        "await send" => {
            let mut sender = builder.sender("k").unwrap();
            pollster::block_on(async {
                let doorbell = Async::new_nonblocking(sender.doorbell().unwrap()).unwrap();
                for number in 0..MESSAGES {
                    let message = message(CHILD, number, MAX);
                    let sent = sender
                        .with(SendOptions::new())
                        .send_when(&message, || doorbell.readable());
                    sent.await.unwrap();
                    log.set(number + 1);
                }
            });
        }
        "notify" => {
            let event = Event::builder(2).directory(&directory);
            let notifier = event.notifier("k").unwrap();
            for number in 0..MESSAGES {
                notifier.notify(1).unwrap();
                log.set(number + 1);
            }
        }
        "listen" => {
            let event = Event::builder(2).directory(&directory);
            let mut listener = event.listener("k").unwrap();
            for _ in 0..MESSAGES {
                listener.wait_timeout(LONG).unwrap();
            }
        }
        "await listen" => {
            let event = Event::builder(2).directory(&directory);
            let mut listener = event.listener("k").unwrap();
            pollster::block_on(async {
                let doorbell = Async::new_nonblocking(listener.doorbell().unwrap()).unwrap();
                for _ in 0..MESSAGES {
                    listener.wait_when(|| doorbell.readable()).await.unwrap();
                }
            });
        }
        "await acquire" => {
            let semaphore = Semaphore::builder(1).directory(&directory);
            let mut semaphore = semaphore.open("k").unwrap();
            pollster::block_on(async {
                let doorbell = Async::new_nonblocking(semaphore.doorbell().unwrap()).unwrap();
                for _ in 0..MESSAGES {
                    let permit = semaphore.acquire_when(|| doorbell.readable());
                    drop(permit.await.unwrap());
                }
            });
        }
        "await meet" => {
            let mut barrier = Barrier::builder(2).directory(&directory).open("k").unwrap();
            pollster::block_on(async {
                let doorbell = Async::new_nonblocking(barrier.doorbell().unwrap()).unwrap();
                for number in 0..MESSAGES {
                    barrier.wait_when(|| doorbell.readable()).await.unwrap();
                    log.set(number + 1);
                }
            });
        }
        "acquire" => {
            let semaphore = Semaphore::builder(1).directory(&directory);
            let mut semaphore = semaphore.open("k").unwrap();
            for _ in 0..MESSAGES {
                drop(semaphore.acquire_timeout(LONG).unwrap());
            }
        }
        "meet" => {
            let mut barrier = Barrier::builder(2).directory(&directory).open("k").unwrap();
            for number in 0..MESSAGES {
                barrier.wait_timeout(LONG).unwrap();
                log.set(number + 1);
            }
        }
        // It dies with both ends open, and leaves a dead participant for the next to reap.
        "leave behind" => {
            let mut sender = builder.sender("k").unwrap();
            let mut receiver = builder.receiver("k").unwrap();
            let loan = sender.loan(MAX).unwrap();
            _ = receiver.try_recv().map(std::mem::forget);
            std::mem::forget(loan);
            // SAFETY: a process may kill itself.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        _ => unreachable!(),
    }
}

fn start(place: &Place, task: &str, kind: &str, step: u64) -> Process {
    let directory = place.path().display().to_string();
    let arguments = [
        task.to_owned(),
        directory,
        kind.to_owned(),
        step.to_string(),
    ];
    Process::start("child", &arguments)
}

/// The ends that are not killed.
struct Survivors {
    sender: Option<Sender>,
    receiver: Receiver,
    kind: String,
    sent: u64,
    seen: Vec<(u64, u64)>,
}

impl Survivors {
    fn join(place: &Place, kind: &str, sends: bool) -> Self {
        let builder = place.in_it(builder(kind));
        Self {
            receiver: builder.receiver("k").unwrap(),
            sender: sends.then(|| builder.sender("k").unwrap()),
            kind: kind.to_owned(),
            sent: 0,
            seen: Vec::new(),
        }
    }

    fn send(&mut self, timeout: Duration) -> bool {
        let Some(sender) = &mut self.sender else {
            return true;
        };
        match sender.send_timeout(&message(PARENT, self.sent, MAX), timeout) {
            Ok(()) => self.sent += 1,
            Err(SendError::TimedOut) => return false,
            Err(error) => panic!("{error}"),
        }
        true
    }

    fn receive(&mut self, timeout: Duration) -> bool {
        match self.receiver.recv_timeout(timeout) {
            Ok(message) if message.len() == 1 => panic!("a loan that was dropped arrived"),
            Ok(message) => self.seen.push(check(&message, MAX)),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::TimedOut | RecvError::Disconnected) => return false,
            Err(error) => panic!("{error}"),
        }
        true
    }

    /// Works with the child until it has ended. Returns `true` if it was killed.
    fn work_with(&mut self, mut child: Process) -> bool {
        let deadline = Instant::now() + LONG;
        loop {
            let tick = Duration::from_millis(1);
            self.send(tick);
            self.receive(tick);
            if let Some(status) = child.0.try_wait().unwrap() {
                assert!(matches!(status.code(), None | Some(0)), "the child failed");
                return status.code().is_none();
            }
            assert!(Instant::now() < deadline, "the child hangs");
        }
    }

    /// Continues without the child: everything must work soon.
    fn go_on(&mut self, place: &Place) {
        let builder = place.in_it(builder(&self.kind));
        if self.sender.is_none() {
            let patience = Instant::now() + LONG;
            while self.receive(Duration::from_millis(100)) {
                assert!(Instant::now() < patience);
            }
            self.sender = Some(builder.sender("k").unwrap());
        }
        for _ in 0..4 {
            let patience = Instant::now() + LONG;
            while !self.send(Duration::from_millis(1)) {
                self.receive(Duration::from_millis(1));
                assert!(Instant::now() < patience, "a sender hangs");
            }
        }
        self.sender = None;
        let patience = Instant::now() + LONG;
        while self.receive(LONG) {
            assert!(Instant::now() < patience, "the end was not noticed");
        }
    }

    /// Checks that each message was received once, in order, and that no reported message
    /// is missing.
    fn check(&self, child: &[u64], child_sent: bool) {
        let reported = if child_sent {
            child.first().copied().unwrap_or(0)
        } else {
            0
        };
        let received: Vec<(u64, u64)> = if child_sent {
            Vec::new()
        } else {
            child
                .chunks_exact(2)
                .map(|pair| (pair[0], pair[1]))
                .collect()
        };
        let mut times: HashMap<(u64, u64), usize> = HashMap::new();
        for message in &self.seen {
            *times.entry(*message).or_default() += 1;
        }
        assert!(times.values().all(|&times| times == 1), "doubled");
        if self.kind.starts_with("dropping") {
            return;
        }
        for (sender, count) in [(CHILD, reported), (PARENT, self.sent)] {
            for number in 0..count {
                let message = (sender, number);
                let here = times.contains_key(&message);
                let there = self.kind == "queue" && received.contains(&message);
                assert!(here || there, "lost: {message:?}");
                // A worker that is killed may have finished its last job.
                assert!(
                    !(here && there) || received.last() == Some(&message),
                    "twice"
                );
            }
        }
        for sender in [CHILD, PARENT] {
            let numbers = self.seen.iter().filter(|message| message.0 == sender);
            let numbers: Vec<_> = numbers.map(|message| message.1).collect();
            assert!(
                self.kind == "queue" || numbers.iter().copied().eq(0..numbers.len() as u64),
                "out of order: {numbers:?}"
            );
        }
    }
}

/// Runs the child once for each step, until it gets through.
fn every_step(task: &str, kind: &str, sends: bool, behind: bool) {
    for step in 1.. {
        let place = Place::new();
        let mut survivors = Survivors::join(&place, kind, sends);
        if behind {
            let left = start(&place, "leave behind", kind, 0);
            assert_eq!(left.wait(), None);
        }
        let killed = survivors.work_with(start(&place, task, kind, step));
        survivors.go_on(&place);
        survivors.check(
            &Log::read(&place.path().join("log")),
            task.ends_with("send"),
        );
        drop(survivors);
        assert_eq!(place.segments(), 0, "step {step}");
        if !killed {
            println!("{task} {kind}: {} steps", step - 1);
            assert!(step > 12, "only {step} steps: are the points still there?");
            return;
        }
    }
}

#[test]
fn a_sender_of_a_route() {
    every_step("send", "route", false, false);
}

#[test]
fn a_receiver_of_a_route() {
    every_step("receive", "route", true, false);
}

#[test]
fn a_sender_of_a_channel() {
    every_step("send", "channel", true, false);
}

#[test]
fn a_receiver_of_a_channel() {
    every_step("receive", "channel", true, false);
}

#[test]
fn a_sender_of_a_ring_that_drops() {
    every_step("send", "dropping channel", true, false);
    every_step("send", "dropping queue", true, false);
}

#[test]
fn a_receiver_of_a_ring_that_drops() {
    every_step("receive", "dropping channel", true, false);
    every_step("receive", "dropping queue", true, false);
}

#[test]
fn a_sender_of_a_queue() {
    every_step("send", "queue", true, false);
}

#[test]
fn a_receiver_of_a_queue() {
    every_step("receive", "queue", true, false);
}

#[test]
fn a_task_that_receives_from_a_channel() {
    every_step("await", "channel", true, false);
}

#[test]
fn a_task_that_receives_from_a_queue() {
    every_step("await", "queue", true, false);
}

#[test]
fn a_task_that_sends() {
    every_step("await send", "channel", true, false);
    every_step("await send", "queue", true, false);
}

/// The child that is killed is itself reaping another dead participant.
#[test]
fn a_reaper_of_a_channel() {
    every_step("send", "channel", false, true);
}

#[test]
fn a_reaper_of_a_queue() {
    every_step("receive", "queue", true, true);
}

/// The maker of a segment is killed at each step; the next one makes it again.
#[test]
fn a_maker() {
    for step in 1.. {
        let place = Place::new();
        let killed = start(&place, "send", "queue", step).wait().is_none();
        let builder = place.in_it(builder("queue"));
        let (mut sender, mut receiver) =
            (builder.sender("k").unwrap(), builder.receiver("k").unwrap());
        sender.send(&[1]).unwrap();
        assert_eq!(*receiver.recv_timeout(LONG).unwrap(), [1]);
        drop((sender, receiver));
        assert_eq!(place.segments(), 0);
        // Without a receiver, the child waits for room without end; every earlier step is
        // covered.
        if !killed || step > 60 {
            return;
        }
    }
}

/// Runs the child once for each step, with `survive` beside it, until it gets through.
/// `survive` gets the function that starts the child, and returns whether it was killed.
fn every_step_of(task: &str, survive: impl Fn(&Place, &dyn Fn() -> Process) -> bool) {
    for step in 1.. {
        let place = Place::new();
        let killed = survive(&place, &|| start(&place, task, "", step));
        assert_eq!(blitz_io_ipc::clean_in(place.path()).unwrap().len(), 0);
        assert_eq!(place.segments(), 0, "step {step}");
        if !killed {
            println!("{task}: {} steps", step - 1);
            assert!(step > 8, "only {step} steps: are the points still there?");
            return;
        }
    }
}

#[test]
fn a_notifier() {
    every_step_of("notify", |place, start| {
        let event = Event::builder(2).directory(place.path());
        let mut listener = event.listener("k").unwrap();
        let own = event.notifier("k").unwrap();
        let killed = start().wait().is_none();
        own.notify(0).unwrap();
        drop(own);
        let mut counts = [0, 0];
        let end = loop {
            match listener.wait_timeout(LONG) {
                Ok(notified) => counts[notified.id] += notified.count,
                Err(error) => break error,
            }
        };
        assert_eq!(end, WaitError::Disconnected);
        let log = Log::read(&place.path().join("log"));
        let reported = log.first().copied().unwrap_or(0);
        assert_eq!(counts[0], 1);
        assert!(counts[1] == reported || counts[1] == reported + 1, "lost");
        killed
    });
}

#[test]
fn a_listener() {
    listen("listen");
}

#[test]
fn a_task_as_a_listener() {
    listen("await listen");
}

fn listen(task: &str) {
    every_step_of(task, |place, start| {
        let mut child = start();
        let notifier = Event::builder(2).directory(place.path()).notifier("k");
        let notifier = notifier.unwrap();
        while child.0.try_wait().unwrap().is_none() {
            notifier.notify(0).unwrap();
            std::thread::sleep(Duration::from_micros(200));
        }
        notifier.notify(1).unwrap();
        child.wait().is_none()
    });
}

#[test]
fn a_participant_of_a_semaphore() {
    acquire("acquire");
}

#[test]
fn a_task_as_a_participant_of_a_semaphore() {
    acquire("await acquire");
}

fn acquire(task: &str) {
    every_step_of(task, |place, start| {
        let mut child = start();
        let semaphore = Semaphore::builder(1).directory(place.path());
        let mut semaphore = semaphore.open("k").unwrap();
        while child.0.try_wait().unwrap().is_none() {
            let permit = semaphore.acquire_timeout(LONG).unwrap();
            // The child has to wait, and then gets it.
            std::thread::sleep(Duration::from_millis(1));
            drop(permit);
            std::thread::sleep(Duration::from_micros(200));
        }
        drop(semaphore.acquire_timeout(LONG).unwrap());
        let mut another = Semaphore::builder(1)
            .directory(place.path())
            .open("k")
            .unwrap();
        drop(another.acquire_timeout(LONG).unwrap());
        assert_eq!(semaphore.available_permits(), 1);
        child.wait().is_none()
    });
}

#[test]
fn a_party_of_a_barrier() {
    meet("meet");
}

#[test]
fn a_task_as_a_party_of_a_barrier() {
    meet("await meet");
}

fn meet(task: &str) {
    every_step_of(task, |place, start| {
        let mut child = start();
        let mut barrier = Barrier::builder(2)
            .directory(place.path())
            .open("k")
            .unwrap();
        let (mut met, mut broken) = (0, false);
        let mut gone = false;
        while met < MESSAGES && !broken {
            match barrier.wait_timeout(Duration::from_millis(10)) {
                Ok(_) => met += 1,
                Err(WaitError::Broken) => broken = true,
                // It was killed before it took part.
                Err(WaitError::TimedOut) if gone && met == 0 => break,
                Err(WaitError::TimedOut) => gone = child.0.try_wait().unwrap().is_some(),
                Err(error) => panic!("{error}"),
            }
        }
        let killed = child.wait().is_none();
        let log = Log::read(&place.path().join("log"));
        let reported = log.first().copied().unwrap_or(0);
        assert!(killed || met == MESSAGES);
        assert!(met == reported || met == reported + 1, "met alone");
        if met > 0 && met < MESSAGES {
            assert_eq!(barrier.wait_timeout(LONG), Err(WaitError::Broken));
        }
        killed
    });
}
