//! How long a thread tries before it sleeps: the one policy of this crate. (How long it
//! leaves a word alone that many change all the time is in `backoff.rs`.)
//!
//! A thread that sleeps and is woken on another processor loses about 8 µs, and
//! its waker one to four; a hand-over between two threads that both run takes
//! less than 0.1 µs. So it pays to try for some times as long as a sleep and its
//! wake-up would cost, and not longer. The trying has two phases:
//!
//! 1. **Pause.** Look, pause for twice as long as last time, look again, for about
//!    a microsecond.
//! 2. **Yield.** Look, let another thread of this processor run, look again. That
//!    is what gets a preempted owner running again when there are more threads
//!    than processors, or when both threads are on the same one, and costs little
//!    when there are not. Who waits for a lock goes on pausing beside that, as
//!    every look takes the cache line away from the owner, and begins to yield
//!    later, as most owners run. A thread that has just been woken yields at once:
//!    the system likes to run it where its waker ran, who may be the owner.
//!
//! The limit is a time, not turns: one `PAUSE` takes 2 ns on some processors and
//! 50 ns on others. With one processor nobody can release anything while we
//! spin, so there the first [`Spin::turn`] says "sleep".
//!
//! **Politeness.** A lock that looks free may be one that nobody uses any more, or
//! one that its last owner is about to take again, as it did a thousand times
//! before. Taking the second kind moves the lock and its data to another
//! processor, and every such move makes both threads wait. So a spinning thread
//! takes a lock only after it has looked free [`FREE_LOOKS`] times in a row, a
//! pause apart: an idle lock is taken a tenth of a microsecond later than it could
//! be, a busy one mostly when its owner has to wait for something else. What a
//! thread may lose by that is bounded by the fairness of the lock. Measured with
//! eight threads on two processors: 0.2 % of the operations wait with short
//! sections, instead of 2.5 %, and 0.6 % with sections of a microsecond, instead
//! of 2 %; so the 99th percentile of the wait is that of a lock that nobody else
//! wants.
//!
//! **Peers.** The two sides of a channel need each other's work, and there are often
//! more of them than processors. What a thread waits for is then not a moment in
//! which a lock is let go of, but a turn in which others fill or empty the buffer,
//! and a yield that takes a whole time slice is no loss: it went to them. So who
//! waits for peers ([`Spin::for_peers`]) yields soon, a number of times, however long
//! that takes; and at once if a channel has more ends than there are processors.
//! Measured with four threads that send to one through a buffer of a thousand: 29 ns
//! a value, and 220 ns when they went to sleep early.
//!
//! **Hand to hand.** Where every value goes straight from one thread to another, who
//! waits to be served ([`Spin::hand_over`]) looks a few times before it yields, seldom
//! enough not to take the line away from the one who serves it; or not at all, if it
//! knows that the other one cannot run ([`Spin::hand_over_here`]).
//!
//! Under the model checker there is one turn: it explores every schedule anyway,
//! and more turns would only give it more of the same ones.
//!
//! [`FREE_LOOKS`]: real::FREE_LOOKS

/// What a thread that waits for a lock may think of those who own it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Owners {
    /// They run, as the owners of a lock mostly do.
    Run,
    /// They may be waiting for this very processor: because we have just been
    /// woken here, or because they wait in their turn, for readers to leave.
    MayWait,
}

#[cfg(not(loom))]
pub use real::{Spin, rest};
#[cfg(not(loom))]
pub use std::thread::yield_now;

#[cfg(loom)]
pub use loom::thread::yield_now;
#[cfg(loom)]
pub use model::{Spin, rest};

#[cfg(not(loom))]
mod real {
    use std::hint;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::Owners;
    use crate::processors::processors;

    /// When pauses have become as long as this, in `spin_loop` hints, the thread
    /// begins to yield.
    const LONG_PAUSE: u32 = 32;
    /// The pause between two looks at a lock.
    const PAUSE_FOR_OWNER: u32 = 64;
    /// How long a thread trusts that the owner of a lock runs.
    const TRUST_FOR: Duration = Duration::from_micros(20);
    /// How long a thread pauses and yields before it sleeps.
    const SPIN_FOR: Duration = Duration::from_micros(60);
    /// The same where it yields from the beginning. The processor goes to whoever
    /// has work, so this costs less than to sleep and be woken with a crowd of
    /// readers: with 60 µs, eight threads that read for a microsecond each are a
    /// quarter slower.
    const YIELD_FOR: Duration = Duration::from_micros(200);
    /// The first pause of a thread that waits for peers.
    const PAUSE_FOR_PEERS: u32 = 8;
    /// How often a thread yields to its peers.
    const YIELDS_TO_PEERS: u32 = 64;
    /// How often a thread that waits to be served looks before it yields.
    const LOOKS_AT_HAND: u32 = 3;
    /// The pause before each of these looks.
    const PAUSE_AT_HAND: u32 = 24;
    /// How often something must look free in a row to be taken.
    pub(super) const FREE_LOOKS: u32 = 3;

    /// One attempt to get something without sleeping.
    pub struct Spin {
        /// How long to pause next.
        pause: u32,
        /// It waits for the owners of a lock.
        owners: Option<Owners>,
        /// When the pauses had become long.
        began: Option<Instant>,
        /// It waits for peers, and yields as often as this.
        peers: Option<u32>,
        /// How often it looks before that.
        looks: u32,
        /// How often in a row it looked free.
        free: u32,
    }

    impl Default for Spin {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Spin {
        /// For a thread that waits until something happens.
        pub fn new() -> Self {
            Self {
                pause: 1,
                owners: None,
                began: None,
                peers: None,
                looks: 0,
                free: 0,
            }
        }

        /// For a thread that waits for a lock.
        pub fn for_lock(owners: Owners) -> Self {
            Self {
                pause: match owners {
                    Owners::Run => 1,
                    Owners::MayWait => LONG_PAUSE,
                },
                owners: Some(owners),
                ..Self::new()
            }
        }

        /// For a thread that waits for the other side of a channel which has so many
        /// ends. With fewer processors than that it yields at once.
        pub fn for_peers(ends: usize) -> Self {
            let pause = match ends <= processors() {
                true => PAUSE_FOR_PEERS,
                false => LONG_PAUSE,
            };
            Self {
                pause,
                peers: Some(YIELDS_TO_PEERS),
                ..Self::new()
            }
        }

        /// For a thread that waits to be served by a peer who may be running.
        pub fn hand_over() -> Self {
            Self {
                looks: LOOKS_AT_HAND,
                ..Self::hand_over_here()
            }
        }

        /// For a thread that waits to be served by a peer who needs this processor.
        pub fn hand_over_here() -> Self {
            Self {
                pause: LONG_PAUSE,
                peers: Some(YIELDS_TO_PEERS),
                ..Self::new()
            }
        }

        /// For a thread that is to sleep at once.
        pub fn none() -> Self {
            Self {
                pause: LONG_PAUSE,
                peers: Some(0),
                ..Self::new()
            }
        }

        /// What [`here`](Self::here) says where the system does not.
        pub const NOWHERE: u8 = u8::MAX;

        /// The processor on which this thread runs (the lowest bits of its number), if
        /// that is known without a system call. It may be another one right after.
        #[inline]
        pub fn here() -> u8 {
            #[cfg(all(target_os = "linux", target_env = "gnu"))]
            {
                // SAFETY: it has no preconditions. Its error, -1, becomes `NOWHERE`.
                unsafe { libc::sched_getcpu() as u8 }
            }
            #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
            {
                Self::NOWHERE
            }
        }

        /// For a wait that takes as many threads to end. With fewer processors
        /// than that it yields from the beginning.
        pub fn for_threads(threads: usize) -> Self {
            match threads <= processors() {
                true => Self::new(),
                false => Self {
                    pause: LONG_PAUSE,
                    ..Self::new()
                },
            }
        }

        /// Lets a moment pass. `false` when it is time to sleep.
        #[inline]
        pub fn turn(&mut self) -> bool {
            if processors() == 1 {
                return false;
            }
            if self.free != 0 {
                pause(1);
                return true;
            }
            if self.pause < LONG_PAUSE {
                pause(self.pause);
                self.pause *= 2;
                return true;
            }
            self.long_turn()
        }

        fn long_turn(&mut self) -> bool {
            if self.looks != 0 {
                self.looks -= 1;
                pause(PAUSE_AT_HAND);
                return true;
            }
            if let Some(left) = &mut self.peers {
                let turn = *left != 0;
                *left = left.saturating_sub(1);
                if turn {
                    thread::yield_now();
                }
                return turn;
            }
            let now = Instant::now();
            let spent = now - *self.began.get_or_insert(now);
            let limit = match self.owners {
                Some(Owners::MayWait) => YIELD_FOR,
                _ => SPIN_FOR,
            };
            if spent >= limit {
                return false;
            }
            if let Some(owners) = self.owners {
                if owners == Owners::MayWait || spent >= TRUST_FOR {
                    thread::yield_now();
                }
                pause(PAUSE_FOR_OWNER);
                return true;
            }
            if crowd::is_here(now) {
                return false;
            }
            thread::yield_now();
            crowd::notice(now);
            true
        }

        /// It looked free. Whether to take it: see the head of this file.
        #[inline]
        pub fn may_take(&mut self) -> bool {
            self.free += 1;
            self.free >= FREE_LOOKS
        }

        /// It looked taken, or was taken from under our hands.
        #[inline]
        pub fn is_taken(&mut self) {
            self.free = 0;
        }
    }

    /// Other work that wants our processors.
    ///
    /// A thread that yields to work that does not yield back loses a whole time
    /// slice, thousands of times what it hoped to save. When that has happened,
    /// nobody yields for a while, and waiting threads go to sleep early: the
    /// system lets a thread that has slept run soon after it is woken. This does
    /// not hold for locks: there the other work may be the owner's, which is just
    /// what the thread yields for.
    mod crowd {
        use std::sync::OnceLock;
        use std::sync::atomic::{AtomicU64, Ordering};
        use std::time::{Duration, Instant};

        /// No thread of ours keeps a processor for that long while it spins.
        const LONG_YIELD: Duration = Duration::from_micros(200);
        /// How long it is remembered.
        const REMEMBER_FOR: Duration = Duration::from_millis(20);

        /// Until when there is a crowd, in nanoseconds since the first yield.
        static UNTIL: AtomicU64 = AtomicU64::new(0);
        static FIRST_YIELD: OnceLock<Instant> = OnceLock::new();

        pub(super) fn is_here(now: Instant) -> bool {
            let until = UNTIL.load(Ordering::Relaxed);
            until != 0 && nanos(now) < until
        }

        /// Looks how long the yield took that began at `began`.
        pub(super) fn notice(began: Instant) {
            let now = Instant::now();
            if now - began >= LONG_YIELD {
                UNTIL.store(nanos(now + REMEMBER_FOR), Ordering::Relaxed);
            }
        }

        fn nanos(moment: Instant) -> u64 {
            let first = *FIRST_YIELD.get_or_init(|| moment);
            u64::try_from((moment - first).as_nanos()).unwrap_or(u64::MAX)
        }
    }

    fn pause(hints: u32) {
        for _ in 0..hints {
            hint::spin_loop();
        }
    }

    /// For those who never sleep: one turn of a wait that takes as many threads
    /// to end.
    pub fn rest(threads: usize) {
        match threads <= processors() {
            true => hint::spin_loop(),
            false => thread::yield_now(),
        }
    }
}

#[cfg(loom)]
mod model {
    use super::Owners;

    /// One turn: enough to go through the code that spins, and no more.
    pub struct Spin {
        tried: bool,
    }

    impl Default for Spin {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Spin {
        /// Waits until something happens.
        pub fn new() -> Self {
            Self { tried: false }
        }

        /// Waits for a lock.
        pub fn for_lock(_: Owners) -> Self {
            Self::new()
        }

        /// Waits for peers.
        pub fn for_peers(_: usize) -> Self {
            Self::new()
        }

        /// Waits to be served.
        pub fn hand_over() -> Self {
            Self::new()
        }

        /// Waits to be served.
        pub fn hand_over_here() -> Self {
            Self::new()
        }

        /// Sleeps at once.
        pub fn none() -> Self {
            Self { tried: true }
        }

        /// What `here` says.
        pub const NOWHERE: u8 = u8::MAX;

        /// Somewhere.
        pub fn here() -> u8 {
            Self::NOWHERE
        }

        /// Waits for threads.
        pub fn for_threads(_: usize) -> Self {
            Self::new()
        }

        /// `true` once.
        pub fn turn(&mut self) -> bool {
            !std::mem::replace(&mut self.tried, true)
        }

        /// It looked free: it is.
        pub fn may_take(&mut self) -> bool {
            true
        }

        /// It looked taken.
        pub fn is_taken(&mut self) {}
    }

    pub fn rest(_: usize) {
        loom::thread::yield_now();
    }
}

#[cfg(all(test, not(loom), target_os = "linux"))]
mod tests {
    use std::process::Command;
    use std::{env, mem};

    use super::{Owners, Spin};

    /// Lets this process run on the first processor it may use, and no other.
    fn use_one_processor() {
        // SAFETY: an all-zero set is an empty one, the calls write and read no
        // more than the size they are given, and the index is below 1024.
        unsafe {
            let size = mem::size_of::<libc::cpu_set_t>();
            let mut allowed: libc::cpu_set_t = mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size, &raw mut allowed), 0);
            let first = (0..1024).find(|&cpu| libc::CPU_ISSET(cpu, &allowed));
            let mut one: libc::cpu_set_t = mem::zeroed();
            libc::CPU_SET(first.expect("a processor"), &mut one);
            assert_eq!(libc::sched_setaffinity(0, size, &raw const one), 0);
        }
    }

    /// How many processors there are is remembered, so this takes a process of its
    /// own.
    #[test]
    fn a_process_on_one_processor_never_spins() {
        const CHILD: &str = "BLITZ_SYNC_ON_ONE_PROCESSOR";
        if env::var_os(CHILD).is_some() {
            use_one_processor();
            assert!(!Spin::new().turn());
            assert!(!Spin::for_lock(Owners::Run).turn());
            assert!(!Spin::for_lock(Owners::MayWait).turn());
            assert!(!Spin::for_threads(8).turn());
            return;
        }
        run_child("a_process_on_one_processor_never_spins", CHILD);
    }

    /// Runs a test of this file in a process of its own, with a variable set.
    fn run_child(test: &str, variable: &str) {
        let name = format!("spin::tests::{test}");
        let output = Command::new(env::current_exe().unwrap())
            .args([name.as_str(), "--exact", "--test-threads=1"])
            .env(variable, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}"
        );
    }

    #[test]
    fn a_process_is_not_judged_by_one_bound_thread() {
        const CHILD: &str = "BLITZ_SYNC_ONE_BOUND_THREAD";
        if env::var_os(CHILD).is_some() {
            std::thread::spawn(|| {
                use_one_processor();
                assert!(!Spin::new().turn());
            })
            .join()
            .unwrap();
            let free = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
            let tries = (0..1000).any(|_| Spin::new().turn());
            assert_eq!(tries, free);
            return;
        }
        run_child("a_process_is_not_judged_by_one_bound_thread", CHILD);
    }

    #[test]
    fn with_several_processors_it_tries() {
        if std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
            assert!(Spin::new().turn());
            let mut spin = Spin::new();
            while spin.turn() {}
        }
    }
}
