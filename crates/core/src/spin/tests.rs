use std::cell::Cell;

use super::*;

thread_local! {
    /// Number of pauses of this thread.
    pub(super) static PAUSES: Cell<usize> = const { Cell::new(0) };
}

/// Runs in a thread of its own, which has no memory of failed attempts.
fn in_new_thread<R: Send + 'static>(run: impl FnOnce() -> R + Send + 'static) -> R {
    std::thread::spawn(run).join().unwrap()
}

#[test]
fn each_preset_ends() {
    let presets = || {
        [
            Spin::EVENT,
            Spin::EVENT.among(1000),
            Spin::handoff(2),
            Spin::LOCK,
            Spin::LOCK.yielding(),
            Spin::PAUSE,
        ]
    };
    in_new_thread(move || {
        for mut spin in presets() {
            while spin.turn() {}
            assert!(!spin.turn());
        }
    });
}

/// The process remembers its knowledge of processors and strangers, so each of these tests runs
/// in a process of its own.
#[cfg(target_os = "linux")]
mod alone {
    use std::io::Read;
    use std::process::{Child, Command, Stdio};
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

    /// Runs a child like `run_child`, on one processor: a new process is bound as the thread that starts it.
    fn run_child_on_one_processor(test: &'static str) {
        let child = move || {
            assert!(bind_to_first_processor());
            run_child(test);
        };
        thread::spawn(child).join().unwrap();
    }

    /// Waits for a condition that a busy machine may delay.
    fn until(holds: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(900);
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
        until(|| {
            let mut spin = Spin::EVENT;
            spin.turn()
        });
        until(|| Spin::handoff(2).turn());
        for mut spin in [Spin::LOCK, Spin::LOCK.yielding(), Spin::PAUSE] {
            assert!(!spin.turn());
        }
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

    /// No thread of this process yields, so none has yielded to a stranger.
    #[test]
    fn hand_offs_are_skipped_after_one_that_failed() {
        if !is_child() {
            return run_child("hand_offs_are_skipped_after_one_that_failed");
        }
        if processors() < 2 {
            return;
        }
        in_new_thread(|| {
            // It gives up where it would first look at its limit.
            let fails = || {
                let mut spin = Spin::handoff(2);
                spin.limit = Duration::ZERO;
                while spin.turn() {}
            };
            let is_made = || {
                let mut spin = Spin::handoff(2);
                spin.turn();
                spin.memory == Memory::Asked
            };
            fails();
            // One that makes no turn does not count.
            _ = Spin::handoff(2);
            assert!(!is_made());
            fails();
            assert!((0..3).all(|_| !is_made()));
            // This one does not fail; so the next failure counts as the first.
            assert!(is_made());
            fails();
            assert!(!is_made());
            assert!(is_made());
        });
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
            Spin::LOCK.yielding().turn();
            PAUSES.get() == before
        });
    }

    /// A process that keeps the processor busy until it is dropped.
    struct Busy(Child);

    impl Busy {
        /// Starts the process, which is busy when this returns.
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
        // Each wait could make hundreds of yields. The first long yield silences the others, and
        // the silence outlasts most of the waits that follow.
        let (waits, mut turns) = (200, 0);
        for _ in 0..waits {
            let mut spin = Spin::EVENT;
            while spin.turn() {
                turns += 1;
                assert!(turns < 1000, "{turns} yields in {waits} waits");
            }
        }
    }

    /// Returns how often another thread has taken the processor while this one could run.
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
