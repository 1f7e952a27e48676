//! The processes that `blitz ps` lists, by their folders. `why.rs` has the list of one folder.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::common::{Ran, blitz};

/// Another user.
const USER: u32 = 4242;

/// Tests have runtime folders of their own, so no other process of the machine counts, not even for root.
#[test]
fn a_runtime_folder_of_ones_own_has_the_only_processes() {
    let home = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let foreign = temporary.path().join(format!("blitz-io-{USER}"));
    DirBuilder::new().mode(0o700).create(&foreign).unwrap();
    let _listener = UnixListener::bind(foreign.join("4242-foreign.sock")).unwrap();
    let is_root = chown(&foreign, Some(USER), None).is_ok();
    let list = |runtime: Option<&Path>| {
        let mut command = blitz(&["ps", "--json"]);
        command.env("TMPDIR", temporary.path());
        command.env_remove("XDG_RUNTIME_DIR");
        command.envs(runtime.map(|path| ("XDG_RUNTIME_DIR", path)));
        Ran::from(command.output().unwrap()).json()
    };
    assert_eq!(list(Some(home.path())), serde_json::json!([]));
    let all = list(None);
    let mut all = all.as_array().unwrap().iter();
    assert_eq!(all.any(|found| found["name"] == "foreign"), is_root);
}
