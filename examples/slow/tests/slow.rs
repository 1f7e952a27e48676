//! What `blitz trace` says of each service: where the time of the slowest requests went, and the planted cause first.
//! It depends on real time, so `.ci/slow` observes it and gates nothing.
#![cfg(unix)]

mod common;

use blitz_io_inspect::trace::{Category, judge};

use common::record;

/// A category, a part of the name, and the file if it is not the program's.
type Cause = (Category, &'static str, Option<&'static str>);

/// The slowest requests of the service waited for this most, at a line of this file.
#[track_caller]
fn is_first(name: &str, program: &str, requests: usize, (category, what, at): Cause) {
    let report = judge(&record(name, program, None), 3);
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
    slow_names 120 Socket "descriptor (read)" None,
    head_of_line 180 Channel "oneshot::Receiver" None,
}
