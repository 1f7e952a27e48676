//! The same scenarios with Tokio's channel for one value and with ours.

mod tokio_oneshot {
    use tokio::sync::oneshot;

    include!("parity/oneshot.rs");
}

mod our_oneshot {
    use blitz_io_channel::oneshot;

    include!("parity/oneshot.rs");
}

#[test]
fn the_types_have_the_same_traits() {
    assert_eq!(our_oneshot::traits(), tokio_oneshot::traits());
}

#[test]
fn they_show_the_same() {
    assert_eq!(our_oneshot::shown(), tokio_oneshot::shown());
}
