//! `blitz pipe` from outside, compared with the programs that people use.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::common::{blitz, expect};

/// Returns text that compresses like text, of any length: words in an order that does not
/// repeat.
fn text(bytes: usize) -> Vec<u8> {
    let words = ["lock ", "task\n", "wake ", "queue ", "of ", "a ", "futex, "];
    let mut seed = 1_u64;
    let mut text = Vec::with_capacity(bytes + 8);
    while text.len() < bytes {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.extend(words[(seed >> 33) as usize % words.len()].as_bytes());
    }
    text.truncate(bytes);
    text
}

/// A folder with a file for each of the given contents.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: &[u8]) -> String {
        fs::write(self.path(name), content).unwrap();
        self.name(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Returns what a command makes of this standard input.
fn filter(mut command: Command, input: &[u8]) -> (Option<i32>, Vec<u8>) {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A command that fails does not read all input.
            let _ = stdin.write_all(input);
        });
        let output = child.wait_with_output().unwrap();
        (output.status.code(), output.stdout)
    })
}

/// Returns a program of this system, if it exists.
fn other(program: &str, arguments: &[&str]) -> Option<Command> {
    let there = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if there.is_err() {
        eprintln!("{program} is not installed: nothing is compared with it");
        return None;
    }
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}

#[test]
fn others_read_what_it_writes_and_it_reads_what_they_write() {
    // Empty, small, one byte less and more than a block, and many blocks.
    for bytes in [0, 1, 65_279, 65_280, 65_281, (1 << 20) + 1, 5_000_000] {
        let text = text(bytes);
        for ours in ["gzip", "bgzip"] {
            for threads in ["-t1", "-t3"] {
                let (code, packed) = filter(blitz(&["pipe", ours, threads]), &text);
                assert_eq!(code, Some(0));
                for (program, arguments) in [
                    ("gzip", &["-dc"][..]),
                    ("pigz", &["-dc"]),
                    ("bgzip", &["-dc", "-@2"]),
                ] {
                    if program == "bgzip" && ours == "gzip" {
                        continue;
                    }
                    let Some(command) = other(program, arguments) else {
                        continue;
                    };
                    assert!(
                        filter(command, &packed) == (Some(0), text.clone()),
                        "{program} does not read {bytes} bytes of {ours} {threads}"
                    );
                }
                let unpacked = filter(blitz(&["pipe", "gunzip", threads]), &packed);
                assert!(unpacked == (Some(0), text.clone()), "{bytes} {ours}");
            }
        }
        for (program, arguments) in [
            ("gzip", &["-c"][..]),
            ("pigz", &["-c"]),
            ("bgzip", &["-c", "-@2"]),
        ] {
            let Some(command) = other(program, arguments) else {
                continue;
            };
            let (_, packed) = filter(command, &text);
            assert!(
                filter(blitz(&["pipe", "gunzip"]), &packed) == (Some(0), text.clone()),
                "{bytes} bytes of {program} are not read"
            );
        }
    }
}

#[test]
fn zeros_after_the_compressed_data_are_ignored() {
    for pack in ["gzip", "bgzip"] {
        let (_, mut packed) = filter(blitz(&["pipe", pack]), b"content");
        packed.extend([0; 2000]);
        let unpacked = filter(blitz(&["pipe", "gunzip"]), &packed);
        assert_eq!(unpacked, (Some(0), b"content".to_vec()));
    }
}

#[test]
fn blocks_of_bgzf_are_found_by_an_index() {
    let place = Place::new();
    let text = text(1_000_000);
    let (plain, packed) = (place.file("t", &text), place.name("t.gz"));
    expect(0, &["pipe", "bgzip", "-l9", "-o", &packed, &plain]);
    let Some(mut index) = other("bgzip", &["-r", &packed]) else {
        return;
    };
    assert!(index.status().unwrap().success());
    let part = other("bgzip", &["-b", "700000", "-s", "1000", &packed]);
    let part = part.unwrap().output().unwrap().stdout;
    assert!(part == text[700_000..701_000]);
}

#[test]
fn several_inputs_are_one_after_the_other() {
    let place = Place::new();
    let (a, b, out) = (
        place.file("a", b"one "),
        place.file("b", b"two"),
        place.name("out"),
    );
    for pack in ["gzip", "bgzip"] {
        let ran = expect(0, &["pipe", pack, "--json", "-o", &out, &a, &b]);
        let length = fs::metadata(&out).unwrap().len();
        assert_eq!(ran.json()["read"], 7);
        assert_eq!(ran.json()["written"], length);
        assert_eq!(expect(0, &["pipe", "gunzip", &out]).out, "one two");
        assert_eq!(
            expect(0, &["pipe", "gunzip", &out, &out]).out,
            "one twoone two"
        );
    }
}

/// Users of gzip expect that it is the output, or an output of its own.
#[test]
fn an_input_that_is_compressed_already_is_told_of_beside_others() {
    let place = Place::new();
    let (a, b) = (place.file("a", b"one "), place.file("b.gz", b"two"));
    let out = place.name("out");
    let ran = expect(0, &["pipe", "gzip", "-o", &out, &a, &b]);
    let note = "b.gz is compressed already, and is read as one of 2 inputs";
    assert!(ran.err.contains(note), "{}", ran.err);
    assert_eq!(expect(0, &["pipe", "gunzip", &out]).out, "one two");
    for quiet in [&[&*a, &*a][..], &[&*b]] {
        let ran = expect(0, &[&["pipe", "gzip", "-o", &out], quiet].concat());
        assert_eq!(ran.err, "");
    }
}

#[test]
fn what_workers_write_at_its_place_is_what_one_writes_in_turn() {
    let place = Place::new();
    let (blocks, plain) = (place.name("blocks"), place.name("plain"));
    let text = text(4_000_000);
    let file = place.file("text", &text);
    expect(0, &["pipe", "bgzip", "-o", &blocks, &file]);
    expect(0, &["pipe", "gzip", "-o", &plain, &file]);
    // A file written in order goes behind one written in any order, and the other way
    // round.
    let out = place.name("out");
    let ran = expect(
        0,
        &[
            "pipe", "gunzip", "--json", "-t3", "-o", &out, &blocks, &plain, &blocks,
        ],
    );
    assert_eq!(ran.json()["written"], 12_000_000);
    assert!(fs::read(&out).unwrap() == text.repeat(3));
}

#[test]
fn checksums_are_those_of_sha256sum() {
    let place = Place::new();
    let names = [
        place.file("a", b""),
        place.file("b", b"abc"),
        place.file("new\nline", &text(1_000_000)),
        place.file("back\\slash", &text(12)),
    ];
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let ours = expect(0, &[&["pipe", "sha256"], &names[..]].concat());
    if let Some(mut command) = other("sha256sum", &names) {
        let theirs = command.output().unwrap().stdout;
        assert_eq!(ours.out.as_bytes(), theirs);
    }
    let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(
        ours.out.lines().nth(1),
        Some(&*format!("{sum}  {}", names[1]))
    );
    let json = expect(0, &["pipe", "sha256", "--json", names[1]]).json();
    assert_eq!(
        json,
        serde_json::json!([{ "file": names[1], "sha256": sum }])
    );
    let (code, out) = filter(blitz(&["pipe", "sha256"]), b"abc");
    assert_eq!((code, &*out), (Some(0), format!("{sum}  -\n").as_bytes()));
}

#[test]
fn checksums_go_on_after_a_file_that_cannot_be_read() {
    let place = Place::new();
    let (a, b) = (place.file("a", b"a"), place.file("b", b"b"));
    let (missing, directory) = (place.name("missing"), place.name("."));
    let files = [&*a, &missing, &directory, &b];
    let ran = expect(1, &[&["pipe", "sha256"], &files[..]].concat());
    if let Some(mut command) = other("sha256sum", &files) {
        let theirs = command.output().unwrap();
        assert_eq!(ran.out.as_bytes(), theirs.stdout);
        assert_eq!(theirs.status.code(), Some(1));
    }
    let shown: Vec<_> = ran.out.lines().map(|line| &line[66..]).collect();
    assert_eq!(shown, [&a, &b]);
    for name in [&missing, &directory] {
        assert!(
            ran.err.contains(&format!("{name} cannot be read")),
            "{}",
            ran.err
        );
    }
    assert!(ran.err.contains("files have no checksum"), "{}", ran.err);
    let sums = expect(1, &[&["pipe", "sha256", "--json"], &files[..]].concat()).json();
    assert_eq!(sums.as_array().unwrap().len(), 2);
}

#[test]
fn what_fails_leaves_no_file_and_the_old_one() {
    let place = Place::new();
    let text = text(3_000_000);
    let good = place.file("good", &filter(blitz(&["pipe", "gzip"]), &text).1);
    let blocks = filter(blitz(&["pipe", "bgzip"]), &text).1;
    let packed = fs::read(&good).unwrap();
    let mut damaged = packed.clone();
    damaged[packed.len() / 2] ^= 1;
    let mut damaged_blocks = blocks.clone();
    damaged_blocks[blocks.len() / 2] ^= 1;
    let trailing = [&packed[..], b"junk"].concat();
    let trailing_blocks = [&blocks[..], b"junk"].concat();
    let bad = [
        ("trailing", &*trailing, "no gzip follows the end"),
        ("trailing.bgz", &trailing_blocks, "this is no BGZF block"),
        ("cut", &packed[..packed.len() - 9], "cut off"),
        ("damaged", &damaged, "damaged"),
        ("cut.bgz", &blocks[..blocks.len() - 40], "cut off"),
        ("endless.bgz", &blocks[..blocks.len() - 28], "cut off"),
        ("damaged.bgz", &damaged_blocks, "damaged"),
        ("empty", b"", "it is empty"),
        ("plain", &text, "no gzip file"),
    ];
    let out = place.file("out", b"the old one");
    for (name, content, told) in bad {
        let file = place.file(name, content);
        let before = place.names();
        let ran = expect(1, &["pipe", "gunzip", "-o", &out, &file]);
        assert!(
            ran.err.contains(name) && ran.err.contains(told),
            "{name}: {}",
            ran.err
        );
        assert_eq!(fs::read(&out).unwrap(), b"the old one");
        assert_eq!(place.names(), before);
        // Standard output has the beginning; all of it if only the end of the file is missing.
        let (code, written) = filter(blitz(&["pipe", "gunzip"]), content);
        assert_eq!(code, Some(1), "{name}");
        // A checksum comes after the content, so it is written first. BGZF has one for each block.
        assert!(name == "damaged" || text.starts_with(&written), "{name}");
        if name.contains("cut") || name.contains("endless") || name.contains("trailing") {
            assert!(
                text.len() - written.len() < 1 << 16,
                "{name}: {}",
                written.len()
            );
        }
    }
    // A run that works replaces it.
    expect(0, &["pipe", "gunzip", "-o", &out, &good]);
    assert!(fs::read(&out).unwrap() == text);
}

#[test]
fn wrong_arguments_are_told_before_anything_is_done() {
    let place = Place::new();
    let a = place.file("a", b"a");
    let missing = place.name("missing");
    let directory = place.name(".");
    let inside = place.name("missing/out");
    for (code, arguments, told) in [
        // A file that cannot be read or written ends each of them with the same code.
        (1, &["gzip", &missing][..], "missing"),
        (1, &["gunzip", &missing], "missing"),
        (1, &["sha256", &missing], "missing"),
        (1, &["gzip", &directory], "is a directory"),
        (1, &["gzip", "-o", &inside, &a], "--output"),
        (64, &["gzip", "-o", &a, &a], "read and written"),
        (64, &["gzip", "--json", &a], "--output"),
        (64, &["gzip", "-l13", &a], "13"),
        (64, &["gzip", "-t0", &a], "0"),
    ] {
        let ran = expect(code, &[&["pipe"], arguments].concat());
        assert!(ran.err.contains(told), "{arguments:?}: {}", ran.err);
        assert_eq!((ran.out, place.names()), (String::new(), vec!["a".into()]));
    }
    assert_eq!(fs::read(&a).unwrap(), b"a");
}

#[test]
fn an_output_that_is_the_input_is_refused_under_any_name() {
    let place = Place::new();
    let a = place.file("a", b"content");
    let link = place.path("link");
    fs::hard_link(&a, &link).unwrap();
    expect(64, &["pipe", "gzip", "-o", link.to_str().unwrap(), &a]);
    let into = fs::OpenOptions::new().append(true).open(&a).unwrap();
    let ended = blitz(&["pipe", "gzip", &a]).stdout(into).output().unwrap();
    assert_eq!(ended.status.code(), Some(64));
    assert_eq!(fs::read(&a).unwrap(), b"content");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_a_reader_that_has_gone_is_none() {
    let place = Place::new();
    let file = place.file("a", &text(3_000_000));
    let ran = expect(1, &["pipe", "gzip", "-o/dev/full", &file]);
    assert!(
        ran.err.contains("/dev/full cannot be written"),
        "{}",
        ran.err
    );
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let ran = blitz(&["pipe", "gzip", &file])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));

    let mut child = blitz(&["pipe", "gzip", "-l0", &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), vec![]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_leaves_nothing_incomplete() {
    use std::os::unix::process::ExitStatusExt;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let place = Place::new();
        let out = place.name("out.gz");
        // A shell has a program that it runs in the background ignore some of the signals.
        let mut command = Command::new("env");
        blitz_io_testing::limited(&mut command);
        let mut child = command
            .arg("--default-signal=INT,TERM,HUP")
            .arg(env!("CARGO_BIN_EXE_blitz"))
            .args(["pipe", "gzip", "-o", &out])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // The command waits for input that never comes: waiting for the child would close
        // the pipe.
        let stdin = child.stdin.take();
        let folder = fs::canonicalize(place.path(".")).unwrap();
        let open = format!("/proc/{}/fd", child.id());
        let is_output = |entry: std::io::Result<fs::DirEntry>| {
            let file = entry.and_then(|entry| fs::read_link(entry.path()));
            file.is_ok_and(|file| file.starts_with(&folder))
        };
        while !fs::read_dir(&open).unwrap().any(is_output) {
            assert_eq!(child.try_wait().unwrap(), None, "it does not begin");
            std::thread::yield_now();
        }
        let process = libc::pid_t::try_from(child.id()).unwrap();
        // SAFETY: this test started the child, and has not waited for it yet.
        assert_eq!(unsafe { libc::kill(process, signal) }, 0);
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
        drop(stdin);
        assert_eq!(place.names(), Vec::<String>::new());
    }
}

#[cfg(unix)]
#[test]
fn an_output_that_is_a_link_is_written_through_it() {
    let place = Place::new();
    let a = place.file("a", b"content");
    std::os::unix::fs::symlink("real", place.path("link")).unwrap();
    expect(0, &["pipe", "gzip", "-o", &place.name("link"), &a]);
    assert!(
        fs::symlink_metadata(place.path("link"))
            .unwrap()
            .is_symlink()
    );
    let packed = fs::read(place.path("real")).unwrap();
    for output in ["/dev/stdout", "/dev/fd/1"] {
        let all = place.file("all", b"before ");
        let into = fs::OpenOptions::new().append(true).open(&all).unwrap();
        let mut command = blitz(&["pipe", "gzip", "-o", output, &a]);
        assert_eq!(command.stdout(into).status().unwrap().code(), Some(0));
        assert!(fs::read(&all).unwrap() == [b"before ", &packed[..]].concat());
    }
    assert!(fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
}

#[cfg(unix)]
#[test]
fn the_output_has_the_rights_of_a_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let (a, out) = (place.file("a", b"a"), place.name("out"));
    expect(0, &["pipe", "gzip", "-o", &out, &a]);
    let mode = |name: &str| fs::metadata(Path::new(name)).unwrap().permissions().mode();
    assert_eq!(mode(&out), mode(&a));
}

#[cfg(unix)]
#[test]
fn the_output_keeps_the_rights_of_the_file_that_it_replaces() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let (a, out) = (place.file("a", b"a"), place.file("out", b"secret"));
    fs::set_permissions(&out, fs::Permissions::from_mode(0o600)).unwrap();
    expect(0, &["pipe", "gzip", "-o", &out, &a]);
    let mode = fs::metadata(&out).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
