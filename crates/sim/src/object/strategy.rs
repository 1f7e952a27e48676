//! Which thread runs next.
//!
//! A strategy sees the threads that can run, in an order in which the first is the harmless choice, and
//! returns an index. It draws from the seed only, so the same seed and the same program give the same
//! schedule. PCT is of Sebastian Burckhardt, Pravesh Kothari, Madanlal Musuvathi and Santosh Nagarakatte, "A
//! Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010. The exhaustive search has no strategy of its own: it replays a prefix and takes choice 0
//! after it ([`SCRIPT`]), and the library computes the next prefix.

use crate::pos::Pos;
use crate::shared::random::Random;
use crate::shared::region::kind;
use crate::shared::region::strategy::{PCT, POS, RANDOM, ROUND_ROBIN, SCRIPT, SURW};
use crate::shared::region::{Region, WINDOWS};
use crate::surw::Surw;

/// State of a strategy.
#[derive(Debug)]
pub struct Strategy {
    strategy: u32,
    random: Random,
    /// Of 64: how often `RANDOM` keeps the running thread without a draw.
    stay: u64,
    /// Priorities by thread number; a higher one runs first.
    priorities: Vec<u64>,
    /// Numbers of choices at which the running thread falls behind all others, ascending.
    changes: Vec<u64>,
    choices: u64,
    /// Next priority for a thread that falls behind.
    lowest: u64,
    pos: Pos,
    surw: Surw,
    /// One of how many opportunities has a window.
    windows: u64,
    /// Instructions that windows may execute in a run, beside those that its calls earn.
    allowance: u64,
    /// One of how many opportunities for a crash is taken, and their draws.
    rarity: u64,
    crashes: Random,
}

impl Strategy {
    /// Creates the state for one run.
    pub fn new(of: &Region) -> Strategy {
        let (depth, length) = (of.depth, of.length);
        // Each start after a crash draws anew.
        let start = u64::from(of.crashes) << 40;
        let mut random = Random(of.seed ^ start ^ 0x5c4e_d01e);
        let mut crashes = Random(of.seed ^ start ^ 0xc4a5_4000);
        let rarity = [4, 16, 64, 256][crashes.below(4) as usize];
        let stay = [0, 32, 56, 62][random.below(4) as usize];
        let mut changes: Vec<u64> = (1..depth.min(64))
            .map(|_| 1 + random.below(length.max(1)))
            .collect();
        changes.sort_unstable();
        let surw = Surw::new(
            &of.weights[..of.weighted as usize],
            &of.shared[..of.sharing as usize],
        );
        Strategy {
            strategy: of.strategy,
            random,
            stay,
            priorities: vec![],
            changes,
            choices: 0,
            lowest: 1 << 32,
            pos: Pos::default(),
            surw,
            windows: rarity_of_windows(length),
            allowance: allowance(length),
            rarity,
            crashes,
        }
    }

    /// Returns an index into `threads`. With `kind::SWITCH`, the first is the running one. `running`
    /// is its number in every case. `pending` returns the object of a thread's pending call.
    pub fn pick(
        &mut self,
        kind: u16,
        running: u32,
        threads: &[u32],
        pending: impl Fn(u32) -> u64,
    ) -> usize {
        match self.strategy {
            RANDOM => {
                if kind == kind::SWITCH && self.random.below(64) < self.stay {
                    return 0;
                }
                self.random.below(threads.len() as u64) as usize
            }
            PCT => {
                let counts = kind != kind::SWITCH || self.surw.counts(pending(running));
                self.pick_by_priority(kind, running, threads, counts)
            }
            ROUND_ROBIN => usize::from(kind == kind::SWITCH),
            POS => self.pos.pick(&mut self.random, threads, pending),
            SURW => self.surw.pick(&mut self.random, kind, threads, pending),
            _ => 0,
        }
    }

    /// Returns `true` if several threads use the object, as far as is known.
    pub fn counts(&self, object: u64) -> bool {
        self.surw.counts(object)
    }

    /// The thread has reached a call.
    pub fn arrived(&mut self, thread: u32) {
        self.pos.arrived(thread);
    }

    /// A thread has started another one.
    pub fn started(&mut self, parent: u32, child: u32) {
        if self.strategy == SURW {
            self.surw.started(&mut self.random, parent, child);
        }
    }

    /// The thread continues without a choice, with its pending call on `object`.
    pub fn alone(&mut self, thread: u32, object: u64) {
        if self.strategy == SURW {
            self.surw.alone(thread, object);
        }
    }

    /// `counts`: a priority may change here. If shared objects are known, none changes elsewhere.
    fn pick_by_priority(
        &mut self,
        kind: u16,
        running: u32,
        threads: &[u32],
        counts: bool,
    ) -> usize {
        self.choices += u64::from(counts);
        while self.changes.first().is_some_and(|at| *at <= self.choices) {
            self.changes.remove(0);
            self.fall_behind(running);
        }
        // A thread that yields waits for another one: without this, it would run for ever.
        if kind == kind::YIELD {
            self.fall_behind(running);
        }
        let mut best = 0;
        for at in 1..threads.len() {
            if self.priority(threads[at]) > self.priority(threads[best]) {
                best = at;
            }
        }
        best
    }

    fn fall_behind(&mut self, thread: u32) {
        self.priority(thread);
        self.lowest -= 1;
        self.priorities[thread as usize] = self.lowest;
    }

    fn priority(&mut self, thread: u32) -> u64 {
        while self.priorities.len() <= thread as usize {
            let drawn = (1 << 32) + (self.random.next() >> 16);
            self.priorities.push(drawn);
        }
        self.priorities[thread as usize]
    }

    /// Returns an index below `count` for a choice that is not about threads: a waiter.
    pub fn pick_other(&mut self, count: usize) -> usize {
        match self.strategy {
            RANDOM | PCT | POS | SURW => self.random.below(count as u64) as usize,
            _ => 0,
        }
    }

    /// Returns after how many instructions the thread loses the baton; zero: after no number. Short windows are
    /// as likely as long ones, because two accesses that belong together are often close. `stepped`: the instructions of
    /// windows so far, and `points`: the points.
    pub fn window(&mut self, stepped: u64, points: u64) -> usize {
        const BITS: u64 = WINDOWS.ilog2() as u64;
        if matches!(self.strategy, SCRIPT | ROUND_ROBIN) || self.random.below(self.windows) != 0 {
            return 0;
        }
        // The first run was shorter than this one, or windows of this program are long.
        if stepped > 2 * (self.allowance + points / 2) {
            return 0;
        }
        let longest = (1 << (1 + self.random.below(BITS))) - 1;
        1 + self.random.below(longest) as usize
    }

    /// Returns `true` if the machine loses its power now. Some programs make ten calls on files, others thousands.
    pub fn crash(&mut self) -> bool {
        self.strategy != SCRIPT && self.crashes.below(self.rarity) == 0
    }

    /// Returns `true` if a fault occurs now.
    pub fn fault(&mut self) -> bool {
        self.strategy != SCRIPT && self.random.below(24) == 0
    }
}

/// Returns one of how many opportunities has a window, in runs as long as this. A short run has few opportunities, and would
/// have a window in few of its orders. A long one has so many that windows at one of eight would cost far more than the run.
fn rarity_of_windows(length: u64) -> u64 {
    /// Instructions of a window, as they were measured in services.
    const USUAL: u64 = 280;
    let affordable = length.saturating_mul(USUAL) / (allowance(length) + length / 2);
    (length / 4).clamp(2, 8).max(affordable)
}

/// Returns how many instructions windows may execute in a run as long as this, beside half of one for each call. A step
/// costs about as much as a call in a virtual machine whose host sees each debug exception, and less elsewhere. A short run takes no longer
/// than its start in any case, so it may have thousands.
fn allowance(length: u64) -> u64 {
    (1 << 37) / length.clamp(256, 1 << 13).pow(3)
}
