//! Files in the report of a failure: operations of tasks on them, and losses in a crash.

use std::future::pending;
use std::io;
use std::time::Duration;

use blitz_io::fs::{self, File};
use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::sim::{self, Disk, Failure};
use blitz_io::time::sleep;

use super::reports::{fails, has_lines};

const SECOND: Duration = Duration::from_secs(1);

/// Returns the first line of this file with this code, as reports have it.
#[track_caller]
fn at(code: &str) -> String {
    let mut lines = include_str!("file_events.rs").lines();
    let line = lines.position(|line| line.contains(code)).expect(code);
    format!("at {}:{}", file!(), line + 1)
}

/// Returns the events of the only task of a host.
fn events(failure: &Failure) -> Vec<&str> {
    let lines = failure.events().lines();
    let own = lines.skip_while(|line| !line.starts_with("  host: task 2"));
    let own = own.skip(1).take_while(|line| line.starts_with("    "));
    own.map(|line| line.split_once(": ").map_or(line, |(_, event)| event))
        .collect()
}

/// Requires that the code of files is no part of the report.
#[track_caller]
fn is_of_program(failure: &Failure) {
    let text = failure.to_string();
    for internal in ["JoinHandle", "Mutex", "os/src", "task 3"] {
        assert!(!text.contains(internal), "`{internal}`: {text}");
    }
}

/// Writes to a log, and syncs it if `is_careful`.
async fn log(is_careful: bool) -> io::Result<()> {
    let mut log = File::create("/log").await?;
    for number in 0..3_u64 {
        log.write_all(&number.to_be_bytes()).await?;
        log.flush().await?;
    }
    if is_careful {
        log.sync_all().await?;
    }
    pending().await
}

async fn loses(is_careful: bool) {
    let host = sim::host("host", move |_me| log(is_careful));
    sleep(SECOND).await;
    host.crash();
    let left = host.read_file("/log").map(|left| left.len());
    // A name is not lost as long as another run loses bytes only.
    assert!(left.unwrap_or(24) == 24, "bytes are lost");
}

#[test]
fn a_report_shows_files_and_what_a_crash_has_lost() {
    let failure = fails(|| loses(false));
    is_of_program(&failure);
    let (create, write) = (at("File::create(\"/log\")"), at("log.write_all(&number"));
    let all = events(&failure);
    assert_eq!(all[1], format!("opens /log, {create}"), "{failure}");
    assert_eq!(all[2], format!("writes 8 bytes to /log, {write}"));
    assert!(all[3].contains("the same 2 more times"), "{failure}");
    let lost = "host: /log: ";
    let lost = failure.events().split_once(lost).map(|(_, rest)| rest);
    let (left, rest) = lost.and_then(|lost| lost.split_once(' ')).expect("a loss");
    assert!(left.parse::<usize>().unwrap() < 24, "{failure}");
    assert!(rest.starts_with("of 24 bytes left, as the file was not synced"));
    // A host that syncs its log loses none of it.
    super::builder().run(|| loses(true));
}

#[test]
fn each_operation_is_an_event_with_its_line() {
    let failure = fails(|| async {
        sim::host("host", |_me| async {
            fs::create_dir("/a").await?;
            fs::write("/a/new", "text").await?;
            fs::rename("/a/new", "/a/file").await?;
            fs::copy("/a/file", "/a/copy").await?;
            assert_eq!(fs::read_to_string("a/copy").await?, "text");
            let file = File::options().write(true).open("/a/copy").await?;
            file.set_len(1).await?;
            file.sync_data().await?;
            assert_eq!(file.write_at("ab", 1).await.0?, 2);
            assert!(fs::read_dir("/a").await?.next_entry().await?.is_some());
            fs::remove_file("/a/copy").await?;
            File::open("/a").await?.sync_all().await?;
            let mut text = String::new();
            File::open("/a/file")
                .await?
                .read_to_string(&mut text)
                .await?;
            assert!(fs::read("/none").await.is_err());
            pending::<io::Result<()>>().await
        });
        sleep(SECOND).await;
        panic!("on purpose");
    });
    let expected = [
        ("creates /a", "create_dir(\"/a\")"),
        ("writes 4 bytes to /a/new", "fs::write(\"/a/new\""),
        ("renames /a/new to /a/file", "fs::rename(\"/a/new\""),
        ("copies /a/file to /a/copy", "fs::copy("),
        ("reads 4 bytes of /a/copy", "read_to_string(\"a/copy\")"),
        ("opens /a/copy", "options().write(true)"),
        ("sets the length of /a/copy to 1 byte", "set_len(1)"),
        ("syncs /a/copy", "sync_data()"),
        ("writes 2 bytes to /a/copy", "write_at(\"ab\""),
        ("lists /a", "read_dir("),
        ("removes /a/copy", "remove_file(\"/a/copy\")"),
        ("opens /a", "File::open(\"/a\")"),
        ("syncs /a", "File::open(\"/a\")"),
        ("opens /a/file", "File::open(\"/a/file\")"),
        ("reads 4 bytes of /a/file", "read_to_string(&mut text)"),
        ("reads the end of /a/file", "read_to_string(&mut text)"),
        (
            "fails to read /none: No such file or directory (os error 2)",
            "fs::read(\"/none\")",
        ),
    ];
    let expected = expected.map(|(event, code)| format!("{event}, {}", at(code)));
    let all = events(&failure);
    let shown = all.iter().filter(|event| event.contains(", at "));
    assert!(shown.eq(&expected), "{all:#?} {expected:#?}");
    is_of_program(&failure);
}

/// Prepares a file, changes names without a sync of their folder, and crashes.
async fn loses_names() {
    let host = sim::host("host", |_me| async {
        sleep(SECOND).await;
        fs::remove_file("/old").await?;
        File::create("/new").await?.sync_all().await?;
        fs::rename("/new", "/newer").await?;
        pending::<io::Result<()>>().await
    });
    host.write_file("/old", "old").unwrap();
    sleep(2 * SECOND).await;
    host.crash();
    assert!(host.read_file("/old").is_err());
}

#[test]
fn names_that_a_crash_has_lost_are_events() {
    let failure = fails(loses_names);
    let lost = [
        "host crashes",
        "host: /old: its removal is lost, as its folder was not synced",
        "host: /new: its name is lost, as its folder was not synced",
        "host: /new: its new name /newer is lost, as its folder was not synced",
    ];
    has_lines(failure.events(), &lost);
}

#[test]
fn a_full_disk_is_an_event() {
    let failure = fails(|| async {
        let host = sim::host("host", |_me| async {
            let mut file = File::create("/log").await.unwrap();
            sleep(SECOND).await;
            file.write_all(b"1").await.unwrap();
            file.flush().await.unwrap();
        });
        sleep(SECOND / 2).await;
        sim::set_disk(&host, Disk::new().full(1.0));
        sleep(SECOND).await;
    });
    let error = "No space left on device (os error 28)";
    let event = format!(
        "fails to write to /log: {error}, {}",
        at("write_all(b\"1\")")
    );
    has_lines(failure.events(), &[&event]);
}

#[test]
fn operations_under_way_are_waits_of_their_tasks() {
    let failure = fails(|| async {
        sim::set_all_disks(Disk::new().sync_latency(SECOND, SECOND));
        sim::host("host", |_me| async {
            let file = std::sync::Arc::new(File::create("/log").await?);
            let other = file.clone();
            blitz_io::spawn(async move {
                sleep(SECOND / 2).await;
                other.sync_all().await
            });
            file.sync_all().await
        });
        sleep(SECOND * 3 / 4).await;
        panic!("on purpose");
    });
    let own = at(" file.sync_all().await");
    let waits = [
        "host: task 2 waits 0.8 s for the disk",
        &own,
        "s for another operation on its file",
    ];
    has_lines(failure.waits(), &waits);
    let wait = format!("waits for the disk, {own}");
    has_lines(
        failure.events(),
        &[&wait, "waits for another operation on its file"],
    );
    for internal in ["JoinHandle", "Mutex", "os/src"] {
        assert!(!failure.to_string().contains(internal), "{failure}");
    }
}
