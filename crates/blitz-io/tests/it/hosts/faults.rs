//! Hosts that crash, are paused and are cut off.

use std::cell::Cell;
use std::future::pending;
use std::io::ErrorKind;
use std::rc::Rc;
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::sim::{self, Builder, Cause, Faults};
use blitz_io::task;
use blitz_io::time::{self, Instant, sleep, timeout};

use super::builder;

/// Accepts connections, keeps them, and sends a byte each second on each.
async fn tick() {
    let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        task::spawn(async move {
            while stream.write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
    }
}

#[test]
fn a_crash_is_silent_until_the_host_starts_again() {
    builder().run(|| async {
        let server = sim::host("server", |_| tick());
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        stream.read_u8().await.unwrap();
        server.crash();
        assert!(!server.is_running());
        let mut bytes = Vec::new();
        let silent = timeout(Duration::from_secs(60), stream.read_to_end(&mut bytes)).await;
        assert!(silent.is_err());
        // It does not know the connection any more.
        stream.write_all(b"?").await.unwrap();
        server.restart();
        let reset = stream.read_u8().await.unwrap_err();
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        stream.read_u8().await.unwrap();
    });
}

#[test]
fn the_system_of_a_killed_program_resets_its_connections() {
    builder().run(|| async {
        let server = sim::host("server", |_| tick());
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        stream.read_u8().await.unwrap();
        server.kill();
        let reset = async {
            loop {
                if let Err(error) = stream.read_u8().await {
                    return error.kind();
                }
            }
        };
        let reset = timeout(Duration::from_millis(50), reset).await;
        assert_eq!(reset, Ok(ErrorKind::ConnectionReset));
        let refused = TcpStream::connect("server:80").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
}

/// Counts its drops, and tries to go on by a new task.
struct Last(Rc<Cell<u32>>, Rc<Cell<u32>>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        let steps = self.1.clone();
        task::spawn_local(async move { steps.set(steps.get() + 1_000) });
    }
}

#[test]
fn a_crash_ends_all_tasks_of_the_host_and_no_other() {
    builder().run(|| async {
        let (drops, steps) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let of_host = (drops.clone(), steps.clone());
        let host = sim::host("host", move |_| {
            let (drops, steps) = of_host.clone();
            async move {
                let _last = Last(drops.clone(), steps.clone());
                let (inner, counts) = (Last(drops, steps.clone()), steps.clone());
                task::spawn_local(async move {
                    let _inner = inner;
                    loop {
                        counts.set(counts.get() + 1);
                        sleep(Duration::from_millis(7)).await;
                    }
                });
                loop {
                    steps.set(steps.get() + 1);
                    task::yield_now().await;
                    sleep(Duration::from_millis(10)).await;
                }
            }
        });
        let other = task::spawn_local(async {
            sleep(Duration::from_secs(2)).await;
            "done"
        });
        sleep(Duration::from_millis(95)).await;
        host.crash();
        let before = steps.get();
        assert!(before > 10);
        sleep(Duration::from_secs(1)).await;
        assert_eq!((drops.get(), steps.get()), (2, before));
        assert_eq!(other.await.unwrap(), "done");

        host.restart();
        sleep(Duration::from_millis(95)).await;
        assert!(steps.get() > before + 10);
    });
}

#[test]
fn a_host_may_crash_itself() {
    builder().run(|| async {
        let host = sim::host("host", |me| async move {
            sleep(Duration::from_secs(1)).await;
            me.crash();
            task::yield_now().await;
            unreachable!();
        });
        sleep(Duration::from_secs(5)).await;
        assert!(!host.is_running());
    });
}

#[test]
fn a_paused_host_takes_no_step_and_hears_all() {
    builder().run(|| async {
        let count = Rc::new(Cell::new(0));
        let counts = count.clone();
        let host = sim::host("host", move |_| {
            let counts = counts.clone();
            async move {
                let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
                let (mut stream, _) = listener.accept().await.unwrap();
                while stream.read_u8().await.is_ok() {
                    counts.set(counts.get() + 1);
                }
            }
        });
        let mut stream = TcpStream::connect("host:80").await.unwrap();
        stream.write_all(b"123").await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(count.get(), 3);
        host.pause();
        assert!(host.is_paused() && host.is_running());
        stream.write_all(b"456").await.unwrap();
        sleep(Duration::from_secs(100)).await;
        assert_eq!(count.get(), 3);
        host.resume();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(count.get(), 6);
    });
}

#[test]
fn a_wait_for_a_paused_host_is_a_deadlock() {
    let failure = builder()
        .check(|| async {
            let (sender, receiver) = blitz_io::sync::oneshot::channel();
            let sender = Cell::new(Some(sender));
            let host = sim::host("host", move |_| {
                let sender = sender.take().unwrap();
                async move { sender.send(()).unwrap() }
            });
            host.pause();
            receiver.await.unwrap();
        })
        .unwrap_err();
    assert_eq!(failure.cause(), &Cause::Deadlock);
}

#[test]
fn a_partition_holds_bytes_back_until_it_heals() {
    builder().run(|| async {
        sim::host("server", |_| tick());
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        stream.read_u8().await.unwrap();
        sim::partition("test", "server");
        let mut bytes = [0; 100];
        // A byte may be under way.
        let cut = timeout(Duration::from_secs(30), async {
            loop {
                _ = stream.read(&mut bytes).await.unwrap();
            }
        });
        assert!(cut.await.is_err());
        sim::heal("test", "server");
        let start = Instant::now();
        stream.read_exact(&mut bytes[..25]).await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(1));
    });
}

#[test]
fn a_partition_in_one_direction_lets_the_other_one_pass() {
    builder().run(|| async {
        let heard = Rc::new(Cell::new(0));
        let hears = heard.clone();
        sim::host("server", move |_| {
            let hears = hears.clone();
            async move {
                let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
                let (mut stream, _) = listener.accept().await.unwrap();
                while let Ok(byte) = stream.read_u8().await {
                    hears.set(hears.get() + 1);
                    stream.write_u8(byte).await.unwrap();
                }
            }
        });
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        sim::partition_one_way("server", "test");
        stream.write_u8(1).await.unwrap();
        assert!(
            timeout(Duration::from_secs(9), stream.read_u8())
                .await
                .is_err()
        );
        assert_eq!(heard.get(), 1);
        sim::heal_all();
        assert_eq!(stream.read_u8().await.unwrap(), 1);
    });
}

#[test]
fn a_sender_gives_up_after_a_long_time() {
    builder().seeds(5).run(|| async {
        sim::host("server", |_| tick());
        let mut stream = TcpStream::connect("server:80").await.unwrap();
        stream.read_u8().await.unwrap();
        sim::partition("test", "server");
        let start = Instant::now();
        stream.write_all(b"?").await.unwrap();
        let gone = loop {
            if let Err(error) = stream.read_u8().await {
                break error;
            }
        };
        assert_eq!(gone.kind(), ErrorKind::TimedOut);
        assert!(start.elapsed() > Duration::from_secs(900));
        let start = Instant::now();
        let gone = TcpStream::connect("server:80").await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::TimedOut);
        assert!(start.elapsed() < Duration::from_secs(130));
    });
}

#[test]
fn an_error_or_a_panic_of_a_host_fails_the_run() {
    let failure = builder()
        .check(|| async {
            sim::host("host", |_| async { Err::<(), _>("on purpose") });
            pending::<()>().await;
        })
        .unwrap_err();
    let expected = Cause::HostError {
        host: "host".to_owned(),
        error: "on purpose".to_owned(),
    };
    assert_eq!(failure.cause(), &expected);
    let failure = builder()
        .check(|| async {
            sim::host("host", |_| async { panic!("on purpose") });
            pending::<()>().await;
        })
        .unwrap_err();
    assert!(matches!(failure.cause(), Cause::Panic(_)));
}

#[test]
fn a_report_names_the_hosts_of_tasks_and_sockets() {
    let failure = builder()
        .check(|| async {
            sim::host("server", |_| async {
                let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
                let (mut stream, _) = listener.accept().await.unwrap();
                // It never answers.
                _ = stream.read_u64().await;
            });
            let client = sim::host("client", |_| async {
                let mut stream = TcpStream::connect("server:80").await.unwrap();
                _ = task::spawn(async move { stream.read_u64().await }).await;
            });
            assert_eq!(client.name(), "client");
            pending::<()>().await;
        })
        .unwrap_err();
    let text = failure.to_string();
    // Long lines are broken.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "client: task ",
        "for JoinHandle of client: task",
        "server: task ",
        "waits for something without a record",
        "spawned at crates/blitz-io/tests/it/hosts/faults.rs:",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The first task of a host is where the test adds the host.
    assert!(!text.contains("spawned at crates/blitz-io/src"), "{text}");
    let events = failure.events().lines();
    let heads: Vec<&str> = events
        .filter(|line| line.contains(", spawned at "))
        .collect();
    let of = |host: &str| heads.iter().filter(|line| line.starts_with(host)).count();
    assert_eq!(
        (of("  server: task "), of("  client: task ")),
        (1, 2),
        "{text}"
    );
}

#[test]
fn an_unknown_host_is_refused_with_the_names_that_there_are() {
    builder().run(|| async {
        sim::host("server", |_| tick());
        let error = TcpStream::connect("sever:80").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let message = "there is no host `sever`, only `test`, `server`";
        assert_eq!(error.to_string(), message);
        let looked_up = blitz_io::net::lookup_host(("sever", 80)).await;
        assert_eq!(looked_up.err().unwrap().to_string(), message);
        let error = TcpStream::connect("server").await.unwrap_err();
        assert_eq!(error.to_string(), "invalid socket address: it has no port");
    });
}

#[test]
#[should_panic(expected = "there is no host `sever`, only `test`, `server`")]
fn a_panic_about_an_unknown_host_has_the_names_that_there_are() {
    builder().run(|| async {
        sim::host("server", |_| tick());
        sim::partition("test", "sever");
    });
}

#[test]
fn tasks_of_hosts_may_be_left_and_those_of_the_test_may_not() {
    builder().run(|| async {
        sim::host("server", |_| tick());
        TcpStream::connect("server:80").await.unwrap();
    });
    let failure = builder()
        .check(|| async {
            sim::host("server", |_| tick());
            task::spawn(pending::<()>());
        })
        .unwrap_err();
    let leak = Cause::Leak {
        tasks: 1,
        timer: false,
    };
    assert_eq!(failure.cause(), &leak);
}

/// Fails if the server has crashed while the client was connected, and started again before the client's request.
async fn loses_a_session() {
    sim::host("server", |_| async {
        let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
        let sessions = Rc::new(Cell::new(0_u64));
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let sessions = sessions.clone();
            task::spawn_local(async move {
                sessions.set(sessions.get() + 1);
                _ = stream.write_u64(sessions.get()).await;
            });
        }
    });
    sim::inject(Faults::all());
    let mut last = 0;
    for _ in 0..12 {
        sleep(Duration::from_secs(1)).await;
        let attempt = async {
            let mut stream = TcpStream::connect("server:80").await?;
            stream.read_u64().await
        };
        if let Ok(Ok(session)) = timeout(Duration::from_secs(1), attempt).await {
            assert!(session > last, "the server has forgotten session {last}");
            last = session;
        }
    }
}

#[test]
fn faults_at_random_are_replayed_and_shrink() {
    let builder = Builder::new().seeds(1_000);
    let failure = builder.check(loses_a_session).unwrap_err();
    assert!(matches!(failure.cause(), Cause::Panic(_)), "{failure}");
    // The family is on, one fault happens, and perhaps one or two more decisions.
    assert!(failure.trace().len() <= 5, "{failure}");
    for _ in 0..10 {
        let again = Builder::new().trace(failure.trace().clone());
        let again = again.check(loses_a_session).unwrap_err();
        assert_eq!(again.cause(), failure.cause());
    }
}

/// Fails if the host crashes in a certain part of its period, which is half of it.
async fn crashes_in_a_part_of_the_period() {
    let is_bad = Rc::new(Cell::new(false));
    sim::host("host", move |_| {
        let is_bad = is_bad.clone();
        async move {
            assert!(!is_bad.get(), "it has crashed in that part");
            let mut period = time::interval(Duration::from_millis(100));
            loop {
                period.tick().await;
                sleep(Duration::from_millis(25)).await;
                is_bad.set(true);
                sleep(Duration::from_millis(50)).await;
                is_bad.set(false);
            }
        }
    });
    sim::inject(Faults::new().crashes());
    sleep(Duration::from_secs(40)).await;
}

#[test]
fn faults_come_in_each_part_of_a_period() {
    let builder = Builder::new().seeds(20);
    let failure = builder.check(crashes_in_a_part_of_the_period).unwrap_err();
    assert!(failure.faults().contains(": 1 crash\n"), "{failure}");
    // The kind is on, the time of the crash, and that it comes.
    assert!(failure.trace().len() <= 4, "{failure}");
}

#[test]
fn the_times_of_faults_are_in_their_ranges() {
    let hour = Duration::from_secs(3_600);
    // Of the second range, a decision has no alternative for each microsecond.
    for most in [hour, 1_000 * hour] {
        let report = builder().run(move || async move {
            let faults = Faults::new().pauses().interval(hour, most);
            let host = sim::host("host", |_| pending::<()>());
            sim::inject(faults.length(hour, hour).until(2_000 * hour));
            sleep(hour - Duration::from_millis(2)).await;
            assert!(!host.is_paused());
            for _ in 0..1_000 {
                sleep(hour).await;
                sim::sometimes("a pause", host.is_paused());
            }
        });
        assert!(report.happened("a pause") > 0);
    }
}

#[test]
fn kinds_of_faults_can_be_removed() {
    let failure = builder()
        .check(|| async {
            sim::host("host", |_| pending::<()>());
            let others = Faults::new().blackouts().kills().losses().pauses();
            sim::inject(Faults::all().without(others));
            sleep(Duration::from_millis(1)).await;
            panic!("on purpose");
        })
        .unwrap_err();
    let kinds = "  injected: none; switched off: crashes, partitions\n";
    assert!(failure.faults().ends_with(kinds), "{failure}");
}

#[test]
fn runs_with_faults_are_deterministic() {
    let test = || async {
        sim::host("server", |_| tick());
        sim::inject(Faults::all());
        for _ in 0..10 {
            let attempt = async {
                let mut stream = TcpStream::connect("server:80").await?;
                stream.read_u8().await
            };
            _ = time::timeout(Duration::from_secs(2), attempt).await;
            sleep(Duration::from_millis(sim::random() % 1_000)).await;
        }
    };
    builder().check_determinism(true).run(test);
}
