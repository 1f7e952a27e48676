//! Files of other users, and files that other users may write to.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use blitz_io_ipc::{Builder, Channel, Error, Event, Route, Sender, clean_in, list_in};

use crate::common::{NOBODY, Place, give_up_rights};

/// A directory to which all users may add files.
fn shared() -> Place {
    let place = Place::new();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    place
}

/// Makes a segment as another user. Returns `None` if this process may not become one.
fn made_by_nobody(builder: &Builder, name: &str) -> Option<Sender> {
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            // SAFETY: it cannot fail.
            let is_root = unsafe { libc::geteuid() } == 0;
            (is_root && give_up_rights()).then(|| builder.sender(name).unwrap())
        });
        other.join().unwrap()
    })
}

fn is_refused(error: &Error, path: &Path) -> bool {
    matches!(error, Error::Untrusted { path: refused, .. } if refused == path)
}

#[test]
fn a_segment_of_another_user_is_refused_unless_it_is_allowed() {
    let place = shared();
    let open = place.in_it(Channel::builder().mode(0o666));
    let Some(mut theirs) = made_by_nobody(&open, "x") else {
        return;
    };
    let path = place.path().join("x.ring");
    for builder in [open.clone(), open.clone().must_exist(true)] {
        let error = builder.receiver("x").unwrap_err();
        assert!(is_refused(&error, &path), "{error}");
        assert!(error.to_string().contains("allow_owner"), "{error}");
        let error = builder.clone().allow_owner(NOBODY + 1).sender("x");
        assert!(is_refused(&error.unwrap_err(), &path));
    }
    let private = place.in_it(Channel::builder()).allow_owner(NOBODY);
    let error = private.receiver("x").unwrap_err();
    assert!(is_refused(&error, &path), "{error}");
    let mut receiver = open.allow_owner(NOBODY).receiver("x").unwrap();
    theirs.send(b"meant").unwrap();
    assert_eq!(*receiver.recv().unwrap(), *b"meant");
}

/// An untrusted file is neither mapped nor removed.
#[test]
fn what_another_user_left_stays_and_is_refused() {
    let place = shared();
    let open = place.in_it(Channel::builder().mode(0o666));
    let path = place.path().join("x.ring");
    let Some(theirs) = made_by_nobody(&open, "x") else {
        return;
    };
    assert_eq!(list_in(place.path()).unwrap().len(), 1);
    let copy = fs::read(&path).unwrap();
    drop(theirs);
    let as_nobody = thread::scope(|scope| {
        let other = scope.spawn(|| {
            assert!(give_up_rights());
            fs::write(&path, copy).unwrap();
        });
        other.join()
    });
    as_nobody.unwrap();
    assert!(is_refused(&open.sender("x").unwrap_err(), &path));
    assert!(clean_in(place.path()).unwrap().is_empty());
    let event = Event::builder(1).directory(place.path());
    assert!(is_refused(&event.notifier("x").unwrap_err(), &path));
    assert!(path.exists());
}

#[test]
fn a_segment_that_others_may_write_to_is_refused_unless_that_is_asked_for() {
    let place = Place::new();
    let open = place.in_it(Route::builder().mode(0o620));
    let _sender = open.sender("o").unwrap();
    let path = place.path().join("o.ring");
    for mode in [0o600, 0o602, 0o644] {
        let error = open.clone().mode(mode).receiver("o").unwrap_err();
        assert!(is_refused(&error, &path), "{error}");
        assert!(error.to_string().contains("mode is 620"), "{error}");
    }
    open.receiver("o").unwrap();
    open.mode(0o666).receiver("o").unwrap();
}

#[test]
fn a_segment_with_a_second_name_is_refused() {
    let place = Place::new();
    let route = place.in_it(Route::builder());
    let _sender = route.sender("l").unwrap();
    let second = place.path().join("second.ring");
    fs::hard_link(place.path().join("l.ring"), &second).unwrap();
    let error = route.receiver("second").unwrap_err();
    assert!(is_refused(&error, &second), "{error}");
    fs::remove_file(&second).unwrap();
    route.receiver("l").unwrap();
}

#[test]
fn a_symbolic_link_is_refused_as_one() {
    let place = shared();
    let channel = place.in_it(Channel::builder());
    let _sender = channel.sender("target").unwrap();
    let link = place.path().join("link.ring");
    std::os::unix::fs::symlink(place.path().join("target.ring"), &link).unwrap();
    for builder in [channel.clone(), channel.must_exist(true)] {
        let error = builder.receiver("link").unwrap_err();
        assert!(is_refused(&error, &link), "{error}");
        assert!(error.to_string().contains("symbolic link"), "{error}");
    }
}
