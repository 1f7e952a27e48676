//! Compares the features of `Cargo.toml` and the modules with their documentation.

const MANIFEST: &str = include_str!("../Cargo.toml");
const DOCUMENTATION: &str = include_str!("../src/lib.rs");

const TOKIO: &str = include_str!("../../../drop-in/tokio/Cargo.toml");
const BOOK: &str = include_str!("../../../book/src/start/features.md");

/// Aliases, in the group "Tokio's names" of `Cargo.toml`.
const TOKIO_NAMES: [&str; 6] = [
    "io-uring",
    "parking_lot",
    "rt-multi-thread",
    "sync",
    "test-util",
    "time",
];

/// Returns the public features and the list that each enables.
fn features() -> impl Iterator<Item = (&'static str, &'static str)> {
    features_of(MANIFEST)
}

fn features_of(manifest: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let begin = manifest.find("[features]").unwrap();
    let section = manifest[begin..].lines().skip(1);
    let lines = section.take_while(|line| !line.starts_with('['));
    let features = lines.filter_map(|line| line.split_once(" = "));
    features.filter(|(name, _)| *name != "default" && !name.starts_with('_'))
}

#[test]
fn every_feature_is_in_the_table() {
    let begin = DOCUMENTATION.find("//! | feature |").unwrap();
    let rows = DOCUMENTATION[begin..].lines();
    let rows = rows.take_while(|line| line.starts_with("//! |"));
    let names: Vec<_> = rows.filter_map(|row| row.split('|').nth(1)).collect();
    for (feature, _) in features() {
        let name = format!("`{feature}`");
        assert!(names.iter().any(|cell| cell.contains(&name)), "{feature}");
    }
}

/// Returns `true` if `feature` enables `other`, itself or through its parts.
fn enables(feature: &str, other: &str) -> bool {
    let (_, list) = features().find(|(name, _)| *name == feature).unwrap();
    let mut parts = list.split('"').skip(1).step_by(2);
    parts.any(|part| {
        part == other || features().any(|(name, _)| name == part) && enables(part, other)
    })
}

/// `full` leaves out the traits of other packages, a library in C, and switches that change
/// how something works.
#[test]
fn full_is_full() {
    let left_out = [
        "bytemuck",
        "full",
        "futures-io",
        "hyper",
        "inspect",
        "metrics",
        "pipeline-gzip",
        "portable",
        "schedule-latency",
        "send_guard",
        "serde",
        "sim",
        "sim-threads",
        "sink",
        "stream",
        "taskdump",
        "tokio",
        "tower",
        "tracing",
        "zerocopy",
    ];
    for (feature, _) in features().filter(|(name, _)| !TOKIO_NAMES.contains(name)) {
        let is_in = enables("full", feature);
        assert_eq!(is_in, !left_out.contains(&feature), "{feature}");
    }
}

/// A feature that enables nothing tells its user that something was missing, unless it is there for its name.
#[test]
fn no_feature_of_our_own_does_nothing() {
    for (feature, list) in features().filter(|(name, _)| !TOKIO_NAMES.contains(name)) {
        assert!(list.contains('"'), "{feature}");
        assert!(
            !matches!(list, r#"["rt"]"#),
            "{feature} is another name of `rt`"
        );
    }
}

#[test]
fn a_service_needs_no_shared_memory_pipelines_or_fibers() {
    let manifest_default = "\ndefault = [\"service\"]\n";
    assert!(MANIFEST.contains(manifest_default));
    for part in ["fs", "macros", "net", "process", "rt", "signal"] {
        assert!(enables("service", part), "{part}");
    }
    for other in ["fiber", "ipc", "pipeline", "pool"] {
        assert!(!enables("service", other), "{other}");
    }
}

/// So that a program keeps its list of features when it changes the name of the dependency.
#[test]
fn each_feature_of_tokio_exists() {
    // Those of Tokio's optional dependencies, which Cargo makes features by their names, are no choice of a
    // program; the last three are ours.
    let others = [
        "bytes",
        "libc",
        "mio",
        "signal-hook-registry",
        "socket2",
        "tokio-macros",
        "windows-sys",
        "inspect",
        "sim",
        "sim-threads",
    ];
    let mut tokio: Vec<_> = features_of(TOKIO).map(|(name, _)| name).collect();
    assert!(tokio.len() > 20, "{tokio:?}");
    tokio.retain(|name| !others.contains(name));
    for feature in &tokio {
        assert!(features().any(|(name, _)| name == *feature), "{feature}");
    }
    for alias in TOKIO_NAMES {
        assert!(tokio.contains(&alias), "{alias} is not Tokio's");
    }
}

/// The group of aliases is in one place, in the manifest and in the book.
#[test]
fn the_names_of_tokio_are_one_group() {
    let (_, group) = MANIFEST.split_once("\n# Tokio's names.\n").unwrap();
    let (group, _) = group.split_once("\n[").unwrap();
    let names: Vec<_> = group
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .collect();
    let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, TOKIO_NAMES);
    let (_, section) = BOOK.split_once("\n## Tokio's names\n").unwrap();
    for name in TOKIO_NAMES {
        assert!(section.contains(&format!("`{name}`")), "{name}");
    }
}

/// Returns the name of the module that this line of `lib.rs` declares or takes from another crate, if it does.
fn module(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("pub mod ") {
        return name.strip_suffix(';');
    }
    let path = line.strip_prefix("pub use blitz_io_")?.strip_suffix(';')?;
    let is_list = path.contains('{');
    let name = path.rsplit([' ', ':']).next()?;
    (!is_list).then_some(name)
}

#[test]
fn every_module_is_in_the_list_at_the_head() {
    let (head, _) = DOCUMENTATION.split_once("//! # The runtime").unwrap();
    let modules: Vec<_> = DOCUMENTATION.lines().filter_map(module).collect();
    assert!(modules.len() > 20, "{modules:?}");
    // It is hidden: what it has is in the root.
    for module in modules.iter().filter(|&&name| name != "macros") {
        assert!(head.contains(&format!("[`{module}`]")), "{module}");
    }
}
