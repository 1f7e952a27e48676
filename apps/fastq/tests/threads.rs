//! The result is the same for every number of threads, and no run hangs.

mod common;

use common::{BLITZ, Ran, Random, bgzf, pairs, run};
use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;

/// Runs without a failure in a new folder.
fn run_in_time(folder: &Path, arguments: &str) -> Ran {
    let ran = run(BLITZ, folder, arguments);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
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

/// Runs with 1, 2, … 32 threads, on plain and blocked gzip input: no run hangs, and
/// all write the same. `BLITZ_FASTQ_RUNS` sets the number of runs.
#[test]
fn every_run_ends() {
    let runs = std::env::var("BLITZ_FASTQ_RUNS").map_or(6, |runs| runs.parse().unwrap());
    let folder = TempDir::new().unwrap();
    for (name, text) in ["1.fq", "2.fq"].iter().zip(pairs(31, 3300, true)) {
        fs::write(folder.path().join(name), &text).unwrap();
        fs::write(
            folder.path().join(format!("{name}.gz")),
            bgzf(text.as_bytes()),
        )
        .unwrap();
    }
    let mut first = None;
    let mut random = Random(runs as u64);
    for at in 0..runs {
        let threads = if runs < 64 {
            1 + random.below(32)
        } else {
            1 + at / 2 % 32
        };
        let input = ["", ".gz"][at % 2];
        let arguments = format!("-i ../1.fq{input} -I ../2.fq{input} -o o1.fq -O o2.fq");
        let ran = run_in_time(folder.path(), &format!("{arguments} -w {threads}"));
        let (files, json) = first.get_or_insert_with(|| (ran.files.clone(), ran.json.clone()));
        assert!(
            ran.files == *files && ran.json == *json,
            "run {at}: {arguments} -w {threads}"
        );
    }
}
