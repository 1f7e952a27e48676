//! The behaviour at the limits of a process, and of the file system. Each test plays its
//! role in a process of its own.

use std::ffi::CString;
use std::path::Path;

use blitz_io_ipc::{Error, RecvError, Route};

use crate::common::{NOBODY, Place, Process, directory_of, role};

/// Plays the role of a child. Does nothing in the parent.
#[test]
fn child() {
    let Some(arguments) = role() else { return };
    let directory = directory_of(&arguments);
    let route = Route::builder().directory(&directory);
    match &*arguments[0] {
        "file size" => {
            limit(libc::RLIMIT_FSIZE, 1 << 16);
            let error = route.sender("f").unwrap_err();
            assert!(matches!(error, Error::NoSpace { .. }), "{error}");
            let small = route.capacity(4).max_len(64).receiver("s");
            drop(small.unwrap());
        }
        "descriptors" => {
            let free = free_descriptor();
            // From none to those that joining needs, and one that stays.
            for most in free..free + 3 {
                limit(libc::RLIMIT_NOFILE, most);
                let error = route.sender("d").unwrap_err();
                assert!(matches!(error, Error::Io { .. }), "{error}");
                assert!(!std::fs::exists(directory.join("d.ring")).unwrap());
            }
            limit(libc::RLIMIT_NOFILE, free + 8);
            drop(route.sender("d").unwrap());
        }
        "awaiting" => {
            let mut receiver = route.receiver("a").unwrap();
            let free = free_descriptor();
            limit(libc::RLIMIT_NOFILE, free);
            let Err(RecvError::Io(error)) = receiver.try_recv_or_arm().map(drop) else {
                panic!("it was armed");
            };
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
            assert!(error.to_string().contains("open files"), "{error}");
            // Leaving may need one.
            limit(libc::RLIMIT_NOFILE, free + 8);
        }
        "elsewhere" => {
            let name = format!("elsewhere-{}", std::process::id());
            // SAFETY: no other thread of this process reads the environment.
            unsafe { std::env::remove_var("XDG_RUNTIME_DIR") };
            let _sender = Route::sender(&name).unwrap();
            // SAFETY: no other thread of this process reads the environment.
            unsafe { std::env::set_var("XDG_RUNTIME_DIR", &directory) };
            let text = Route::receiver(&name).unwrap_err().to_string();
            let here = directory.join("blitz-io").display().to_string();
            assert!(
                text.contains("/dev/shm/blitz-io-")
                    && text.contains(&here)
                    && text.contains("XDG_RUNTIME_DIR"),
                "{text}"
            );
        }
        "mask" => {
            // Root needs no permission.
            // SAFETY: this process has one thread that matters.
            unsafe { libc::setresuid(NOBODY, NOBODY, NOBODY) };
            // SAFETY: it cannot fail.
            unsafe { libc::umask(0o777) };
            let mut sender = route.sender("m").unwrap();
            let mut receiver = route.receiver("m").unwrap();
            sender.send(b"all the same").unwrap();
            assert_eq!(*receiver.recv().unwrap(), *b"all the same");
        }
        "inodes" => {
            let Some(full) = without_inodes(&directory) else {
                return;
            };
            let error = route.directory(full).sender("i").unwrap_err();
            assert!(matches!(error, Error::NoSpace { .. }), "{error}");
        }
        _ => unreachable!(),
    }
}

#[cfg(target_env = "musl")]
type Resource = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Resource = libc::__rlimit_resource_t;

fn limit(what: Resource, most: libc::rlim_t) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a place for the result.
    assert_eq!(unsafe { libc::getrlimit(what, &mut limit) }, 0);
    limit.rlim_cur = most;
    // SAFETY: a limit.
    assert_eq!(unsafe { libc::setrlimit(what, &limit) }, 0);
}

/// The lowest number that no descriptor has.
fn free_descriptor() -> libc::rlim_t {
    let file = std::fs::File::open("/dev/null").unwrap();
    std::os::fd::AsRawFd::as_raw_fd(&file) as libc::rlim_t
}

/// Mounts a file system that has no room for another file, where this process may.
fn without_inodes(directory: &Path) -> Option<&Path> {
    let path = CString::new(directory.to_str().unwrap()).unwrap();
    // SAFETY: C strings; the process has a mount namespace of its own.
    let mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) == 0
            && libc::mount(
                c"none".as_ptr(),
                path.as_ptr(),
                c"tmpfs".as_ptr(),
                0,
                c"nr_inodes=1,mode=700".as_ptr().cast(),
            ) == 0
    };
    mounted.then_some(directory)
}

/// Runs the role, which must succeed and leave nothing.
fn passes(role: &str) {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let shared = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(place.path(), shared).unwrap();
    let directory = place.path().display().to_string();
    let child = Process::start("limits::child", &[role.to_owned(), directory]);
    assert_eq!(child.wait(), Some(0), "{role}");
    assert_eq!(place.segments(), 0, "{role}");
}

#[test]
fn a_limit_of_the_file_size_is_an_error() {
    passes("file size");
}

#[test]
fn without_descriptors_no_file_stays() {
    passes("descriptors");
}

#[test]
fn without_descriptors_a_wait_says_so() {
    passes("awaiting");
}

#[test]
fn a_segment_in_the_directory_of_another_environment_is_named() {
    passes("elsewhere");
}

#[test]
fn a_mask_that_takes_all_permissions_away_is_no_obstacle() {
    passes("mask");
}

#[test]
fn a_file_system_without_inodes_has_no_space() {
    passes("inodes");
}

#[test]
fn a_mode_that_the_owner_cannot_use_is_refused() {
    let place = Place::new();
    for mode in [0o400, 0o200, 0o066] {
        let error = place.in_it(Route::builder().mode(mode)).sender("m");
        let error = error.unwrap_err();
        assert!(
            matches!(
                &error,
                Error::Setting {
                    setting: "mode",
                    ..
                }
            ),
            "{error}"
        );
    }
    assert_eq!(place.segments(), 0);
}
