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
        "sink",
        "stream",
        "taskdump",
        "test-util",
        "tokio",
        "tracing",
        "zerocopy",
    ];
    let (_, full) = features().find(|(name, _)| *name == "full").unwrap();
    for (feature, _) in features() {
        let is_in = full.contains(&format!("\"{feature}\""));
        assert_eq!(is_in, !left_out.contains(&feature), "{feature}");
    }
}
