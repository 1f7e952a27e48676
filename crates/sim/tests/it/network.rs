//! Faults of the network: each is found by a program that does not expect it, and a program that expects
//! it passes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sim::{Faults, Plan, Schedule, Simulator, Verdict};

use crate::support::{c, is_found_and_shrinks, is_simulated, passes_twice, test, text};

fn faults(names: &str) -> Faults {
    names.parse().unwrap()
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Connects as soon as the port can be reached.
fn connect(address: SocketAddr) -> TcpStream {
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return stream,
            Err(error) => assert_eq!(error.kind(), ErrorKind::HostUnreachable),
        }
        thread::sleep(Duration::from_secs(1));
    }
}

/// The number of the bytes that both directions transfer.
const LENGTH: usize = 50_000;

/// The value of each byte says where it is.
fn bytes(start: usize, count: usize) -> Vec<u8> {
    (start..start + count)
        .map(|at| (at * 7 + at / 256) as u8)
        .collect()
}

#[test]
fn stream_program_checks_each_byte() {
    if !is_simulated() {
        return;
    }
    let (listener, address) = listen();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut all = vec![];
        stream.read_to_end(&mut all).unwrap();
        assert!(all == bytes(0, LENGTH));
        for part in all.chunks(9_000) {
            stream.write_all(part).unwrap();
        }
        // The end of the connection comes after what is under way.
    });
    let mut stream = connect(address);
    let mut at = 0;
    for count in [1, 10, 1_000, 20_000] {
        stream.write_all(&bytes(at, count)).unwrap();
        at += count;
        thread::yield_now();
    }
    stream.write_all(&bytes(at, LENGTH - at)).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut back = vec![];
    stream.read_to_end(&mut back).unwrap();
    assert!(back == bytes(0, LENGTH));
    server.join().unwrap();
}

#[test]
fn late_bytes_arrive_in_their_order_and_the_end_after_them() {
    let program = test("network::stream_program_checks_each_byte");
    passes_twice(&program, faults("latency,partition,short,eintr"), 200);
    let mut simulator = Simulator::start(&program).unwrap();
    let mut slowest = 0;
    for seed in 0..100 {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = faults("latency");
        slowest = simulator.run(&plan).unwrap().nanoseconds.max(slowest);
    }
    assert!(slowest >= 1_000_000_000, "a spike is a second and more");
}

/// More than the buffers of the kernel hold, to a receiver that reads late.
#[test]
fn stream_program_fills_the_buffers() {
    if !is_simulated() {
        return;
    }
    const LARGE: usize = 6 << 20;
    let (listener, address) = listen();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        thread::sleep(Duration::from_secs(100));
        let mut all = vec![];
        stream.read_to_end(&mut all).unwrap();
        assert!(all == bytes(0, LARGE));
    });
    let mut stream = connect(address);
    for part in bytes(0, LARGE).chunks(500_000) {
        stream.write_all(part).unwrap();
    }
    drop(stream);
    server.join().unwrap();
}

#[test]
fn a_receiver_without_room_gets_late_bytes_when_it_has_some() {
    let program = test("network::stream_program_fills_the_buffers");
    passes_twice(&program, faults("latency,partition"), 30);
}

#[test]
fn stream_program_asks_and_answers() {
    if !is_simulated() {
        return;
    }
    let (listener, address) = listen();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut byte = [0];
        for _ in 0..5 {
            stream.read_exact(&mut byte).unwrap();
            stream.write_all(&byte).unwrap();
        }
    });
    let mut stream = TcpStream::connect(address).unwrap();
    let start = Instant::now();
    let mut back = [0];
    for at in 0..5 {
        stream.write_all(&[at]).unwrap();
        stream.read_exact(&mut back).unwrap();
        assert!(start.elapsed() < Duration::from_secs(1), "a late answer");
    }
    server.join().unwrap();
}

#[test]
fn a_connection_that_is_reset_is_found() {
    let program = test("network::stream_program_asks_and_answers");
    is_found_and_shrinks(&program, faults("reset"), "ConnectionReset");
}

#[test]
fn an_answer_that_comes_late_is_found() {
    let program = test("network::stream_program_asks_and_answers");
    is_found_and_shrinks(&program, faults("latency"), "a late answer");
}

#[test]
fn a_partition_is_found_by_the_time_that_it_takes() {
    let program = test("network::stream_program_asks_and_answers");
    is_found_and_shrinks(&program, faults("partition"), "a late answer");
}

/// Both ends see a reset once, and then the end. What arrived before is read.
#[test]
fn reset_program_is_right() {
    if !is_simulated() {
        return;
    }
    fn until_the_end(mut stream: TcpStream) -> (usize, bool) {
        let (mut resets, mut all, mut sent) = (0, vec![], 0);
        for _ in 0..5 {
            match stream.write_all(&[1, 2, 3]) {
                Ok(()) => sent += 3,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => resets += 1,
                Err(error) => assert!(error.kind() == ErrorKind::BrokenPipe && resets == 1),
            }
        }
        stream.shutdown(Shutdown::Write).unwrap();
        let mut buffer = [0; 2];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => all.extend_from_slice(&buffer[..count]),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                    resets += 1;
                }
            }
        }
        assert!(resets <= 1, "a reset is told once");
        assert!(all.len() == 15 || resets == 1 || sent < 15);
        let order: Vec<u8> = [1, 2, 3].into_iter().cycle().take(all.len()).collect();
        assert_eq!(all, order);
        (all.len(), resets == 1)
    }
    let (listener, address) = listen();
    let server = thread::spawn(move || until_the_end(listener.accept().unwrap().0));
    let mine = until_the_end(TcpStream::connect(address).unwrap());
    let other = server.join().unwrap();
    // Without a reset, nothing is lost.
    if !mine.1 && !other.1 {
        assert_eq!((mine.0, other.0), (15, 15));
    }
}

#[test]
fn a_reset_is_told_once_to_each_end() {
    let program = test("network::reset_program_is_right");
    passes_twice(&program, faults("reset"), 200);
}

#[test]
fn a_half_open_connection_lasts_until_tcp_gives_up_or_for_ever() {
    let program = test("network::stream_program_asks_and_answers");
    let mut simulator = Simulator::start(&program).unwrap();
    let (mut given_up, mut for_ever) = (0, 0);
    for seed in 0..200 {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = faults("half-open");
        let outcome = simulator.run(&plan).unwrap();
        let told = text(&outcome);
        match outcome.verdict {
            // Nothing that the server sends arrives, and the client has sent nothing since.
            Verdict::Deadlock => for_ever += 1,
            Verdict::Failed(101) => {
                assert!(told.contains("Connection timed out"), "{told}");
                assert!(outcome.nanoseconds > 900_000_000_000);
                given_up += 1;
            }
            verdict => assert_eq!(verdict, Verdict::Passed, "{told}"),
        }
    }
    assert!(given_up > 0 && for_ever > 0, "{given_up} {for_ever}");
    is_found_and_shrinks(&program, faults("half-open"), "");
}

/// Both ends of a connection, in C: `serve` gets the descriptor of one of them.
fn connected(serve: &str, main: &str) -> String {
    let head = r#"
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
static int listener;
static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void set(int fd, int level, int name, int value) {
    assert(setsockopt(fd, level, name, &value, sizeof value) == 0);
}
"#;
    format!(
        r#"{head}
static void *serve(void *x) {{
    int fd = accept(listener, NULL, NULL);
    {serve}
    return x;
}}
int main(void) {{
    struct sockaddr_in at = {{ .sin_family = AF_INET }};
    socklen_t size = sizeof at;
    signal(SIGPIPE, SIG_IGN);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(listener, (void *)&at, size) == 0 && listen(listener, 1) == 0);
    getsockname(listener, (void *)&at, &size);
    pthread_t t;
    pthread_create(&t, NULL, serve, NULL);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(fd, (void *)&at, size) == 0);
    {main}
    pthread_join(t, NULL);
    return 0;
}}"#
    )
}

/// Returns what 100 seeds print.
fn printed(program: &blitz_io_sim::Program, names: &str) -> Vec<String> {
    let mut simulator = Simulator::start(program).unwrap();
    let run = |seed| {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = faults(names);
        text(&simulator.run(&plan).unwrap())
    };
    (0..100).map(run).collect()
}

/// Returns how many of 100 seeds print a word.
fn seeds_with(program: &blitz_io_sim::Program, names: &str, word: &str) -> usize {
    let all = printed(program, names);
    all.iter().filter(|text| text.contains(word)).count()
}

#[test]
fn keep_alive_ends_a_half_open_connection() {
    let compiled = c(&connected(
        r#"
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
    char c;
    int got, all = 0;
    long long last = now();
    while ((got = read(fd, &c, 1)) > 0) { all++; last = now(); }
    if (got < 0) {
        // Once, and then the end.
        assert(errno == ETIMEDOUT && all < 20 && now() - last >= 19000000000LL);
        assert(read(fd, &c, 1) == 0 && write(fd, &c, 1) == -1 && errno == EPIPE);
        puts("silence");
    } else assert(all == 20);
    close(fd);"#,
        r#"
    for (int i = 0; i < 20; i++) assert(write(fd, "x", 1) == 1);
    close(fd);"#,
    ));
    passes_twice(&compiled.program, faults("half-open"), 50);
    let count = seeds_with(&compiled.program, "half-open", "silence");
    assert!(count > 10, "{count}");
}

#[test]
fn a_writer_into_silence_fills_its_buffer_and_then_fails() {
    let compiled = c(&connected(
        r#"
    struct timeval limit = { 2000, 0 };
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    static char much[1 << 16];
    while (read(fd, much, sizeof much) > 0) {}
    close(fd);"#,
        r#"
    static char part[1 << 16];
    long long start = now(), all = 0, got = 0;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (all < 8 << 20) {
        if ((got = write(fd, part, sizeof part)) > 0) { all += got; continue; }
        if (errno != EAGAIN) break;
        struct pollfd one = { fd, POLLOUT };
        assert(poll(&one, 1, -1) == 1);
    }
    if (got < 0) {
        assert(errno == ETIMEDOUT && now() - start >= 924000000000LL);
        int error = 7;
        socklen_t length = sizeof error;
        assert(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0);
        puts("silence");
    }
    close(fd);"#,
    ));
    passes_twice(&compiled.program, faults("half-open"), 30);
    let count = seeds_with(&compiled.program, "half-open", "silence");
    assert!(count > 10, "{count}");
}

#[test]
fn one_direction_of_a_partition_lets_the_other_pass() {
    let compiled = c(r#"
#include <sys/socket.h>
#include <netinet/in.h>
static int a, b;
static int bound(struct sockaddr_in *at) {
    socklen_t size = sizeof *at;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct timeval limit = { 1, 0 };
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert(bind(fd, (void *)at, size) == 0);
    getsockname(fd, (void *)at, &size);
    return fd;
}
int main(void) {
    struct sockaddr_in one = { .sin_family = AF_INET }, two = one;
    a = bound(&one);
    b = bound(&two);
    int there = 0, back = 0;
    char c;
    for (int i = 0; i < 10; i++) {
        sendto(a, "x", 1, 0, (void *)&two, sizeof two);
        if (recv(b, &c, 1, 0) == 1) there++;
        sendto(b, "y", 1, 0, (void *)&one, sizeof one);
        if (recv(a, &c, 1, 0) == 1) back++;
    }
    printf("%d %d\n", there, back);
    return 0;
}"#);
    passes_twice(&compiled.program, faults("one-way"), 20);
    // All datagrams of one direction arrive, and of the other one those of some seconds do not.
    let seeds_of = |names: &str, is_wanted: fn(u32, u32) -> bool| {
        let all = printed(&compiled.program, names);
        let counts = all.iter().map(|text| {
            let mut counts = text.split_whitespace().map(|n| n.parse().unwrap());
            (counts.next().unwrap(), counts.next().unwrap())
        });
        counts
            .filter(|(there, back)| is_wanted(*there, *back))
            .count()
    };
    assert!(seeds_of("one-way", |there, back| there == 10 && back <= 6) > 0);
    assert!(seeds_of("one-way", |there, back| there <= 6 && back == 10) > 0);
    assert_eq!(
        seeds_of("partition", |there, back| there == 10 && back <= 6),
        0
    );
}

#[test]
fn a_failure_of_accept_is_found() {
    let program = test("network::stream_program_asks_and_answers");
    is_found_and_shrinks(&program, faults("emfile"), "Too many open files");
}

#[test]
fn datagram_program_expects_a_perfect_network() {
    if !is_simulated() {
        return;
    }
    let (one, two) = pair();
    for at in 0..10 {
        one.send(&[at]).unwrap();
    }
    let mut all = vec![];
    let mut byte = [0];
    while two.recv(&mut byte).is_ok() {
        all.push(byte[0]);
    }
    let mut sorted = all.clone();
    sorted.sort_unstable();
    assert_eq!(all, sorted, "the order changed");
    let count = sorted.len();
    sorted.dedup();
    assert_eq!(count, sorted.len(), "one came twice");
    assert_eq!(count, 10, "one was lost");
}

fn pair() -> (UdpSocket, UdpSocket) {
    let one = UdpSocket::bind("127.0.0.1:0").unwrap();
    let two = UdpSocket::bind("127.0.0.1:0").unwrap();
    one.connect(two.local_addr().unwrap()).unwrap();
    two.connect(one.local_addr().unwrap()).unwrap();
    for socket in [&one, &two] {
        let limit = Some(Duration::from_secs(2));
        socket.set_read_timeout(limit).unwrap();
    }
    (one, two)
}

#[test]
fn lost_late_and_repeated_datagrams_are_found() {
    let program = test("network::datagram_program_expects_a_perfect_network");
    passes_twice(&program, faults("latency,reset,emfile,dns,short"), 20);
    for (family, message) in [
        ("loss", "one was lost"),
        ("partition", "one was lost"),
        ("reorder", "the order changed"),
        ("duplicate", "one came twice"),
    ] {
        is_found_and_shrinks(&program, faults(family), message);
    }
}

/// Numbers each datagram, and repeats it until an answer has its number.
#[test]
fn datagram_program_repeats() {
    if !is_simulated() {
        return;
    }
    let (one, two) = pair();
    let server = thread::spawn(move || {
        let (mut seen, mut byte) = (vec![], [0]);
        // Ends when nothing has come for longer than any partition.
        two.set_read_timeout(Some(Duration::from_secs(1_000)))
            .unwrap();
        while two.recv(&mut byte).is_ok() {
            two.send(&byte).unwrap();
            if seen.last() != Some(&byte[0]) && byte[0] as usize == seen.len() {
                seen.push(byte[0]);
            }
        }
        seen
    });
    for at in 0..10 {
        let mut byte = [255];
        while byte[0] != at {
            one.send(&[at]).unwrap();
            let _ = one.recv(&mut byte);
        }
    }
    assert_eq!(server.join().unwrap(), (0..10).collect::<Vec<u8>>());
}

#[test]
fn a_program_that_repeats_datagrams_passes() {
    let program = test("network::datagram_program_repeats");
    passes_twice(&program, faults("loss,reorder,duplicate,partition"), 100);
}

#[test]
fn lookup_program_expects_an_answer() {
    if !is_simulated() {
        return;
    }
    let start = Instant::now();
    for _ in 0..5 {
        let found = ("localhost", 80).to_socket_addrs().unwrap();
        assert!(found.count() > 0);
    }
    assert!(start.elapsed() < Duration::from_secs(1), "a slow look-up");
}

#[test]
fn slow_and_failing_look_ups_are_found() {
    let program = test("network::lookup_program_expects_an_answer");
    let mut simulator = Simulator::start(&program).unwrap();
    let mut seen = [false; 2];
    for seed in 0..200 {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = faults("dns");
        let outcome = simulator.run(&plan).unwrap();
        let told = text(&outcome);
        seen[0] |= told.contains("a slow look-up");
        seen[1] |= told.contains("Temporary failure in name resolution");
    }
    assert_eq!(seen, [true; 2]);
}

/// A loop over descriptors that do not block, with reports of changes only.
#[test]
fn tokio_program_reconnects() {
    if !is_simulated() {
        return;
    }
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    async fn ask(address: SocketAddr) -> io::Result<Vec<u8>> {
        let mut stream = tokio::net::TcpStream::connect(address).await?;
        stream.write_all(&bytes(0, LENGTH)).await?;
        stream.shutdown().await?;
        let mut back = vec![];
        stream.read_to_end(&mut back).await?;
        Ok(back)
    }
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((mut stream, _)) => {
                        tokio::spawn(async move {
                            let mut all = vec![];
                            stream.read_to_end(&mut all).await?;
                            stream.write_all(&all).await
                        });
                    }
                    Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
                }
            }
        });
        for _ in 0..2 {
            loop {
                let answer = tokio::time::timeout(Duration::from_secs(200), ask(address));
                match answer.await {
                    // A reset may come as an early end, because the server does not read on. A half-open
                    // connection has no end but that of the time limit.
                    Ok(Ok(back)) if back.len() == LENGTH => {
                        break assert!(back == bytes(0, LENGTH));
                    }
                    _ => tokio::time::sleep(Duration::from_secs(1)).await,
                }
            }
        }
    });
}

#[test]
fn a_program_that_connects_again_passes_with_every_fault() {
    let program = test("network::tokio_program_reconnects");
    // All families but stalls: during a stall any time limit may pass, also that of this program.
    let all = "short,spurious,eintr,eagain,net".parse().unwrap();
    passes_twice(&program, all, 60);
    // And with this one in each seed.
    let mut simulator = Simulator::start(&program).unwrap();
    for seed in 0..60 {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = faults("eagain");
        let outcome = simulator.run(&plan).unwrap();
        let told = format!("seed {seed}: {}{}", outcome.report, text(&outcome));
        assert_eq!(outcome.verdict, Verdict::Passed, "{told}");
    }
}

#[test]
fn a_closed_descriptor_with_bytes_under_way_has_no_events() {
    let compiled = c(r#"
#include <sys/epoll.h>
#include <sys/socket.h>
#include <netinet/in.h>
static int listener;
static void *serve(void *x) {
    int fd = accept(listener, NULL, NULL);
    char c;
    if (write(fd, "y", 1) == 1 && read(fd, &c, 1) == 1) { assert(c == 'x'); assert(read(fd, &c, 1) <= 0); }
    close(fd);
    return x;
}
int main(void) {
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof at;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(listener, (void *)&at, size) == 0 && listen(listener, 1) == 0);
    getsockname(listener, (void *)&at, &size);
    pthread_t t;
    pthread_create(&t, NULL, serve, NULL);
    int fd = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
    assert(connect(fd, (void *)&at, size) == 0);
    struct epoll_event e = { EPOLLIN, { .fd = fd } };
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
    assert(write(fd, "x", 1) == 1);
    close(fd);
    assert(epoll_wait(epoll, &e, 1, 100000) == 0);
    pthread_join(t, NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for seed in 0..300 {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = faults("latency,partition");
        let outcome = simulator.run(&plan).unwrap();
        // The server may write after the end.
        let is_right = matches!(outcome.verdict, Verdict::Passed | Verdict::Killed(13));
        assert!(
            is_right,
            "seed {seed}: {}{}",
            outcome.verdict,
            text(&outcome)
        );
    }
}

/// An edge-triggered `epoll` waits for both directions, and the peer reads what comes at once.
#[test]
fn room_is_reported_only_after_there_was_too_little() {
    let compiled = c(r#"
#include <sys/epoll.h>
#include <sys/socket.h>
#include <netinet/in.h>
static int listener;
static void *echo(void *x) {
    char all[1 << 16];
    int fd = accept(listener, NULL, NULL), got;
    for (int i = 0; i < 100; i++) assert(read(fd, all, 1) == 1 && write(fd, all, 1) == 1);
    sleep(1000);
    while ((got = read(fd, all, sizeof all)) > 0) {}
    return x;
}
int main(void) {
    static char much[1 << 16];
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof at;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(listener, (void *)&at, size) == 0 && listen(listener, 1) == 0);
    getsockname(listener, (void *)&at, &size);
    pthread_t t;
    pthread_create(&t, NULL, echo, NULL);
    int fd = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
    assert(connect(fd, (void *)&at, size) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    struct epoll_event e = { EPOLLIN | EPOLLOUT | EPOLLET, { .u64 = 7 } };
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
    int wakes = 0, rooms = 0;
    for (int i = 0; i < 100; i++) {
        char c;
        assert(write(fd, "x", 1) == 1);
        while (read(fd, &c, 1) != 1) {
            assert(errno == EAGAIN && epoll_wait(epoll, &e, 1, -1) == 1 && e.data.u64 == 7);
            wakes++;
            rooms += (e.events & EPOLLOUT) != 0;
        }
    }
    printf("%d %d\n", wakes, rooms);
    // None is lost: the peer takes what fills the buffers.
    while (write(fd, much, sizeof much) > 0) {}
    assert(errno == EAGAIN);
    do assert(epoll_wait(epoll, &e, 1, -1) == 1); while (!(e.events & EPOLLOUT));
    assert(write(fd, "x", 1) == 1);
    close(fd);
    pthread_join(t, NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for seed in 0..50 {
        let outcome = simulator
            .run(&Plan::new(Schedule::Portfolio, seed))
            .unwrap();
        let told = text(&outcome);
        assert_eq!(outcome.verdict, Verdict::Passed, "seed {seed}: {told}");
        let counts: Vec<u32> = told
            .split_whitespace()
            .map(|n| n.parse().unwrap())
            .collect();
        // The first report has room, and each other one a byte.
        assert!(counts[0] <= 101 && counts[1] <= 1, "seed {seed}: {told}");
    }
}

#[test]
fn a_linger_of_zero_is_a_reset() {
    let compiled = c(r#"
#include <signal.h>
#include <sys/socket.h>
#include <netinet/in.h>
static int listener;
static void *serve(void *x) {
    struct linger zero = { 1, 0 };
    int fd = accept(listener, NULL, NULL);
    char c;
    assert(read(fd, &c, 1) == 1 && write(fd, "y", 1) == 1);
    assert(setsockopt(fd, SOL_SOCKET, SO_LINGER, &zero, sizeof zero) == 0);
    close(fd);
    return x;
}
int main(void) {
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof at;
    char c;
    signal(SIGPIPE, SIG_IGN);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert(bind(listener, (void *)&at, size) == 0 && listen(listener, 1) == 0);
    getsockname(listener, (void *)&at, &size);
    pthread_t t;
    pthread_create(&t, NULL, serve, NULL);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(fd, (void *)&at, size) == 0 && write(fd, "x", 1) == 1);
    // What had arrived is read, then the error comes once, then the end.
    assert(read(fd, &c, 1) == 1 && c == 'y');
    assert(read(fd, &c, 1) == -1 && errno == ECONNRESET);
    assert(read(fd, &c, 1) == 0);
    assert(write(fd, "x", 1) == -1 && errno == EPIPE);
    pthread_join(t, NULL);
    return 0;
}"#);
    passes_twice(&compiled.program, Faults::USUAL, 50);
}

#[test]
fn names_of_faults_and_of_their_groups_are_read() {
    for names in ["none", "usual", "net", "disk", "all", "short,dns"] {
        let faults = faults(names);
        assert_eq!(faults.to_string().parse(), Ok(faults));
    }
    let error = "weather".parse::<Faults>().unwrap_err();
    for name in [
        "latency",
        "partition",
        "half-open",
        "one-way",
        "dns",
        "usual",
        "net",
        "all",
    ] {
        assert!(error.contains(name), "{error}");
    }
}
