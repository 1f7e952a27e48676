//! Keeps services running: starts them, restarts them when they end, and ends them.
//!
//! ```sh
//! cargo run --release --example supervisor -- 'web=python3 -m http.server 8000' 'clock=date; sleep 5'
//! ```
//!
//! The output of the services goes to the standard output, line by line, with the name
//! before it. A service that ends is restarted after a pause, which doubles each time and
//! is short again after the service has run for a while. SIGHUP restarts all services.
//! SIGTERM and Ctrl-C end them: SIGTERM first, SIGKILL after a grace period, to the whole
//! process group of each. No zombie is left.
//!
//! The exit code is 0 after SIGTERM or Ctrl-C, 1 if a service has failed too often in a
//! row, and 2 if the command line is wrong. It runs on Unix only.

#[cfg(unix)]
mod service;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    service::main()
}

#[cfg(not(unix))]
fn main() {
    eprintln!("supervisor: this example is for Unix");
}
