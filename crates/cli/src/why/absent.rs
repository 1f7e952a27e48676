//! Why a process is not among those that answer.

use std::ffi::OsString;
use std::path::Path;

#[cfg(target_os = "linux")]
use crate::feature;
#[cfg(target_os = "linux")]
use crate::migrate::SERVE;

/// The variable that names the folder of the sockets.
const FOLDER: &str = "XDG_RUNTIME_DIR";
/// The variable of a process that answers.
#[cfg(target_os = "linux")]
const SWITCH: &str = "BLITZ_INSPECT=1";

/// Returns why no process answers, or not the one with this number or name. `meant`: a command that asks one of nearly this
/// name.
pub(super) fn reason(wanted: Option<&str>, meant: Option<&str>) -> String {
    let Some(wanted) = wanted else {
        return "no process answers; `blitz why --help` says what one needs for it".into();
    };
    let own_folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    match wanted.parse() {
        Ok(pid) => of_process("/proc".as_ref(), pid, own_folder),
        Err(_) => of_name("/proc".as_ref(), wanted, meant, own_folder),
    }
}

/// Returns why no process with this name answers: what the only one that has the name lacks, if it can be found.
fn of_name(
    processes: &Path,
    name: &str,
    meant: Option<&str>,
    own_folder: Option<OsString>,
) -> String {
    let found = with_name(processes, name);
    let advice = match (&found[..], meant) {
        (&[pid], _) => return of_process(processes, pid, own_folder),
        ([], Some(meant)) => format!("did you mean `{meant}`?"),
        ([], None) => {
            "`blitz ps` lists those that do, and `blitz why --help` says what one needs for it"
                .into()
        }
        ([first, ..], _) => {
            let all: Vec<_> = found.iter().map(u32::to_string).collect();
            format!(
                "of those that have it ({}), `blitz why {first}` says what the first one lacks",
                all.join(", ")
            )
        }
    };
    format!("no process with the name {name:?} answers; {advice}")
}

/// Returns the processes whose program has this name, the oldest first. The system names the programs of this
/// user only, and those of all users to root.
#[cfg(target_os = "linux")]
fn with_name(processes: &Path, name: &str) -> Vec<u32> {
    let entries = std::fs::read_dir(processes).into_iter().flatten().flatten();
    let mut found: Vec<u32> = entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let program = std::fs::read_link(entry.path().join("exe")).ok()?;
            let program = program.file_name()?.to_str()?;
            // The program was built again since the process began.
            let program = program.strip_suffix(" (deleted)").unwrap_or(program);
            (program == name).then_some(pid)
        })
        .collect();
    found.sort_unstable();
    found
}

#[cfg(not(target_os = "linux"))]
fn with_name(_: &Path, _: &str) -> Vec<u32> {
    vec![]
}

/// Returns what the folder of the system's processes says about this one.
#[cfg(target_os = "linux")]
fn of_process(processes: &Path, pid: u32, own_folder: Option<OsString>) -> String {
    use std::fs;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::MetadataExt;

    let Ok(own) = fs::metadata(processes.join("self")) else {
        let folder = processes.display();
        return format!(
            "process {pid} does not answer. There is no {folder} here, which says more; `blitz why --help` \
             says what a process needs"
        );
    };
    let Ok(process) = fs::metadata(processes.join(pid.to_string())) else {
        return format!("there is no process {pid}; `blitz ps` lists those that answer");
    };
    let (own, user) = (own.uid(), process.uid());
    if user != own && own != 0 {
        return format!("process {pid} belongs to user {user}: only that user and root may ask it");
    }
    let environment = match fs::read(processes.join(format!("{pid}/environ"))) {
        Ok(environment) => environment,
        Err(error) => {
            return format!(
                "process {pid} does not answer, and its environment cannot be read: {error}; `blitz why --help` \
                 says what a process needs"
            );
        }
    };
    // The linker keeps the code that answers only if the program uses it.
    let without = || {
        format!(
            "Its program has no code that answers. Either it is built without the feature `inspect`: {} Or it neither starts a \
         runtime nor calls {SERVE}: add that call to `main`.\n\n{}",
            feature::HOW,
            feature::without_runtime(),
        )
    };
    let variables = || environment.split(|&byte| byte == 0);
    let can_answer = can_answer(&processes.join(pid.to_string()));
    if !variables().any(|variable| variable == SWITCH.as_bytes()) {
        let without = match can_answer {
            Some(false) => without(),
            _ => String::new(),
        };
        let message = format!(
            "process {pid} does not answer: {SWITCH} is not in its environment\n\n\
             Start it with this variable. {without}"
        );
        return message.trim_end().to_owned();
    }
    if can_answer == Some(false) {
        return format!("process {pid} does not answer\n\n{}", without());
    }
    let folder = variables().find_map(|variable| variable.strip_prefix(b"XDG_RUNTIME_DIR="));
    let folder = folder.filter(|folder| !folder.is_empty());
    let folder = folder.map(|folder| OsString::from_vec(folder.to_vec()));
    let name = |folder: Option<OsString>| match folder {
        Some(folder) => format!("{FOLDER}={}", folder.display()),
        None => format!("no {FOLDER}"),
    };
    if folder != own_folder {
        return format!(
            "process {pid} does not answer. It began with {}, and this command has {}: if it serves, its \
             socket is in another folder",
            name(folder),
            name(own_folder)
        );
    }
    let no_runtime = format!("it has not started a runtime yet, and has not called {SERVE}");
    let why = if can_answer == Some(true) {
        format!("It is built with the feature `inspect`, but {no_runtime}.")
    } else {
        format!("Either it is built without the feature `inspect`, or {no_runtime}.")
    };
    format!("process {pid} does not answer, though {SWITCH} is in its environment\n\n{why}")
}

/// Returns `true` if the program of a process can answer, so that it has the feature `inspect`: `None` if that is
/// not known, as the program cannot be read, or a library may do it. A program without the code that answers may have the
/// feature: it is a program of threads that does not call [`SERVE`].
#[cfg(target_os = "linux")]
fn can_answer(process: &Path) -> Option<bool> {
    use std::fs;

    if feature::is_in(&process.join("exe"))? {
        return Some(true);
    }
    // The C library is a file of its own, which its user may have given another name.
    let maps = fs::read_to_string(process.join("maps")).ok()?;
    let is_foreign = |line: &&str| line.contains("blitz") && line.contains(".so");
    maps.lines().find(is_foreign).is_none().then_some(false)
}

#[cfg(not(target_os = "linux"))]
fn of_process(_: &Path, pid: u32, _: Option<OsString>) -> String {
    format!(
        "process {pid} does not answer, or does not exist; `blitz why --help` says what one needs for it"
    )
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
        assert!(ask(None).contains("which says more"));
        fs::create_dir(folder.join("self")).unwrap();
        assert!(ask(None).starts_with("there is no process 7; `blitz ps`"));
        fs::create_dir(folder.join("7")).unwrap();
        assert!(ask(None).contains("its environment cannot be read"));
        let begins_with = |environment: &str| {
            fs::write(folder.join("7/environ"), environment).unwrap();
        };
        begins_with("HOME=/root\0XDG_RUNTIME_DIR=/run/user/5\0");
        assert!(ask(None).contains("is not in its environment"));
        begins_with("BLITZ_INSPECT=1\0XDG_RUNTIME_DIR=/run/user/5\0");
        assert!(ask(Some("/run/user/5")).contains("built without the feature"));
        let begins =
            "It began with XDG_RUNTIME_DIR=/run/user/5, and this command has no XDG_RUNTIME_DIR";
        assert!(ask(None).contains(begins));
        begins_with("BLITZ_INSPECT=1\0");
        assert!(ask(None).contains("built without the feature"));
        assert!(ask(Some("/run/user/0")).contains("It began with no XDG_RUNTIME_DIR"));
    }

    #[test]
    fn a_name_finds_the_process_that_does_not_answer() {
        let folder = tempfile::tempdir().unwrap();
        let ask = || of_name(folder.path(), "server", None, None);
        let begin = |pid: &str, program: &str| {
            let process = folder.path().join(pid);
            fs::create_dir(&process).unwrap();
            fs::write(process.join("environ"), "HOME=/root\0").unwrap();
            std::os::unix::fs::symlink(program, process.join("exe")).unwrap();
        };
        fs::create_dir(folder.path().join("self")).unwrap();
        begin("5", "/usr/bin/server2");
        assert!(
            ask().contains("`blitz ps` lists those that do"),
            "{}",
            ask()
        );
        begin("7", "/target/debug/server (deleted)");
        assert!(ask().starts_with("process 7 does not answer"), "{}", ask());
        begin("12", "/target/debug/server");
        assert!(
            ask().contains("those that have it (7, 12), `blitz why 7`"),
            "{}",
            ask()
        );
    }

    #[test]
    fn a_program_without_the_feature_is_told_how_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let process = folder.path().join("7");
        fs::create_dir(folder.path().join("self")).unwrap();
        fs::create_dir(&process).unwrap();
        let ask = |environment: &str, program: &[u8], maps: &str| {
            fs::write(process.join("environ"), environment).unwrap();
            fs::write(process.join("exe"), program).unwrap();
            fs::write(process.join("maps"), maps).unwrap();
            of_process(folder.path(), 7, None)
        };
        let (with, without) = (
            [b"\x7fELF ", blitz_io_inspect::CAN_ANSWER.as_bytes()].concat(),
            b"\x7fELF",
        );
        let libc = "7f00-7f10 r-xp 00000000 fe:00 1 /usr/lib/libc.so.6";
        let ours = "7f00-7f10 r-xp 00000000 fe:00 1 /usr/lib/libblitz.so.0";
        let neither = ask("BLITZ_INSPECT=1\0", without, libc);
        assert!(neither.contains("blitz migrate"), "{neither}");
        // A program of threads has the feature, but not the code that it does not call.
        assert!(neither.contains("Either it is built without"), "{neither}");
        assert!(
            neither.contains("Or it neither starts a runtime"),
            "{neither}"
        );
        let both = ask("HOME=/root\0", without, libc);
        assert!(both.contains("Start it with this variable") && both.contains("blitz migrate"));
        assert!(!ask("HOME=/root\0", &with, libc).contains("feature"));
        assert!(ask("BLITZ_INSPECT=1\0", &with, libc).contains("has not started a runtime"));
        // The library may have the feature.
        assert!(ask("BLITZ_INSPECT=1\0", without, ours).contains("Either it is built without"));
    }
}
