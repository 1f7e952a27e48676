//! The same sources with the libraries that this crate replaces, and with this crate: they
//! compile, and give the same results.

mod tasks_with_tokio {
    use tokio::sync;

    include!("drop_in/tasks.rs");
}

mod tasks_with_ours {
    use blitz_io::sync;

    include!("drop_in/tasks.rs");
}

mod threads_with_parking_lot {
    use parking_lot as thread;

    include!("drop_in/threads.rs");
}

mod threads_with_ours {
    use blitz_io::thread;

    include!("drop_in/threads.rs");
}

mod channels_with_async_channel {
    use async_channel as mpmc;

    include!("drop_in/channels.rs");
}

mod channels_with_ours {
    use blitz_io::sync::mpmc;

    include!("drop_in/channels.rs");
}

mod select_with_crossbeam {
    use crossbeam_channel as mpmc;

    include!("drop_in/select.rs");
}

mod select_with_ours {
    use blitz_io::sync::mpmc;

    include!("drop_in/select.rs");
}
