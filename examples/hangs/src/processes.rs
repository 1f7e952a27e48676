//! Hangs of several processes. Each program starts a second process as its peer, which ends with it.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use blitz_io::ipc::{Barrier, Builder, Channel, Route, Semaphore};

const LONG: Duration = Duration::from_secs(3600);

/// The shared memory of a program and its peer.
struct Shared {
    folder: PathBuf,
    /// Tells this run from others.
    run: String,
    is_peer: bool,
}

impl Shared {
    /// Starts the peer, or is the peer. `peer_answers`: the peer has a socket for reports.
    fn start(program: &str, peer_answers: bool) -> Self {
        let folder = env::var_os("BLITZ_HANGS_FOLDER");
        let folder = folder.map_or_else(env::temp_dir, PathBuf::from);
        if let Some(run) = env::args().nth(2) {
            end_with_parent();
            return Self {
                folder,
                run,
                is_peer: true,
            };
        }
        let run = std::process::id().to_string();
        let mut peer = Command::new(env::current_exe().expect("it runs"));
        peer.args([program, &run]);
        if !peer_answers {
            peer.env_remove("BLITZ_INSPECT");
        }
        // It ends with this process.
        drop(peer.spawn().expect("the system has a process"));
        Self {
            folder,
            run,
            is_peer: false,
        }
    }

    fn name(&self, name: &str) -> String {
        format!("{name}-{}", self.run)
    }

    fn route(&self) -> Builder {
        let route = Route::builder().capacity(2).max_len(16);
        route.directory(&self.folder)
    }

    fn channel(&self) -> Builder {
        let channel = Channel::builder().capacity(2).max_len(16);
        channel.directory(&self.folder)
    }

    fn lock(&self, name: &str) -> Semaphore {
        let lock = Semaphore::builder(1).directory(&self.folder);
        lock.open(&self.name(name)).expect("it is ours")
    }

    /// Returns two names, in the other order in the peer.
    fn ordered<'a>(&self, one: &'a str, two: &'a str) -> (&'a str, &'a str) {
        if self.is_peer { (two, one) } else { (one, two) }
    }

    /// Waits until both processes are here.
    fn meet(&self) {
        let start = Barrier::builder(2).directory(&self.folder);
        let mut start = start.open(&self.name("start")).expect("it is ours");
        start.wait().expect("the other process is there");
    }
}

/// The kernel kills this process when its parent ends.
fn end_with_parent() {
    #[cfg(target_os = "linux")]
    // SAFETY: the call has no preconditions.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

fn stop() {
    // SAFETY: the call has no preconditions.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Two processes take two locks in two orders.
///
/// After <https://github.com/DenchHQ/DenchClaw/issues/62>.
pub fn two_locks() {
    let shared = Shared::start("two_process_locks", true);
    let (first, second) = shared.ordered("sessions", "gateway");
    let (mut first, mut second) = (shared.lock(first), shared.lock(second));
    let _held = first.acquire();
    shared.meet();
    _ = second.acquire();
}

/// The same with tasks.
///
/// After <https://github.com/DenchHQ/DenchClaw/issues/62>.
pub fn two_locks_of_tasks() {
    let shared = Shared::start("two_process_locks_tasks", true);
    crate::run(async move {
        let name = if shared.is_peer { "gateway" } else { "agent" };
        _ = crate::spawn(name, async move {
            let (first, second) = shared.ordered("sessions", "gateway");
            let (mut first, mut second) = (shared.lock(first), shared.lock(second));
            let _held = first.acquire_async().await;
            shared.meet();
            _ = second.acquire_async().await;
        })
        .await;
    });
}

/// Two processes wait for each other's message.
///
/// After <https://github.com/nanvix/multikernel/issues/53>.
pub fn crossed_routes() {
    let shared = Shared::start("crossed_routes", true);
    wait_for_each_other(&shared, &shared.route());
}

/// The same, and each process has a thread that sleeps. As far as reports know, that thread could have
/// the sender.
///
/// After <https://github.com/nanvix/multikernel/issues/53>.
pub fn crossed_routes_of_threads() {
    let shared = Shared::start("crossed_routes_threads", true);
    drop(std::thread::spawn(|| std::thread::sleep(LONG)));
    wait_for_each_other(&shared, &shared.route());
}

/// The same with channels, which another sender could join.
///
/// After <https://github.com/nanvix/multikernel/issues/53>.
pub fn crossed_channels() {
    let shared = Shared::start("crossed_channels", true);
    wait_for_each_other(&shared, &shared.channel());
}

fn wait_for_each_other(shared: &Shared, builder: &Builder) {
    let (own, other) = shared.ordered("names", "locks");
    let mut sender = builder.sender(&shared.name(own)).expect("it is ours");
    let mut receiver = builder.receiver(&shared.name(other)).expect("it is ours");
    shared.meet();
    _ = receiver.recv();
    _ = sender.send(b"closed");
}

/// A sender waits for a receiver that was stopped by a signal.
///
/// After <https://github.com/gazebosim/gazebo-classic/issues/810>.
pub fn stopped_receiver() {
    let shared = Shared::start("stopped_receiver", false);
    if shared.is_peer {
        let images = shared.route().receiver(&shared.name("images"));
        let _images = images.expect("it is ours");
        shared.meet();
        stop();
    } else {
        let images = shared.route().sender(&shared.name("images"));
        let mut images = images.expect("it is ours");
        shared.meet();
        while images.send(b"image").is_ok() {}
    }
}

/// A task waits for a message of a process that was stopped by a signal.
///
/// After <https://github.com/gazebosim/gazebo-classic/issues/810>.
pub fn stopped_sender() {
    let shared = Shared::start("stopped_sender", true);
    if shared.is_peer {
        let images = shared.route().sender(&shared.name("images"));
        let _images = images.expect("it is ours");
        shared.meet();
        stop();
        return;
    }
    crate::run(async move {
        _ = crate::spawn("viewer", async move {
            let images = shared.route().receiver(&shared.name("images"));
            let mut images = images.expect("it is ours");
            shared.meet();
            _ = images.recv_async().await;
        })
        .await;
    });
}

/// A process fills a route of which it is the only receiver.
///
/// After <https://github.com/rust-lang/async-book/pull/189>.
pub fn route_to_oneself() {
    let route = Route::builder().capacity(2).max_len(16);
    let (mut sender, mut receiver) = {
        let folder = env::var_os("BLITZ_HANGS_FOLDER");
        let route = route.directory(folder.map_or_else(env::temp_dir, PathBuf::from));
        let name = format!("echo-{}", std::process::id());
        let receiver = route.receiver(&name).expect("it is ours");
        (route.sender(&name).expect("it is ours"), receiver)
    };
    while sender.send(b"echo").is_ok() {}
    _ = receiver.recv();
}

/// A sender waits for a receiver that only sleeps, and does not answer.
pub fn slow_receiver() {
    let shared = Shared::start("idle_slow_receiver", false);
    if shared.is_peer {
        let images = shared.route().receiver(&shared.name("images"));
        let _images = images.expect("it is ours");
        shared.meet();
        std::thread::sleep(LONG);
    } else {
        let images = shared.route().sender(&shared.name("images"));
        let mut images = images.expect("it is ours");
        shared.meet();
        while images.send(b"image").is_ok() {}
    }
}

/// Two processes take two locks in two orders, and one of them gives up after a time.
pub fn locks_with_timeout() {
    let shared = Shared::start("idle_process_locks", true);
    let (first, second) = shared.ordered("sessions", "gateway");
    let (mut first, mut second) = (shared.lock(first), shared.lock(second));
    let _held = first.acquire();
    shared.meet();
    if shared.is_peer {
        _ = second.acquire_timeout(LONG);
    } else {
        _ = second.acquire();
    }
}
