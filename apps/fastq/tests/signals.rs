//! A run that a signal ends leaves no files behind.
#![cfg(target_os = "linux")]

mod common;

use common::{BLITZ, command, pairs};
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use tempfile::TempDir;

#[test]
fn a_signal_leaves_nothing_incomplete() {
    for signal in ["INT", "TERM", "HUP"] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().canonicalize().unwrap();
        // A shell has a program that it runs in the background ignore some of the signals.
        let mut child = command("env", &path, "--default-signal=INT,TERM,HUP")
            .arg(BLITZ)
            .args(["--stdin", "-o", "o.fq", "--failed_out", "f.fq.gz"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin
            .write_all(pairs(51, 5000, false)[0].as_bytes())
            .unwrap();
        // Now it waits for more. It has written something.
        let begun = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.unwrap().path();
            let output = fs::read_link(&entry).is_ok_and(|file| file.starts_with(&path));
            output && fs::metadata(&entry).is_ok_and(|file| file.len() > 0)
        };
        let open = format!("/proc/{}/fd", child.id());
        while !fs::read_dir(&open).unwrap().any(begun) {
            assert_eq!(child.try_wait().unwrap(), None, "it does not begin");
            std::thread::yield_now();
        }
        let kill = format!("kill -{signal} {}", child.id());
        let sent = std::process::Command::new("sh")
            .args(["-c", &kill])
            .status();
        assert!(sent.unwrap().success());
        let ended = child.wait().unwrap().signal();
        assert!(ended.is_some(), "{signal}");
        drop(stdin);
        let left: Vec<_> = fs::read_dir(&path).unwrap().collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
    }
}
