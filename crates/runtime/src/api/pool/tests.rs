//! System calls of the pool, which the models of its queue cannot see.

use std::process::Command;
use std::time::Duration;
use std::{env, io};

use blitz_io_core::processors;

use crate::kernel::job_queue::{JobQueue, Next, Submitted, ThreadState};

const CHILD: &str = "BLITZ_RUNTIME_POOL_TEST";

/// Ends the process when this thread yields from now on.
fn forbid_yields() -> io::Result<()> {
    let step = |code, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let is_it = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let (end, go_on) = (libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_RET_ALLOW);
    let mut program = [
        // The number of the system call is the first thing the filter is given.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(is_it, 0, 1, libc::SYS_sched_yield as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, end),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, go_on),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the program and its steps live until the calls return; the system makes a
    // copy.
    let entered = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    if entered {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// A searching thread counts as arriving, so a submitter wakes no other thread for a job.
/// A yield to another process takes the searching thread away for a time slice, for which
/// the job would wait.
#[test]
fn a_searching_thread_never_yields() {
    let name = "api::pool::tests::a_searching_thread_never_yields";
    if env::var_os(CHILD).is_none() {
        let output = Command::new(env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, name)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let done = output.status.success() && said.contains("1 passed");
        return assert!(done, "{}\n{said}", output.status);
    }
    // The first search asks for the number of processors, and that may take all its time.
    _ = processors();
    if let Err(error) = forbid_yields() {
        return eprintln!("skipped, the system has no filters for system calls: {error}");
    }
    for _ in 0..20 {
        let queue = JobQueue::new(1);
        let (mut thread, keep_alive) = (ThreadState::new(), Duration::from_millis(1));
        assert_eq!(queue.submit(1, false).unwrap(), Submitted::StartThread);
        assert!(matches!(queue.next(&mut thread, keep_alive), Next::Run(1)));
        // It searches, sleeps, and leaves.
        assert!(matches!(queue.next(&mut thread, keep_alive), Next::Leave));
    }
}

/// A job may wait for the thread that another submitter starts. If the system refuses that thread, and
/// there is no other one, the job goes to that submitter.
#[test]
fn a_job_does_not_wait_for_a_thread_that_did_not_start() {
    let queue = JobQueue::new(3);
    assert_eq!(queue.submit(1, true).unwrap(), Submitted::StartThread);
    assert_eq!(queue.submit(2, true).unwrap(), Submitted::Served);
    assert_eq!(queue.lost(1).jobs, [1, 2]);
    assert_eq!(queue.numbers().queued, 0);

    // The other thread never ends its job, or does.
    for needed in [2, 1] {
        let queue = JobQueue::new(3);
        let mut thread = ThreadState::new();
        assert_eq!(queue.submit(1, false).unwrap(), Submitted::StartThread);
        let keep_alive = Duration::from_secs(1);
        assert!(matches!(queue.next(&mut thread, keep_alive), Next::Run(1)));
        assert_eq!(queue.submit(2, true).unwrap(), Submitted::StartThread);
        assert_eq!(queue.submit(3, true).unwrap(), Submitted::Served);
        assert_eq!(
            queue.lost(needed).jobs.len(),
            if needed == 2 { 2 } else { 0 }
        );
    }
}
