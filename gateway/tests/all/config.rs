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
    assert!(config.exports[0].allows("host-b") && !config.exports[0].allows("host-c"));
    assert_eq!(config.imports[0].max_len, Some(1008));
    assert!(config.network.tls.is_some());
}

#[test]
fn errors_name_the_setting() {
    for (more, expected) in [
        ("names = 3", "unknown field `names`"),
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
            "[[export]]\nkind = 'route'\nname = 'a'\nto = []",
            "export[0].to: names no host",
        ),
        (
            "[[import]]\nkind = 'route'\nname = 'a'\ncapacity = 8",
            "import[0].max-len: is missing",
        ),
        (
            "[limits]\nwindow-bytes = 5",
            "limits.window-bytes: must be at least ",
        ),
        (
            "[limits]\ninbox-bytes = 70000",
            "limits.inbox-bytes: must be at least 8388608",
        ),
    ] {
        let found = error(more);
        assert!(found.contains(expected), "{more}: {found}");
    }
}

#[test]
fn errors_of_the_network_and_the_file_name_the_setting() {
    let alone = |network: &str| {
        Config::parse(&format!("host = 'a'\n[network]\n{network}"))
            .unwrap_err()
            .to_string()
    };
    let tls = "[network.tls]\nauthority = 'a'\ncertificate = 'c'\nkey = 'k'\n";
    let both = alone(&format!("listen = ['tcp/[::]:7447']\nhosts = ['b']\n{tls}"));
    assert!(both.contains("could be believed"), "{both}");
    let nobody = alone(&format!("listen = ['tls/[::]:7447']\n{tls}"));
    assert!(nobody.contains("network.hosts: is missing"), "{nobody}");
    assert!(alone("routers = ['b']").contains("only certificates show"));
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

/// The warnings of a configuration with this network and these rules.
fn warnings(network: &str, rules: &str) -> Vec<String> {
    let config = Config::parse(&format!("host = 'a'\n[network]\n{network}\n{rules}"));
    config.unwrap().warnings()
}

#[test]
fn an_address_that_others_reach_is_warned_about() {
    let none: &[String] = &[];
    assert_eq!(Config::parse(DEFAULT).unwrap().warnings(), none);
    assert_eq!(warnings("listen = ['unixsock-stream/s']", ""), none);
    let local = warnings("listen = ['tcp/127.0.0.1:7447']", "");
    assert!(
        local.len() == 1 && local[0].contains("any user of this host"),
        "{local:?}"
    );
    let connect = warnings("connect = ['tcp/10.0.0.1:7447']", "");
    assert!(
        connect.len() == 1 && connect[0].contains("nothing proves"),
        "{connect:?}"
    );
    assert!(warnings("discovery = true", "")[0].contains("network.discovery"));
}

#[test]
fn everything_to_everybody_is_warned_about() {
    let export = "[[export]]\nkind = 'route'\nname = '*'\n";
    let found = warnings("listen = ['tcp/0.0.0.0:7447']", export);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].contains("any program that reaches this address"),
        "{found:?}"
    );
    assert!(found[1].contains("export[0]: every route"), "{found:?}");
    let listed = warnings("listen = ['tcp/0.0.0.0:7447']\nhosts = ['b']", export);
    assert_eq!(listed.len(), 1, "{listed:?}");
    let to = warnings(
        "listen = ['tcp/0.0.0.0:7447']",
        &format!("{export}to = ['b']\n"),
    );
    assert_eq!(to.len(), 1, "{to:?}");
    assert!(warnings("", export).is_empty());
}

#[test]
fn an_export_names_its_hosts() {
    let config = format!("{BASE}[[export]]\nkind = 'route'\nname = 'a'\n");
    let all = &Config::parse(&config).unwrap().exports[0];
    let some = &Config::parse(&format!("{config}to = ['b']\n"))
        .unwrap()
        .exports[0];
    assert!(all.allows("b") && all.allows("c") && some.allows("b") && !some.allows("c"));
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
