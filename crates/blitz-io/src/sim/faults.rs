//! `Faults`: faults at random.

use std::time::Duration;

use blitz_io_net::simulation::Link;
use blitz_io_observe::decisions;

#[cfg(feature = "fs")]
use super::disks::{self, Trouble};
use super::host::{Host, ToHost};
use super::schedule::OF_A_KIND;
use super::{hosts, paths};
use crate::time::{Instant, sleep};

/// The number of parts of a range of times.
const PARTS: u32 = 16;
/// The grain of the times at random. With a coarser grain, a fault could not come at each moment of a period of the program.
const GRAIN: Duration = Duration::from_micros(1);
/// The number of different sizes of a clock's difference.
const SIZES: usize = 16;

/// The kinds of faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Crash,
    Blackout,
    Kill,
    Pause,
    Partition,
    Loss,
    ClockSkew,
    ClockDrift,
    #[cfg(feature = "fs")]
    Disk(Trouble),
}

/// Faults at random: which kinds, how often, and how long each lasts.
///
/// Each run switches each kind off or on, so that one kind does not hide what another one finds. All is decided by the
/// seed, and is part of the [`Trace`](super::Trace): a shorter trace has fewer faults.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use blitz_io::sim::Faults;
///
/// let faults = Faults::new()
///     .crashes()
///     .partitions()
///     .interval(Duration::from_secs(1), Duration::from_secs(10))
///     .until(Duration::from_secs(60));
/// ```
#[derive(Clone, Debug)]
#[must_use = "faults do nothing until they are injected"]
pub struct Faults {
    kinds: Vec<Kind>,
    interval: (Duration, Duration),
    length: (Duration, Duration),
    until: Duration,
    /// The numbers of the hosts that [`on`](Self::on) has chosen.
    on: Option<Vec<u32>>,
}

impl Kind {
    /// Returns the name of the method that adds it, in words.
    const fn name(self) -> &'static str {
        match self {
            Self::Crash => "crashes",
            Self::Blackout => "blackouts",
            Self::Kill => "kills",
            Self::Pause => "pauses",
            Self::Partition => "partitions",
            Self::Loss => "losses",
            Self::ClockSkew => "clock skews",
            Self::ClockDrift => "clock drifts",
            #[cfg(feature = "fs")]
            Self::Disk(Trouble::Slow) => "slow disks",
            #[cfg(feature = "fs")]
            Self::Disk(Trouble::Full) => "full disks",
            #[cfg(feature = "fs")]
            Self::Disk(Trouble::Errors) => "disk errors",
        }
    }
}

impl Faults {
    /// Creates settings without a kind: faults of half a second to five seconds, with such intervals between them, in the
    /// first 30 seconds. So none begins in the first half second.
    pub const fn new() -> Self {
        let times = (Duration::from_millis(500), Duration::from_secs(5));
        Self {
            kinds: Vec::new(),
            interval: times,
            length: times,
            until: Duration::from_secs(30),
            on: None,
        }
    }

    /// Creates settings with all kinds but those of clocks and disks. [`without`](Self::without) removes some of them.
    pub fn all() -> Self {
        let faults = Self::new().crashes().blackouts().kills();
        faults.pauses().partitions().losses()
    }

    /// Removes the kinds that `others` has. All else of `others` has no effect.
    ///
    /// ```
    /// use blitz_io::sim::Faults;
    ///
    /// let faults = Faults::all().without(Faults::new().blackouts().losses());
    /// ```
    pub fn without(mut self, others: Self) -> Self {
        self.kinds.retain(|kind| !others.kinds.contains(kind));
        self
    }

    fn with(mut self, kind: Kind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// Adds hosts that [crash](Host::crash), and start again.
    pub fn crashes(self) -> Self {
        self.with(Kind::Crash)
    }

    /// Adds times in which all hosts have no power.
    pub fn blackouts(self) -> Self {
        self.with(Kind::Blackout)
    }

    /// Adds hosts whose programs are [killed](Host::kill), and start again.
    pub fn kills(self) -> Self {
        self.with(Kind::Kill)
    }

    /// Adds hosts that are [paused](Host::pause).
    pub fn pauses(self) -> Self {
        self.with(Kind::Pause)
    }

    /// Adds hosts that are cut off: from all hosts or one, and in both directions or one.
    pub fn partitions(self) -> Self {
        self.with(Kind::Partition)
    }

    /// Adds times in which links are slow, lose packets, send datagrams twice and reset connections.
    pub fn losses(self) -> Self {
        self.with(Kind::Loss)
    }

    /// Adds times in which the [time of day](super::system_time) of a host is wrong. It jumps ahead or back by 10 milliseconds to
    /// 328 seconds, and at the end to the right time.
    pub fn clock_skews(self) -> Self {
        self.with(Kind::ClockSkew)
    }

    /// Adds times in which the clock of a host is fast or slow, by 10 to 327,680 parts in a million: [`Instant`] and the timers
    /// that begin then. What the clock has gained or lost stays.
    pub fn clock_drifts(self) -> Self {
        self.with(Kind::ClockDrift)
    }

    /// Adds times in which a host's disk is slow: operations take up to 0.2 seconds, and syncs up to 1.5 seconds.
    #[cfg(feature = "fs")]
    pub fn slow_disks(self) -> Self {
        self.with(Kind::Disk(Trouble::Slow))
    }

    /// Adds times in which a host's disk is full: one write of four, and one new name of four, finds no room.
    #[cfg(feature = "fs")]
    pub fn full_disks(self) -> Self {
        self.with(Kind::Disk(Trouble::Full))
    }

    /// Adds times in which a host's disk fails: one read, write or sync of ten is an error.
    #[cfg(feature = "fs")]
    pub fn disk_errors(self) -> Self {
        self.with(Kind::Disk(Trouble::Errors))
    }

    /// Sets the shortest and the longest time between two faults of a kind.
    pub fn interval(mut self, least: Duration, most: Duration) -> Self {
        self.interval = (least, most);
        self
    }

    /// Sets the shortest and the longest time that a fault lasts.
    pub fn length(mut self, least: Duration, most: Duration) -> Self {
        self.length = (least, most);
        self
    }

    /// Sets the time after which no fault begins. A test can wait for that time and [a fault's length](Self::length),
    /// and then expect that all is well again.
    pub fn until(mut self, time: Duration) -> Self {
        self.until = time;
        self
    }

    /// Chooses the hosts that have faults. The others have none, but a chosen one may be cut off from them, and the links to it
    /// may be bad. By default all hosts have faults that there are when [`inject`] is called.
    ///
    /// # Panics
    ///
    /// If there is no host of such a name, and for a name outside of a simulation.
    ///
    /// ```
    /// use std::future::pending;
    ///
    /// use blitz_io::sim::{self, Faults};
    ///
    /// sim::Builder::new().seeds(3).run(|| async {
    ///     let servers = sim::hosts(3, |_me| pending::<()>());
    ///     sim::host("client", |_me| async {});
    ///     sim::inject(Faults::new().crashes().on(&servers));
    ///     sim::inject(Faults::new().partitions().on(["host-0", "client"]));
    /// });
    /// ```
    #[track_caller]
    pub fn on(mut self, hosts: impl IntoIterator<Item = impl ToHost>) -> Self {
        let mut on = Vec::new();
        // A closure would not have the caller's location.
        for host in hosts {
            on.push(host.number());
        }
        self.on = Some(on);
        self
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}

/// Begins to inject faults into the hosts that there are then, or those of them that [`Faults::on`] chooses. A host that is added
/// later has none. Neither has a host whose code has returned, as long as no task of it is left: there is nothing to stop.
///
/// # Panics
///
/// If there is no host yet, and outside of a simulation.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use blitz_io::io::AsyncReadExt;
/// use blitz_io::net::{TcpListener, TcpStream};
/// use blitz_io::{sim, time};
///
/// let report = sim::Builder::new().seeds(100).run(|| async {
///     sim::host("server", |_me| async {
///         let listener = TcpListener::bind("0.0.0.0:80").await.unwrap();
///         loop {
///             _ = listener.accept().await;
///         }
///     });
///     sim::inject(sim::Faults::all());
///     for _ in 0..20 {
///         time::sleep(Duration::from_secs(1)).await;
///         let attempt = TcpStream::connect("server:80");
///         let connected = time::timeout(Duration::from_secs(1), attempt).await;
///         sim::sometimes("no answer", connected.is_err());
///         sim::sometimes("refused", matches!(connected, Ok(Err(_))));
///     }
/// });
/// assert!(report.never().is_empty());
/// ```
#[track_caller]
pub fn inject(faults: Faults) {
    let all = hosts::all();
    assert!(
        !all.is_empty(),
        "there is no host to inject faults into: call `sim::host` before"
    );
    for (number, kind) in (0..).zip(&faults.kinds) {
        let targets = Targets::new(&faults, &all);
        hosts::help(run(*kind, number * OF_A_KIND, targets, faults.clone()));
    }
}

/// The hosts that faults concern.
struct Targets {
    /// Those that have faults.
    chosen: Vec<Host>,
    /// All that there were at the call of [`inject`], from which others may be cut off.
    all: Vec<Host>,
}

impl Targets {
    fn new(faults: &Faults, all: &[Host]) -> Self {
        let is_chosen = |host: &&Host| {
            let on = faults.on.as_ref();
            on.is_none_or(|on| on.contains(&host.number()))
        };
        Self {
            chosen: all.iter().filter(is_chosen).cloned().collect(),
            all: all.to_vec(),
        }
    }

    /// Returns those that may have a fault now.
    fn now(&self) -> Vec<Host> {
        let chosen = self.chosen.iter();
        chosen.filter(|host| !host.is_done()).cloned().collect()
    }
}

/// Returns a number below `below`, of which 0 is the harmless one.
fn draw(below: usize) -> usize {
    let below = u32::try_from(below).unwrap_or(u32::MAX);
    decisions::random(below).unwrap_or(0) as usize
}

/// Returns a time between these two: a part of the range, and a time in it. So a failure that needs no exact time is left with
/// the beginning of a part. Alternative 0 is the shortest time.
fn draw_time((least, most): (Duration, Duration)) -> Duration {
    let part = most.saturating_sub(least) / PARTS;
    let begin = least + part * draw(PARTS as usize) as u32;
    // The alternatives of a decision are 32-bit numbers, so parts of more than an hour have a coarser grain.
    let grain = GRAIN.max(part / (u32::MAX - 1) + Duration::from_nanos(1));
    let grains = part.as_nanos() / grain.as_nanos();
    begin + grain * draw(grains as usize + 1) as u32
}

/// Returns by how much a clock is wrong, in its units: small and large differences are equally likely.
fn draw_difference() -> i32 {
    let size = 10 << draw(SIZES);
    if draw(2) == 1 { -size } else { size }
}

/// Injects faults of one kind. Its switch has the number `first`, and its faults those behind it.
async fn run(kind: Kind, first: u32, targets: Targets, faults: Faults) {
    let is_on = hosts::decide_fault(first, || draw(2) != 0);
    hosts::injects(kind.name(), is_on);
    if !is_on {
        return;
    }
    let end = Instant::now() + faults.until;
    for number in first + 1.. {
        // All of a fault is decided under its number, so that a shorter trace may have it without the faults before it.
        sleep(hosts::decide_fault(number, || draw_time(faults.interval))).await;
        if Instant::now() >= end {
            return;
        }
        let now = targets.now();
        if now.is_empty() {
            continue;
        }
        let begun = hosts::decide_fault(number, || {
            let begin = || (begin(kind, &now, &targets.all), draw_time(faults.length));
            (draw(2) == 1).then(begin)
        });
        if let Some((undo, length)) = begun {
            sleep(length).await;
            undo();
            hosts::fault_ends(number);
        }
    }
}

/// Begins a fault of some of the hosts `of`, of which there is one. Returns what ends it.
fn begin(kind: Kind, of: &[Host], all: &[Host]) -> Box<dyn FnOnce()> {
    let host = of[draw(of.len())].clone();
    match kind {
        Kind::Crash | Kind::Kill => stop(kind, vec![host]),
        Kind::Blackout => stop(kind, of.to_vec()),
        Kind::Pause => {
            host.pause();
            Box::new(move || host.resume())
        }
        Kind::Partition => {
            cut_off(&host, all);
            // A closure, so that the caller is this file.
            #[allow(
                clippy::redundant_closure,
                reason = "the caller of the function itself is in `core`"
            )]
            Box::new(|| paths::heal_all())
        }
        Kind::Loss => {
            let (least, most) = (Duration::from_millis(1), Duration::from_millis(500));
            let bad = Link::new().latency(least, most).loss(0.05);
            let bad = bad.duplication(0.05).resets(0.02).splits(0.2);
            let (of, all) = (of.to_vec(), all.to_vec());
            paths::set_links_of(&of, &all, bad);
            Box::new(move || paths::set_links_of(&of, &all, Link::new()))
        }
        Kind::ClockSkew => {
            host.set_clock_skew(draw_difference().into());
            Box::new(move || host.set_clock_skew(0))
        }
        Kind::ClockDrift => {
            host.set_clock_drift(draw_difference());
            Box::new(move || host.set_clock_drift(0))
        }
        #[cfg(feature = "fs")]
        Kind::Disk(trouble) => {
            let number = host.number();
            let what = match trouble {
                Trouble::Slow => "is slow",
                Trouble::Full => "is full",
                Trouble::Errors => "fails",
            };
            hosts::note_disk(&[number], true, || format!("the disk of {host} {what}"));
            disks::set_trouble(number, trouble, true);
            Box::new(move || {
                hosts::note_disk(&[number], false, || {
                    format!("the disk of {host} works again")
                });
                disks::set_trouble(number, trouble, false);
            })
        }
    }
}

/// Stops those of these hosts that run. Returns what starts them.
fn stop(kind: Kind, stops: Vec<Host>) -> Box<dyn FnOnce()> {
    let mut stopped = 0;
    for host in stops.iter().filter(|host| host.is_running()) {
        if kind == Kind::Kill {
            host.kill();
        } else {
            host.crash();
        }
        stopped += 1;
    }
    if kind == Kind::Blackout {
        hosts::blackout(stopped);
    }
    Box::new(move || {
        for host in stops.iter().filter(|host| !host.is_running()) {
            host.restart();
        }
    })
}

/// Cuts a host off from all others or one, in both directions or one.
fn cut_off(host: &Host, all: &[Host]) {
    let others = all.iter().filter(|other| *other != host);
    let only = draw(2) == 1;
    let one = draw(all.len());
    let ways = draw(3);
    for (_, other) in others.enumerate().filter(|(at, _)| !only || *at == one) {
        if ways != 1 {
            paths::partition_one_way(host, other);
        }
        if ways != 2 {
            paths::partition_one_way(other, host);
        }
    }
}
