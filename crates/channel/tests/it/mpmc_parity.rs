//! The same scenarios with async-channel and with ours.

mod theirs {
    use async_channel as channel;
    include!("parity/mpmc.rs");
}

// async-channel's names are ours too, but deprecated.
#[allow(deprecated)]
mod ours {
    use blitz_io_channel::mpmc as channel;
    include!("parity/mpmc.rs");
}
