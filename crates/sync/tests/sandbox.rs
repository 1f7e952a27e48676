//! A sandbox that forbids `membarrier`: from the beginning, or later, when the locks already rely
//! on it, in all threads or only in some. With it, the barrier that then replaces it, and the end
//! of a process that has none. And a system in which `membarrier` comes late.
//!
//! No process can leave a sandbox, so each test starts this program a second time and enters the
//! sandbox there.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::io;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use blitz_io_core::nanos_of;
use blitz_io_sync::release_fence;
use blitz_io_sync::thread::{Event, Mutex, RwLock};
use blitz_io_testing::threads::{Random, Watchdog, work};

const ROLE: &str = "BLITZ_TEST_SANDBOX";
const LIGHT: &str = "membarrier";
const STRONG: &str = "fence";
/// The child's message after all checks have passed.
const DONE: &str = "the sandboxed stress is done";

/// Runs `child` in a process of its own. `test` is the name of the test that
/// calls this; the process runs it, too, and gets here.
fn in_own_process(test: &str, child: fn()) {
    let Some(output) = run_in_own_process(test, child) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains(DONE),
        "{}\n{said}\n{complained}",
        output.status
    );
}

/// Acts as [`in_own_process`], and returns how the process ended; `None` within it.
fn run_in_own_process(test: &str, child: fn()) -> Option<Output> {
    if std::env::var(ROLE).as_deref() == Ok(test) {
        let _watchdog = Watchdog::new("the sandboxed stress");
        child();
        println!("{DONE}");
        return None;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, test)
        .output();
    Some(output.unwrap())
}

fn membarrier(command: libc::c_int) -> io::Result<()> {
    // SAFETY: the call reads and writes no memory of ours.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Forbids `membarrier` to this thread and to those that it starts from now on.
fn enter_sandbox() {
    forbid(&[libc::SYS_membarrier]);
}

/// One step of a filter.
fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    let code = code as u16;
    libc::sock_filter { code, jt, jf, k }
}

/// Forbids system calls, `membarrier` among them, as [`enter_sandbox`] does.
fn forbid(calls: &[libc::c_long]) {
    // The number of the system call is the first thing the filter is given.
    let mut program = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    for &call in calls {
        let is_it = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        program.push(step(is_it, 0, 1, call as u32));
        program.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, refuse));
    }
    let allow = libc::SECCOMP_RET_ALLOW;
    program.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, allow));
    install(&mut program);
    let refused = membarrier(libc::MEMBARRIER_CMD_QUERY).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
}

/// Makes this thread, and those that it starts from now on, run the filter at each system call.
fn install(program: &mut [libc::sock_filter]) {
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the call takes numbers only.
    let promised = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(promised, 0, "{}", io::Error::last_os_error());
    // SAFETY: the program and its steps live until the call returns; the system
    // makes a copy.
    let entered = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) };
    assert_eq!(entered, 0, "{}", io::Error::last_os_error());
}

/// The third argument of a call of `membarrier` that runs at once. The system ignores it.
const AT_ONCE: libc::c_long = 1;

/// Makes `membarrier` come late in this thread and in those that it starts from now on, as it does
/// on some virtual machines. A signal handler makes the call in their place, after a while.
fn delay_membarrier() {
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::ucontext_t) =
        call_late;
    // SAFETY: zero is a valid action, and the handler only makes system calls and writes to the
    // context that it was given.
    let handles = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut())
    };
    assert_eq!(handles, 0, "{}", io::Error::last_os_error());
    let (load, jump) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
    );
    let end = libc::BPF_RET | libc::BPF_K;
    // The filter is given the number of the system call, eight bytes for each argument after the
    // sixteenth byte, and more.
    install(&mut [
        step(load, 0, 0, 0),
        step(jump, 0, 3, libc::SYS_membarrier as u32),
        step(load, 0, 0, 16 + 2 * 8),
        step(jump, 1, 0, AT_ONCE as u32),
        step(end, 0, 0, libc::SECCOMP_RET_TRAP),
        step(end, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]);
}

extern "C" fn call_late(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
    // The kernel waits for a late processor without leaving its own.
    let end = thread_time() + Duration::from_millis(2);
    while thread_time() < end {
        std::hint::spin_loop();
    }
    // SAFETY: the system has given the context of the interrupted call to this handler. The
    // register of the first argument has the command, and another gets the result.
    unsafe {
        let registers = &mut (*context).uc_mcontext.gregs;
        let command = registers[libc::REG_RDI as usize];
        registers[libc::REG_RAX as usize] =
            libc::syscall(libc::SYS_membarrier, command, 0, AT_ONCE);
    }
}

/// The time that this thread has spent on processors.
fn thread_time() -> Duration {
    Duration::from_nanos(nanos_of(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// State shared by the threads of a stress. They change the two numbers of a pair one after the
/// other, so that a thread that gets in where it must not sees a difference.
#[derive(Default)]
struct Shared {
    mutex: Mutex<(u64, u64)>,
    rwlock: RwLock<(u64, u64)>,
    writes: AtomicUsize,
}

impl Shared {
    fn run(&self, seed: u64) {
        let mut random = Random::new(seed + 1);
        for _ in 0..1_500 {
            let mut pair = self.mutex.lock();
            change(&mut pair, &mut random);
            drop(pair);
            if random.below(3) == 0 {
                change(&mut self.rwlock.write(), &mut random);
                self.writes.fetch_add(1, Ordering::Relaxed);
            } else {
                let pair = self.rwlock.read();
                linger(&mut random);
                assert_eq!(pair.0, pair.1);
            }
        }
    }

    fn check(&self, threads: u64) {
        assert_eq!(*self.mutex.lock(), (threads * 1_500, threads * 1_500));
        let writes = self.writes.load(Ordering::Relaxed) as u64;
        assert_eq!(*self.rwlock.read(), (writes, writes));
    }
}

fn change(pair: &mut (u64, u64), random: &mut Random) {
    assert_eq!(pair.0, pair.1);
    pair.0 += 1;
    linger(random);
    pair.1 += 1;
}

/// Mostly short, now and then long enough for others to fall asleep.
fn linger(random: &mut Random) {
    match random.below(40) {
        0 => thread::sleep(Duration::from_micros(100)),
        moment => work(Duration::from_nanos(20 * moment)),
    }
}

/// A stress of threads that are started here, and so are where we are.
fn stress() {
    let shared = Shared::default();
    thread::scope(|scope| {
        for seed in 0..4 {
            let shared = &shared;
            scope.spawn(move || shared.run(seed));
        }
    });
    shared.check(4);
}

/// One thread sleeps for the lock of another. The threads run where we are.
fn contend_once() {
    let mutex = Mutex::new(0);
    thread::scope(|scope| {
        let mut guard = mutex.lock();
        scope.spawn(|| *mutex.lock() += 1);
        thread::sleep(Duration::from_millis(5));
        *guard += 1;
    });
    assert_eq!(mutex.into_inner(), 2);
}

/// Returns `true` if the system has the call that the sandbox takes away, and answers it in time.
fn is_light() -> bool {
    release_fence() == LIGHT
}

#[test]
fn forbidden_from_the_beginning() {
    in_own_process("forbidden_from_the_beginning", || {
        enter_sandbox();
        contend_once();
        assert_eq!(release_fence(), STRONG);
        stress();
        assert_eq!(release_fence(), STRONG);
    });
}

/// Contends until a thread has had to ask for the barrier and was refused. On a busy
/// machine that may take some attempts.
fn find_out() {
    let finds_out = |_| {
        contend_once();
        release_fence() == STRONG
    };
    assert!((0..200).any(finds_out));
}

/// Returns `true` if a change of memory protection can replace the call: processors that have `INVLPGB` run
/// no barrier for it.
fn is_replaceable() -> bool {
    // SAFETY: each processor of this architecture has the instruction.
    #[allow(unused_unsafe, reason = "safe in later versions of Rust")]
    unsafe {
        std::arch::x86_64::__cpuid(0x8000_0008).ebx & 1 << 3 == 0
    }
}

#[test]
fn forbidden_after_the_first_use() {
    in_own_process("forbidden_after_the_first_use", || {
        contend_once();
        stress();
        if is_light() && !is_replaceable() {
            return;
        }
        enter_sandbox();
        find_out();
        stress();
        assert_eq!(release_fence(), STRONG);
    });
}

#[test]
fn forbidden_together_with_what_could_replace_it() {
    let test = "forbidden_together_with_what_could_replace_it";
    let ended = run_in_own_process(test, || {
        contend_once();
        if !is_light() {
            eprintln!("blitz-io: Allow membarrier: it is not needed here");
            std::process::abort();
        }
        // A thread that is outside keeps the lock, so that one inside has to sleep for it.
        let mutex = Mutex::new(());
        let (held, sandboxed) = (Event::new_manual(false), Event::new_manual(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                let _guard = mutex.lock();
                held.set();
                sandboxed.wait();
                thread::sleep(Duration::from_secs(30));
            });
            held.wait();
            forbid(&[libc::SYS_membarrier, libc::SYS_mprotect]);
            sandboxed.set();
            drop(mutex.lock());
        });
    });
    let Some(ended) = ended else { return };
    let complained = String::from_utf8_lossy(&ended.stderr);
    let explains = complained.contains("Allow membarrier");
    assert!(!ended.status.success() && explains, "{complained}");
}

/// Threads outside go on with their light releases until one inside is refused.
#[test]
fn forbidden_to_some_threads_in_the_middle_of_their_work() {
    in_own_process(
        "forbidden_to_some_threads_in_the_middle_of_their_work",
        || {
            contend_once();
            if is_light() && !is_replaceable() {
                return;
            }
            let shared = Shared::default();
            let started = Event::new_manual(false);
            thread::scope(|scope| {
                for seed in 0..3 {
                    let (shared, started) = (&shared, &started);
                    scope.spawn(move || {
                        started.set();
                        shared.run(seed);
                    });
                }
                started.wait();
                enter_sandbox();
                for seed in 3..6 {
                    let shared = &shared;
                    scope.spawn(move || shared.run(seed));
                }
            });
            shared.check(6);
            // All the threads that had to ask may have been outside.
            find_out();
            assert_eq!(release_fence(), STRONG);
        },
    );
}

/// The first thread that needs the barrier notices, and the locks do without it from then on.
#[test]
fn late_from_some_time_on() {
    in_own_process("late_from_some_time_on", || {
        contend_once();
        is_light();
        stress();
        delay_membarrier();
        find_out();
        stress();
        assert_eq!(release_fence(), STRONG);
    });
}

/// Without a sandbox none of the above proves anything.
#[test]
fn outside_of_it_all_is_as_the_system_offers() {
    in_own_process("outside_of_it_all_is_as_the_system_offers", || {
        let offered = membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED).is_ok();
        assert_eq!(release_fence(), if offered { LIGHT } else { STRONG });
        contend_once();
        stress();
    });
}
