//! Why a process is not among those that answer.

use std::ffi::OsString;
use std::path::Path;

const NEEDS: &str = "no such process answers; it needs the feature `inspect`, and BLITZ_INSPECT=1 in its \
                     environment";

/// The variable that names the folder of the sockets.
const FOLDER: &str = "XDG_RUNTIME_DIR";

/// Returns why no process answers, or not the one with this number.
pub(super) fn reason(pid: Option<u32>) -> String {
    let own_folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    let found = pid.and_then(|pid| of_process("/proc".as_ref(), pid, own_folder));
    found.unwrap_or_else(|| NEEDS.into())
}

/// Returns what the folder of the system's processes says about this one.
#[cfg(target_os = "linux")]
fn of_process(processes: &Path, pid: u32, own_folder: Option<OsString>) -> Option<String> {
    use std::fs;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::MetadataExt;

    let Ok(own) = fs::metadata(processes.join("self")) else {
        let folder = processes.display();
        return Some(format!(
            "{NEEDS}. There is no {folder} here, which says more"
        ));
    };
    let Ok(process) = fs::metadata(processes.join(pid.to_string())) else {
        return Some(format!("there is no process {pid}"));
    };
    let (own, user) = (own.uid(), process.uid());
    if user != own && own != 0 {
        return Some(format!(
            "process {pid} belongs to user {user}: only that user and root may ask it"
        ));
    }
    let environment = fs::read(processes.join(format!("{pid}/environ"))).ok()?;
    let mut variables = environment.split(|&byte| byte == 0);
    let folder = variables.find_map(|variable| variable.strip_prefix(b"XDG_RUNTIME_DIR="));
    let folder = folder.filter(|folder| !folder.is_empty());
    let folder = folder.map(|folder| OsString::from_vec(folder.to_vec()));
    let name = |folder: Option<OsString>| match folder {
        Some(folder) => format!("{FOLDER}={}", folder.display()),
        None => format!("no {FOLDER}"),
    };
    (folder != own_folder).then(|| {
        format!(
            "process {pid} does not answer. It began with {}, and this command has {}: if it serves, its \
             socket is in another folder",
            name(folder),
            name(own_folder)
        )
    })
}

#[cfg(not(target_os = "linux"))]
fn of_process(_: &Path, _: u32, _: Option<OsString>) -> Option<String> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_reason_has_its_own_message() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let ask = |own: Option<&str>| of_process(folder, 7, own.map(OsString::from));
        assert!(ask(None).unwrap().contains("which says more"));
        fs::create_dir(folder.join("self")).unwrap();
        assert_eq!(ask(None).unwrap(), "there is no process 7");
        fs::create_dir(folder.join("7")).unwrap();
        // Its environment is not readable.
        assert_eq!(ask(None), None);
        let begins_with = |environment: &str| {
            fs::write(folder.join("7/environ"), environment).unwrap();
        };
        begins_with("HOME=/root\0XDG_RUNTIME_DIR=/run/user/5\0");
        assert_eq!(ask(Some("/run/user/5")), None);
        let message = ask(None).unwrap();
        assert!(
            message
                .contains("XDG_RUNTIME_DIR=/run/user/5, and this command has no XDG_RUNTIME_DIR")
        );
        begins_with("HOME=/root\0");
        assert_eq!(ask(None), None);
        assert!(
            ask(Some("/run/user/0"))
                .unwrap()
                .contains("It began with no XDG_RUNTIME_DIR")
        );
    }
}
