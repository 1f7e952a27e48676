//! Compares the features of `Cargo.toml` with their documentation.

const MANIFEST: &str = include_str!("../Cargo.toml");
const DOCUMENTATION: &str = include_str!("../src/lib.rs");

/// Returns the public features and the list that each enables.
fn features() -> impl Iterator<Item = (&'static str, &'static str)> {
    let begin = MANIFEST.find("[features]").unwrap();
    let section = MANIFEST[begin..].lines().skip(1);
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
    for (feature, _) in features() {
        let is_in = enables("full", feature);
        assert_eq!(is_in, !left_out.contains(&feature), "{feature}");
    }
}

/// A feature that enables nothing tells its user that something was missing.
#[test]
fn no_feature_does_nothing() {
    for (feature, list) in features() {
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
