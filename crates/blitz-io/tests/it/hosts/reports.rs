//! Hosts and the network in the report of a failure.

use std::time::Duration;

use blitz_io::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use blitz_io::net::{TcpListener, TcpStream, UdpSocket};
use blitz_io::sim::{self, Builder, Failure, Faults, Link, Outcome};
use blitz_io::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

pub(super) fn fails<F>(test: impl Fn() -> F) -> Failure
where
    F: Future<Output: Outcome> + 'static,
{
    *super::builder().check(test).unwrap_err()
}

/// Requires that the text has lines with these parts, one after the other.
#[track_caller]
pub(super) fn has_lines(text: &str, parts: &[&str]) {
    let mut lines = text.lines();
    for part in parts {
        assert!(lines.any(|line| line.contains(part)), "`{part}`: {text}");
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        write.write_all(format!("{line}\n").as_bytes()).await?;
    }
    Ok(())
}

async fn serve() -> std::io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:4300").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        blitz_io::spawn(answer(stream));
    }
}

async fn ask(text: &str) -> std::io::Result<String> {
    let work = async {
        let mut stream = TcpStream::connect("server:4300").await?;
        stream.write_all(format!("{text}\n").as_bytes()).await?;
        let mut lines = BufReader::new(&mut stream).lines();
        let line = lines.next_line().await?;
        line.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
    };
    timeout(SECOND, work).await?
}

/// The client does not retry, and the test cuts it off for too long.
async fn is_cut_off() {
    sim::host("server", |_me| serve());
    let client = blitz_io::spawn(async {
        for _ in 0..2 {
            assert_eq!(ask("line").await.unwrap(), "line");
            sleep(Duration::from_millis(100)).await;
        }
    });
    sleep(Duration::from_millis(90)).await;
    sim::partition("server", "test");
    client.await.unwrap();
}

#[test]
fn a_report_shows_the_cut_and_what_it_holds() {
    let failure = fails(is_cut_off);
    let cut = "server and test are cut off from each other";
    has_lines(
        &failure.to_string(),
        &[
            "task 3 has panicked at ",
            "  faults of this run: 1 cut",
            "  at the end: test and server are cut off from each other",
            "the last events",
            "  the hosts and the network",
            &format!("90ms: {cut}, at "),
            " is held: ",
            "tasks that have not ended",
        ],
    );
    // The task that has failed comes first, and the others by their numbers.
    has_lines(
        failure.events(),
        &[
            "  task 3",
            "connects to server:4300, at ",
            "is woken by a packet of server: the connection is accepted",
            "writes 5 bytes to server:4300, at ",
            "is woken by a packet of server: 5 bytes",
            "reads 5 bytes from server:4300",
            "closes its connection to server:4300",
            "panics: ",
            "  task 1 \"the test\"",
            "  server: task 2, spawned at ",
            "is spawned by task 1",
            "listens at port 4300",
            "is woken by a packet of test: a request to connect",
            "accepts a connection of test:",
        ],
    );
    let text = failure.to_string();
    assert!(!text.contains("nothing certain"), "{text}");
    assert!(!text.contains("the system"), "{text}");
}

#[test]
fn two_prints_of_a_replay_are_equal() {
    let failure = fails(is_cut_off);
    let replay = || {
        let builder = Builder::new().trace(failure.trace().clone());
        builder.check(is_cut_off).unwrap_err().to_string()
    };
    let first = replay();
    // Other runs between them change nothing.
    Builder::new().seeds(3).run(|| sleep(SECOND));
    assert_eq!(first, replay());
    let of_it = |failure: &Failure| {
        format!(
            "{}{}{}",
            failure.faults(),
            failure.events(),
            failure.waits()
        )
    };
    assert!(first.ends_with(&of_it(&failure)), "{first}\n{failure}");
}

/// A test that does everything that a fault can do, and fails.
async fn all_faults() {
    let listens = |_me| async {
        let socket = UdpSocket::bind("0.0.0.0:9").await.unwrap();
        while socket.recv(&mut [0; 8]).await.is_ok() {}
    };
    let one = sim::host("one", listens);
    let other = sim::host("other", listens);
    sleep(SECOND).await;
    one.crash();
    one.restart();
    one.kill();
    one.restart();
    one.pause();
    one.resume();
    one.set_clock_skew(20);
    sim::set_link(&one, &other, Link::new().loss(0.1));
    sim::partition_one_way("test", &other);
    let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
    socket.send_to(&[1, 2], "other:9").await.unwrap();
    sim::heal("test", &other);
    socket.send_to(&[1, 2], "other:10").await.unwrap();
    socket.send_to(&[1, 2], "other:9").await.unwrap();
    sleep(SECOND).await;
    other.pause();
    panic!("on purpose");
}

#[test]
fn each_fault_is_an_event_with_its_line() {
    let failure = fails(all_faults);
    has_lines(
        &failure.to_string(),
        &[
            "  faults of this run: 1 crash, 1 kill, 2 pauses, 1 cut, 1 change of links, 1 change of a clock",
            "  at the end: other is paused",
            "1s: one crashes, at ",
            "1s: one starts again, at ",
            "1s: one is killed, at ",
            "1s: one starts again, at ",
            "1s: one is paused, at ",
            "1s: one is resumed, at ",
            "1s: the clock of one gets a skew of 20 ms, at ",
            "1s: the links of one and other have a latency of 1ms to 10ms, 1 of 10 packets lost, at ",
            "1s: the path from test to other is cut, at ",
            "1s: a datagram of test to other:9 is lost: the path from test to other is cut",
            "1s: the paths between test and other are open, at ",
            "a datagram of test to other:10 is lost: no socket is there",
            "2s: other is paused, at ",
            "  task 1 \"the test\"",
            "sends a datagram to other:9, 2 bytes, at ",
            "panics: ",
            "is woken by a datagram of test: 2 bytes",
            "receives a datagram of test:49152, 2 bytes",
        ],
    );
    assert_eq!(
        failure.events().matches("reports.rs").count(),
        lines_of_this_file(&failure)
    );
}

/// Returns the number of places in the events, none of which may be in the library.
fn lines_of_this_file(failure: &Failure) -> usize {
    failure.events().matches(".rs:").count()
}

#[test]
fn a_report_says_which_faults_were_injected() {
    let failure = fails(|| async {
        sim::hosts(2, |_me| std::future::pending::<()>());
        sim::inject(Faults::new().crashes().pauses().interval(SECOND, SECOND));
        sleep(10 * SECOND).await;
        let hosts = ["host-0", "host-1"].map(sim::named);
        assert!(hosts.iter().all(sim::Host::is_running), "on purpose");
    });
    // Pauses do not matter here.
    has_lines(
        &failure.to_string(),
        &[
            "  faults of this run: ",
            "  injected: crashes; switched off: pauses",
            "  at the end: host-0 is stopped",
            "host-0 crashes, by inject",
        ],
    );
}

#[test]
fn the_end_of_injected_partitions_is_by_inject() {
    let failure = fails(|| async {
        sim::hosts(2, |_me| std::future::pending::<()>());
        sim::inject(Faults::new().partitions().interval(SECOND, SECOND));
        sleep(20 * SECOND).await;
        // With a partition before it.
        assert_eq!(sim::random() % 2, 0, "on purpose");
    });
    assert!(!failure.events().contains("function.rs"), "{failure}");
    for call in [sim::heal_all as fn(), || sim::heal_all()] {
        let failure = fails(move || async move {
            call();
            panic!("on purpose");
        });
        // A function that is called as a value has no line.
        let line = failure
            .events()
            .lines()
            .find(|line| line.contains("all paths are open"));
        let line = line.unwrap_or_else(|| panic!("{failure}"));
        let has_line = line.contains("open, at ") && line.contains("reports.rs:");
        assert!(has_line || line.ends_with("open"), "{line}");
    }
}

/// Many tasks are active after the crash. Those that the crash has ended are shown nevertheless.
#[test]
fn tasks_that_a_crash_has_ended_are_shown() {
    let failure = fails(|| async {
        let server = sim::host("server", |_me| serve());
        for _ in 0..20 {
            blitz_io::spawn(async {
                loop {
                    sleep(SECOND).await;
                }
            });
        }
        sleep(SECOND / 2).await;
        let mut stream = TcpStream::connect("server:4300").await.unwrap();
        for _ in 0..40 {
            stream.write_all(b"line\n").await.unwrap();
            sleep(SECOND / 100).await;
        }
        server.crash();
        sleep(100 * SECOND).await;
        panic!("on purpose");
    });
    has_lines(
        failure.events(),
        &[
            "server crashes, at ",
            "task 1 \"the test\"",
            "server: task 2, spawned at ",
            "accepts a connection of test:",
            ": server crashes, at ",
            ": is dropped, as its host has stopped",
            // The connection.
            "server: task ",
            ": writes 5 bytes to test:",
            "    … the same 39 more times",
            ": server crashes, at ",
            ": is dropped, as its host has stopped",
        ],
    );
}

#[test]
fn events_before_a_fault_are_shown_although_many_follow() {
    let failure = fails(|| async {
        let client = sim::host("client", |_me| async {
            let socket = UdpSocket::bind("0.0.0.0:7").await.unwrap();
            sleep(SECOND / 2).await;
            socket.send_to(b"once", "127.0.0.1:9").await.unwrap();
            for _ in 0..30 {
                sleep(SECOND).await;
                blitz_io::task::yield_now().await;
            }
            for turn in 0..30 {
                sleep(SECOND).await;
                for _ in 0..turn {
                    blitz_io::task::yield_now().await;
                }
            }
            panic!("on purpose");
        });
        sleep(SECOND).await;
        client.pause();
        sleep(SECOND).await;
        client.resume();
        client.wait().await;
    });
    has_lines(
        failure.events(),
        &[
            "client: task 2, spawned at ",
            "sends a datagram to client:9, 4 bytes",
            "1s: client is paused, at ",
            " more events",
            "panics: ",
        ],
    );
}

#[test]
fn objects_have_one_number_in_waits_and_events() {
    use blitz_io::sync::Mutex;

    let test = || async {
        let locks = std::rc::Rc::new([Mutex::new(()), Mutex::new(())]);
        let same = locks.clone();
        let task = blitz_io::task::spawn_local(async move {
            sleep(SECOND).await;
            let _other = same[1].lock().await;
            sleep(3 * SECOND).await;
            let _one = same[0].lock().await;
        });
        let _one = locks[0].lock().await;
        sleep(2 * SECOND).await;
        let _other = locks[1].lock().await;
        drop((_one, _other));
        task.await.unwrap();
    };
    let failure = fails(test);
    has_lines(
        &failure.to_string(),
        &[
            "certain: deadlock: task 1 \"the test\", task 2 wait for",
            "task 1 \"the test\" waits 2.0 s for Mutex #2",
            "held by task 2",
            "task 2 waits for Mutex #1",
            "the last events",
            "takes Mutex #1, at ",
            "waits for Mutex #2, at ",
            "takes Mutex #2, at ",
            "waits for Mutex #1, at ",
        ],
    );
    assert!(!failure.to_string().contains("0x"), "{failure}");
    // Neither does a finding while others go on have an address.
    let failure = fails(move || async move {
        blitz_io::task::spawn_local(test());
        sleep(Duration::from_secs(600)).await;
    });
    assert!(!failure.to_string().contains("0x"), "{failure}");
}

#[test]
fn a_note_is_one_of_its_host_and_has_the_time() {
    let failure = fails(|| async {
        sim::host("server", |_me| async {
            sleep(SECOND).await;
            sim::note("is ready");
            sleep(SECOND).await;
        });
        sleep(2 * SECOND).await;
        panic!("on purpose");
    });
    has_lines(
        failure.events(),
        &["  server: task 2, ", ", 1s: note: is ready, at "],
    );
}

/// The server applies a transfer each time that it arrives, and the client sends it again if the answer is late.
async fn applies_twice() {
    let applied = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = applied.clone();
    sim::host("server", move |_me| {
        let applied = count.clone();
        async move {
            let listener = TcpListener::bind("0.0.0.0:80").await?;
            loop {
                let (mut stream, _) = listener.accept().await?;
                let applied = applied.clone();
                blitz_io::task::spawn_local(async move {
                    let number = stream.read_u8().await?;
                    applied.set(applied.get() + 1);
                    sim::note(format_args!("applies {number}"));
                    // The last answer comes too late.
                    sleep(SECOND * u32::from(number == 14)).await;
                    stream.write_u8(number).await
                });
            }
            #[allow(unreachable_code, reason = "it is the type of the error")]
            Ok::<(), std::io::Error>(())
        }
    });
    let client = sim::host("client", |_me| async {
        for number in 0..15 {
            for attempt in 1.. {
                let answer = timeout(SECOND / 2, transfer(number)).await;
                if matches!(answer, Ok(Ok(_))) || attempt == 2 {
                    break;
                }
                sim::note(format_args!("sends {number} again"));
            }
        }
    });
    client.wait().await;
    sleep(2 * SECOND).await;
    assert_eq!(applied.get(), 15, "one is applied twice");
}

async fn transfer(number: u8) -> std::io::Result<u8> {
    let mut stream = TcpStream::connect("server:80").await?;
    stream.write_u8(number).await?;
    stream.read_u8().await
}

#[test]
fn a_retry_is_readable_beside_many_connections() {
    let failure = fails(applies_twice);
    let text = failure.events();
    has_lines(
        text,
        &[
            "  the notes of all tasks",
            "applies 13, at ",
            ": applies 14, at ",
            "client: task 3: sends 14 again, at ",
            ": applies 14, at ",
            "  task 1 \"the test\"",
            // The accept loop is one turn, although each connection has another port.
            "  server: task 2, ",
            "more times, until step ",
            "  client: task 3, ",
            "note: sends 14 again, at ",
            "more tasks like server: task ",
        ],
    );
}

#[test]
fn packets_that_are_lost_again_and_again_are_one_line() {
    // Without shrinking, which leaves out the losses.
    let builder = super::builder().shrink(false);
    let failure = builder.check(|| async {
        sim::host("server", |_me| serve());
        sim::set_all_links(Link::new().loss(0.9));
        for _ in 0..9 {
            _ = ask("a").await;
        }
        panic!("on purpose");
    });
    let failure = failure.unwrap_err();
    let text = failure.events();
    let packets: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" is lost, and"))
        .collect();
    let without_count = |line: &&str| {
        line.split(" (")
            .next()
            .unwrap()
            .split_once(": ")
            .unwrap()
            .1
            .to_owned()
    };
    let mut texts: Vec<String> = packets.iter().map(without_count).collect();
    texts.sort_unstable();
    let count = texts.len();
    texts.dedup();
    assert_eq!(texts.len(), count, "{text}");
    assert!(
        packets
            .iter()
            .any(|line| line.contains(" times, until step ")),
        "{text}"
    );
}
