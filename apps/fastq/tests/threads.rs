//! The result is the same for every number of threads, and no run hangs.

mod common;

use common::{BLITZ, Ran, command, pairs, ran};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Runs in a new folder; panics if it takes too long.
fn run_in_time(folder: &Path, arguments: &str) -> Ran {
    let here = folder.join("here");
    let _ = fs::remove_dir_all(&here);
    fs::create_dir(&here).unwrap();
    let mut child = command(BLITZ, &here, arguments)
        .stderr(fs::File::create(folder.join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("{arguments} hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let ran = ran(child.wait_with_output().unwrap(), &here);
    assert_eq!(
        ran.code,
        Some(0),
        "{}",
        fs::read_to_string(folder.join("stderr")).unwrap()
    );
    ran
}

#[test]
fn one_result_for_every_number_of_threads() {
    let folder = TempDir::new().unwrap();
    for (name, text) in ["1.fq", "2.fq"].iter().zip(pairs(21, 2200, true)) {
        fs::write(folder.path().join(name), &text).unwrap();
        // Members of some records each, as bgzip and fastp write them.
        let mut members = vec![];
        for part in text.as_bytes().chunks(50_000) {
            let mut encoder =
                flate2::write::GzEncoder::new(&mut members, flate2::Compression::fast());
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap();
        }
        fs::write(folder.path().join(format!("{name}.gz")), members).unwrap();
    }
    let reports = "-p --failed_out f.fq --unpaired1 u.fq";
    for (input, output, more) in [
        ("", "", reports),
        (".gz", ".gz", ""),
        ("", "", "-D --dup_calc_accuracy 1"),
    ] {
        let arguments =
            format!("-i ../1.fq{input} -I ../2.fq{input} -o o1.fq{output} -O o2.fq{output} {more}");
        let first = run_in_time(folder.path(), &format!("{arguments} -w 1"));
        assert!(first.files.values().any(|bytes| bytes.len() > 50_000));
        for threads in [2, 3, 8, 32] {
            let other = run_in_time(folder.path(), &format!("{arguments} -w {threads}"));
            assert!(
                first.files == other.files && first.json == other.json,
                "{arguments} -w {threads}"
            );
        }
    }
}
