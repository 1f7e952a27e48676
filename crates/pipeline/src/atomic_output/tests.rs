use std::env;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use tempfile::{TempDir, tempdir};

use super::*;

/// Creates files that have names from the beginning, and such that have none if possible.
const WAYS: [fn(&Path) -> io::Result<AtomicOutput>; 2] = [
    |path| AtomicOutput::create(&Target::new(path)?),
    |path| AtomicOutput::create_file(&Target::new(path)?.path, |_| None),
];

fn names(place: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(place.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn a_file_gets_its_name_when_it_is_complete() {
    for create in WAYS {
        let place = tempdir().unwrap();
        let path = place.path().join("out");
        for content in ["one", "two"] {
            let mut output = create(&path).unwrap();
            output.write_all(content.as_bytes()).unwrap();
            assert!(output.is_new_file());
            assert!(fs::read(&path).unwrap_or_default() != content.as_bytes());
            output.finish().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(names(&place), ["out"]);
        }
        let mode = |name: &str| {
            let known = fs::metadata(place.path().join(name)).unwrap();
            known.permissions().mode()
        };
        fs::write(place.path().join("usual"), "").unwrap();
        assert_eq!(mode("out"), mode("usual"));
        drop(create(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(names(&place), ["out", "usual"]);
    }
}

/// Also when it is copied, and never while it is written.
#[test]
fn a_replaced_file_keeps_its_permissions() {
    let mode = |known: fs::Metadata| known.permissions().mode() & 0o777;
    for create in WAYS {
        for kept in [0o600, 0o640, 0o400, 0o755] {
            let place = tempdir().unwrap();
            let path = place.path().join("out");
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            let mut output = create(&path).unwrap();
            assert_eq!(mode(output.file().metadata().unwrap()), kept);
            output.write_all(b"new").unwrap();
            let copied = copy(&mut output.file, &path).unwrap();
            assert_eq!(mode(fs::metadata(copied).unwrap()), kept);
            output.finish().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert_eq!(mode(fs::metadata(&path).unwrap()), kept);
        }
    }
}

#[test]
fn a_file_that_cannot_be_linked_is_copied() {
    let place = tempdir().unwrap();
    let path = place.path().join("out");
    let mut output = WAYS[1](&path).unwrap();
    output.write_all(b"content").unwrap();
    let temporary = copy(&mut output.file, &path).unwrap();
    assert_eq!(fs::read(&temporary).unwrap(), b"content");
    drop(output);
    assert_eq!(names(&place).len(), 1);
}

#[test]
fn a_complete_file_is_closed_until_it_gets_its_name() {
    for create in WAYS {
        let place = tempdir().unwrap();
        let path = place.path().join("out");
        for content in ["one", "two"] {
            let mut output = create(&path).unwrap();
            output.write_all(content.as_bytes()).unwrap();
            let complete = output.complete().unwrap();
            assert!(create(&path).is_err() && names(&place)[0].ends_with(".part"));
            complete.finish().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(names(&place), ["out"]);
        }
        drop(create(&path).unwrap().complete().unwrap());
        assert_eq!(names(&place), ["out"]);
    }
}

#[test]
fn links_stay_and_the_file_behind_them_is_replaced() {
    for create in WAYS {
        let place = tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir(path("inner")).unwrap();
        fs::write(path("inner/old"), "old").unwrap();
        symlink("inner/old", path("to-old")).unwrap();
        symlink(path("to-old"), path("to-link")).unwrap();
        symlink("inner/new", path("to-new")).unwrap();
        symlink("loop", path("loop")).unwrap();
        for (name, file) in [("to-link", "inner/old"), ("to-new", "inner/new")] {
            let mut output = create(&path(name)).unwrap();
            output.write_all(b"content").unwrap();
            output.finish().unwrap();
            assert_eq!(fs::read(path(file)).unwrap(), b"content");
        }
        assert_eq!(
            names(&place),
            ["inner", "loop", "to-link", "to-new", "to-old"]
        );
        for (name, kind) in [
            ("loop", ErrorKind::InvalidInput),
            ("inner", ErrorKind::IsADirectory),
            ("inner/", ErrorKind::IsADirectory),
            ("missing/x", ErrorKind::NotFound),
        ] {
            assert_eq!(create(&path(name)).unwrap_err().kind(), kind, "{name}");
        }
    }
}

#[test]
fn names_of_one_file_are_one_target() {
    let place = tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let target = |name: &str| Target::new(path(name)).unwrap();
    symlink("x", path("link")).unwrap();
    fs::create_dir(path("inner")).unwrap();
    for same in ["./x", "inner/../x", "link"] {
        assert_eq!(target("x"), target(same));
        let output = AtomicOutput::create(&target("x")).unwrap();
        let second = AtomicOutput::create(&target(same)).unwrap_err();
        assert_eq!(second.kind(), ErrorKind::AlreadyExists);
        drop(output);
    }
    assert_ne!(target("x"), target("inner/x"));
    fs::write(path("x"), "").unwrap();
    fs::hard_link(path("x"), path("hard")).unwrap();
    let identity = |name: &str| target(name).identity().unwrap();
    assert_eq!(identity("link"), identity("hard"));
    let null = Target::new("/dev/null").unwrap();
    assert!(null.is_direct() && null.identity().unwrap().is_device());
    assert_eq!(
        Target::stdout(),
        Target::new(Path::new("/dev/stdout")).unwrap()
    );
}

/// Where the other process of the following test writes.
const FOLDER: &str = "BLITZ_TEST_FOLDER";

/// The part of the following test that runs in another process.
#[test]
#[ignore = "it waits for a signal"]
fn child_that_writes() {
    let folder = PathBuf::from(env::var_os(FOLDER).unwrap());
    remove_on_signals(|| ()).unwrap();
    assert!(remove_on_signals(|| ()).is_err());
    let _outputs = WAYS.map(|create| {
        let mut output = create(&folder.join("one")).or_else(|_| create(&folder.join("two")));
        output.as_mut().unwrap().write_all(b"incomplete").unwrap();
        output
    });
    fs::write(folder.join("ready"), "").unwrap();
    loop {
        std::thread::park();
    }
}

fn kill(child: &Child, signal: i32) {
    // SAFETY: the child was not waited for, so its number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn a_signal_removes_files_that_are_not_complete() {
    let program = env::current_exe().unwrap();
    let name = "atomic_output::tests::child_that_writes";
    for (ignored, sent) in [
        ("", libc::SIGINT),
        ("", libc::SIGTERM),
        ("", libc::SIGHUP),
        ("trap '' HUP; ", libc::SIGINT),
    ] {
        let place = tempdir().unwrap();
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("{ignored}exec \"$0\" --exact {name} --ignored"))
            .arg(&program)
            .env(FOLDER, place.path())
            .stdout(Stdio::null());
        // A shell has a program that it runs in the background ignore some of the signals.
        let handle_all = || {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                // SAFETY: it sets no function.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            Ok(())
        };
        // SAFETY: `signal` may be called between a fork and the new program.
        unsafe { command.pre_exec(handle_all) };
        let mut child = command.spawn().unwrap();
        while !place.path().join("ready").exists() {
            assert_eq!(child.try_wait().unwrap(), None);
            std::thread::yield_now();
        }
        assert!(names(&place).iter().any(|name| name.ends_with(".part")));
        if !ignored.is_empty() {
            kill(&child, libc::SIGHUP);
        }
        kill(&child, sent);
        assert_eq!(child.wait().unwrap().signal(), Some(sent));
        assert_eq!(names(&place), ["ready"]);
    }
}
