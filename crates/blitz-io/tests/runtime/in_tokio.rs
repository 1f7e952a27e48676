//! The error message for a thread of Tokio's runtime that calls functions of this one.

use std::panic::{AssertUnwindSafe, catch_unwind};

fn said(run: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap()).to_owned(),
    }
}

#[test]
fn the_panics_say_that_it_is_not_our_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let of_spawn = said(|| drop(blitz_io::spawn(async {})));
    let of_sleep = said(|| drop(blitz_io::time::sleep(std::time::Duration::ZERO)));
    let of_socket = said(|| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        drop(blitz_io::net::TcpListener::from_std(listener));
    });
    for text in [of_spawn, of_sleep, of_socket] {
        assert!(text.contains("there is no reactor running"), "{text}");
        assert!(
            text.contains("in a Tokio runtime: that is not blitz-io's"),
            "{text}"
        );
    }
}
