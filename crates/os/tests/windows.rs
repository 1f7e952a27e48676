//! Child processes on Windows. The tests of console events are beside the handler.

#![cfg(windows)]

use std::io::Write;
use std::os::windows::io::{AsRawHandle, RawHandle};
use std::pin::{Pin, pin};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::process::{Child, Command};
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::time::timeout;

const LIMIT: Duration = Duration::from_secs(900);

/// The environment variable that gives this same program its role as the child of a test:
/// see `child`.
const ROLE: &str = "BLITZ_TEST_CHILD";

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Returns a command that runs this program as a child.
fn as_child(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--quiet"]);
    command.env(ROLE, role).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Not a test: this is what children run.
#[test]
fn child() {
    match std::env::var(ROLE).as_deref() {
        // Both end with their standard input.
        Ok("echo") => {
            let input = std::io::read_to_string(std::io::stdin()).unwrap();
            std::io::stdout().write_all(input.as_bytes()).unwrap();
            std::process::exit(3);
        }
        Ok("wait") => {
            std::io::read_to_string(std::io::stdin()).unwrap();
            std::process::exit(7);
        }
        _ => {}
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(LIMIT, future).await.expect("it hangs")
}

#[test]
fn a_child_reads_writes_and_exits() {
    runtime().block_on(async {
        let mut child = as_child("echo").spawn().unwrap();
        assert!(child.id().is_some() && child.raw_handle().is_some());
        let mut input = child.stdin.take().unwrap();
        let sent = "to and fro ".repeat(10_000);
        let write = async {
            input.write_all(sent.as_bytes()).await.unwrap();
            input.flush().await.unwrap();
            drop(input);
        };
        let read = within(child.wait_with_output());
        let (output, ()) = blitz_io::join!(read, write);
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(3));
        // The test program first writes a line of its own.
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.ends_with(&sent), "{} bytes came back", text.len());
    });
}

#[test]
fn a_status_is_kept_and_a_dropped_wait_loses_nothing() {
    runtime().block_on(async {
        let mut child = as_child("wait").spawn().unwrap();
        let input = child.stdin.take();
        for _ in 0..3 {
            let mut cx = Context::from_waker(Waker::noop());
            assert!(pin!(child.wait()).poll(&mut cx).is_pending());
        }
        assert_eq!(child.try_wait().unwrap(), None);
        drop(input);
        assert_eq!(within(child.wait()).await.unwrap().code(), Some(7));
        assert_eq!(child.wait().await.unwrap().code(), Some(7));
        assert_eq!(child.try_wait().unwrap().unwrap().code(), Some(7));
        assert!(child.id().is_none() && child.raw_handle().is_none());
        child.kill().await.unwrap();
    });
}

#[test]
fn many_children_at_once_are_each_waited_for() {
    runtime().block_on(async {
        let mut waits = Vec::new();
        for _ in 0..8 {
            let mut child = as_child("wait").spawn().unwrap();
            waits.push(blitz_io::spawn(async move { child.wait().await }));
        }
        for wait in waits {
            assert_eq!(within(wait).await.unwrap().unwrap().code(), Some(7));
        }
    });
}

#[test]
fn kill_on_drop_kills_and_a_drop_alone_does_not() {
    runtime().block_on(async {
        // The pipe shows the end of the child.
        let mut child = as_child("wait").kill_on_drop(true).spawn().unwrap();
        let (_input, mut output) = (child.stdin.take(), child.stdout.take().unwrap());
        drop(child);
        within(output.read_to_end(&mut Vec::new())).await.unwrap();

        let mut child = as_child("echo").spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        drop(child);
        input.write_all(b"still there").await.unwrap();
        input.flush().await.unwrap();
        drop(input);
        let mut text = String::new();
        within(output.read_to_string(&mut text)).await.unwrap();
        assert!(text.ends_with("still there"), "{text}");
    });
}

#[test]
fn the_output_of_one_is_the_input_of_another() {
    runtime().block_on(async {
        let mut first = as_child("echo").spawn().unwrap();
        let between: Stdio = first.stdout.take().unwrap().try_into().unwrap();
        let second = as_child("echo").stdin(between).spawn().unwrap();
        let mut input = first.stdin.take().unwrap();
        input.write_all(b"through both").await.unwrap();
        drop(input);
        let output = within(second.wait_with_output()).await.unwrap();
        assert!(output.stdout.ends_with(b"through both"));
        assert_eq!(within(first.wait()).await.unwrap().code(), Some(3));
    });
}

#[test]
fn a_dropped_child_drops_its_waker_before_its_handle() {
    struct OnDrop(RawHandle, Arc<AtomicU32>);
    // SAFETY: the handle is only used to ask for the number of its process.
    unsafe impl Send for OnDrop {}
    // SAFETY: the handle is not changed, and any thread may ask for the number of its
    // process.
    unsafe impl Sync for OnDrop {}
    impl Wake for OnDrop {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for OnDrop {
        fn drop(&mut self) {
            #[link(name = "kernel32")]
            unsafe extern "system" {
                fn GetProcessId(process: RawHandle) -> u32;
            }
            // SAFETY: the call takes a number that need not be a handle.
            self.1
                .store(unsafe { GetProcessId(self.0) }, Ordering::Relaxed);
        }
    }
    fn poll_with(child: &mut Child, waker: &Waker) {
        let wait: Pin<&mut _> = pin!(child.wait());
        assert!(wait.poll(&mut Context::from_waker(waker)).is_pending());
    }

    runtime().block_on(async {
        let mut child = as_child("wait").spawn().unwrap();
        let (pid, _input) = (child.id().unwrap(), child.stdin.take());
        let seen = Arc::new(AtomicU32::new(0));
        let handle = child.raw_handle().unwrap();
        let waker = Waker::from(Arc::new(OnDrop(handle, seen.clone())));
        poll_with(&mut child, &waker);
        drop(waker);
        assert_eq!(seen.load(Ordering::Relaxed), 0);
        drop(child);
        assert_eq!(seen.load(Ordering::Relaxed), pid);
    });
}

#[test]
fn a_handle_is_given_away_and_taken_back() {
    runtime().block_on(async {
        let mut child = as_child("echo").spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let raw = input.as_raw_handle();
        let handle = input.into_owned_handle().unwrap();
        assert_eq!(handle.as_raw_handle(), raw);
        let std = std::process::ChildStdin::from(handle);
        let mut input = blitz_io::process::ChildStdin::from_std(std).unwrap();
        input.write_all(b"once more").await.unwrap();
        input.flush().await.unwrap();
        drop(input);
        let output = within(child.wait_with_output()).await.unwrap();
        assert!(output.stdout.ends_with(b"once more"));
    });
}

#[test]
fn what_is_no_program_is_an_error() {
    runtime().block_on(async {
        let error = Command::new("no such program").spawn().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    });
}
