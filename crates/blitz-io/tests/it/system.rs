//! Clocks, random numbers, names, sleeps and sockets of the standard library in a simulation.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{Error, ErrorKind};
use std::mem::{self, size_of_val};
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::ptr;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use blitz_io::sim::{self, Builder, Cause, Schedule};
use blitz_io::sync::oneshot;
use blitz_io::{task, time};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

/// Returns random numbers of the system.
fn random() -> u64 {
    let mut number = [0; 8];
    // SAFETY: the bytes may be written.
    let count = unsafe { libc::getrandom(number.as_mut_ptr().cast(), number.len(), 0) };
    assert_eq!(count, 8);
    u64::from_ne_bytes(number)
}

#[test]
fn a_day_passes_by_the_clocks_of_the_standard_library() {
    Builder::new().seeds(5).run(|| async {
        let (start, day) = (Instant::now(), SystemTime::now());
        time::sleep(DAY).await;
        assert_eq!(start.elapsed(), DAY);
        assert_eq!(day.elapsed().unwrap(), DAY);
        assert_eq!(SystemTime::now(), day + DAY);
    });
}

#[test]
fn both_clocks_show_the_same_moment() {
    Builder::new().seeds(5).run(|| async {
        assert_eq!(Instant::now(), time::Instant::now().into_std());
        time::sleep(HOUR).await;
        let at = Instant::now() + HOUR;
        assert_eq!(Instant::now(), time::Instant::now().into_std());
        time::sleep_until(time::Instant::from_std(at)).await;
        assert_eq!(Instant::now(), at);
    });
}

#[test]
fn all_clocks_of_a_run_begin_alike() {
    let first = Cell::new(None);
    Builder::new().seeds(20).run(|| {
        let begin = (SystemTime::now(), sim::system_time());
        assert_eq!(begin.0, begin.1);
        assert_eq!(first.replace(Some(begin)).unwrap_or(begin), begin);
        async { time::sleep(DAY).await }
    });
}

#[test]
fn each_host_has_its_clocks() {
    Builder::new().seeds(20).run(|| async {
        let fast = sim::host("fast", |_me| async {
            let start = (Instant::now(), SystemTime::now());
            time::sleep(HOUR).await;
            assert_eq!(start.0.elapsed(), HOUR);
            assert_eq!(start.1.elapsed().unwrap(), HOUR);
            thread::sleep(HOUR);
            assert_eq!(start.0.elapsed(), 2 * HOUR);
            assert_eq!(SystemTime::now(), sim::system_time());
        });
        fast.set_clock_drift(1_000_000);
        fast.set_clock_skew(-5_000);
        let start = (Instant::now(), SystemTime::now());
        let seen = Rc::new(Cell::new(None));
        let shown = seen.clone();
        let late = sim::host("late", move |_me| {
            let shown = shown.clone();
            async move {
                time::sleep(Duration::from_secs(1)).await;
                shown.set(Some(SystemTime::now()));
            }
        });
        late.set_clock_skew(7_000);
        time::sleep(Duration::from_secs(1)).await;
        task::yield_now().await;
        time::sleep(Duration::from_secs(1)).await;
        let at_late = seen.get().unwrap();
        assert_eq!(
            at_late.duration_since(start.1).unwrap(),
            Duration::from_secs(8)
        );
        time::sleep(DAY).await;
        assert_eq!(start.0.elapsed(), DAY + Duration::from_secs(2));
    });
}

#[test]
fn a_thread_that_sleeps_lets_simulated_time_pass() {
    let real = Instant::now();
    let report = Builder::new().seeds(100).run(|| async {
        let start = time::Instant::now();
        let fired = Rc::new(Cell::new(None));
        let at = fired.clone();
        task::spawn_local(async move {
            time::sleep(HOUR / 2).await;
            at.set(Some(start.elapsed()));
        });
        task::yield_now().await;
        thread::sleep(HOUR);
        assert_eq!(start.elapsed(), HOUR);
        assert_eq!(fired.get(), None);
        time::sleep(Duration::from_millis(1)).await;
        // It was due while the thread slept, or began after that.
        assert!(fired.get().is_none_or(|at| at >= HOUR));
        time::sleep(HOUR).await;
        assert!(fired.get().is_some());
    });
    assert_eq!(report.runs(), 100);
    // A hundred hours.
    assert!(real.elapsed() < 100 * HOUR);
}

#[test]
fn a_loop_that_waits_for_the_clock_ends() {
    Builder::new().seeds(3).run(|| async {
        let start = Instant::now();
        while start.elapsed() < HOUR {}
        assert!(time::Instant::now().into_std() >= start + HOUR);
    });
}

#[test]
fn a_run_fails_that_sleeps_too_long() {
    let builder = Builder::new().seeds(1).max_time(HOUR);
    let failure = builder.check(|| async {
        thread::sleep(2 * HOUR);
        task::yield_now().await;
    });
    assert_eq!(failure.unwrap_err().cause(), &Cause::Time(HOUR));
    let failure = builder.check(|| async {
        thread::sleep(Duration::MAX);
        task::yield_now().await;
    });
    assert_eq!(failure.unwrap_err().cause(), &Cause::Time(HOUR));
}

#[test]
fn a_wait_with_a_time_limit_moves_the_clock_if_nothing_ends_it() {
    let limit = Duration::from_millis(2);
    Builder::new().seeds(2).run(|| async move {
        time::sleep(DAY).await;
        let (lock, condition) = (Mutex::new(()), Condvar::new());
        let start = Instant::now();
        let (_guard, result) = condition.wait_timeout(lock.lock().unwrap(), limit).unwrap();
        assert!(result.timed_out());
        assert!(start.elapsed() >= limit);
        let (_sender, receiver) = mpsc::channel::<()>();
        assert!(receiver.recv_timeout(limit).is_err());
        assert!(start.elapsed() >= 2 * limit);
        let lock = blitz_io::thread::Mutex::new(());
        let _guard = lock.lock();
        assert!(lock.try_lock_for(limit).is_none());
        assert!(start.elapsed() >= 3 * limit);
        // A day would be too long for this test.
        assert!(start.elapsed() < HOUR);
    });
}

#[test]
fn a_seed_decides_the_random_numbers() {
    let draw = |seed| {
        let drawn = RefCell::new(Vec::new());
        let test = || {
            drawn.borrow_mut().push(random());
            let host = sim::host("host", |_me| async { time::sleep(HOUR).await });
            drop(host);
            let first = random();
            drawn.borrow_mut().push(first);
            async { task::yield_now().await }
        };
        // Without the run that counts operations.
        let builder = Builder::new().schedule(Schedule::Random);
        builder.seed(seed).seeds(1).check(test).unwrap();
        drawn.take()
    };
    let (one, other) = (draw(7), draw(8));
    assert_eq!((one.len(), &one), (2, &draw(7)));
    assert!(one.iter().all(|number| !other.contains(number)));
    assert_ne!(one[0], one[1]);
}

#[test]
fn each_host_has_its_random_numbers() {
    Builder::new().seeds(50).run(|| async {
        let drawn = Rc::new(RefCell::new(Vec::new()));
        for name in ["a", "b"] {
            let drawn = drawn.clone();
            sim::host(name, move |_me| {
                let drawn = drawn.clone();
                async move {
                    let number = random();
                    task::yield_now().await;
                    drawn.borrow_mut().push((name, number, random()));
                }
            });
        }
        time::sleep(HOUR).await;
        let mut drawn = drawn.take();
        drawn.sort_unstable();
        let [(_, one, two), (_, three, four)] = drawn[..] else {
            panic!("{drawn:?}");
        };
        assert!(one != two && three != four && one != three && two != four);
    });
}

/// The order of a map, and the keys of the standard library.
fn order() -> (Vec<u32>, u64) {
    let map: HashMap<u32, ()> = (0..50).map(|key| (key, ())).collect();
    let hash = RandomState::new().hash_one(1);
    (map.into_keys().collect(), hash)
}

#[test]
fn a_seed_decides_the_order_of_a_hash_map() {
    let orders = |seed| {
        let orders = Mutex::new(Vec::new());
        // The function that makes the future is a part of the run.
        let test = || {
            orders.lock().unwrap().push(order());
            async {}
        };
        // Without the run that counts operations.
        let builder = Builder::new().schedule(Schedule::Random);
        builder.seed(seed).seeds(6).run_on_new_threads(test);
        orders.into_inner().unwrap()
    };
    let first = orders(7);
    assert_eq!(first, orders(7));
    // Whichever run was the first one.
    assert_eq!(first[2..], orders(9)[..4]);
    assert!((1..6).all(|at| first[at] != first[at - 1]));
}

#[blitz_io::sim(seeds = 50, check_determinism = true)]
async fn a_hash_map_may_decide_what_tasks_do() {
    let (keys, _) = order();
    for yields in keys.into_iter().take(3) {
        task::spawn(async move {
            for _ in 0..yields {
                task::yield_now().await;
            }
        });
    }
}

#[test]
fn a_trace_has_what_the_order_of_a_map_follows_from() {
    // It fails in some orders of the map only.
    let test = || async {
        let (keys, _) = order();
        assert!(keys[0] % 3 != 1, "the first key is {}", keys[0]);
    };
    let failure = Builder::new().check_on_new_threads(test).unwrap_err();
    let again = Builder::new().trace(failure.trace().clone());
    let again = again.check_on_new_threads(test).unwrap_err();
    assert_eq!(again.cause(), failure.cause());
    let text = failure.trace().to_string();
    let entropy = text
        .split_once('@')
        .map_or(0, |(_, entropy)| entropy.parse().unwrap());
    assert!(entropy == failure.seed() || entropy == 0, "{text}");
}

#[test]
fn runs_without_random_numbers_share_a_thread() {
    let threads = Mutex::new(Vec::new());
    let test = || {
        threads.lock().unwrap().push(thread::current().id());
        async {
            let task = task::spawn(async { time::sleep(HOUR).await });
            task.await.unwrap();
        }
    };
    Builder::new().seeds(100).run_on_new_threads(test);
    let threads = threads.into_inner().unwrap();
    assert_eq!(threads.len(), 100);
    assert!(threads.iter().all(|thread| *thread == threads[0]));
    assert_ne!(threads[0], thread::current().id());
}

#[test]
fn names_are_those_of_hosts() {
    Builder::new().seeds(3).run(|| async {
        let server = sim::host("server", |_me| async { time::sleep(HOUR).await });
        let found: Vec<_> = ("server", 80).to_socket_addrs().unwrap().collect();
        assert!(!found.is_empty());
        for address in found {
            assert_eq!((address.ip(), address.port()), (server.address(), 80));
        }
        for text in ["127.0.0.1:9", "localhost:9", "[::1]:9"] {
            let mut found = text.to_socket_addrs().unwrap();
            assert!(found.all(|address| address.ip().is_loopback() && address.port() == 9));
        }
        assert!("unknown.invalid:80".to_socket_addrs().is_err());
        assert!("example.com:80".to_socket_addrs().is_err());
    });
}

#[test]
fn sockets_of_the_system_are_refused() {
    let line = line!() + 2;
    let failure = Builder::new().seeds(1).check(|| async {
        let refused = TcpListener::bind("127.0.0.1:0").unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EOPNOTSUPP));
        let refused = TcpStream::connect("127.0.0.1:9").unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EOPNOTSUPP));
        assert_ne!(refused.kind(), ErrorKind::ConnectionRefused);
        let refused = TcpStream::connect_timeout(&"127.0.0.1:9".parse().unwrap(), HOUR);
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
        UdpSocket::bind("127.0.0.1:0").unwrap();
    });
    let text = failure.unwrap_err().to_string();
    let line = format!(
        "asked for a socket of the system, 4 times, first at tests/it/system.rs:{line} by `bind`"
    );
    assert!(
        text.contains(&line) && text.contains("blitz_io::net"),
        "{line}: {text}"
    );
    // Those of the library are simulated.
    Builder::new().seeds(1).run(|| async {
        let listener = blitz_io::net::TcpListener::bind("127.0.0.1:80")
            .await
            .unwrap();
        let socket = blitz_io::net::TcpSocket::new_v4().unwrap();
        socket
            .connect("127.0.0.1:80".parse().unwrap())
            .await
            .unwrap();
        listener.accept().await.unwrap();
    });
}

/// Makes a socket by a call of the system.
fn stream_socket() -> OwnedFd {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes numbers only, and returns a new descriptor.
    unsafe {
        let socket = libc::socket(libc::AF_INET, kind, libc::IPPROTO_TCP);
        assert!(socket >= 0, "{}", Error::last_os_error());
        OwnedFd::from_raw_fd(socket)
    }
}

#[test]
fn a_client_may_make_the_socket_itself() {
    use blitz_io::net::{TcpListener, TcpSocket};
    Builder::new().seeds(3).run(|| async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let socket = TcpStream::from(stream_socket());
        socket.set_nodelay(true).unwrap();
        let socket = TcpSocket::from_std_stream(socket);
        let connected = socket.connect("127.0.0.1:80".parse().unwrap()).await;
        let stream = connected.unwrap();
        assert!(stream.nodelay().unwrap());
        let (_accepted, from) = listener.accept().await.unwrap();
        assert_eq!(stream.local_addr().unwrap(), from);
    });
}

/// The error of a call that has failed.
fn error(result: isize) -> Option<i32> {
    assert_eq!(result, -1);
    Error::last_os_error().raw_os_error()
}

#[test]
fn a_socket_for_options_reaches_no_other_one_and_makes_no_call_wait() {
    Builder::new().seeds(1).run(|| async {
        let socket = stream_socket();
        let fd = socket.as_raw_fd();
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: 9_u16.to_be(),
            sin_addr: libc::in_addr {
                s_addr: u32::from_ne_bytes([127, 0, 0, 1]),
            },
            sin_zero: [0; 8],
        };
        let length = size_of_val(&address) as libc::socklen_t;
        let address = (&raw const address).cast();
        let fast_open = libc::MSG_FASTOPEN | libc::MSG_NOSIGNAL;
        let mut byte = [7_u8];
        // It blocks from here on.
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLIN | libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: the pointers are to values that live until the calls return, and have their sizes.
        unsafe {
            assert_eq!(libc::fcntl(fd, libc::F_SETFL, 0), 0);
            let refused = Some(libc::EOPNOTSUPP);
            assert_eq!(error(libc::connect(fd, address, length) as isize), refused);
            assert_eq!(error(libc::bind(fd, address, length) as isize), refused);
            assert_eq!(error(libc::listen(fd, 1) as isize), refused);
            let data = byte.as_mut_ptr().cast();
            let sent = libc::sendto(fd, data, 1, fast_open, address, length);
            assert_eq!(error(sent), refused);
            let mut part = libc::iovec {
                iov_base: data,
                iov_len: 1,
            };
            let mut message: libc::mmsghdr = mem::zeroed();
            message.msg_hdr.msg_name = address.cast_mut().cast();
            message.msg_hdr.msg_namelen = length;
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (&raw mut part, 1);
            let sent = libc::sendmsg(fd, &raw const message.msg_hdr, fast_open);
            assert_eq!(error(sent), refused);
            let sent = libc::sendmmsg(fd, &raw mut message, 1, fast_open);
            assert_eq!(error(sent as isize), refused);

            let none = ptr::null_mut();
            let accepted = libc::accept4(fd, none, ptr::null_mut(), 0);
            assert_eq!(error(accepted as isize), Some(libc::EINVAL));
            let received = libc::recv(fd, data, 1, 0);
            assert_eq!(error(received), Some(libc::ENOTCONN));
            let sent = libc::send(fd, data, 1, libc::MSG_NOSIGNAL);
            assert_eq!(error(sent), Some(libc::EPIPE));
            assert_eq!(libc::poll(&raw mut poll, 1, -1), 1);
            assert_ne!(poll.revents & libc::POLLHUP, 0);
        }
    });
}

#[test]
fn a_loop_that_asks_for_sockets_does_not_take_all_steps() {
    let failure = Builder::new().seeds(1).check(|| async {
        while TcpStream::connect("127.0.0.1:9").is_err() {
            task::yield_now().await;
        }
    });
    let failure = failure.unwrap_err();
    assert_eq!(failure.cause(), &Cause::Refused(1_000));
    assert!(failure.to_string().contains("by `connect`"), "{failure}");
}

#[test]
fn a_deadlock_names_a_thread_that_the_test_has_started() {
    // The threads end after the runs.
    let senders = Mutex::new(Vec::new());
    let line = line!() + 6;
    let failure = Builder::new().seeds(1).check(|| {
        let (ends, end) = mpsc::channel::<()>();
        senders.lock().unwrap().push(ends);
        let (sender, receiver) = oneshot::channel();
        async move {
            thread::spawn(move || {
                _ = end.recv();
                _ = sender.send(1);
            });
            receiver.await.unwrap();
        }
    });
    drop(senders);
    let failure = failure.unwrap_err();
    assert_eq!(failure.cause(), &Cause::Deadlock);
    let text = failure.to_string();
    let place =
        format!("1 thread was started outside of the simulation, at tests/it/system.rs:{line}: ");
    assert!(text.contains(&place), "{place}: {text}");
}

const BLOCKS: &str = "BLITZ_TEST_BLOCKS";

/// A task waits for a lock of std that another one of its thread holds, in the program of the next test.
#[allow(clippy::await_holding_lock, reason = "that is the fault")]
async fn block_the_thread() {
    if std::env::var_os(BLOCKS).is_none() {
        return;
    }
    let lock = Arc::new(Mutex::new(()));
    let _guard = lock.lock().unwrap();
    let same = lock.clone();
    let other = task::spawn_local(async move { drop(same.lock().unwrap()) });
    other.await.unwrap();
}

#[blitz_io::sim(seeds = 1)]
async fn a_task_blocks_the_thread_of_a_run() {
    block_the_thread().await;
}

#[test]
fn a_task_blocks_the_thread_of_the_test() {
    Builder::new().seeds(1).run(block_the_thread);
}

#[test]
fn a_wait_that_no_thread_can_end_ends_the_process() {
    // In some containers the kernel does not say what a thread does. Then nothing is proved.
    if std::fs::read("/proc/self/syscall").is_err() {
        return;
    }
    for thread in ["a_run", "the_test"] {
        let name = format!("system::a_task_blocks_the_thread_of_{thread}");
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name])
            .env(BLOCKS, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(101), "{ended:?}");
        for part in [
            &format!("the simulation of `{name}` blocks its thread, for ever"),
            "seed 0, BLITZ_SIM_TRACE=1: until now",
            "task 2, spawned at crates/blitz-io/tests/it/system.rs:",
            "a lock of std or parking_lot",
            &format!("`cargo test -- --skip {name}`"),
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // The library's own calls are left out, also where they were inlined and their functions have no path.
        let calls = text.lines().filter(|line| line.starts_with("    "));
        let calls: Vec<&str> = calls.collect();
        let is_of_test = |call: &&str| call.contains(", at tests/it/system.rs:");
        assert!(calls.first().is_some_and(is_of_test), "{text}");
        let is_own = |call: &&str| call.contains(", at src/") || call.contains("/crates/");
        assert!(!calls.iter().any(is_own), "{text}");
    }
}

#[test]
fn a_wait_that_a_thread_ends_goes_on() {
    Builder::new().seeds(2).run(|| async {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(7));
        assert_eq!(receiver.recv(), Ok(7));
        thread.join().unwrap().unwrap();
    });
}

/// Fails if this thread does not have the real clocks, sockets and random numbers.
fn check_real() {
    // The simulated time of day begins with this year.
    let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    let now = SystemTime::now();
    let far = now
        .duration_since(begin)
        .unwrap_or_else(|error| error.duration());
    assert!(far > Duration::from_secs(1));
    assert!(UdpSocket::bind("127.0.0.1:0").is_ok());
    assert_ne!(random(), random());
    let start = Instant::now();
    thread::sleep(Duration::from_millis(1));
    assert!(start.elapsed() >= Duration::from_millis(1));
}

#[test]
fn other_threads_have_the_system() {
    check_real();
    let drawn = Mutex::new(Vec::new());
    Builder::new().seed(3).seeds(2).run(|| {
        thread::scope(|scope| scope.spawn(check_real).join()).unwrap();
        let number = thread::scope(|scope| scope.spawn(random).join()).unwrap();
        drawn.lock().unwrap().push(number);
        async {}
    });
    let drawn = drawn.into_inner().unwrap();
    assert_ne!(drawn[0], drawn[1]);
    check_real();
}

#[test]
fn a_run_that_fails_gives_the_system_back() {
    let failure = Builder::new().check(|| async { panic!("on purpose") });
    assert!(failure.is_err());
    check_real();
}
