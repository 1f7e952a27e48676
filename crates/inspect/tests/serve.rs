//! A process answers from outside.
#![cfg(all(feature = "records", any(unix, windows)))]

use std::thread;

use blitz_io_inspect::trace::Recording;
use blitz_io_inspect::{ask, list, read_trace, serve, start_trace, stop_trace};

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

#[test]
fn the_recorder_is_switched_and_read_from_outside() {
    serve().unwrap();
    let (pid, name) = (std::process::id(), own_name());
    assert!(start_trace(pid, &name).unwrap(), "it was off");
    assert!(!start_trace(pid, &name).unwrap(), "it is on");
    // Two events of this thread.
    drop(blitz_io_observe::trace::request("GET /x"));
    stop_trace(pid, &name).unwrap();
    drop(blitz_io_observe::trace::request("GET /y"));
    let recording = Recording::parse(&read_trace(pid, &name).unwrap()).unwrap();
    assert_eq!((recording.pid, recording.lost), (pid, 0));
    let report = blitz_io_inspect::trace::judge(&recording, 0);
    let [request] = &report.requests[..] else {
        panic!("{report:?}");
    };
    assert_eq!((&*request.name, request.count), ("GET /x", 1));
    assert!(start_trace(pid, &name).unwrap(), "it was off");
}
