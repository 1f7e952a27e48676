//! A service of axum or of tonic whose handlers hang: `blitz-io-hanging-services axum` prints its address, and serves
//! until it is killed. The name in a request's path, or message, says which handler of `handlers.rs` it wants.

mod handlers;
mod peers;
mod rpc;
mod web;

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;

use handlers::State;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// Fewer threads for blocking work than the handler `pool-starvation` needs.
const BLOCKING_THREADS: usize = 2;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("axum") => run(web::serve),
        Some("tonic") => run(rpc::serve),
        Some(peers::PEER) => peers::run(&arguments.next().unwrap_or_default()),
        _ => {
            eprintln!("usage: blitz-io-hanging-services axum|tonic");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Serves until a handler wants the end, and then does what remains, which may hang.
fn run<F>(serve: impl FnOnce(TcpListener, Arc<State>) -> F)
where
    F: Future<Output = ()>,
{
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build();
    let runtime = runtime.expect("the system has threads");
    let state = Arc::new(State::default());
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("the system has a port");
        let address = listener.local_addr().expect("it is bound");
        println!("{address}");
        serve(listener, state).await;
    });
    drop(runtime);
    handlers::after_the_end();
}
