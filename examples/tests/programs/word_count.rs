use std::collections::HashMap;
use std::fs;

use serde_json::Value;

use crate::{program, repository, run};

/// Creates three text files in two folders, and a file that is not text.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    fs::create_dir(path("inner")).unwrap();
    fs::write(path("a.txt"), "The cat and the dog. Don't!").unwrap();
    fs::write(path("inner/b.txt"), "the CAT'S well-known 'cat'\n").unwrap();
    fs::write(path("inner/empty"), "").unwrap();
    fs::write(path("image"), b"\x89PNG\0\0the the the").unwrap();
    folder
}

#[test]
fn counts_and_shows_a_table() {
    let folder = folder();
    let mut command = program("word_count");
    command.args(["--top", "2"]).arg(folder.path());
    let ran = run(command, "");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines[1], "the           3  30.0 %");
    assert_eq!(lines[2], "cat           2  20.0 %");
    let summary = "10 words, 7 of them different, in 3 files (1 more are not text)";
    assert!(lines[3].starts_with(summary), "{}", ran.out);
    assert_eq!(lines.len(), 4);
}

/// The same count, done in the simplest way, over the real texts of this repository.
#[test]
fn a_parallel_count_is_right() {
    let docs = repository().join("book/src");
    let mut expected = HashMap::<String, u64>::new();
    let mut files = 0;
    let mut todo = vec![docs.clone()];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(
                fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let content = fs::read(path).unwrap();
        if content.iter().take(8192).any(|byte| *byte == 0) {
            continue;
        }
        files += 1;
        let text = String::from_utf8_lossy(&content).to_lowercase();
        for run in text.split(|c: char| !c.is_alphanumeric() && !"'’-".contains(c)) {
            let word = run.trim_matches(['\'', '’', '-']);
            if word.chars().count() >= 3 {
                *expected.entry(word.to_owned()).or_default() += 1;
            }
        }
    }
    let mut command = program("word_count");
    command
        .args([
            "--json",
            "--top",
            "1000000",
            "--min-length",
            "3",
            "--jobs",
            "7",
        ])
        .arg(docs);
    let ran = run(command, "");
    assert_eq!(ran.code, 0);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["files"], files);
    assert_eq!(report["words"], expected.values().sum::<u64>());
    let top = report["top"].as_array().unwrap();
    let counted: HashMap<_, _> = top
        .iter()
        .map(|one| {
            (
                one["word"].as_str().unwrap().to_owned(),
                one["times"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(counted, expected);
    let falling = top
        .windows(2)
        .all(|two| two[0]["times"].as_u64() >= two[1]["times"].as_u64());
    assert!(falling);
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_counted() {
    let folder = folder();
    let missing = folder.path().join("missing");
    let mut command = program("word_count");
    command.arg(folder.path()).arg(&missing);
    let ran = run(command, "");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("10 words"), "{}", ran.out);
    let message = format!("word_count: cannot read {}: ", missing.display());
    assert!(ran.err.starts_with(&message), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1);

    let mut command = program("word_count");
    command.arg("--json").arg(&missing);
    let ran = run(command, "");
    assert_eq!(ran.code, 1);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["unreadable"][0]["path"], missing.to_str().unwrap());
}

/// A file that can be opened but not read.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_breaks_off() {
    let mut command = program("word_count");
    command.arg("/proc/self/mem");
    let ran = run(command, "");
    assert_eq!(ran.code, 1);
    assert!(
        ran.err.contains("/proc/self/mem: Input/output error"),
        "{}",
        ran.err
    );
}

#[test]
fn wrong_options_are_refused() {
    for arguments in [&[][..], &["--top", "x", "."], &["--jobs", "0", "."]] {
        let mut command = program("word_count");
        command.args(arguments);
        let ran = run(command, "");
        assert_eq!(ran.code, 2, "{arguments:?}");
        assert!(ran.out.is_empty() && !ran.err.is_empty());
    }
}
