//! `blitz-fastq` writes the reads and figures that fastp 1.3.6 wrote. These were recorded,
//! because no package has that version; `golden/golden.py` describes the record.

mod common;

use common::BLITZ;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

#[test]
fn the_results_are_those_of_fastp_1_3_6() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: no python3 to make the inputs with");
        return;
    }
    let folder = TempDir::new().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/golden.py");
    let output = Command::new("python3")
        .arg(script)
        .args(["check", BLITZ])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
