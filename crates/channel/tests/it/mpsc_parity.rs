//! The same scenarios with Tokio's channel and with ours.

#[cfg(not(ours_alone))]
mod tokio_has_it {
    use tokio::sync::mpsc;

    include!("parity/mpsc_scenarios.rs");
}

mod we_have_it {
    use blitz_io_channel::mpsc;

    include!("parity/mpsc_scenarios.rs");
}
