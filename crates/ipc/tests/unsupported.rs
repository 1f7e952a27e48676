//! Systems without shared segments: every attempt returns an error and has no other effect.
#![cfg(not(unix))]

use blitz_io_ipc::{Barrier, Channel, Error, Event, Queue, Route, Semaphore};

#[test]
fn every_attempt_says_that_it_is_not_supported() {
    assert!(!blitz_io_ipc::is_supported());
    let attempts = [
        Route::sender("x").err(),
        Channel::sender("x").err(),
        Queue::receiver("x").err(),
        Event::listener("x").err(),
        Semaphore::open("x", 1).err(),
        Barrier::open("x", 1).err(),
        blitz_io_ipc::list().err(),
        blitz_io_ipc::clean().err(),
    ];
    for error in attempts {
        let error = error.expect("there are no segments here");
        assert!(matches!(error, Error::Unsupported), "{error:?}");
        assert!(error.to_string().contains("support"), "{error}");
    }
}
