//! The same tests with Tokio's broadcast channel and with ours.

#[cfg(not(ours_alone))]
mod tokio_broadcast {
    use tokio::sync::broadcast;

    include!("parity/broadcast.rs");
}

mod our_broadcast {
    use blitz_io_channel::broadcast;

    include!("parity/broadcast.rs");
}
