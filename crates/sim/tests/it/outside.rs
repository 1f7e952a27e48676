//! Programs that start other programs.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use blitz_io_sim::{Plan, Program, Schedule, Simulator, Verdict};

use crate::support::{c, is_simulated, test, text};

fn passes_with_children(program: Program, children: &str) {
    let mut simulator = Simulator::start(&program.allow_exec()).unwrap();
    for seed in 0..10 {
        let outcome = simulator.run(&Plan::new(Schedule::Random, seed)).unwrap();
        let told = format!("seed {seed}: {}\n{}", outcome.report, text(&outcome));
        assert_eq!(outcome.verdict, Verdict::Passed, "{told}");
        assert_eq!(outcome.report, children, "{told}");
    }
}

/// One thread writes more than a pipe holds to a child, another one reads what comes back.
#[test]
fn filter_program_writes_and_reads() {
    if !is_simulated() {
        return;
    }
    let mut child = Command::new("/bin/cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let data: Vec<u8> = (0..300_000u32).map(|at| (at / 7) as u8).collect();
    let sent = data.clone();
    let writer = thread::spawn(move || to.write_all(&sent).unwrap());
    let mut back = vec![];
    from.read_to_end(&mut back).unwrap();
    assert!(back == data);
    writer.join().unwrap();
    assert!(child.wait().unwrap().success());
    // Without a child, time is simulated again.
    thread::sleep(Duration::from_secs(3600));
}

#[test]
fn a_child_is_fed_and_read_and_waited_for() {
    let program = test("outside::filter_program_writes_and_reads");
    passes_with_children(program, "outside: posix_spawnp\n");
}

/// A wait for a child that takes its time is no deadlock.
#[test]
fn a_child_of_fork_and_one_of_the_shell_end() {
    let compiled = c(r#"
#include <sys/wait.h>
int main(void) {
    int fds[2], status;
    char c;
    pipe(fds);
    pid_t child = fork();
    if (child == 0) {
        usleep(20000);
        write(fds[1], "x", 1);
        execl("/bin/sh", "sh", "-c", "exit 7", NULL);
    }
    close(fds[1]);
    assert(read(fds[0], &c, 1) == 1 && c == 'x');
    assert(read(fds[0], &c, 1) == 0);
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    assert(WEXITSTATUS(system("exit 3")) == 3);
    assert(wait(NULL) == -1 && errno == ECHILD);
    return 0;
}"#);
    passes_with_children(compiled.program, "outside: fork\noutside: system\n");
}

#[test]
fn without_permission_a_child_ends_the_run() {
    let mut simulator =
        Simulator::start(&test("outside::filter_program_writes_and_reads")).unwrap();
    let outcome = simulator.run(&Plan::new(Schedule::Random, 1)).unwrap();
    assert_eq!(outcome.verdict, Verdict::Escaped);
    assert!(outcome.report.starts_with("escaped: posix_spawnp"));
}
