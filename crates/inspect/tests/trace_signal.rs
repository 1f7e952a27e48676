//! A signal writes the recording. In a process of its own, as this switches the recorder on.
#![cfg(all(feature = "records", unix))]

use std::fs;
use std::thread;
use std::time::Duration;

use blitz_io_inspect::trace::Recording;
use blitz_io_inspect::trace_on_signal;

#[test]
fn a_signal_writes_the_last_events() {
    let (pid, temporary) = (std::process::id(), std::env::temp_dir());
    let folder = temporary.join(format!("blitz-signal-{pid}"));
    fs::create_dir(&folder).unwrap();
    assert!(trace_on_signal(libc::SIGKILL, &folder).is_err());
    trace_on_signal(libc::SIGUSR2, &folder).unwrap();
    for number in 1..=2 {
        drop(blitz_io_observe::trace::request("GET /x"));
        // SAFETY: the signal has a handler.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR2) }, 0);
        let file = folder.join(format!("{pid}-{number}.blitz"));
        while !file.exists() {
            thread::sleep(Duration::from_millis(1));
        }
        let recording = Recording::parse(&fs::read(file).unwrap()).unwrap();
        assert_eq!(recording.pid, pid);
        let report = blitz_io_inspect::trace::judge(&recording, 0);
        assert_eq!(report.all.count, number);
    }
    let is_of_a_recorder = || {
        let text = blitz_io_observe::trace::recording();
        Recording::parse(text.as_bytes())
            .unwrap()
            .is_of_a_recorder()
    };
    assert!(is_of_a_recorder());
    blitz_io_observe::trace::stop();
    assert!(!is_of_a_recorder());
    fs::remove_dir_all(folder).unwrap();
}
