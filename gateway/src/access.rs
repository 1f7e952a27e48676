//! The engine's access control, if hosts show certificates.
//!
//! The engine knows the common name of the certificate that the other side of a connection has shown.
//! From there it takes frames only in the name of that host: the keys of frames end with the name of
//! the host that sends them (see `keys.rs`). It takes no frames of hosts that the configuration does
//! not name, and sends them none.
//!
//! A router passes on frames of others, so a router's certificate allows frames in every name. The
//! router applies these rules to its own neighbours. Frames that come through a Unix socket are of this
//! user, and are allowed too.

use std::fmt::Write;

use crate::config::{Config, Export};

/// Returns the rules for the engine, if there are certificates.
pub fn rules(config: &Config) -> Option<String> {
    config.network.tls.as_ref()?;
    let network = &config.network;
    let hosts = network.hosts.as_deref().unwrap_or_default();
    let mut rules = rule(
        "allow",
        "join",
        "declare_subscriber",
        "'ingress', 'egress'",
        &["blitz/**".to_owned()],
    );
    rules += &rule("allow", "send", "put", "'egress'", &["blitz/**".to_owned()]);
    rules += &rule(
        "allow",
        "pass-on",
        "put",
        "'ingress'",
        &["blitz/**".to_owned()],
    );
    for (number, export) in limited(config) {
        let key = format!(
            "blitz/1/{}/{}/*/data/{}",
            export.kind.name(),
            pattern(&export.name),
            config.host
        );
        let id = format!("export-{number}");
        rules += &rule("deny", &id, "put", "'egress'", &[key]);
    }
    let mut subjects = "{id: 'here', link_protocols: ['unixsock-stream']},".to_owned();
    let mut policies = policy(&["join", "send", "pass-on"], "here");
    if !network.routers.is_empty() {
        let routers = &network.routers;
        _ = write!(
            subjects,
            "{{id: 'routers', cert_common_names: {routers:?}}},"
        );
        policies += &policy(&["join", "send", "pass-on"], "routers");
    }
    for host in hosts {
        let keys = ["data", "ack/*", "job/*"].map(|topic| format!("blitz/1/*/*/*/{topic}/{host}"));
        let own = format!("as-{host}");
        rules += &rule("allow", &own, "put", "'ingress'", &keys);
        _ = write!(
            subjects,
            "{{id: 'host-{host}', cert_common_names: [{host:?}]}},"
        );
        policies += &policy_of(config, host, &own);
    }
    Some(format!(
        "{{enabled: true, default_permission: 'deny', rules: [{rules}], subjects: [{subjects}], policies: [{policies}]}}"
    ))
}

/// Returns the exports that do not go to all hosts, numbered. The others need no rule, so they may change
/// while the gateway runs.
fn limited(config: &Config) -> impl Iterator<Item = (usize, &Export)> {
    let exports = config.exports.iter();
    exports.filter(|export| export.to.is_some()).enumerate()
}

/// Returns the policy for a host: `own` is the rule for the frames in its name.
fn policy_of(config: &Config, host: &str, own: &str) -> String {
    let denied = limited(config).filter(|(_, export)| !export.allows(host));
    let denied: Vec<String> = denied
        .map(|(number, _)| format!("export-{number}"))
        .collect();
    let mut rules = vec!["join", "send", own];
    rules.extend(denied.iter().map(String::as_str));
    policy(&rules, &format!("host-{host}"))
}

fn rule(permission: &str, id: &str, message: &str, flows: &str, keys: &[String]) -> String {
    format!(
        "{{id: {id:?}, permission: {permission:?}, messages: [{message:?}], flows: [{flows}], key_exprs: {keys:?}}},"
    )
}

fn policy(rules: &[&str], subject: &str) -> String {
    format!("{{rules: {rules:?}, subjects: [{subject:?}]}},")
}

/// Returns a pattern of names as the engine writes it: `$*` stands for a part of a name.
fn pattern(name: &str) -> String {
    let parts: Vec<&str> = name.split('*').collect();
    if parts.iter().all(|part| part.is_empty()) && parts.len() > 1 {
        return "*".to_owned();
    }
    let mut text = parts[0].to_owned();
    for (number, part) in parts.iter().enumerate().skip(1) {
        // Two of them stand for no more than one.
        if number == parts.len() - 1 || !part.is_empty() {
            text += "$*";
            text += part;
        }
    }
    text
}
