//! `blitz ipc` from outside.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use blitz_io_ipc::{Channel, Queue, Route};

use super::common::{blitz, complete, expect};

#[test]
fn ls_shows_who_takes_part_and_clean_removes_the_dead() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = format!("--directory={}", place.path().display());
    let ls = |flag| expect(0, &["ipc", "ls", flag, &directory]);
    assert_eq!(ls("--json").json(), serde_json::json!([]));

    let route = Route::builder().capacity(8).directory(place.path());
    let mut sender = route.sender("prices").unwrap();
    let _receiver = route.receiver("prices").unwrap();
    sender.send(b"1").unwrap();
    std::fs::copy(
        place.path().join("prices.ring"),
        place.path().join("dead.ring"),
    )
    .unwrap();

    let found = ls("--json").json();
    let [dead, live] = &found.as_array().unwrap()[..] else {
        panic!("{found}");
    };
    assert_eq!(
        (&live["name"], &live["kind"]),
        (&"prices".into(), &"route".into())
    );
    assert_eq!(
        (&live["capacity"], &live["messages"]),
        (&8.into(), &1.into())
    );
    assert_eq!(live["messages_per_second"], 0.0);
    let receiver = &live["participants"][1];
    assert_eq!(
        (&receiver["role"], &receiver["depth"]),
        (&"receiver".into(), &1.into())
    );
    assert_eq!(receiver["pid"], std::process::id());
    assert_eq!(receiver["alive"], true);
    assert_eq!(dead["participants"][0]["alive"], false);

    let top = expect(0, &["ipc", "top", "--every=0.01", "--count=2", &directory]).out;
    assert!(
        top.contains("PER SECOND") && top.contains("1 behind"),
        "{top}"
    );
    for (pattern, count) in [("dead", 1), ("p*", 1), ("*", 2), ("other", 0)] {
        let listed = expect(0, &["ipc", "ls", "--json", &directory, pattern]).json();
        assert_eq!(listed.as_array().map(Vec::len), Some(count), "{pattern}");
    }
    // Segments that are not named stay, and with `--dry-run` so do all.
    let clean = |more: &[&str]| expect(0, &[&["ipc", "clean", &directory], more].concat()).out;
    assert_eq!(clean(&["--dry-run"]), "would remove dead\n");
    let none = "Nothing to remove: no segment of these names is without a live participant.\n";
    assert_eq!(clean(&["other", "l*"]), none);
    assert_eq!(clean(&["--dry-run", "other"]), none);
    assert_eq!(clean(&["--dry-run", "d*d"]), "would remove dead\n");
    let cleaned = clean(&["de*"]);
    assert_eq!(cleaned, "removed dead\n");
    let none = "Nothing to remove: no segment is without a live participant.\n";
    assert_eq!(clean(&["--dry-run"]), none);
    assert_eq!(clean(&["--dry-run", "--json"]).trim(), "[]");
    assert!(place.path().join("prices.ring").exists());
}

#[test]
fn a_directory_that_is_missing_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let missing = place.path().join("missing");
    let directory = format!("--directory={}", missing.display());
    for action in [
        &["ls"][..],
        &["ls", "--json"],
        &["top"],
        &["tail", "x"],
        &["send", "x"],
        &["clean"],
    ] {
        let ran = expect(1, &[&["ipc", &directory], action].concat());
        let begin = format!("error: {} cannot be read: ", missing.display());
        assert!(ran.err.starts_with(&begin), "{ran:?}");
        assert!(ran.err.contains("leave the option out"), "{ran:?}");
        assert!(ran.out.is_empty(), "{ran:?}");
    }
}

/// A file that is named as a segment is, and is none, keeps others from opening that name.
#[test]
fn a_file_that_is_no_segment_is_named() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = format!("--directory={}", place.path().display());
    std::fs::write(place.path().join("noise.ring"), [7; 5000]).unwrap();
    let reason = "noise.ring is not a segment that this version can use: it does not begin with the magic number";
    let listed = expect(0, &["ipc", "ls", &directory]).out;
    assert!(
        listed.starts_with("No segments.\n\nLeft out:\n"),
        "{listed}"
    );
    assert!(
        listed.contains(reason) && listed.contains("or remove the file"),
        "{listed}"
    );
    let tried = expect(1, &["ipc", "tail", "noise", &directory]).err;
    assert!(tried.contains(reason), "{tried}");
}

/// Neither a directory nor a pipe nor another file keeps `clean` from the segments.
#[cfg(unix)]
#[test]
fn clean_removes_what_it_can_beside_files_that_are_no_segments() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = format!("--directory={}", place.path().display());
    let segment = Route::builder().directory(place.path());
    let sender = segment.sender("dead").unwrap();
    let path = |name: &str| place.path().join(name);
    std::fs::copy(path("dead.ring"), path("left.ring")).unwrap();
    drop(sender);
    std::fs::create_dir(path("a.ring")).unwrap();
    std::fs::write(path("noise.ring"), [7; 5000]).unwrap();
    let pipe = std::process::Command::new("mkfifo")
        .arg(path("z.ring"))
        .status();
    assert!(pipe.unwrap().success());
    let clean = |arguments: &[&str]| {
        let all = [&["ipc", "clean", &directory], arguments].concat();
        expect(0, &all).out
    };
    let named = clean(&["--dry-run", "le*"]);
    assert_eq!(named, "would remove left\n");
    let cleaned = clean(&[]);
    assert!(
        cleaned.starts_with("removed left\n\nLeft out:\n"),
        "{cleaned}"
    );
    for name in ["a.ring", "noise.ring", "z.ring"] {
        assert!(cleaned.contains(name) && path(name).exists(), "{cleaned}");
    }
}

/// A gateway answers at its socket with a table of the names that it carries.
#[cfg(unix)]
#[test]
fn ls_shows_the_hosts_that_a_gateway_reaches() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = format!("--directory={}", place.path().display());
    let _receiver = Route::builder()
        .directory(place.path())
        .receiver("prices")
        .unwrap();
    std::fs::create_dir(place.path().join("gateway")).unwrap();
    let socket = place.path().join("gateway/status.socket");
    let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let row = "import route prices 1008 lab-2 20 900 3 0 0 7 ok\n";
            stream.unwrap().write_all(row.as_bytes()).unwrap();
        }
    });
    let listed = expect(0, &["ipc", "ls", &directory]).out;
    let row = "  sender   host lab-2, 20 messages, 3 missing, 7 bytes wait\n";
    assert!(listed.contains(row), "{listed}");
    let found = expect(0, &["ipc", "ls", "--json", &directory]).json();
    let remote = &found[0]["remote"][0];
    assert_eq!(
        (&remote["host"], &remote["gaps"]),
        (&"lab-2".into(), &3.into())
    );
}

#[test]
fn send_and_tail_meet_others() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = format!("--directory={}", place.path().display());
    let channel = Channel::builder().directory(place.path());
    let mut receiver = channel.receiver("chat").unwrap();
    let mut sender = channel.sender("chat").unwrap();
    sender.send(b"old").unwrap();
    assert_eq!(*receiver.recv().unwrap(), *b"old");

    let out = expect(0, &["ipc", "send", "chat", "one", "two", &directory]).out;
    assert_eq!(out, "2 sent\n");
    assert_eq!(*receiver.recv().unwrap(), *b"one");
    assert_eq!(*receiver.recv().unwrap(), *b"two");

    let mut child = blitz(&["ipc", "send", "chat", &directory])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a line\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(*receiver.recv().unwrap(), *b"a line");

    let mut child = blitz(&["ipc", "tail", "chat", "--history", &directory])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = || lines.next().unwrap().unwrap();
    assert_eq!(
        [line(), line(), line(), line()],
        ["old", "one", "two", "a line"]
    );
    sender.send(&[0, 255]).unwrap();
    assert_eq!(line(), "00ff");
    drop(sender);
    assert!(child.wait().unwrap().success());
}

/// Waits until `count` participants of the only segment are alive.
fn wait_for(directory: &std::path::Path, count: usize) {
    let alive = || {
        let listed = blitz_io_ipc::list_in(directory).unwrap();
        let participants = listed.iter().flat_map(|segment| &segment.participants);
        participants.filter(|one| one.alive).count()
    };
    while alive() != count {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// The output of the first `tail` is never read.
#[test]
fn tail_holds_no_sender_up_unless_it_must_not_lose_a_message() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = format!("--directory={}", place.path().display());
    // `tail` takes the mode of the segment, which others may write to.
    let route = Route::builder().directory(place.path()).mode(0o666);
    let mut sender = route.capacity(8).sender("prices").unwrap();
    let tail = |more| {
        blitz(&["ipc", "tail", "prices", &directory, more])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut child = tail("--count=1000000");
    wait_for(place.path(), 2);
    for number in 0..20_000 {
        let text = format!("message {number} is not read");
        sender.try_send(text.as_bytes()).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();

    let mut child = tail("--lossless");
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (begin, begun) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        let number = |line: std::io::Result<String>| {
            _ = begin.send(());
            line.unwrap().parse::<u64>().unwrap()
        };
        lines.map(number).collect::<Vec<_>>()
    });
    let mut next = 0_u64;
    let mut send = || {
        sender.send(next.to_string().as_bytes()).unwrap();
        next += 1;
    };
    // The receiver misses messages that were sent before it joined.
    while begun.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
        send();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    (0..200).for_each(|_| send());
    drop(sender);
    let printed = reading.join().unwrap();
    assert!(printed.len() > 200 && printed.last() == Some(&(next - 1)));
    assert!(printed.windows(2).all(|two| two[1] == two[0] + 1));
    assert!(child.wait().unwrap().success());
}

#[test]
fn every_command_speaks_json() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = format!("--directory={}", place.path().display());
    let jobs = Queue::builder().directory(place.path());
    let mut worker = jobs.receiver("jobs").unwrap();
    let sent = expect(0, &["ipc", "send", "jobs", "a", "b", "--json", &directory]);
    assert_eq!(sent.json(), serde_json::json!({"sent": 2}));
    assert_eq!(*worker.recv().unwrap(), *b"a");

    let mut sender = jobs.sender("jobs").unwrap();
    sender.send(&[0, 255]).unwrap();
    let tail = ["ipc", "tail", "jobs", "--take", "--count=2", "--json"];
    let tail = expect(0, &[&tail[..], &[&directory]].concat()).out;
    let messages: Vec<serde_json::Value> = tail
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let text = serde_json::json!({"len": 1, "text": "b"});
    let bytes = serde_json::json!({"len": 2, "hex": "00ff"});
    assert_eq!(messages, [text, bytes]);

    let top = ["ipc", "top", "--every=0.01", "--count=2", "--json"];
    let top = expect(0, &[&top[..], &[&directory]].concat()).out;
    let looks: Vec<serde_json::Value> = top
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(looks.len(), 2);
    assert_eq!(looks[0][0]["messages_per_second"], serde_json::Value::Null);
    assert_eq!(looks[1][0]["messages_per_second"], 0.0);
    assert_eq!(looks[1][0]["messages"], 3);

    let file = |name: &str| place.path().join(name);
    std::fs::copy(file("jobs.ring"), file("dead.ring")).unwrap();
    let cleaned = expect(0, &["ipc", "clean", "--json", &directory]);
    assert_eq!(cleaned.json(), serde_json::json!(["dead"]));
}

#[test]
fn shells_complete_the_names_of_segments() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = format!("--directory={}", place.path().display());
    let names = |action, begun| complete(&["blitz", "ipc", &directory, action, begun]);
    assert!(names("tail", "pr").is_empty());

    let _prices = Route::builder()
        .directory(place.path())
        .sender("prices")
        .unwrap();
    let _jobs = Queue::builder()
        .directory(place.path())
        .receiver("jobs")
        .unwrap();
    let _done = blitz_io_ipc::Semaphore::builder(1)
        .directory(place.path())
        .open("printers")
        .unwrap();
    assert_eq!(names("tail", "pr"), ["prices"]);
    assert_eq!(names("send", "j"), ["jobs"]);
    assert!(names("send", "x").is_empty());
    let mut all = names("send", "");
    all.retain(|name| !name.starts_with('-'));
    assert_eq!(all, ["jobs", "prices"]);
}

#[test]
fn mistakes_are_explained() {
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let directory = format!("--directory={}", place.path().display());
    let missing = expect(1, &["ipc", "tail", "nothing", &directory]);
    assert!(missing.err.contains("no segment"), "{}", missing.err);
    let _worker = Queue::builder()
        .directory(place.path())
        .receiver("jobs")
        .unwrap();
    for number in 1..=6 {
        let [from, to] = [("jobs"), (&*format!("a{number}"))].map(|it| place.path().join(it));
        std::fs::copy(from.with_extension("ring"), to.with_extension("ring")).unwrap();
    }
    let missing = expect(1, &["ipc", "tail", "nothing", &directory]);
    let names =
        "There are: jobs, a1 (dead), a2 (dead), a3 (dead), a4 (dead), and 2 more (`blitz ipc ls`).";
    assert!(missing.err.contains(names), "{}", missing.err);
    let queue = expect(64, &["ipc", "tail", "jobs", &directory]);
    assert!(queue.err.contains("--take"), "{}", queue.err);
    let long = "x".repeat(2000);
    let refused = expect(1, &["ipc", "send", "jobs", &long, &directory]);
    assert!(refused.err.contains("2000 bytes"), "{}", refused.err);
}
