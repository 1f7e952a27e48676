//! Where input comes from and how it is compressed makes no difference.

mod common;

use common::{BLITZ, Ran, bgzf, command, output_in_time, pairs, ran, run};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Runs a command of a shell in a new folder beside the input.
fn shell(folder: &Path, script: &str) -> Ran {
    let here = folder.join("here");
    let _ = fs::remove_dir_all(&here);
    fs::create_dir(&here).unwrap();
    let mut command = command("sh", &here, "-c");
    command.arg(script);
    ran(output_in_time(command, script), &here)
}

fn assert_same(one: &Ran, other: &Ran, what: &str) {
    assert_eq!(
        (one.code, other.code),
        (Some(0), Some(0)),
        "{what}: {}",
        other.stderr
    );
    assert!(one.files == other.files && one.json == other.json, "{what}");
}

#[test]
fn the_content_tells_what_is_compressed() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let [text, _] = pairs(61, 2000, false);
    let packed = bgzf(text.as_bytes());
    let padded = [&packed[..], &[0; 70_000]].concat();
    for (name, bytes) in [
        ("1.fq", text.as_bytes()),
        ("plain.fq.gz", text.as_bytes()),
        ("packed.fq", &packed),
        ("padded.fq.gz", &padded),
    ] {
        fs::write(path.join(name), bytes).unwrap();
    }
    let plain = run(BLITZ, path, "-i ../1.fq -o o.fq");
    for name in ["plain.fq.gz", "packed.fq", "padded.fq.gz"] {
        let other = run(BLITZ, path, &format!("-i ../{name} -o o.fq"));
        assert_same(&plain, &other, name);
        let one = shell(path, &format!("{BLITZ} --stdin -o o.fq <../1.fq"));
        let other = shell(path, &format!("{BLITZ} --stdin -o o.fq <../{name}"));
        assert_same(&one, &other, name);
    }
}

/// A pipe cannot be read twice: the bytes that were read ahead, to detect adapters, are kept.
#[cfg(unix)]
#[test]
fn pipes_are_read_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    for (name, text) in ["1.fq", "2.fq"].iter().zip(pairs(62, 11_000, false)) {
        fs::write(path.join(name), &text).unwrap();
        let few: String = text
            .lines()
            .take(800)
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(path.join(format!("few.{name}")), &few).unwrap();
        fs::write(path.join(format!("{name}.gz")), bgzf(text.as_bytes())).unwrap();
    }
    for (arguments, packed) in [
        ("-i ../1.fq -o o1.fq -w 2", ".gz"),
        (
            "-i ../1.fq -I ../2.fq -o o1.fq -O o2.fq -D --dup_calc_accuracy 1 -w 1",
            "",
        ),
        (
            "-i ../1.fq -I ../2.fq -o o1.fq -O o2.fq -p --detect_adapter_for_pe",
            ".gz",
        ),
    ] {
        let files = run(BLITZ, path, arguments);
        let few = if arguments.contains("few") {
            "few."
        } else {
            ""
        };
        let [one, two] = ["1", "2"].map(|which| format!("../{few}{which}.fq"));
        let piped = arguments.replace(&one, "p1").replace(&two, "p2");
        let script = format!(
            "mkfifo p1 p2; cat {one}{packed} >p1 & cat {two}{packed} >p2 & \
             {BLITZ} {piped}; code=$?; kill $!; wait; rm -f p1 p2; exit $code"
        );
        assert_same(&files, &shell(path, &script), arguments);
    }
    let script = format!("mkfifo p; cat ../1.fq >p & {BLITZ} -i p -o o.fq -s 2; rm p");
    let few = shell(path, &script);
    assert_eq!(few.files.len(), 2, "{}", few.stderr);
}
