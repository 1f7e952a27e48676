//! Objects with a planted mistake, which the check of their histories finds, and the same ones without it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use blitz_io::sim::history::{History, Queue, Register, Set};
use blitz_io::sim::{Builder, Cause};
use blitz_io::sync::{Mutex, RwLock, mpmc, mpsc};
use blitz_io::task::{self, JoinHandle};
use blitz_io::time;

async fn join(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

/// Requires that the test passes in all orders without the mistake, and that its history tells with it.
#[track_caller]
fn is_told<F>(part: &str, test: fn(bool) -> F)
where
    F: Future<Output = ()> + 'static,
{
    Builder::new().seeds(300).run(|| test(false));
    let failure = Builder::new().check(|| test(true)).unwrap_err();
    let Cause::Panic(message) = failure.cause() else {
        panic!("{failure}");
    };
    assert!(
        message.contains("the history is not linearizable"),
        "{message}"
    );
    assert!(message.contains(part), "{message}");
    // The steps of its operations are known.
    let events = failure.events();
    assert!(
        events.contains(": begins ") && events.contains(" returns "),
        "{events}"
    );
}

/// Two copies of a value, both of which a write changes. A read uses one of them.
async fn replicated(has_mistake: bool) {
    let copies = Arc::new([Mutex::new(None), Mutex::new(None)]);
    let history = History::new();
    let mut tasks = Vec::new();
    let (both, log) = (copies.clone(), history.clone());
    tasks.push(task::spawn(async move {
        log.record(Register::Write((), 1), async {
            if has_mistake {
                *both[0].lock().await = Some(1);
                *both[1].lock().await = Some(1);
            } else {
                let (mut first, mut second) = (both[0].lock().await, both[1].lock().await);
                (*first, *second) = (Some(1), Some(1));
            }
            None
        })
        .await;
    }));
    let (both, log) = (copies, history.clone());
    tasks.push(task::spawn(async move {
        for copy in &*both {
            log.record(Register::Read(()), async { *copy.lock().await })
                .await;
        }
    }));
    join(tasks).await;
    history.check().unwrap();
}

#[test]
fn a_register_whose_copies_change_one_after_the_other() {
    is_told("Read(()) returned None and not Some(1)", replicated);
}

/// Looks for the element under a shared lock, and inserts it under an exclusive one.
async fn looked_up(has_mistake: bool) {
    let set = Arc::new(RwLock::new(BTreeSet::new()));
    let history = History::new();
    let insert = |element: u32| {
        let (set, log) = (set.clone(), history.clone());
        task::spawn(async move {
            log.record(Set::Insert(element), async {
                if !has_mistake {
                    return set.write().await.insert(element);
                }
                let is_new = !set.read().await.contains(&element);
                if is_new {
                    set.write().await.insert(element);
                }
                is_new
            })
            .await;
        })
    };
    let tasks = [7, 7, 8].map(insert);
    join(tasks.into()).await;
    history.check().unwrap();
}

#[test]
fn a_set_that_looks_before_it_inserts() {
    is_told("Insert(7) returned true and not false", looked_up);
}

/// Moves values through a channel, one after the other. With the mistake, a relay of two tasks does that.
async fn relayed(has_mistake: bool) {
    let (first, source) = mpmc::unbounded();
    let (last, sink) = mpmc::unbounded();
    let history = History::new();
    let mut tasks = Vec::new();
    for _ in 0..1 + u32::from(has_mistake) {
        let (source, last) = (source.clone(), last.clone());
        tasks.push(task::spawn(async move {
            while let Ok(value) = source.recv().await {
                task::yield_now().await;
                _ = last.send(value).await;
            }
        }));
    }
    drop(last);
    for value in 0..3 {
        history.begin(Queue::Push(value)).end(None);
        first.send(value).await.unwrap();
    }
    drop(first);
    while let Ok(value) = sink.recv().await {
        history.begin(Queue::Pop).end(Some(value));
    }
    join(tasks).await;
    history.check().unwrap();
}

#[test]
fn a_queue_with_two_relays() {
    is_told("Pop returned", relayed);
}

/// A queue that takes the first value, and returns it when the lock is free again.
async fn peeked(has_mistake: bool) {
    let queue = Arc::new(Mutex::new(VecDeque::from([1, 2])));
    let history = History::new();
    for value in [1, 2] {
        history.begin(Queue::Push(value)).end(None);
    }
    let pop = |_| {
        let (queue, log) = (queue.clone(), history.clone());
        task::spawn(async move {
            log.record(Queue::Pop, async {
                if !has_mistake {
                    return queue.lock().await.pop_front();
                }
                let first = queue.lock().await.front().copied();
                queue.lock().await.pop_front();
                first
            })
            .await;
        })
    };
    join((0..2).map(pop).collect()).await;
    history.check().unwrap();
}

#[test]
fn a_queue_whose_pop_is_two_steps() {
    is_told("Pop returned Some(1) and not Some(2)", peeked);
}

/// A request whose answer is lost may have happened or not, so no order is wrong for it alone.
#[test]
fn an_operation_that_is_cancelled_may_have_happened() {
    let report = Builder::new().seeds(200).run(|| async {
        let (value, history) = (Arc::new(Mutex::new(None)), History::new());
        let (same, log) = (value.clone(), history.clone());
        let write = task::spawn(async move {
            log.record(Register::Write((), 1), async {
                *same.lock().await = Some(1);
                task::yield_now().await;
                None
            })
            .await;
        });
        task::yield_now().await;
        write.abort();
        let was_cancelled = write.await.is_err();
        let read = history.record(Register::Read(()), async { *value.lock().await });
        let read = read.await;
        blitz_io::sim::sometimes("cancelled after the write", was_cancelled && read.is_some());
        blitz_io::sim::sometimes(
            "cancelled before the write",
            was_cancelled && read.is_none(),
        );
        history.check().unwrap();
    });
    assert_eq!(report.never(), [""; 0]);
}

/// Our own channels are queues, with several senders and receivers.
#[test]
fn channels_are_queues() {
    Builder::new().seeds(150).run(|| async {
        let (sender, receiver) = mpmc::bounded(2);
        let history = History::new();
        let mut tasks = Vec::new();
        for number in 0..2_u32 {
            let (sender, log) = (sender.clone(), history.clone());
            tasks.push(task::spawn(async move {
                for value in [number * 10, number * 10 + 1] {
                    log.record(Queue::Push(value), async {
                        sender.send(value).await.unwrap();
                        None
                    })
                    .await;
                }
            }));
            let (receiver, log) = (receiver.clone(), history.clone());
            tasks.push(task::spawn(async move {
                for _ in 0..2 {
                    log.record(Queue::Pop, async { receiver.recv().await.ok() })
                        .await;
                }
            }));
        }
        join(tasks).await;
        history.check().unwrap();
    });
    Builder::new().seeds(150).run(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let history = History::new();
        let send = |number: u32| {
            let (sender, log) = (sender.clone(), history.clone());
            task::spawn(async move {
                log.record(Queue::Push(number), async {
                    sender.send(number).await.unwrap();
                    None
                })
                .await;
            })
        };
        let tasks = [1, 2, 3].map(send);
        drop(sender);
        loop {
            let call = history.begin(Queue::Pop);
            match receiver.recv().await {
                Some(value) => call.end(Some(value)),
                // Closed, and not empty: no operation of a queue.
                None => break,
            }
        }
        join(tasks.into()).await;
        history.check().unwrap();
    });
}

/// Outside of a simulation, threads may use a history.
#[test]
fn threads_have_histories_too() {
    let history = History::new();
    let value = StdMutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for element in 0..20_u32 {
                    let call = history.begin(Set::Insert(element));
                    let is_new = value.lock().unwrap().insert(element);
                    call.end(is_new);
                }
            });
        }
    });
    assert_eq!((history.len(), history.check()), (80, Ok(())));
}

/// A write that ends, a pending one, and a read of a third value.
async fn read_wrong() {
    let history = History::new();
    let (first, second) = (history.clone(), history.clone());
    task::Builder::new()
        .name("writer")
        .spawn(async move {
            first
                .record(Register::Write(0, 1), async {
                    time::sleep(Duration::from_millis(2)).await;
                    None
                })
                .await;
        })
        .unwrap()
        .await
        .unwrap();
    let pending = task::spawn(async move {
        let write = second.begin(Register::Write(0, 2));
        drop(write);
    });
    pending.await.unwrap();
    history.begin(Register::Write(1, 4)).end(None);
    history.begin(Register::Read(0)).end(Some(3));
    history.check().unwrap();
}

#[test]
fn a_report_lists_the_operations() {
    let failure = Builder::new().check(read_wrong).unwrap_err();
    let text = failure.to_string();
    assert!(
        text.contains(
            "after Write(0, 1), Write(0, 2) (pending), Read(0) returned Some(3) and not Some(2)"
        ),
        "{text}"
    );
    let (_, list) = text
        .split_once("\nthe operations of the history on one of 2 keys\n")
        .unwrap_or_else(|| panic!("{text}"));
    let lines: Vec<&str> = list.lines().take(4).collect();
    let parts = [
        ("  step ", "ms: task 2 \"writer\": Write(0, 1) returns None"),
        ("  step ", ", 2ms, pending: task 3: Write(0, 2)"),
        (
            "  step ",
            ", 2ms: task 1 \"the test\": Read(0) returns Some(3)",
        ),
        ("", ""),
    ];
    for (line, (begin, end)) in lines.iter().zip(parts) {
        assert!(line.starts_with(begin) && line.ends_with(end), "{text}");
    }
    assert!(lines[0].contains(" to step "), "{text}");
    assert_eq!((lines.len(), lines[3]), (4, ""), "{text}");
}

/// The tasks of the operations come before others that ran later.
#[test]
fn the_events_of_a_report_are_those_of_the_operations() {
    let failure = Builder::new().check(|| async {
        let history = History::new();
        let write = |value| {
            let history = history.clone();
            task::spawn(async move { history.begin(Register::Write((), value)).end(None) })
        };
        join([1, 2].map(write).into()).await;
        // More than a report shows.
        join((0..20).map(|_| task::spawn(task::yield_now())).collect()).await;
        history.begin(Register::Read(())).end(Some(3));
        history.check().unwrap();
    });
    let events = failure.unwrap_err().events().to_owned();
    for value in [1, 2] {
        assert!(
            events.contains(&format!(": begins Write((), {value})")),
            "{events}"
        );
    }
}
