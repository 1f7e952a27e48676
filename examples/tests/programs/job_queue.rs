use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::{Ran, program, ran, run};

#[test]
fn each_line_is_a_job() {
    let mut command = program("job_queue");
    command.args(["--rate", "1000", "--", "echo", "<{}>", "and", "{}"]);
    let ran = run(command, "one\ntwo words\n\nthree\n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut out: Vec<_> = ran.out.lines().collect();
    out.sort_unstable();
    assert_eq!(
        out,
        [
            "<one> and one",
            "<three> and three",
            "<two words> and two words"
        ]
    );
    assert!(
        ran.err
            .starts_with("job_queue: 3 begun, 3 done, 0 failed, 0 killed, 0 left")
    );
}

#[test]
fn one_at_a_time_keeps_the_order() {
    let mut command = program("job_queue");
    command.args(["--rate", "1000", "--workers", "1", "--", "echo"]);
    let ran = run(command, "1\n2\n3\n4\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "1\n2\n3\n4\n"));
}

#[test]
fn no_more_than_so_many_a_second() {
    let mut command = program("job_queue");
    command.args(["--rate", "20", "--", "true"]);
    let start = Instant::now();
    let ran = run(command, &"x\n".repeat(9));
    // The first job starts at once, the others 50 ms apart.
    assert!(start.elapsed() >= Duration::from_millis(400));
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn failures_are_said() {
    let mut command = program("job_queue");
    command.args(["--rate", "1000", "--", "sh", "-c", "exit {}"]);
    let result = run(command, "0\n3\n");
    assert_eq!(result.code, 1);
    assert!(
        result.err.contains("job_queue: 3: exit status: 3\n"),
        "{}",
        result.err
    );
    assert!(
        result.err.contains("2 begun, 1 done, 1 failed"),
        "{}",
        result.err
    );

    let mut command = program("job_queue");
    command.args(["--", "no-such-program"]);
    let result = run(command, "x\n");
    assert_eq!(result.code, 1);
    assert!(
        result.err.contains("x: cannot run no-such-program: "),
        "{}",
        result.err
    );
}

/// After the deadline no job is started; running jobs may complete within the grace period.
#[test]
fn a_deadline_lets_running_jobs_end() {
    let result = with_a_deadline(|deadline| {
        let mut command = program("job_queue");
        command.args(["--rate", "1000", "--workers", "2", "--grace", "900"]);
        command.args(["--deadline", &deadline.to_string()]);
        let job = format!("sleep {}; echo {{}}", 2 * deadline);
        command.args(["--", "sh", "-c", &job]);
        let result = run(command, "1\n2\n3\n4\n5\n");
        (
            result,
            "2 begun, 2 done, 0 failed, 0 killed, 3 left in the queue",
        )
    });
    assert_eq!(result.code, 3, "{}", result.err);
    assert!(
        result.err.contains("the deadline has passed"),
        "{}",
        result.err
    );
    assert_eq!(result.out.lines().count(), 2);
}

#[test]
fn what_outlives_its_grace_is_killed() {
    let result = with_a_deadline(|deadline| {
        let mut command = program("job_queue");
        command.args(["--rate", "1000", "--grace", "0.2"]);
        command.args(["--deadline", &deadline.to_string(), "--", "sleep"]);
        let result = run(command, "6000\n7000\n");
        (result, "2 begun, 0 done, 0 failed, 2 killed")
    });
    assert_eq!(result.code, 3);
    assert!(result.err.contains("6000: killed\n"), "{}", result.err);
}

/// Tries longer and longer deadlines, in seconds, until the program reports what is expected: on a
/// busy machine, a deadline may pass before the jobs have begun.
fn with_a_deadline(run: impl Fn(u32) -> (Ran, &'static str)) -> Ran {
    for deadline in [2, 10, 60] {
        let (result, expected) = run(deadline);
        if result.err.contains(expected) {
            return result;
        }
        eprintln!("with a deadline of {deadline} s:\n{}", result.err);
    }
    panic!("not what was expected, with any deadline");
}

/// A signal ends the program although its input stays open.
#[test]
fn an_interrupt_ends_it() {
    let mut command = program("job_queue");
    command.args(["--rate", "1000", "--grace", "900"]);
    command.args(["--", "sh", "-c", "echo {}; sleep 0.1"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "first").unwrap();
    // When a job has printed something, the program handles signals.
    let mut out = child.stdout.take().unwrap();
    let mut said = [0; 6];
    std::io::Read::read_exact(&mut out, &mut said).unwrap();
    assert_eq!(&said, b"first\n");
    let interrupt = format!("kill -INT {}", child.id());
    let sent = std::process::Command::new("sh")
        .args(["-c", &interrupt])
        .status();
    assert!(sent.unwrap().success());
    let result = ran(child.wait_with_output().unwrap());
    drop(input);
    assert_eq!(result.code, 3, "{}", result.err);
    assert!(result.err.contains("interrupted"), "{}", result.err);
    assert!(result.err.contains("1 begun, 1 done"), "{}", result.err);
}

#[test]
fn wrong_options_are_refused() {
    for arguments in [
        &["--rate", "0", "--", "true"][..],
        &["--rate", "x", "--", "true"],
        &[],
    ] {
        let mut command = program("job_queue");
        command.args(arguments);
        assert_eq!(run(command, "").code, 2);
    }
}
