use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use blitz_io_ipc::{Channel, Error, Queue, RecvError, Route, clean_in, list_in};

use crate::common::{Place, give_up_rights};

#[test]
fn names_that_are_no_names_are_refused() {
    let place = Place::new();
    let long = "n".repeat(201);
    for name in ["", ".", "..", ".hidden", "a/b", "a b", "ä", "a\0b", &long] {
        let error = place.in_it(Route::builder()).sender(name).unwrap_err();
        assert!(matches!(&error, Error::Name { .. }), "{name:?}: {error}");
    }
    let longest = "n".repeat(200);
    place.in_it(Route::builder()).sender(&longest).unwrap();
}

#[test]
fn settings_out_of_range_are_refused() {
    let place = Place::new();
    let bad = [
        Route::builder().capacity(0),
        Route::builder().capacity((1 << 30) + 1),
        Route::builder().capacity(usize::MAX),
        Route::builder().max_len(0),
        Route::builder().max_len(usize::MAX),
        Route::builder().max_senders(2),
        Channel::builder().max_senders(0),
        Channel::builder().max_receivers(0),
        Channel::builder().max_receivers(449),
        Channel::builder().max_receivers(usize::MAX),
    ];
    for builder in bad {
        let error = place.in_it(builder).sender("s").unwrap_err();
        assert!(matches!(&error, Error::Setting { .. }), "{error}");
    }
    assert_eq!(place.segments(), 0);
}

#[test]
fn what_exists_must_be_what_was_asked_for() {
    let place = Place::new();
    let made = place.in_it(Channel::builder().capacity(4).max_len(64));
    let _sender = made.sender("m").unwrap();
    let asks = [
        (Queue::builder(), "kind"),
        (Channel::builder().capacity(8), "capacity"),
        (Channel::builder().max_len(65), "max_len"),
        (
            Channel::builder().when_full(blitz_io_ipc::WhenFull::Fail),
            "when_full",
        ),
        (Channel::builder().max_senders(3), "max_senders"),
        (Channel::builder().max_receivers(3), "max_receivers"),
    ];
    for (builder, wrong) in asks {
        match place.in_it(builder).receiver("m").unwrap_err() {
            Error::Mismatch { setting, .. } => assert_eq!(setting, wrong),
            error => panic!("{error}"),
        }
    }
    let taken = place.in_it(Channel::builder()).receiver("m").unwrap();
    assert_eq!((taken.capacity(), taken.max_len()), (4, 64));
}

#[test]
fn a_capacity_in_bytes_is_that_of_the_longest_messages() {
    let place = Place::new();
    let builder = |bytes| place.in_it(Queue::builder().max_len(100).capacity_bytes(bytes));
    for (bytes, messages) in [(0, 1), (99, 1), (100, 1), (799, 4), (800, 8), (1599, 8)] {
        assert_eq!(builder(bytes).sender("b").unwrap().capacity(), messages);
    }
    let _sender = builder(800).sender("b").unwrap();
    let same = Queue::builder().capacity_bytes(850);
    assert_eq!(place.in_it(same).receiver("b").unwrap().capacity(), 8);
    let error = builder(1600).receiver("b").unwrap_err();
    assert!(matches!(
        error,
        Error::Mismatch {
            setting: "capacity",
            wanted: 16,
            found: 8
        }
    ));
    let error = builder(usize::MAX).sender("c").unwrap_err();
    assert!(matches!(error, Error::Setting { .. }), "{error}");
}

#[test]
fn too_many_are_told_so() {
    let place = Place::new();
    let route = place.in_it(Route::builder().max_receivers(2));
    let _first = route.sender("o").unwrap();
    let error = route.sender("o").unwrap_err();
    assert!(matches!(
        error,
        Error::Occupied {
            role: "sender",
            limit: 1,
            ..
        }
    ));
    let _receivers = [route.receiver("o").unwrap(), route.receiver("o").unwrap()];
    let error = route.receiver("o").unwrap_err();
    let me = std::process::id();
    let processes = format!("2 receivers already (processes {me}, {me})");
    assert!(error.to_string().contains(&processes), "{error}");
    assert!(matches!(
        error,
        Error::Occupied {
            role: "receiver",
            limit: 2,
            ..
        }
    ));
}

#[test]
fn must_exist_finds_only_what_lives() {
    let place = Place::new();
    let route = place.in_it(Route::builder());
    let existing = route.clone().must_exist(true);
    let missing = existing.receiver("n").unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }), "{missing}");
    let _sender = route.sender("n").unwrap();
    existing.receiver("n").unwrap();
}

#[test]
fn files_that_are_no_segments_are_refused_and_kept() {
    let place = Place::new();
    let file = place.path().join("f.ring");
    for text in [vec![b'x'; 100], vec![b'x'; 10_000]] {
        fs::write(&file, &text).unwrap();
        let error = place.in_it(Route::builder()).sender("f").unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
        assert!(clean_in(place.path()).unwrap().is_empty());
        assert_eq!(fs::read(&file).unwrap(), text);
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(place.in_it(Route::builder()).sender("f").is_err());
}

/// Damages a segment in use: the next participant that opens it must get an error, and the
/// first must not be harmed.
#[test]
fn a_damaged_header_is_reported() {
    // Magic, version, layout, size, ready, kind, capacity, length, policy, participants.
    for offset in [0, 8, 16, 24, 32, 48, 56, 64, 72, 80, 88] {
        let place = Place::new();
        let route = place.in_it(Route::builder().capacity(4));
        let mut sender = route.sender("d").unwrap();
        let file = fs::OpenOptions::new()
            .write(true)
            .open(place.path().join("d.ring"));
        file.unwrap().write_all_at(&[77], offset).unwrap();
        let error = place.in_it(Route::builder()).receiver("d").unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{offset}: {error}");
        sender.send(b"still").unwrap();
    }
}

/// Senders whose mapping no longer exists, so that they must not be dropped.
static KEPT: std::sync::Mutex<Vec<blitz_io_ipc::Sender>> = std::sync::Mutex::new(Vec::new());

#[test]
fn a_truncated_segment_is_reported() {
    let place = Place::new();
    let route = place.in_it(Route::builder());
    let sender = route.sender("t").unwrap();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(place.path().join("t.ring"))
        .unwrap();
    for len in [9000, 10] {
        file.set_len(len).unwrap();
        let error = route.receiver("t").unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
    }
    // Dropping the sender would access the unmapped memory.
    KEPT.lock().unwrap().push(sender);
}

// With 32 bits, more than there is memory is more than there are addresses.
#[cfg(target_pointer_width = "64")]
#[test]
fn no_space_is_said_in_bytes() {
    let place = Place::new();
    let huge = place.in_it(Route::builder().capacity(1 << 20).max_len(1 << 30));
    let error = huge.sender("h").unwrap_err();
    assert!(
        matches!(error, Error::NoSpace { needed } if needed > 1 << 50),
        "{error}"
    );
    assert_eq!(place.segments(), 0);
}

#[test]
fn only_the_user_may_join_unless_said_otherwise() {
    let place = Place::new();
    let mode = |name: &str| {
        let path = place.path().join(format!("{name}.ring"));
        fs::metadata(path).unwrap().mode() & 0o777
    };
    let _private = place.in_it(Route::builder()).sender("p").unwrap();
    assert_eq!(mode("p"), 0o600);
    let _shared = place
        .in_it(Route::builder().mode(0o666))
        .sender("s")
        .unwrap();
    assert_eq!(mode("s"), 0o666);
    for open in [0o777, 0o770, 0o775] {
        fs::set_permissions(place.path(), fs::Permissions::from_mode(open)).unwrap();
        let error = place.in_it(Route::builder()).sender("x").unwrap_err();
        assert!(matches!(error, Error::Directory { .. }), "{error}");
    }
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    drop(place.in_it(Route::builder()).sender("x").unwrap());
    let nowhere = Route::builder().directory("/dev/shm/there/is/no/such");
    assert!(nowhere.sender("x").is_err());
}

/// A killed maker leaves nothing but zeros before the magic number.
#[test]
fn a_file_that_begins_with_zeros_but_is_no_segment_is_kept() {
    let place = Place::new();
    let file = place.path().join("z.ring");
    for at in [100, 8191] {
        let mut text = vec![0; 8192];
        text[at] = b'x';
        fs::write(&file, &text).unwrap();
        let error = place.in_it(Route::builder()).sender("z").unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
        assert!(clean_in(place.path()).unwrap().is_empty());
        assert_eq!(fs::read(&file).unwrap(), text);
    }
}

/// A maker reserves memory for its file. A file without memory can be too long to be read.
#[test]
fn a_long_file_without_memory_is_kept_and_not_read() {
    let place = Place::new();
    let path = place.path().join("s.ring");
    for len in [1 << 20, 1 << 62] {
        fs::File::create(&path).unwrap().set_len(len).unwrap();
        let error = place.in_it(Route::builder()).sender("s").unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
        assert!(clean_in(place.path()).unwrap().is_empty());
        assert_eq!(fs::metadata(&path).unwrap().len(), len);
    }
}

#[test]
fn what_the_dead_left_is_made_anew() {
    let place = Place::new();
    let route = place.in_it(Route::builder().capacity(4).max_len(16));
    // A maker that was killed leaves nothing yet, zeros, or a whole segment without
    // participants.
    let file = place.path().join("l.ring");
    fs::write(&file, []).unwrap();
    drop(route.sender("l").unwrap());
    assert_eq!(place.segments(), 0);
    fs::write(&file, vec![0; 8192]).unwrap();
    drop(route.sender("l").unwrap());
    let sender = route.sender("l").unwrap();
    fs::copy(&file, place.path().join("copy.ring")).unwrap();
    let listed = list_in(place.path()).unwrap();
    assert_eq!(listed.len(), 2);
    assert!(!listed[0].participants[0].alive && listed[1].participants[0].alive);
    assert_eq!(listed[1].participants[0].pid, std::process::id());
    // The next start takes it over, even with other settings; cleaning keeps what is in
    // use.
    let other = place.in_it(Queue::builder()).receiver("copy").unwrap();
    drop(other);
    fs::copy(&file, place.path().join("copy.ring")).unwrap();
    assert_eq!(clean_in(place.path()).unwrap(), ["copy"]);
    assert_eq!(place.segments(), 1);
    drop(sender);
    assert_eq!(place.segments(), 0);
}

#[test]
fn many_join_and_leave_at_once() {
    let place = Place::new();
    let channel = place.in_it(Channel::builder().capacity(4).max_len(16));
    let joined = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..8 {
            let (channel, joined) = (&channel, &joined);
            scope.spawn(move || {
                for _ in 0..50 {
                    if thread % 2 == 0 {
                        let mut sender = channel.sender("j").unwrap();
                        sender.send(b"here").unwrap();
                    } else {
                        let mut receiver = channel.receiver("j").unwrap();
                        match receiver.try_recv() {
                            Ok(message) => assert_eq!(*message, *b"here"),
                            Err(RecvError::Empty | RecvError::Disconnected) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                    joined.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(joined.into_inner(), 400);
    assert_eq!(place.segments(), 0);
}

#[test]
fn without_permission_it_says_for_what() {
    let place = Place::new();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let route = place.in_it(Route::builder());
    let _sender = route.sender("p").unwrap();
    let file = place.path().join("p.ring");
    // SAFETY: it cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o555)).unwrap();
    }
    let errors = thread::scope(|scope| {
        let other = scope.spawn(|| {
            // A container may not let its root become another user.
            let is_other = give_up_rights() || !is_root;
            is_other.then(|| [route.receiver("p"), route.receiver("new")].map(Result::unwrap_err))
        });
        other.join().unwrap()
    });
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let Some([join, make]) = errors else { return };
    assert!(
        matches!(&join, Error::Permission { path } if *path == file),
        "{join}"
    );
    assert!(join.to_string().contains("another mode"), "{join}");
    assert!(matches!(make, Error::Permission { .. }), "{make}");
    assert_eq!(place.segments(), 1);
}

#[test]
fn a_second_sender_of_a_route_is_told_to_use_a_channel() {
    let place = Place::new();
    let route = place.in_it(Route::builder());
    let _route = route.sender("r").unwrap();
    let text = route.sender("r").unwrap_err().to_string();
    assert!(
        text.contains("r.ring") && text.contains("use a channel"),
        "{text}"
    );
    let process = format!("already (process {})", std::process::id());
    assert!(text.contains(&process), "{text}");
    let channel = place.in_it(Channel::builder().max_senders(1));
    let _channel = channel.sender("c").unwrap();
    let text = channel.sender("c").unwrap_err().to_string();
    assert!(
        text.contains("1 sender already") && text.contains("larger limit"),
        "{text}"
    );
    assert!(text.contains(&process), "{text}");
    let missing = route.must_exist(true).sender("m").unwrap_err().to_string();
    assert!(missing.contains("m.ring"), "{missing}");
}

#[test]
fn errors_say_what_to_do() {
    let place = Place::new();
    let _route = place.in_it(Route::builder()).sender("e").unwrap();
    let text = place
        .in_it(Queue::builder())
        .sender("e")
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("kind Route, and Queue was asked for") && text.contains("another name"),
        "{text}"
    );
    let text = place
        .in_it(Route::builder().when_full(blitz_io_ipc::WhenFull::Fail))
        .receiver("e")
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("when_full Block, and Fail was") && text.contains("leave the setting out"),
        "{text}"
    );
    for (asked, said) in [
        (5, "capacity 1024, and 5, rounded up to 8, was asked for"),
        (8, "capacity 1024, and 8 was asked for"),
    ] {
        let route = place.in_it(Route::builder().capacity(asked));
        let text = route.receiver("e").unwrap_err().to_string();
        assert!(text.contains(said), "{text}");
    }
}

/// Tests of segments without a name, and of record locks, which FreeBSD lacks.
#[cfg(not(feature = "lock-files"))]
mod with_record_locks {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use blitz_io_ipc::Anonymous;

    use super::*;

    #[test]
    fn an_anonymous_segment_goes_over_a_socket() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let segment = Queue::builder().capacity(4).max_len(8).anonymous().unwrap();
        segment.send_over(&ours).unwrap();
        let mut sender = segment.sender().unwrap();
        sender.send(b"one").unwrap();
        let received = Anonymous::receive_from(&theirs).unwrap();
        let mut receiver = received.receiver().unwrap();
        assert_eq!(*receiver.recv().unwrap(), *b"one");
        drop(sender);
        assert_eq!(receiver.recv().unwrap_err(), RecvError::Disconnected);

        drop(ours);
        assert!(matches!(
            Anonymous::receive_from(&theirs),
            Err(Error::Io { .. })
        ));
        let file = tempfile::tempfile().unwrap();
        let foreign = Anonymous::from(std::os::fd::OwnedFd::from(file));
        assert!(matches!(foreign.sender(), Err(Error::Foreign { .. })));
    }

    /// Sends `fds` with one byte.
    fn send_all(socket: &UnixStream, fds: &[i32]) {
        #[repr(align(8))]
        struct Control([u8; 64]);
        let mut control = Control([0; 64]);
        let mut data = [b'B'];
        let mut vector = libc::iovec {
            iov_base: data.as_mut_ptr().cast(),
            iov_len: 1,
        };
        let len = std::mem::size_of_val(fds) as u32;
        // SAFETY: the message, its buffers and their lengths are those above.
        unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &mut vector;
            message.msg_iovlen = 1;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(len) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(len) as _;
            let place = libc::CMSG_DATA(header);
            std::ptr::copy_nonoverlapping(fds.as_ptr().cast(), place, len as usize);
            assert_eq!(libc::sendmsg(socket.as_raw_fd(), &message, 0), 1);
        }
    }

    /// A pipe ends when every descriptor of its other end is closed.
    #[test]
    fn descriptors_that_were_not_asked_for_are_closed() {
        use std::io::Read;

        for count in 1..=6 {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let (mut reader, writer) = std::io::pipe().unwrap();
            send_all(&ours, &vec![writer.as_raw_fd(); count]);
            drop(writer);
            let error = Anonymous::receive_from(&theirs).unwrap_err();
            let expected = if count == 1 {
                "not sealed"
            } else {
                "more than one"
            };
            assert!(error.to_string().contains(expected), "{count}: {error}");
            assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        }
    }

    /// A descriptor from outside may be that of a device, where opening has an effect.
    #[test]
    fn what_is_not_sealed_is_not_opened() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = std::ffi::CString::new(file.path().to_str().unwrap()).unwrap();
        // SAFETY: it makes a descriptor.
        let watch = unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
        // SAFETY: an open descriptor and a C string.
        let added = unsafe { libc::inotify_add_watch(watch, name.as_ptr(), libc::IN_OPEN) };
        assert!(watch >= 0 && added >= 0);
        let copy = std::os::fd::OwnedFd::from(file.as_file().try_clone().unwrap());
        let error = Anonymous::from(copy).receiver().unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
        let mut event = [0_u8; 256];
        // SAFETY: room for an event.
        let seen = unsafe { libc::read(watch, event.as_mut_ptr().cast(), event.len()) };
        // SAFETY: it is open and used no more.
        unsafe { libc::close(watch) };
        assert_eq!(seen, -1, "it was opened");
    }

    /// Holds the lock that a process keeps while it joins, as if that process had been stopped.
    #[test]
    fn an_opener_does_not_wait_for_ever() {
        let place = Place::new();
        let route = place.in_it(Route::builder());
        let mut sender = route.sender("b").unwrap();
        let mut receiver = route.receiver("b").unwrap();
        let mut options = fs::OpenOptions::new();
        let file = options.read(true).write(true);
        let file = file.open(place.path().join("b.ring")).unwrap();
        // SAFETY: all zeros is a `flock`.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as _;
        lock.l_len = 1;
        // SAFETY: an open file and a lock.
        let locked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) };
        assert_eq!(locked, 0);
        let error = route.receiver("b").unwrap_err();
        assert!(matches!(error, Error::Busy), "{error}");
        assert!(error.to_string().contains("continue or kill"), "{error}");
        // Participants that have joined go on.
        sender.send(b"on").unwrap();
        assert_eq!(*receiver.recv().unwrap(), *b"on");
        drop(file);
        route.receiver("b").unwrap();
    }
}
