//! Keys of other hosts, which may be anything.

use blitz_io_gateway::config::Kind;
use blitz_io_gateway::keys::{Name, importer, of_import, parse};

#[test]
fn a_key_comes_back() {
    for kind in [Kind::Route, Kind::Channel, Kind::Queue] {
        let name = Name {
            kind,
            name: "a-b_c.d".to_owned(),
            max_len: 8,
        };
        assert_eq!(parse(&name.data("host")), Some((name.clone(), "host")));
        assert_eq!(parse(&name.job("to", "from")), Some((name.clone(), "from")));
        assert_eq!(importer(&name.ack("from", "to")), Some("to"));
    }
}

#[test]
fn other_keys_are_refused() {
    for key in [
        "",
        "blitz/2/route/a/8/data/h",
        "blitz/1/event/a/8/data/h",
        "blitz/1/route/a/x/data/h",
        "blitz/1/route/a/+8/data/h",
        "blitz/1/route/a/08/data/h",
        "blitz/1/route/a/8/data",
        "blitz/1/route/a/8/data/h/more",
        "blitz/1/route/a/8/data/..",
        "blitz/1/route/a/8/data/a b",
        "blitz/1/route/../8/data/h",
        "blitz/1/route/a/8/ack/h/i",
    ] {
        assert_eq!(parse(key), None, "{key}");
    }
    assert_eq!(importer("blitz/1/route/a/8/ack/h/\n"), None);
}

/// The records of one host were those of another one: both were `route-a-1.b-2.c.record`.
#[test]
fn no_two_names_have_the_same_file() {
    let file = |name: &str, max_len, host: &str| {
        let name = Name {
            kind: Kind::Route,
            name: name.to_owned(),
            max_len,
        };
        [
            name.file(&format!("{host}.record")),
            name.file(&format!("{host}.run")),
            name.file("run"),
            name.file("receivers"),
        ]
    };
    let mut files: Vec<String> = [
        file("a-1.b", 2, "c"),
        file("a", 1, "b-2.c"),
        file("a", 1, "run"),
        file("a", 1, "c.run"),
        file("a", 11, "c"),
    ]
    .concat();
    let all = files.len();
    files.sort();
    files.dedup();
    // Two of them are about the same name: (a, 1) twice more.
    assert_eq!(files.len(), all - 4, "{files:?}");
}

#[test]
fn a_pattern_is_subscribed_by_kind() {
    assert_eq!(
        of_import(Kind::Route, "a", Some(8), "me"),
        ["blitz/1/route/a/8/data/*"]
    );
    assert_eq!(
        of_import(Kind::Queue, "a*", None, "me"),
        ["blitz/1/queue/*/*/data/*", "blitz/1/queue/*/*/job/me/*"]
    );
}
