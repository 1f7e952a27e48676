//! The plan of a run.

use std::fmt;
use std::str::FromStr;

use crate::shared::region::{Scripted, fault, strategy};

/// How the next thread is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schedule {
    /// At random, with a tendency to stay that the seed draws.
    Random,
    /// Orders threads by priorities that change at `depth - 1` random points: finds any bug of that depth with a known
    /// probability (probabilistic concurrency testing).
    Pct(u32),
    /// Orders pending calls by random priorities, drawn again when another call on the object is executed
    /// (partial order sampling).
    Pos,
    /// All orders of the calls on shared objects with the same probability, as far as the profile of the program
    /// shows how many there are (selectively uniform random walk).
    Surw,
    /// Each thread in its turn.
    RoundRobin,
    /// Choice 0 everywhere but where the script says otherwise.
    Script,
    /// One of the others but the script, by the seed.
    Portfolio,
}

impl Schedule {
    /// Returns the schedule that a seed means.
    ///
    /// ```
    /// use blitz_io_sim::Schedule;
    ///
    /// assert_eq!(Schedule::Random.of_seed(7), Schedule::Random);
    /// assert_eq!(Schedule::Portfolio.of_seed(0), Schedule::RoundRobin);
    /// ```
    pub fn of_seed(self, seed: u64) -> Schedule {
        if self != Schedule::Portfolio {
            return self;
        }
        match seed {
            0 => Schedule::RoundRobin,
            _ => match seed % 8 {
                0 => Schedule::Pct(2),
                1 => Schedule::Pct(3),
                2 => Schedule::Pos,
                3 | 6 => Schedule::Surw,
                _ => Schedule::Random,
            },
        }
    }

    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64")),
        allow(dead_code)
    )]
    pub(crate) fn numbers(self) -> (u32, u32) {
        match self {
            Schedule::Random | Schedule::Portfolio => (strategy::RANDOM, 0),
            Schedule::Pct(depth) => (strategy::PCT, depth),
            Schedule::Pos => (strategy::POS, 0),
            Schedule::Surw => (strategy::SURW, 0),
            Schedule::RoundRobin => (strategy::ROUND_ROBIN, 0),
            Schedule::Script => (strategy::SCRIPT, 0),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Random => f.write_str("random"),
            Schedule::Pct(depth) => write!(f, "pct:{depth}"),
            Schedule::Pos => f.write_str("pos"),
            Schedule::Surw => f.write_str("surw"),
            Schedule::RoundRobin => f.write_str("round-robin"),
            Schedule::Script => f.write_str("script"),
            Schedule::Portfolio => f.write_str("portfolio"),
        }
    }
}

/// Families of faults that a run may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub(crate) u32);

const NAMES: [(&str, u32); 19] = [
    ("short", fault::SHORT),
    ("spurious", fault::SPURIOUS),
    ("stall", fault::STALL),
    ("eintr", fault::EINTR),
    ("eagain", fault::EAGAIN),
    ("latency", fault::LATENCY),
    ("reset", fault::RESET),
    ("emfile", fault::EMFILE),
    ("loss", fault::LOSS),
    ("reorder", fault::REORDER),
    ("duplicate", fault::DUPLICATE),
    ("partition", fault::PARTITION),
    ("dns", fault::DNS),
    ("enospc", fault::ENOSPC),
    ("eio", fault::EIO),
    ("crash", fault::CRASH),
    ("clock", fault::CLOCK),
    ("half-open", fault::HALF_OPEN),
    ("one-way", fault::ONE_WAY),
];

/// Names of several families.
const GROUPS: [(&str, Faults); 4] = [
    ("usual", Faults::USUAL),
    ("net", Faults::NETWORK),
    ("disk", Faults::DISK),
    ("all", Faults::ALL),
];

impl Faults {
    /// The empty set of faults.
    pub const NONE: Faults = Faults(0);
    /// Those that every program has to expect: short transfers, waits that end for no reason, threads
    /// that do not run for long.
    pub const USUAL: Faults = Faults(1 << fault::SHORT | 1 << fault::SPURIOUS | 1 << fault::STALL);
    /// Those of the network: late bytes, resets, connections that fall silent for ever, failures of `accept`, lost,
    /// late and repeated datagrams, ports that cannot be reached for a while, in both directions or in one, slow and
    /// failing look-ups of names.
    ///
    /// ```
    /// use blitz_io_sim::Faults;
    ///
    /// let named = "latency,reset,half-open,emfile,loss,reorder,duplicate,partition,one-way,dns".parse();
    /// assert_eq!(named, Ok(Faults::NETWORK));
    /// assert_eq!("net".parse(), Ok(Faults::NETWORK));
    /// ```
    pub const NETWORK: Faults = Faults(
        1 << fault::LATENCY
            | 1 << fault::RESET
            | 1 << fault::EMFILE
            | 1 << fault::LOSS
            | 1 << fault::REORDER
            | 1 << fault::DUPLICATE
            | 1 << fault::PARTITION
            | 1 << fault::DNS
            | 1 << fault::HALF_OPEN
            | 1 << fault::ONE_WAY,
    );
    /// Those of files in memory ([`Program::memory_files`](crate::Program::memory_files)): a disk without room,
    /// one that fails, and a machine that loses its power. The program then starts again on the files that
    /// are left, at most three times in a run.
    ///
    /// ```
    /// use blitz_io_sim::Faults;
    ///
    /// assert_eq!("enospc,eio,crash".parse(), Ok(Faults::DISK));
    /// ```
    pub const DISK: Faults = Faults(1 << fault::ENOSPC | 1 << fault::EIO | 1 << fault::CRASH);
    /// Jumps of the calendar's clock, by a second or an hour in both directions. Clocks that never jump go on.
    ///
    /// ```
    /// use blitz_io_sim::Faults;
    ///
    /// assert_eq!("clock".parse(), Ok(Faults::CLOCK));
    /// ```
    pub const CLOCK: Faults = Faults(1 << fault::CLOCK);
    /// All families.
    pub const ALL: Faults = Faults((1 << NAMES.len()) - 1);

    /// Returns the families that a seed leaves on: each seed switches off a half.
    ///
    /// ```
    /// use blitz_io_sim::Faults;
    ///
    /// assert_eq!(Faults::NONE.of_seed(3), Faults::NONE);
    /// ```
    pub fn of_seed(self, seed: u64) -> Faults {
        let drawn = crate::shared::random::mix(seed ^ 0xfa17);
        Faults(self.0 & drawn as u32)
    }
}

impl FromStr for Faults {
    type Err = String;

    /// Parses names with commas between, or `none`. `usual`, `net`, `disk` and `all` name several families.
    fn from_str(text: &str) -> Result<Faults, String> {
        if text == "none" {
            return Ok(Faults::NONE);
        }
        let mut all = Faults::NONE;
        for name in text.split(',') {
            let family = NAMES.iter().find(|(known, _)| *known == name);
            let group = GROUPS.iter().find(|(known, _)| *known == name);
            all.0 |= match (family, group) {
                (Some((_, bit)), _) => 1 << bit,
                (None, Some((_, faults))) => faults.0,
                (None, None) => {
                    let known: Vec<_> = NAMES.iter().map(|(known, _)| *known).collect();
                    return Err(format!(
                        "no such fault: {name:?}; there are {}; several at once are usual, net, disk and all",
                        known.join(", ")
                    ));
                }
            };
        }
        Ok(all)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on: Vec<_> = NAMES
            .iter()
            .filter(|(_, bit)| self.0 & 1 << bit != 0)
            .map(|(name, _)| *name)
            .collect();
        f.write_str(if on.is_empty() { "none" } else { "" })?;
        f.write_str(&on.join(","))
    }
}

/// What decides one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How threads are chosen.
    pub schedule: Schedule,
    /// Source of the choices and of the program's random numbers.
    pub seed: u64,
    /// Families of faults.
    pub faults: Faults,
    /// Number of choices that PCT expects, and for which `preempt` has as many places between two calls as the calls
    /// take time for. `None`: as many as the profile of the program has (see [`Simulator`](crate::Simulator)).
    pub length: Option<u64>,
    /// Points after which the run counts as a livelock.
    pub limit: u64,
    /// Processors that the program sees.
    pub processors: u32,
    /// Choices of a replay. All others are 0.
    pub script: Vec<Scripted>,
    /// A choice of the script that does not fit ends the run.
    pub strict: bool,
    /// Threads change between two calls, too, after a number of instructions that the seed draws.
    pub preempt: bool,
    /// Threads change at atomic operations, too, in a program that is compiled for it: see
    /// [`write_library`](crate::write_library).
    pub atomics: bool,
    /// A run in which all threads wait is a deadlock, even if a time limit would end a wait: in a program that neither
    /// sleeps nor has timers, that wait has missed its wake-up.
    pub no_timeouts: bool,
    /// An [`Exhaustive`](crate::Exhaustive) search preempts a thread only before operations on objects that several threads
    /// use and one changes, as a run without preemptions shows. A trace does not have this.
    pub contended: bool,
    /// Loops of the program that make no call, as distances from the start of its code
    /// ([`Outcome::loops`](crate::Outcome::loops)). Empty: those that the simulator has found so far.
    pub loops: Vec<u64>,
}

impl Plan {
    /// Creates a plan with the usual limits and without faults.
    ///
    /// ```
    /// use blitz_io_sim::{Plan, Schedule};
    ///
    /// let plan = Plan::new(Schedule::Pct(3), 17);
    /// assert!(plan.script.is_empty());
    /// ```
    pub fn new(schedule: Schedule, seed: u64) -> Plan {
        Plan {
            schedule: schedule.of_seed(seed),
            seed,
            faults: Faults::NONE,
            length: None,
            limit: 1_000_000,
            processors: 4,
            script: vec![],
            strict: false,
            preempt: false,
            atomics: false,
            no_timeouts: false,
            contended: false,
            loops: vec![],
        }
    }

    /// Returns `true` if a run of this plan depends on its length.
    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64")),
        allow(dead_code)
    )]
    pub(crate) fn needs_length(&self) -> bool {
        match self.schedule {
            Schedule::Pct(_) => true,
            Schedule::Script | Schedule::RoundRobin => false,
            _ => self.preempt,
        }
    }
}
