//! Valid configurations, and the errors of invalid ones.

use blitz_io_gateway::config::{Config, DEFAULT, Kind, Policy, matches};

const BASE: &str = "host = 'a'\n[network]\nlisten = ['tcp/127.0.0.1:7447']\n";

fn error(more: &str) -> String {
    Config::parse(&format!("{BASE}{more}"))
        .unwrap_err()
        .to_string()
}

#[test]
fn the_default_allows_nothing() {
    let config = Config::parse(DEFAULT).unwrap();
    assert!(config.exports.is_empty() && config.imports.is_empty() && !config.network.discovery);
    // Its limits are the default ones.
    assert_eq!(config.limits, Config::parse(BASE).unwrap().limits);
}

/// The examples in it, without their `# `.
#[test]
fn the_examples_of_the_default_are_right() {
    let text: String = DEFAULT
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.starts_with('[') || rest.contains(" = ") && !rest.contains(": ") => {
                format!("{rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    let config = Config::parse(&text).unwrap();
    assert_eq!(config.exports[0].policy, Some(Policy::Block));
    assert_eq!(config.imports[0].kind, Kind::Route);
    assert!(config.imports[0].allows("host-b") && !config.imports[0].allows("host-c"));
    assert!(config.network.tls.is_some());
}

#[test]
fn errors_name_the_setting() {
    for (more, expected) in [
        ("hosts = 3", "unknown field `hosts`"),
        (
            "[[export]]\nkind = 'route'\nname = 'a/b'",
            "export[0].name: \"a/b\" must have",
        ),
        (
            "[[export]]\nkind = 'semaphore'\nname = 'a'",
            "unknown variant `semaphore`",
        ),
        (
            "[[export]]\nkind = 'queue'\nname = 'a'\npolicy = 'drop'",
            "export[0].policy: a queue has none",
        ),
        (
            "[[export]]\nkind = 'route'\nname = 'a'\n[[export]]\nkind = 'route'\nname = 'a'",
            "export[1].name: a is exported twice",
        ),
        (
            "[[export]]\nkind = 'route'\nname = 'a*'\n[[import]]\nkind = 'route'\nname = 'ab'",
            "only a channel can be both",
        ),
        (
            "[[export]]\nkind = 'queue'\nname = 'x'\n[[import]]\nkind = 'queue'\nname = '*'",
            "only a channel can be both",
        ),
        (
            "[[import]]\nkind = 'route'\nname = 'a'\nfrom = []",
            "names no host",
        ),
        (
            "[[import]]\nkind = 'route'\nname = 'a'\nidentity = true",
            "only items of a queue",
        ),
        (
            "[limits]\nwindow-bytes = 5",
            "limits.window-bytes: must be at least 131072",
        ),
        (
            "[limits]\ninbox-bytes = 70000",
            "limits.inbox-bytes: must be at least 8388608",
        ),
    ] {
        let found = error(more);
        assert!(found.contains(expected), "{more}: {found}");
    }
    let alone = |network: &str| {
        Config::parse(&format!("host = 'a'\n[network]\n{network}"))
            .unwrap_err()
            .to_string()
    };
    assert!(alone("").contains("nothing can be reached"));
    assert!(alone("listen = ['7447']").contains("is no address"));
    assert!(alone("listen = ['udp/[::]:7447']").contains("must begin with tcp/"));
    assert!(alone("listen = ['tls/[::]:7447']").contains("needs certificates"));
    assert!(
        Config::parse("host = ''")
            .unwrap_err()
            .to_string()
            .contains("host")
    );
    assert!(
        Config::read("/nowhere".as_ref())
            .unwrap_err()
            .to_string()
            .contains("cannot read /nowhere")
    );
}

#[test]
fn a_channel_may_be_exported_and_imported() {
    let both = "[[export]]\nkind = 'channel'\nname = 'a'\n[[import]]\nkind = 'channel'\nname = 'a'";
    Config::parse(&format!("{BASE}{both}")).unwrap();
}

#[test]
fn stars_match_any_characters() {
    for (pattern, name, expected) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("*", "", true),
        ("a*", "a", true),
        ("a*c", "abcbc", true),
        ("a*c", "abcb", false),
        ("*b*", "abc", true),
        ("*ab", "aab", true),
        ("**", "x", true),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}
