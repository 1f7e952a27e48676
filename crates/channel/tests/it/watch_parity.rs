//! The same scenarios with Tokio's channel for a value that changes and with ours.

mod tokio_watch {
    use tokio::sync::watch;

    include!("parity/watch.rs");
}

mod our_watch {
    use blitz_io_channel::watch;

    include!("parity/watch.rs");
}

#[test]
fn the_types_have_the_same_traits() {
    assert_eq!(our_watch::traits(), tokio_watch::traits());
}

#[test]
fn they_show_the_same() {
    assert_eq!(our_watch::shown(), tokio_watch::shown());
}
