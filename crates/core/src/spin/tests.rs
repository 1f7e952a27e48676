use std::cell::Cell;
use std::time::{Duration, Instant};

use super::*;

thread_local! {
    /// How often this thread has paused.
    pub(super) static PAUSES: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn each_policy_ends() {
    let began = Instant::now();
    let mut event = EventSpin::new();
    while event.turn() {}
    let mut among_many = EventSpin::among(1000);
    while among_many.turn() {}
    let mut handoff = HandoffSpin::new(2);
    while handoff.turn() {}
    let mut lock = LockSpin::new(Owners::MayWait);
    while lock.turn() {}
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_burst_is_followed_by_a_pause_in_proportion() {
    // How long the first turn takes at least, if this thread may pause at all.
    let first_turn = |values| {
        let mut spin = HandoffSpin::after_burst(2, values);
        let (pauses, began) = (PAUSES.get(), Instant::now());
        assert!(spin.turn() || processors() < 2);
        (PAUSES.get() - pauses, began.elapsed())
    };
    let (pauses, _) = first_turn(1);
    assert!(pauses <= 1, "one value is no burst: {pauses} pauses");
    let (pauses, took) = first_turn(11);
    assert!(pauses == 0 || took >= Duration::from_nanos(500), "{took:?}");
    // (One on top of the usual one is certain: on an emulated processor it may take that long.)
    assert!(pauses > 1 || processors() < 2, "{pauses} pauses");
    let (pauses, took) = first_turn(u32::MAX);
    assert!(pauses == 0 || took >= Duration::from_micros(4), "{took:?}");
}

/// The process remembers its knowledge of processors and strangers, so each of these tests runs
/// in a process of its own.
#[cfg(target_os = "linux")]
mod alone {
    use std::io::Read;
    use std::process::{Child, Command, Stdio};
    use std::sync::atomic::AtomicU32;
    use std::{env, thread};

    use blitz_io_testing::bind_to_first_processor;

    use super::*;
    use crate::backoff::Backoff;

    /// Runs a test of this file in a process of its own, with the variable set to its name.
    fn run_child(test: &str) {
        let name = format!("spin::tests::alone::{test}");
        let output = Command::new(env::current_exe().unwrap())
            .args([name.as_str(), "--exact", "--test-threads=1"])
            .env(CHILD, test)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}"
        );
    }

    /// The same, on one processor: a new process is bound as the thread that starts it.
    fn run_child_on_one_processor(test: &'static str) {
        let child = move || {
            assert!(bind_to_first_processor());
            run_child(test);
        };
        thread::spawn(child).join().unwrap();
    }

    /// Waits for a condition that a busy machine may delay.
    fn until(holds: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !holds() {
            assert!(Instant::now() < deadline);
            thread::sleep(Duration::from_millis(1));
        }
    }

    const CHILD: &str = "BLITZ_CORE_SPIN_TEST";

    fn is_child() -> bool {
        env::var_os(CHILD).is_some()
    }

    #[test]
    fn on_one_processor_a_hand_over_yields_and_a_lock_sleeps() {
        if !is_child() {
            return run_child_on_one_processor(
                "on_one_processor_a_hand_over_yields_and_a_lock_sleeps",
            );
        }
        // A yield that a stranger has used is not followed by another one at once.
        until(|| EventSpin::new().turn());
        until(|| HandoffSpin::new(2).turn());
        assert!(!LockSpin::new(Owners::Run).turn());
        assert!(!LockSpin::new(Owners::MayWait).turn());
    }

    #[test]
    fn a_process_is_not_judged_by_one_bound_thread() {
        if !is_child() {
            return run_child("a_process_is_not_judged_by_one_bound_thread");
        }
        let several = thread::available_parallelism().is_ok_and(|n| n.get() > 1);
        // Also if all threads that ask are bound.
        let bound = thread::spawn(move || {
            assert!(bind_to_first_processor());
            processors()
        });
        assert_eq!(bound.join().unwrap() > 1, several);
        assert_eq!(processors() > 1, several);
    }

    /// A pause after the yield would leave a lock free that its owner released during the pause.
    #[test]
    fn a_lock_is_looked_at_as_soon_as_a_yield_returns() {
        if !is_child() {
            return run_child("a_lock_is_looked_at_as_soon_as_a_yield_returns");
        }
        // It pauses only while yields go to strangers.
        until(|| {
            let before = PAUSES.get();
            LockSpin::new(Owners::MayWait).turn();
            PAUSES.get() == before
        });
    }

    /// Takes turns with another thread, and returns how often this one has paused.
    fn pauses_in_turns(turns: u32, turn: &AtomicU32, own: u32) -> usize {
        assert!(bind_to_first_processor());
        let before = PAUSES.get();
        for _ in 0..turns {
            let mut spin = HandoffSpin::new(2);
            while turn.load(Ordering::Acquire) != own {
                if !spin.turn() {
                    thread::yield_now();
                }
            }
            turn.store(1 - own, Ordering::Release);
        }
        PAUSES.get() - before
    }

    /// How often two threads pause that share a processor and take turns.
    fn pauses_of_two(turns: u32) -> usize {
        // Yields that find no other thread to run, unless a stranger runs here.
        let alone = || {
            let mut spin = HandoffSpin::new(2);
            while spin.turn() {}
        };
        thread::spawn(alone).join().unwrap();
        let turn = AtomicU32::new(0);
        thread::scope(|scope| {
            let peer = scope.spawn(|| pauses_in_turns(turns, &turn, 1));
            let own = scope.spawn(|| pauses_in_turns(turns, &turn, 0));
            peer.join().unwrap() + own.join().unwrap()
        })
    }

    /// Pauses only keep a peer waiting that needs this very processor.
    #[test]
    fn a_thread_that_shares_its_processor_with_its_peer_does_not_pause() {
        if !is_child() {
            return run_child("a_thread_that_shares_its_processor_with_its_peer_does_not_pause");
        }
        if processors() < 2 {
            return;
        }
        // Two pauses in each wait would be 40,000, whatever else the machine does. Beside
        // strangers a process may never have seen a yield that finds no thread to run.
        const TURNS: u32 = 10_000;
        until(|| pauses_of_two(TURNS) < TURNS as usize);
    }

    /// A process that keeps the processor busy until it is dropped.
    struct Busy(Child);

    impl Busy {
        /// It is busy when this returns.
        fn new() -> Self {
            let mut child = Command::new("sh")
                .args(["-c", "echo; while :; do :; done"])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let said = child.stdout.take().unwrap().read_exact(&mut [0]);
            let busy = Self(child);
            said.unwrap();
            busy
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            _ = self.0.kill();
            _ = self.0.wait();
        }
    }

    #[test]
    fn a_thread_does_not_go_on_yielding_to_strangers() {
        if !is_child() {
            return run_child_on_one_processor("a_thread_does_not_go_on_yielding_to_strangers");
        }
        let _busy = [Busy::new(), Busy::new()];
        // 200 waits of 64 yields each would be 12,800. The first long yield silences the
        // others, and the silence outlasts most of the waits that follow.
        let (waits, mut turns) = (200, 0);
        for _ in 0..waits {
            let mut spin = HandoffSpin::new(2);
            while spin.turn() {
                turns += 1;
                assert!(turns < 1000, "{turns} yields in {waits} waits");
            }
        }
    }

    /// How often another thread has taken the processor while this one could run.
    fn interruptions() -> libc::c_long {
        // SAFETY: an all-zero value is valid, and the call writes it.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
            usage.ru_nivcsw
        }
    }

    #[test]
    fn nor_does_one_that_backs_off() {
        if !is_child() {
            return run_child_on_one_processor("nor_does_one_that_backs_off");
        }
        let _busy = [Busy::new(), Busy::new()];
        let before = interruptions();
        // 3,000 yields, if each step but the first made one.
        for _ in 0..200 {
            let mut backoff = Backoff::new();
            while !backoff.is_completed() {
                backoff.snooze();
            }
        }
        let interruptions = interruptions() - before;
        assert!(interruptions < 1000, "{interruptions}");
    }
}
