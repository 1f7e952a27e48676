//! Wrong input, outputs that cannot be written, options that make no sense: there is a
//! message, the right exit code, no file under a final name, and never a hang.

mod common;

use common::{BLITZ, Ran, command, pairs, ran, run};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let [one, two] = pairs(11, 3000, false);
    fs::write(folder.path().join("1.fq"), one).unwrap();
    fs::write(folder.path().join("2.fq"), two).unwrap();
    folder
}

fn text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Runs with arguments that must fail. Returns the message.
fn fails(folder: &Path, arguments: &str, code: i32) -> String {
    let Ran {
        code: found,
        stderr,
        files,
        json,
        ..
    } = run(BLITZ, folder, arguments);
    assert_eq!(found, Some(code), "{arguments}: {stderr}");
    assert!(
        files.is_empty() && json.is_empty(),
        "{arguments} left {:?}",
        files.keys()
    );
    stderr
        .lines()
        .find_map(|line| line.strip_prefix("ERROR: "))
        .unwrap_or(&stderr)
        .to_owned()
}

#[test]
fn records_that_are_wrong() {
    let folder = folder();
    let path = folder.path();
    let good = text(path, "1.fq");
    let lines: Vec<&str> = good.lines().collect();
    let write = |lines: &[&str]| fs::write(path.join("bad.fq"), lines.join("\n") + "\n").unwrap();
    let mut longer = lines.clone();
    longer[4 * 2500 + 3] = "II";
    write(&longer);
    let message = fails(path, "-i ../bad.fq -o o.fq", 1);
    assert!(
        message.starts_with("../bad.fq: record 2501, line 10004: "),
        "{message}"
    );
    let mut missing = lines.clone();
    missing.remove(4 * 2000 + 3);
    write(&missing);
    let message = fails(path, "-i ../bad.fq -I ../2.fq -o o1.fq -O o2.fq", 1);
    assert!(
        message.starts_with("../bad.fq: record 2001, line 8004: "),
        "{message}"
    );
    write(&lines[..lines.len() - 1]);
    let message = fails(path, "-i ../bad.fq -o o.fq", 1);
    assert!(
        message.contains("record 3000, line 11999: the input ends before the qualities"),
        "{message}"
    );
}

#[test]
fn reads_without_the_other_of_the_pair() {
    let folder = folder();
    let path = folder.path();
    let (one, two) = (text(path, "1.fq"), text(path, "2.fq"));
    for keep in [2999, 2000, 1000, 0] {
        let short: String = one
            .lines()
            .take(4 * keep)
            .map(|line| format!("{line}\n"))
            .collect();
        fs::write(path.join("short.fq"), short).unwrap();
        let message = fails(path, "-i ../short.fq -I ../2.fq -o o1.fq -O o2.fq", 1);
        assert_eq!(
            message,
            format!(
                "../short.fq: it ends after record {keep}, line {}, but ../2.fq goes on",
                4 * keep
            )
        );
        let message = fails(path, "-i ../1.fq -I ../short.fq -o o1.fq -O o2.fq -D", 1);
        assert_eq!(
            message,
            format!(
                "../short.fq: it ends after record {keep}, line {}, but ../1.fq goes on",
                4 * keep
            )
        );
    }
    let odd: String = (0..1001)
        .flat_map(|at| [&one, &two].map(|text| text.lines().skip(4 * at).take(4)))
        .flatten()
        .take(4 * 2001)
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(path.join("odd.fq"), odd).unwrap();
    let message = fails(path, "-i ../odd.fq --interleaved_in -o o1.fq -O o2.fq", 1);
    assert_eq!(
        message,
        "../odd.fq: record 2001, line 8001: a read 1 without a read 2"
    );
}

#[test]
fn reads_that_are_no_pair() {
    let folder = folder();
    let path = folder.path();
    // First with a file for each read, where an empty line comes before the wrong record,
    // and then interleaved.
    let (one, two) = (text(path, "1.fq"), text(path, "2.fq"));
    let mut wrong: Vec<&str> = two.lines().collect();
    wrong[4 * 1500] = "@other 2:N:0";
    wrong.insert(4 * 1200, "");
    fs::write(path.join("wrong.fq"), wrong.join("\n")).unwrap();
    let message = fails(path, "-i ../1.fq -I ../wrong.fq -o o1.fq -O o2.fq", 1);
    assert!(
        message.starts_with("../wrong.fq: record 1501, line 6002: read 2 is \"@other 2:N:0\""),
        "{message}"
    );
    assert!(
        message.ends_with("(../1.fq: record 1501, line 6001)"),
        "{message}"
    );
    wrong.remove(4 * 1200);
    let lines: Vec<&str> = one.lines().collect();
    let both: Vec<&str> = lines
        .chunks(4)
        .zip(wrong.chunks(4))
        .flat_map(|(one, two)| [one, two].concat())
        .collect();
    fs::write(path.join("both.fq"), both.join("\n")).unwrap();
    let message = fails(path, "-i ../both.fq --interleaved_in -o o1.fq -O o2.fq", 1);
    assert!(
        message.starts_with("../both.fq: record 3002, line 12005: read 2 is"),
        "{message}"
    );
}

#[test]
fn gzip_that_is_truncated_or_none() {
    let folder = folder();
    let path = folder.path();
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::new(4));
    encoder.write_all(text(path, "1.fq").as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    fs::write(path.join("1.fq.gz"), &whole[..whole.len() / 2]).unwrap();
    let message = fails(path, "-i ../1.fq.gz -o o.fq", 1);
    assert!(
        message.starts_with("../1.fq.gz: cannot read on after record"),
        "{message}"
    );
    // The last byte is missing, and then a second member ends too early.
    fs::write(path.join("1.fq.gz"), &whole[..whole.len() - 1]).unwrap();
    let message = fails(path, "-i ../1.fq.gz -o o.fq.gz -w 3", 1);
    assert!(
        message.contains("after record 3000, at line 12001"),
        "{message}"
    );
    fs::write(path.join("1.fq.gz"), [&whole[..], &whole[..5000]].concat()).unwrap();
    let message = fails(path, "-i ../1.fq.gz -I ../1.fq.gz -o o.fq -O p.fq", 1);
    assert!(
        message.contains("../1.fq.gz: cannot read on after record"),
        "{message}"
    );
    fs::write(path.join("2.fq.gz"), b"@no gzip\n").unwrap();
    let message = fails(path, "-i ../2.fq.gz -o o.fq", 1);
    assert!(
        message.starts_with("../2.fq.gz: record 1, line 1: the input ends before the bases"),
        "{message}"
    );
    // An empty file with such a name was cut off, too.
    fs::write(path.join("2.fq.gz"), b"").unwrap();
    let message = fails(path, "-i ../2.fq.gz -o o.fq", 1);
    assert!(
        message.contains("cannot read on after record 0"),
        "{message}"
    );
    let other = [&whole[..], &[0, 0, 1]].concat();
    fs::write(path.join("2.fq.gz"), other).unwrap();
    fails(path, "-i ../2.fq.gz -o o.fq", 1);
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = folder();
    let path = folder.path();
    assert!(fails(path, "-i ../1.fq -o ../1.fq", 1).contains("names an input file"));
    assert!(
        fails(path, "-i ../1.fq -o no/such/folder.fq", 1)
            .starts_with("no/such/folder.fq: cannot create it")
    );
    fs::create_dir(path.join("folder.fq")).unwrap();
    fails(path, "-i ../folder.fq -o o.fq", 255);
    assert!(fails(path, "-i ../1.fq -I ../2.fq -o o1.fq -O ../1.fq", 1).contains("names an input"));
    if Path::new("/dev/full").exists() {
        for arguments in [
            "-i ../1.fq -I ../2.fq -o o1.fq -O /dev/full",
            "-i ../1.fq -o o.fq.gz --html /dev/full",
            "-i ../1.fq -o o.fq --failed_out /dev/full -l 1000",
        ] {
            let message = fails(path, arguments, 1);
            assert!(message.starts_with("/dev/full: cannot"), "{message}");
        }
        let message = fails(path, "-i ../1.fq -o /dev/full", 1);
        assert!(
            message.starts_with("/dev/full: cannot write it"),
            "{message}"
        );
    }
    assert_eq!(text(path, "1.fq").lines().count(), 12_000);
    // Existing files stay when a run fails.
    let here = path.join("before");
    fs::create_dir(&here).unwrap();
    fs::write(here.join("o.fq"), "before").unwrap();
    fs::write(path.join("bad.fq"), "@x\nA\n+\nI\n@y\n").unwrap();
    let left = ran(
        command(BLITZ, &here, "-i ../bad.fq -o o.fq")
            .output()
            .unwrap(),
        &here,
    );
    assert_eq!(
        (left.code, left.files.len(), &left.files["o.fq"][..]),
        (Some(1), 1, &b"before"[..])
    );
}

#[test]
fn a_pipe_that_nobody_reads() {
    let folder = folder();
    let mut child = command(BLITZ, folder.path(), "-i 1.fq --stdout --json j --html h")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 100];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut some).unwrap();
    drop(stdout);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < Duration::from_secs(900), "it hangs");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(1));
    assert!(!folder.path().join("j").exists());
}

#[test]
fn options_that_make_no_sense() {
    let folder = folder();
    let path = folder.path();
    for (arguments, code) in [
        ("--no_such_option", 1),
        ("-i", 1),
        ("-z x -i ../1.fq", 1),
        ("-i ../none.fq", 255),
        ("-o o.fq", 255),
        ("-i ../1.fq -O o2.fq", 255),
        ("-i ../1.fq -I ../2.fq -o o1.fq", 255),
        ("-i ../1.fq -I ../2.fq -o o.fq -O o.fq", 255),
        ("-i ../1.fq -g -G", 255),
        ("-i ../1.fq -z 10", 255),
        ("-i ../1.fq -m --merged_out m.fq", 255),
        ("-i ../1.fq -U", 255),
        ("-i ../1.fq -U --umi_loc read2 --umi_len 4", 255),
        ("-i ../1.fq -a ACGX", 255),
        ("-i ../1.fq -S 1001", 255),
        ("-i ../1.fq -o ../2.fq --dont_overwrite", 255),
        ("../1.fq -o o.fq", 1),
        ("-i ../1.fq ../2.fq -o o.fq", 1),
        ("-i ../1.fq -I ../2.fq -c --overlap_len_require=-5", 255),
        ("-i ../1.fq -I ../2.fq --overlap_diff_limit=-1", 255),
        ("-i ../1.fq -x --poly_x_min_len=-1", 255),
        ("-i ../1.fq -g --poly_g_min_len=0", 255),
    ] {
        fails(path, arguments, code);
    }
    // The message is not above all options.
    let message = run(BLITZ, path, "--no_such_option").stderr;
    assert!(
        message.contains("--no_such_option") && message.lines().count() < 4,
        "{message}"
    );
    let help = run(BLITZ, path, "--help");
    assert_eq!((help.code, &help.stderr[..]), (Some(0), ""));
    assert!(help.stdout.starts_with(b"usage: "));
    assert!(help.stdout.ends_with(b" -O out.2.fq.gz\n"));
    assert_eq!(run(BLITZ, path, "").code, Some(0));
}

/// A reader of the messages that goes away, as in `2>&1 | head -1`, costs no results, and a
/// full disk below standard error does not either.
#[test]
fn messages_that_cannot_be_printed_cost_nothing() {
    let folder = folder();
    let path = folder.path();
    let whole = |command: &mut std::process::Command| {
        let status = command.status().unwrap();
        assert_eq!(status.code(), Some(0));
        for name in ["o.fq", "fastp.json", "fastp.html"] {
            fs::remove_file(path.join(name)).expect(name);
        }
    };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    whole(command(BLITZ, path, "-i 1.fq -o o.fq -V").stderr(writer));
    if let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") {
        whole(command(BLITZ, path, "-i 1.fq -o o.fq").stderr(full));
    }
    // A run that fails has its own exit code, too.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = command(BLITZ, path, "-i none.fq").stderr(writer).status();
    assert_eq!(status.unwrap().code(), Some(255));
}

/// Two names of one file are one file, and an input is an input under any name.
#[cfg(unix)]
#[test]
fn outputs_with_two_names() {
    let folder = folder();
    let path = folder.path();
    std::os::unix::fs::symlink("1.fq", path.join("link.fq")).unwrap();
    fs::hard_link(path.join("2.fq"), path.join("hard.fq")).unwrap();
    let (one, two) = (text(path, "1.fq"), text(path, "2.fq"));
    for (arguments, code, told) in [
        (
            "-i ../1.fq -o x.fq --failed_out ./x.fq",
            255,
            "the same file",
        ),
        (
            "-i ../1.fq -o x.fq -j ../blitz-fastq/x.fq",
            255,
            "the same file",
        ),
        ("-i ../1.fq -o ../link.fq", 1, "an input file"),
        (
            "-i ../1.fq -I ../2.fq -o a.fq -O ../hard.fq",
            1,
            "an input file",
        ),
    ] {
        let message = fails(path, arguments, code);
        assert!(message.contains(told), "{message}");
    }
    // So is standard output.
    let file = fs::OpenOptions::new().append(true).open(path.join("1.fq"));
    let mut same = command(BLITZ, path, "-i link.fq --stdout");
    assert_eq!(same.stdout(file.unwrap()).status().unwrap().code(), Some(1));
    assert!(text(path, "1.fq") == one && text(path, "2.fq") == two);
    // Files of a split output may get the name of another output, too.
    fails(path, "-i ../1.fq -o x.fq -s 2 -j 0002.x.fq", 1);
}

/// An output that is a link replaces the file at its end, and `/dev/stdout` is a place to
/// write to, not a file to replace.
#[cfg(unix)]
#[test]
fn outputs_that_are_links() {
    let folder = folder();
    let path = folder.path();
    std::os::unix::fs::symlink("real.fq", path.join("link.fq")).unwrap();
    let ran = command(BLITZ, path, "-i 1.fq -o link.fq").output().unwrap();
    assert_eq!(ran.status.code(), Some(0));
    assert!(
        fs::symlink_metadata(path.join("link.fq"))
            .unwrap()
            .is_symlink()
    );
    let result = text(path, "real.fq");
    assert!(result.len() > 100_000);
    for arguments in [
        "-i 1.fq -o /dev/stdout",
        "-i 1.fq -o /dev/fd/1",
        "-i 1.fq --stdout",
    ] {
        fs::write(path.join("all.fq"), "before\n").unwrap();
        let file = fs::OpenOptions::new()
            .append(true)
            .open(path.join("all.fq"));
        let ran = command(BLITZ, path, arguments)
            .stdout(file.unwrap())
            .output();
        assert_eq!(ran.unwrap().status.code(), Some(0));
        assert!(
            text(path, "all.fq") == format!("before\n{result}"),
            "{arguments}"
        );
    }
    assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
}

/// The name of a file that is not complete cannot be taken by another program.
#[cfg(unix)]
#[test]
fn temporary_names_follow_no_links() {
    let folder = folder();
    let path = folder.path();
    fs::write(path.join("victim"), "before").unwrap();
    let here = path.canonicalize().unwrap();
    // The shell knows the number that the program will have.
    let script =
        format!("ln -s victim .o.fq.$$.part; exec {BLITZ} -i 1.fq -o o.fq --json j --html h");
    let ran = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(&here)
        .output();
    assert_eq!(ran.unwrap().status.code(), Some(0));
    assert_eq!(text(path, "victim"), "before");
    assert!(text(path, "o.fq").len() > 100_000);
}

/// A line without an end does not fill the memory: its length is limited.
#[cfg(target_os = "linux")]
#[test]
fn a_line_without_an_end() {
    let folder = folder();
    let path = folder.path();
    let limited = |kibibytes: u32, input: &str| {
        let script = format!("ulimit -v {kibibytes}; exec {BLITZ} -i {input} -o o.fq");
        let mut command = command("sh", path, "-c");
        let ran = command.arg(script).output().unwrap();
        let message = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(1), "{message}");
        assert!(!path.join("o.fq").exists());
        message
    };
    let told = limited(4_000_000, "/dev/zero");
    assert!(
        told.contains("record 0, line 1: the line is longer than 256 MiB"),
        "{told}"
    );
    // With less memory than that, there is an error as well.
    for input in ["/dev/zero -A", "/dev/zero"] {
        let told = limited(200_000, input);
        assert!(told.contains("memory"), "{told}");
    }
}

/// A split output may have more files than the program may have open.
#[cfg(unix)]
#[test]
fn more_files_than_descriptors() {
    let folder = folder();
    let script = format!("ulimit -n 24; exec {BLITZ} -i ../1.fq -o o.fq -s 100 -A");
    let here = folder.path().join("here");
    fs::create_dir(&here).unwrap();
    let ran = ran(
        command("sh", &here, "-c").arg(script).output().unwrap(),
        &here,
    );
    assert_eq!(
        (ran.code, ran.files.len()),
        (Some(0), 100),
        "{}",
        ran.stderr
    );
}

/// An output that cannot be created is reported before the input is examined.
#[test]
fn outputs_are_created_first() {
    let folder = folder();
    fs::write(folder.path().join("blocked"), "").unwrap();
    let ran = run(BLITZ, folder.path(), "-i ../1.fq -o ../blocked/o.fq");
    assert_eq!(ran.code, Some(1));
    assert!(!ran.stderr.contains("Detecting"), "{}", ran.stderr);
    let full = run(BLITZ, folder.path(), "-i ../1.fq -o o.fq -j /dev/null/j");
    assert_eq!(full.code, Some(1));
    assert!(!full.stderr.contains("Detecting"), "{}", full.stderr);
}

#[test]
fn bytes_that_are_no_qualities() {
    let folder = folder();
    fs::write(folder.path().join("bad.fq"), b"@a\nAC\n+\nI\xff\n").unwrap();
    let message = fails(folder.path(), "-i ../bad.fq -o o.fq", 1);
    assert!(
        message.starts_with("../bad.fq: record 1, line 4: quality 2 is '\\xff'"),
        "{message}"
    );
}

#[test]
fn names_of_pairs_need_not_be_the_same() {
    let folder = folder();
    let path = folder.path();
    let other = text(path, "2.fq").replace("@M:", "@other:");
    fs::write(path.join("other.fq"), other).unwrap();
    let arguments = "-i ../1.fq -I ../other.fq -o o1.fq -O o2.fq";
    fails(path, arguments, 1);
    let ran = run(BLITZ, path, &format!("{arguments} --dont_check_pair_names"));
    assert_eq!((ran.code, ran.files.len()), (Some(0), 2));
}

/// A name is used as it was given, even if it is not UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let path = folder.path();
    let [input, output] = [&b"in\xff.fq"[..], b"out\xc3(.fq"].map(OsStr::from_bytes);
    fs::rename(path.join("1.fq"), path.join(input)).unwrap();
    let mut command = command(BLITZ, path, "-s 2 -i");
    let ran = command.arg(input).arg("-o").arg(output).output().unwrap();
    assert_eq!(ran.status.code(), Some(0));
    for file in [&b"0001.out\xc3(.fq"[..], b"0002.out\xc3(.fq"] {
        assert!(path.join(OsStr::from_bytes(file)).exists());
    }
}
