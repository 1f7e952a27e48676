//! The ends of hosts' code.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use std::{fmt, io};

use blitz_io::sim::{self, Cause, HostEnd};
use blitz_io::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_test_waits_for_the_code_of_hosts() {
    super::builder().run(|| async {
        let count = Rc::new(Cell::new(0));
        let counts = count.clone();
        let host = sim::host("client", move |_me| {
            let counts = counts.clone();
            async move {
                sleep(SECOND).await;
                counts.set(counts.get() + 1);
            }
        });
        // Several may wait, and one that gives up changes nothing.
        let waiting = host.wait();
        let second = blitz_io::task::spawn_local(host.wait());
        drop(host.wait());
        assert_eq!(waiting.await, HostEnd::Returned);
        assert_eq!(second.await.unwrap(), HostEnd::Returned);
        assert_eq!(host.wait().await, HostEnd::Returned);
        assert_eq!(count.get(), 1);
        assert!(host.is_running());
        host.restart();
        assert_eq!(host.wait().await, HostEnd::Returned);
        assert_eq!(count.get(), 2);
    });
}

#[test]
fn a_host_that_stops_has_ended() {
    super::builder().run(|| async {
        let host = sim::host("server", |_me| std::future::pending::<()>());
        let waiting = host.wait();
        sleep(SECOND).await;
        host.crash();
        assert_eq!(waiting.await, HostEnd::Stopped);
        host.restart();
        let waiting = host.wait();
        host.kill();
        assert_eq!(waiting.await, HostEnd::Stopped);
        // The waiter waits for the life that the host had then.
        host.restart();
        let waiting = host.wait();
        host.restart();
        assert_eq!(waiting.await, HostEnd::Stopped);
    });
}

#[test]
fn an_error_or_a_panic_of_a_host_fails_the_run() {
    let waits = |host: sim::Host| async move {
        host.wait().await;
        unreachable!("the run is over");
    };
    let failure = super::builder().check(move || async move {
        let fails = |_me| async { Err::<(), _>("on purpose") };
        waits(sim::host("client", fails)).await;
    });
    let failure = failure.unwrap_err();
    let expected = Cause::HostError {
        host: "client".into(),
        error: "on purpose".into(),
    };
    assert_eq!(failure.cause(), &expected);
    let failure = super::builder().check(move || async move {
        let panics = |_me| async { panic!("on purpose") };
        waits(sim::host("client", panics)).await;
    });
    let failure = failure.unwrap_err();
    assert!(matches!(failure.cause(), Cause::Panic(_)), "{failure}");
}

#[test]
fn a_report_has_the_text_of_a_hosts_error_and_of_its_sources() {
    use std::error::Error;

    #[derive(Debug)]
    struct NoState(io::Error);
    impl fmt::Display for NoState {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot load the state")
        }
    }
    impl Error for NoState {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }
    let failure = super::builder().check(|| async {
        sim::host("server", |_me| async {
            let missing = io::Error::new(io::ErrorKind::NotFound, "no such file");
            Err::<(), Box<dyn Error>>(NoState(missing).into())
        });
        std::future::pending::<()>().await;
    });
    let text = failure.unwrap_err().to_string();
    let expected = "host \"server\" has ended with an error: cannot load the state: no such file";
    assert!(text.contains(expected), "{text}");
    let event = "the code of server has returned an error: cannot load the state: no such file";
    assert!(text.contains(event), "{text}");
}

#[test]
fn a_panic_that_is_allowed_is_an_end() {
    super::builder().allow_panics(true).run(|| async {
        let host = sim::host("client", |_me| async {
            sleep(SECOND).await;
            panic!("on purpose");
        });
        assert_eq!(host.wait().await, HostEnd::Panicked);
        host.restart();
        assert_eq!(host.wait().await, HostEnd::Panicked);
    });
}

#[test]
fn a_report_names_the_wait_for_a_host() {
    let failure = super::builder().check(|| async {
        let host = sim::host("server", |_me| std::future::pending::<()>());
        host.wait().await;
    });
    let text = failure.unwrap_err().to_string();
    assert!(text.contains("Notify \"the end of a host\""), "{text}");
    assert!(text.contains("ends.rs:"), "{text}");
}

#[test]
fn the_test_itself_cannot_be_stopped() {
    let failure = super::builder().check(|| async { sim::Host::current().crash() });
    let failure = failure.unwrap_err();
    let Cause::Panic(message) = failure.cause() else {
        panic!("{failure}");
    };
    assert!(
        message.starts_with("the test itself cannot be stopped, at "),
        "{message}"
    );
    assert!(message.contains("ends.rs:"), "{message}");
    assert!(!failure.events().contains("test crashes"), "{failure}");
}
