//! `Host`: one host of a simulation, and what its code can ask for.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use blitz_io_core::Random;
use blitz_io_net::simulation;
use blitz_io_observe::decisions;
use blitz_io_runtime::internals::simulated_now;

use super::disks;
use super::hosts::{Made, current};
use super::life::HostEnd;
use super::members::Named;
use super::notes::Fault;
use super::outcome::Outcome;

/// The number of different streams of random numbers that a host may have.
const STREAMS: u32 = 256;

/// A host of a simulation: a part of the test with an address, a clock, random numbers and files of its own.
///
/// [`host`] and [`hosts`] make one. A task belongs to the host whose code spawns it. The test itself is a host, too, with
/// the name `test`: it has an address, and can be cut off, but not stopped.
///
/// # Files
///
/// With the feature `fs`, the files of [`fs`](../fs/index.html) that code of a host opens are on the disk of this host, in memory. It
/// is empty at first, and stays when the host stops. A [crash](Self::crash) loses or tears what was not synced, as a
/// file system may:
///
/// * The bytes of a file are durable after `File::sync_all` or `File::sync_data`. Of later writes a crash leaves all, none, the
///   first ones, the first ones and a part of the next, or all but one.
/// * A new name, a rename and a removal are durable after a sync of the folder: open it as a file, and call `sync_all`.
///   A crash leaves the first of the others, in their order.
///
/// So a file that is replaced safely is written, synced, renamed, and its folder synced. After [`kill`](Self::kill), which only
/// ends the program, everything is there.
///
/// `sim::Disk` sets how long operations take and how often they fail, and `Faults` injects that at random. Files of
/// `std::fs` and of the test itself are the system's.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    number: u32,
    name: Arc<str>,
}

/// Adds a host to the simulation, and starts it.
///
/// `make` returns the host's code: a future that runs as a task, with [all that it spawns](Host), until the test ends or
/// the host is stopped. Then [`Host::restart`] calls `make` again.
///
/// If the future returns, the tasks that it has spawned go on, and the host runs until it is stopped. An error that it
/// returns fails the run, and so does a panic (but for [`Builder::allow_panics`](super::Builder::allow_panics)): a host does not
/// start again by itself. [`Host::wait`] waits until the code has ended, such as that of a client.
///
/// The TCP and UDP sockets of [`net`](crate::net) are those of a simulated network, also under libraries such as hyper.
/// The name of a host can be looked up: `TcpStream::connect("server:80")`. What hosts share otherwise, by an `Rc` that
/// `make` keeps, is outside of the simulation: it survives a crash.
///
/// # Panics
///
/// Outside of a simulation, and if there is a host of this name.
///
/// # Examples
///
/// ```
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
/// use blitz_io::net::{TcpListener, TcpStream};
/// use blitz_io::sim;
///
/// async fn serve() -> std::io::Result<()> {
///     let listener = TcpListener::bind("0.0.0.0:80").await?;
///     loop {
///         let (mut stream, _) = listener.accept().await?;
///         blitz_io::spawn(async move { stream.write_all(b"hello").await });
///     }
/// }
///
/// sim::Builder::new().seeds(20).run(|| async {
///     let server = sim::host("server", |_me| serve());
///     let mut text = String::new();
///     TcpStream::connect("server:80").await.unwrap().read_to_string(&mut text).await.unwrap();
///     assert_eq!(text, "hello");
///
///     server.kill();
///     assert!(TcpStream::connect((server.address(), 80)).await.is_err());
///     server.restart();
///     assert!(TcpStream::connect("server:80").await.is_ok());
/// });
/// ```
#[track_caller]
pub fn host<F>(name: &str, make: impl Fn(Host) -> F + 'static) -> Host
where
    F: Future<Output: Outcome> + 'static,
{
    add(name, Rc::new(make))
}

/// Adds this number of hosts, whose names are `host-0`, `host-1` and so on. Each one runs what `make` returns for it.
///
/// # Panics
///
/// As [`host`].
///
/// # Examples
///
/// ```
/// use blitz_io::net::UdpSocket;
/// use blitz_io::sim;
///
/// sim::Builder::new().seeds(20).run(|| async {
///     sim::hosts(3, |_me| async {
///         let socket = UdpSocket::bind("0.0.0.0:53").await.unwrap();
///         let mut buffer = [0; 16];
///         let (n, from) = socket.recv_from(&mut buffer).await.unwrap();
///         socket.send_to(&buffer[..n], from).await.unwrap();
///     });
///     let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
///     socket.send_to(b"ping", "host-2:53").await.unwrap();
///     let mut buffer = [0; 16];
///     let (n, from) = socket.recv_from(&mut buffer).await.unwrap();
///     assert_eq!((&buffer[..n], from.ip()), (&b"ping"[..], sim::named("host-2").address()));
/// });
/// ```
#[track_caller]
pub fn hosts<F>(count: usize, make: impl Fn(Host) -> F + 'static) -> Vec<Host>
where
    F: Future<Output: Outcome> + 'static,
{
    let make = Rc::new(make);
    let mut hosts = Vec::with_capacity(count);
    // A closure would not have the caller's location.
    for index in 0..count {
        hosts.push(add(&format!("host-{index}"), make.clone()));
    }
    hosts
}

#[track_caller]
fn add<F>(name: &str, make: Rc<impl Fn(Host) -> F + 'static>) -> Host
where
    F: Future<Output: Outcome> + 'static,
{
    let hosts = current();
    let is_known = simulation::find(name).is_some();
    assert!(!is_known, "there is a host `{name}` already");
    let number = simulation::add_host(name);
    let name = Arc::from(name);
    let host = Host { number, name };
    let named = Named {
        name: host.name.clone(),
        at: Location::caller(),
    };
    hosts.run.with_members(|members| members.add(number, named));
    hosts.run.with_notes(|notes, _| notes.has_hosts());
    let me = host.clone();
    hosts.made.borrow_mut().push(Made {
        host: host.clone(),
        make: Rc::new(move || {
            let code = make(me.clone());
            Box::pin(async move { code.await.error() })
        }),
        life: Default::default(),
    });
    hosts.start(number);
    host
}

/// Returns the host of this name.
///
/// # Panics
///
/// Outside of a simulation, and if there is no such host.
#[track_caller]
#[must_use]
pub fn named(name: &str) -> Host {
    let hosts = current();
    let Some(number) = simulation::find(name) else {
        panic!("{}", simulation::no_such_host(name));
    };
    hosts.host(number)
}

impl Host {
    /// Returns the host that the test itself is.
    pub(super) fn test() -> Self {
        Self {
            number: 0,
            name: Arc::from("test"),
        }
    }

    /// Returns the host on which the calling code runs.
    ///
    /// # Panics
    ///
    /// Outside of a simulation.
    #[track_caller]
    #[must_use]
    pub fn current() -> Self {
        let hosts = current();
        let number = hosts.run.member().host;
        hosts.host(number)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its address, of IPv4.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        simulation::address(self.number)
    }

    /// # Panics
    ///
    /// If it is the test itself. `what`: why it must not be, as the end of a sentence about that.
    #[track_caller]
    fn assert_is_no_test(&self, what: &str) {
        assert!(self.number != 0, "the test itself {what}");
    }

    #[track_caller]
    fn stop(&self, is_off: bool) {
        current().stop(self.number, is_off);
        simulation::forget_sockets(self.number);
        let losses = decisions::meaning(
            || disks::stop(self.number, is_off),
            |_| format!("the crash of {self} leaves a part of what was not synced"),
        );
        for loss in losses {
            current().run.with_notes(|notes, moment| {
                notes.fault(
                    moment,
                    (None, &[self.number]),
                    format!("{self}: {loss}"),
                    None,
                );
            });
        }
    }

    /// Switches its power off. No other host hears of it: what it has sent and has not arrived is lost, and its
    /// connections are silent until it starts again. Its [files](Self#files) lose what was not synced, or a part of it.
    ///
    /// None of its tasks is polled any more. Their futures are dropped before any other task runs, and no socket that
    /// they close has an effect.
    ///
    /// # Panics
    ///
    /// If it is the test itself, and outside of a simulation.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::pending;
    /// use std::time::Duration;
    ///
    /// use blitz_io::net::{TcpListener, TcpStream};
    /// use blitz_io::{sim, time};
    ///
    /// sim::Builder::new().seeds(20).run(|| async {
    ///     let server = sim::host("server", |_me| async {
    ///         let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
    ///         pending::<()>().await;
    ///     });
    ///     server.crash();
    ///     let attempt = TcpStream::connect("server:80");
    ///     assert!(time::timeout(Duration::from_secs(60), attempt).await.is_err());
    /// });
    /// ```
    #[track_caller]
    pub fn crash(&self) {
        self.assert_is_no_test("cannot be stopped");
        current().note(Some(Fault::Crash), &[self.number], || {
            format!("{self} crashes")
        });
        self.stop(true);
    }

    /// Kills its program. Its system answers for it: connections are reset, and attempts to connect are refused.
    ///
    /// See [`crash`](Self::crash) about its tasks.
    ///
    /// # Panics
    ///
    /// As [`crash`](Self::crash).
    #[track_caller]
    pub fn kill(&self) {
        self.assert_is_no_test("cannot be stopped");
        current().note(Some(Fault::Kill), &[self.number], || {
            format!("{self} is killed")
        });
        self.stop(false);
    }

    /// Starts it again. If it still runs, it [crashes](Self::crash) before.
    ///
    /// # Panics
    ///
    /// As [`crash`](Self::crash).
    #[track_caller]
    pub fn restart(&self) {
        self.assert_is_no_test("cannot be stopped");
        if self.is_running() {
            self.crash();
        }
        let hosts = current();
        hosts.note(None, &[self.number], || format!("{self} starts again"));
        hosts.start(self.number);
    }

    /// Waits until its code has ended, and returns how: the future that `make` of [`host`] returns, in the life that the host
    /// has, or in its last one. Tasks that this future has spawned may go on: the host [runs](Self::is_running) until it is
    /// stopped.
    ///
    /// # Cancel safety
    ///
    /// A dropped call has no effect.
    ///
    /// # Panics
    ///
    /// If it is the test itself, and outside of a simulation.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use blitz_io::sim::{self, HostEnd};
    /// use blitz_io::time::sleep;
    ///
    /// sim::Builder::new().seeds(20).run(|| async {
    ///     let client = sim::host("client", |_me| sleep(Duration::from_secs(5)));
    ///     assert_eq!(client.wait().await, HostEnd::Returned);
    ///
    ///     client.restart();
    ///     client.crash();
    ///     assert_eq!(client.wait().await, HostEnd::Stopped);
    /// });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = HostEnd> + use<> {
        let Some(life) = current().life(self.number) else {
            panic!("the test itself cannot be awaited");
        };
        life.wait()
    }

    /// Returns `true` if its code has returned, and no task of it is left.
    pub(super) fn is_done(&self) -> bool {
        let hosts = current();
        hosts
            .run
            .with_members(|members| members.is_done(self.number))
    }

    /// Returns `true` until it is stopped, and again after a restart.
    ///
    /// # Panics
    ///
    /// Outside of a simulation.
    #[track_caller]
    #[must_use]
    pub fn is_running(&self) -> bool {
        let hosts = current();
        hosts
            .run
            .with_members(|members| members.is_running(self.number))
    }

    /// Pauses it: none of its tasks is polled until [`resume`](Self::resume). Its timers go on, and its sockets receive.
    /// A long pause of a garbage collector or of a virtual machine is like that.
    ///
    /// # Panics
    ///
    /// If it is the test itself, and outside of a simulation.
    #[track_caller]
    pub fn pause(&self) {
        self.assert_is_no_test("cannot be paused");
        let hosts = current();
        hosts.note(Some(Fault::Pause), &[self.number], || {
            format!("{self} is paused")
        });
        hosts
            .run
            .with_members(|members| members.pause(self.number, true));
    }

    /// Ends a pause.
    ///
    /// # Panics
    ///
    /// Outside of a simulation.
    #[track_caller]
    pub fn resume(&self) {
        let hosts = current();
        hosts.note(None, &[self.number], || format!("{self} is resumed"));
        hosts
            .run
            .with_members(|members| members.pause(self.number, false));
    }

    /// Returns `true` during a pause.
    ///
    /// # Panics
    ///
    /// Outside of a simulation.
    #[track_caller]
    #[must_use]
    pub fn is_paused(&self) -> bool {
        let hosts = current();
        hosts
            .run
            .with_members(|members| members.is_paused(self.number))
    }

    /// Makes its clock fast by this many parts in a million from now on, or slow if it is negative (at most by nine
    /// tenths). [`time::Instant`](crate::time::Instant) and timers follow this clock. Timers that have begun do not.
    ///
    /// # Panics
    ///
    /// If it is the test itself, and outside of a simulation.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::cell::RefCell;
    /// use std::time::Duration;
    ///
    /// use blitz_io::sync::oneshot;
    /// use blitz_io::{sim, time};
    ///
    /// sim::Builder::new().seeds(20).run(|| async {
    ///     let (done, is_done) = oneshot::channel();
    ///     let done = RefCell::new(Some(done));
    ///     let host = sim::host("fast", move |_me| {
    ///         let done = done.take().unwrap();
    ///         async move {
    ///             // An hour by this host's clock.
    ///             time::sleep(Duration::from_secs(3600)).await;
    ///             done.send(()).unwrap();
    ///         }
    ///     });
    ///     host.set_clock_drift(1_000_000);
    ///     let start = time::Instant::now();
    ///     is_done.await.unwrap();
    ///     assert_eq!(start.elapsed(), Duration::from_secs(1800));
    /// });
    /// ```
    #[track_caller]
    pub fn set_clock_drift(&self, parts_per_million: i32) {
        self.assert_is_no_test("has the simulation's clock");
        let (hosts, now) = (current(), simulated_now());
        let fault = (parts_per_million != 0).then_some(Fault::Clock);
        hosts.note(fault, &[self.number], || {
            format!("the clock of {self} gets a drift of {parts_per_million} parts in a million")
        });
        hosts.run.with_members(|members| {
            let clock = members.clock(self.number);
            members.set_clock(self.number, clock.with_drift(now, parts_per_million));
        });
    }

    /// Sets by how many milliseconds its [time of day](system_time) is ahead of the right one.
    ///
    /// # Panics
    ///
    /// As [`set_clock_drift`](Self::set_clock_drift).
    #[track_caller]
    pub fn set_clock_skew(&self, milliseconds: i64) {
        self.assert_is_no_test("has the simulation's clock");
        let hosts = current();
        let fault = (milliseconds != 0).then_some(Fault::Clock);
        hosts.note(fault, &[self.number], || {
            format!("the clock of {self} gets a skew of {milliseconds} ms")
        });
        hosts.run.with_members(|members| {
            let mut clock = members.clock(self.number);
            clock.skew = milliseconds;
            members.set_clock(self.number, clock);
        });
    }
}

/// Its name.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Host").field(&self.name).finish()
    }
}

/// Returns the time of day of the host on which the calling code runs. Each run begins at the beginning of 2026.
///
/// [`std::time::SystemTime::now`] shows the same where [the system is simulated](super#the-system), and the real time elsewhere.
///
/// # Panics
///
/// Outside of a simulation.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use blitz_io::{sim, time};
///
/// sim::Builder::new().seeds(3).run(|| async {
///     let start = sim::system_time();
///     time::sleep(Duration::from_secs(86_400)).await;
///     let day = sim::system_time().duration_since(start).unwrap();
///     assert_eq!(day, Duration::from_secs(86_400));
/// });
/// ```
#[track_caller]
#[must_use]
pub fn system_time() -> SystemTime {
    let shown = current().run.time_of_day().unwrap_or_default();
    SystemTime::UNIX_EPOCH + shown
}

/// Returns a random number of the calling code's host. Each host has its own stream of them, which depends on no other.
///
/// # Panics
///
/// Outside of a simulation.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use blitz_io::{sim, time};
///
/// sim::Builder::new().seeds(3).run(|| async {
///     time::sleep(Duration::from_millis(sim::random() % 100)).await;
/// });
/// ```
#[track_caller]
#[must_use]
pub fn random() -> u64 {
    let hosts = current();
    let host = hosts.run.member().host;
    let mut streams = hosts.random.borrow_mut();
    let stream = streams.entry(host).or_insert_with(|| {
        let name = hosts.host(host).name;
        let stream = decisions::meaning(
            || decisions::random(STREAMS).unwrap_or(0),
            |stream| format!("{name} draws its random numbers from stream {stream}, not 0"),
        );
        Random::seeded(u64::from(host) << 32 | u64::from(stream))
    });
    stream.next_u64()
}

/// Names a host: a [`Host`], or the name of one.
pub trait ToHost {
    /// Returns the number of the host.
    #[doc(hidden)]
    fn number(&self) -> u32;
}

impl ToHost for Host {
    fn number(&self) -> u32 {
        self.number
    }
}

impl ToHost for str {
    #[track_caller]
    fn number(&self) -> u32 {
        named(self).number
    }
}

impl<T: ToHost + ?Sized> ToHost for &T {
    #[track_caller]
    fn number(&self) -> u32 {
        (**self).number()
    }
}
