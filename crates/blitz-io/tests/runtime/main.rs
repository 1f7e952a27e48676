//! The rows of the crate's table that need the runtime: the same sources with Tokio and
//! tokio-util, and with this crate.

mod with_tokio {
    use tokio as lib;
    use tokio_util::{sync::CancellationToken, task::TaskTracker};

    include!("rows.rs");
}

mod with_ours {
    use blitz_io as lib;
    use blitz_io::{sync::CancellationToken, task::TaskTracker};

    include!("rows.rs");
}

mod attributes;
mod blocking_names;
mod in_tokio;
mod seeds;
