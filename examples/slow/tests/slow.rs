//! What `blitz trace` says of each service: where the time of the slowest requests went, and the planted cause first.
//! It depends on real time, so `.ci/slow` observes it and gates nothing.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use blitz_io_inspect::trace::{Category, Recording, Report, judge};

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("it is ours");
    }
}

/// Runs a service to its end under the recorder, and judges what it has written.
fn report(name: &str, program: &str) -> Report {
    let folder = format!("blitz-slow-{}-{name}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(folder));
    fs::create_dir(&folder.0).expect("the name is new");
    let ended = Command::new(program)
        .env("BLITZ_TRACE", &folder.0)
        .env("BLITZ_TRACE_EVENTS", "524288")
        .status()
        .expect("it was built");
    assert!(ended.success(), "{name}: {ended}");
    let mut files = fs::read_dir(&folder.0).expect("it is ours");
    let file = files.next().expect("the program has written a record");
    let text = fs::read(file.unwrap().path()).unwrap();
    let recording = Recording::parse(&text).unwrap();
    assert_eq!(recording.lost, 0, "{name}");
    judge(&recording, 3)
}

/// A category, a part of the name, and the file if it is not the program's.
type Cause = (Category, &'static str, Option<&'static str>);

/// The slowest requests of the service waited for this most, at a line of this file.
#[track_caller]
fn is_first(name: &str, program: &str, requests: usize, (category, what, at): Cause) {
    let report = report(name, program);
    let text = report.text();
    assert_eq!(
        (report.all.count, report.unfinished),
        (requests, 0),
        "{text}"
    );
    for split in [&report.all, &report.slowest] {
        assert!(split.attributed() >= 0.95, "{}: {text}", split.attributed());
        let sum: u64 = split.causes.iter().map(|share| share.nanos).sum();
        assert_eq!(sum, split.nanos, "the parts are not the whole: {text}");
    }
    let first = &report.slowest.causes[0];
    assert_eq!(first.category, category, "{text}");
    assert!(first.what.contains(what), "{text}");
    let file = format!("{}.rs:", at.unwrap_or(name));
    assert!(first.at.contains(&file), "{text}");
    println!("{text}");
}

macro_rules! services {
    ($($name:ident $requests:literal $category:ident $what:literal $at:expr,)*) => {
        $(#[test]
        fn $name() {
            let program = env!(concat!("CARGO_BIN_EXE_", stringify!($name)));
            let cause = (Category::$category, $what, $at);
            is_first(stringify!($name), program, $requests, cause);
        })*
    };
}

services! {
    hot_mutex 240 Lock "\"sessions\"" None,
    two_permits 240 Permit "\"connections\"" None,
    blocking_pool 240 BlockingPool "" None,
    chatty_channel 48 Channel "oneshot::Receiver" None,
    // A socket does not know its line, so it is that of the task.
    slow_names 120 Socket "descriptor (read)" Some("lib"),
    head_of_line 180 Channel "oneshot::Receiver" None,
}
