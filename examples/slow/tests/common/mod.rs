//! Services under the recorder.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use blitz_io_inspect::trace::Recording;

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("it is ours");
    }
}

/// Runs a service to its end under the recorder, and returns what it has written. `planted`: its argument.
pub fn record(name: &str, program: &str, planted: Option<u32>) -> Recording {
    let planted = planted.map(|planted| planted.to_string());
    let folder = format!("blitz-slow-{}-{name}-{planted:?}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(folder));
    fs::create_dir(&folder.0).expect("the name is new");
    let ended = Command::new(program)
        .args(&planted)
        .env("BLITZ_TRACE", &folder.0)
        .env("BLITZ_TRACE_EVENTS", "524288")
        .status()
        .expect("it was built");
    assert!(ended.success(), "{name}: {ended}");
    let mut files = fs::read_dir(&folder.0).expect("it is ours");
    let file = files.next().expect("the program has written a record");
    let text = fs::read(file.unwrap().path()).unwrap();
    let recording = Recording::parse(&text).unwrap();
    assert_eq!(recording.lost, 0, "{name}");
    recording
}
