//! The same sources with the libraries that this crate replaces, and with this crate: they
//! compile, and give the same results.

mod tasks_with_tokio {
    use tokio::sync;

    include!("tasks.rs");
}

mod tasks_with_ours {
    use blitz_io::sync;

    include!("tasks.rs");
}

mod threads_with_parking_lot {
    use parking_lot as thread;

    include!("threads.rs");
}

mod threads_with_ours {
    use blitz_io::thread;

    include!("threads.rs");
}

mod channels_with_async_channel {
    use async_channel as mpmc;

    include!("channels.rs");
}

// async-channel's names are ours too, but deprecated.
#[allow(deprecated)]
mod channels_with_ours {
    use blitz_io::sync::mpmc;

    include!("channels.rs");
}

mod select_with_crossbeam {
    use crossbeam_channel as mpmc;

    include!("select.rs");
}

// So are crossbeam's for a wait with a time limit.
#[allow(deprecated)]
mod select_with_ours {
    use blitz_io::sync::mpmc;

    include!("select.rs");
}
