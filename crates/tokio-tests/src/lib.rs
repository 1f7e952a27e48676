//! Runs tests that Tokio publishes against `blitz-io`: see `build.rs` and `tests/`.
