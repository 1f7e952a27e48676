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

#[test]
fn a_pattern_is_subscribed_by_kind() {
    assert_eq!(
        of_import(Kind::Route, "a", "me"),
        ["blitz/1/route/a/*/data/*"]
    );
    assert_eq!(
        of_import(Kind::Queue, "a*", "me"),
        ["blitz/1/queue/*/*/data/*", "blitz/1/queue/*/*/job/me/*"]
    );
}
