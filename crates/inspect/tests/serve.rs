//! A process answers from outside.
#![cfg(all(feature = "records", any(unix, windows)))]

use std::thread;

use blitz_io_inspect::{ask, list, serve};

fn own_name() -> String {
    let program = std::env::current_exe().unwrap();
    program.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_process_answers_all_that_ask() {
    serve().unwrap();
    let (pid, name) = (std::process::id(), own_name());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(ask(pid, &name).unwrap().snapshot.pid, pid));
        }
    });
    assert!(ask(pid, "another").is_err());
}

#[test]
fn a_process_is_listed() {
    serve().unwrap();
    let own = (std::process::id(), own_name());
    match list() {
        Ok(found) => assert!(found.contains(&own), "{own:?}"),
        // Wine 8 has no list of pipes: "bad device type".
        Err(error) => assert!(cfg!(windows) && error.raw_os_error() == Some(66), "{error}"),
    }
}
