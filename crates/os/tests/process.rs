//! Child processes. In a separate process, because its zombies are counted.

#![cfg(target_os = "linux")]

use std::pin::pin;
use std::process::Stdio;
use std::sync::Mutex;
use std::task::Waker;
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::process::Command;
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::time::{sleep, timeout};
use blitz_io_testing::{panic_of, poll_once};

/// The tests count the children of the process, so they run one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> impl Drop {
    ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Creates a command for a script. If the shell is killed, the processes that it has
/// started outlive it, unless the script says `exec`.
fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Returns the system's state of a process: `Z` is a zombie, `None` means that the process
/// does not exist.
fn state_of(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.trim().chars().next()
}

async fn until_gone(pid: u32) {
    let gone = async {
        while state_of(pid).is_some() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(900), gone)
        .await
        .expect("it is a zombie");
}

#[test]
fn a_dropped_child_goes_on_and_leaves_no_zombie() {
    let _alone = alone();
    runtime().block_on(async {
        let mut child = shell("read line").stdin(Stdio::piped()).spawn().unwrap();
        let (pid, input) = (child.id().unwrap(), child.stdin.take());
        drop(child);
        assert_ne!(state_of(pid), None);
        assert_ne!(state_of(pid), Some('Z'));
        drop(input);
        until_gone(pid).await;
        // A child that has exited before.
        let mut child = shell("exit 0").stdout(Stdio::piped()).spawn().unwrap();
        let pid = child.id().unwrap();
        let mut text = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .await
            .unwrap();
        drop(child);
        until_gone(pid).await;
    });
}

#[test]
fn after_the_runtimes_end_the_next_child_sees_to_it() {
    let _alone = alone();
    let (pid, input) = runtime().block_on(async {
        let mut child = shell("read line").stdin(Stdio::piped()).spawn().unwrap();
        (
            child.id().unwrap(),
            child.stdin.take().unwrap().into_owned_fd().unwrap(),
        )
    });
    assert_ne!(state_of(pid), Some('Z'));
    drop(input);
    runtime().block_on(async {
        let cleaned = async {
            while state_of(pid).is_some() {
                assert!(shell("exit 0").status().await.unwrap().success());
            }
        };
        timeout(Duration::from_secs(900), cleaned)
            .await
            .expect("it is a zombie");
    });
}

#[test]
fn kill_on_drop_kills() {
    let _alone = alone();
    runtime().block_on(async {
        let child = shell("exec sleep 1000").kill_on_drop(true).spawn().unwrap();
        let pid = child.id().unwrap();
        drop(child);
        until_gone(pid).await;
        // A future that is dropped drops its child.
        let mut command = shell("exec sleep 1000");
        let mut status = Box::pin(command.kill_on_drop(true).status());
        assert!(poll_once(status.as_mut(), Waker::noop()).is_pending());
        drop(status);
    });
}

#[test]
fn a_status_is_kept() {
    let _alone = alone();
    runtime().block_on(async {
        let mut child = shell("exit 7").spawn().unwrap();
        // A dropped wait loses nothing.
        drop(poll_once(pin!(child.wait()), Waker::noop()));
        assert_eq!(child.wait().await.unwrap().code(), Some(7));
        assert_eq!(child.id(), None);
        assert_eq!(child.wait().await.unwrap().code(), Some(7));
        assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(7));
        child.kill().await.unwrap();

        let mut child = shell("read line; exit 3")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(child.try_wait().unwrap(), None);
        // The wait closes standard input.
        assert_eq!(child.wait().await.unwrap().code(), Some(3));
        let mut child = shell("exec sleep 1000").spawn().unwrap();
        child.kill().await.unwrap();
        assert_eq!(child.wait().await.unwrap().code(), None);
    });
}

#[test]
fn much_output_on_both_pipes_at_once() {
    let _alone = alone();
    runtime().block_on(async {
        let script = "i=0; while [ $i -lt 3000 ]; do \
                      echo oooooooooooooooooooooooooooooooooooooooooo; \
                      echo eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee >&2; i=$((i+1)); done; exit 4";
        let output = shell(script).output().await.unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (129_000, 129_000));
        assert_eq!(output.status.code(), Some(4));
        assert!(output.stderr.iter().all(|byte| b"e\n".contains(byte)));
    });
}

#[test]
fn a_pipeline_of_two() {
    let _alone = alone();
    runtime().block_on(async {
        let mut first = Command::new("cat");
        first.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut first = first.spawn().unwrap();
        let between: Stdio = first.stdout.take().unwrap().try_into().unwrap();
        let second = shell("tr a-z A-Z")
            .stdin(between)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = first.stdin.take().unwrap();
        input.write_all(b"through both").await.unwrap();
        drop(input);
        assert_eq!(
            second.wait_with_output().await.unwrap().stdout,
            b"THROUGH BOTH"
        );
        assert!(first.wait().await.unwrap().success());
    });
}

#[test]
fn a_child_that_does_not_read_is_a_broken_pipe() {
    let _alone = alone();
    runtime().block_on(async {
        let mut child = shell("exit 0").stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let error = loop {
            if let Err(error) = input.write_all(&[7; 10_000]).await {
                break error;
            }
        };
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        assert!(child.wait().await.unwrap().success());
    });
}

#[test]
fn what_is_no_program_is_an_error() {
    let _alone = alone();
    runtime().block_on(async {
        let error = Command::new("/no/such/program").spawn().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        assert!(Command::new("/no/such/program").output().await.is_err());
    });
    let without_io = Builder::new_current_thread().build().unwrap();
    let text = panic_of(|| without_io.block_on(async { drop(shell("exit 0").status()) }));
    assert!(text.contains("IO") || text.contains("I/O"), "{text}");
}

#[test]
fn settings_reach_the_child() {
    let _alone = alone();
    runtime().block_on(async {
        let mut command = shell("echo $0 $ONE $TWO; pwd");
        command
            .env_clear()
            .env("ONE", "1")
            .envs([("TWO", "2"), ("THREE", "3")]);
        command
            .env_remove("THREE")
            .current_dir("/")
            .arg("name")
            .kill_on_drop(true);
        command.process_group(0);
        assert!(command.get_kill_on_drop());
        let output = command.output().await.unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "name 1 2\n/\n");
        assert_eq!(command.as_std().get_program(), "sh");
        assert_eq!(command.into_std().get_args().count(), 3);
    });
}

#[test]
fn many_children_at_once() {
    let _alone = alone();
    runtime().block_on(async {
        let mut all = blitz_io::task::JoinSet::new();
        for code in 0..60 {
            all.spawn(async move {
                let status = shell(&format!("exit {code}")).status().await.unwrap();
                assert_eq!(status.code(), Some(code));
            });
        }
        while let Some(ended) = all.join_next().await {
            ended.unwrap();
        }
    });
}
