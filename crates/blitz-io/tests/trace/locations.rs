//! Reports of waits have the lines of the program, and not those of the library.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use blitz_io::{inspect, runtime::Builder, signal};

#[test]
fn ctrl_c_is_awaited_at_the_line_that_called_it() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let _guard = runtime.enter();
    let line = line!() + 1;
    let mut ctrl_c = pin!(signal::ctrl_c());
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(ctrl_c.as_mut().poll(&mut context), Poll::Pending));
    let waits = inspect::snapshot().waits;
    let here = format!("locations.rs:{line}");
    assert!(
        waits.iter().any(|wait| wait.location.ends_with(&here)),
        "{waits:?}"
    );
}
