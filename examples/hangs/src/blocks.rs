//! Hangs of threads that block: closures for blocking work, the future of `block_on`, and the end of a runtime.

use blitz_io::io::{AsyncReadExt, stdin};
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::sync::{mpsc, oneshot};
use blitz_io::task;

use crate::spawn;

/// A closure for blocking work waits for a value that is sent after its end.
pub async fn job_waits_for_value() {
    let (sender, mut receiver) = mpsc::channel::<u32>(1);
    _ = task::spawn_blocking(move || receiver.blocking_recv()).await;
    _ = sender.send(1).await;
}

/// The future of `block_on` waits for a thread's channel. The task that would send is never polled.
pub fn root_waits_for_a_channel() {
    let runtime = Builder::new_current_thread().build();
    runtime.expect("the system has threads").block_on(async {
        let (sender, receiver) = std::sync::mpsc::channel();
        drop(spawn("sends", async move { _ = sender.send(1) }));
        _ = receiver.recv();
    });
}

fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime.expect("the system has threads")
}

/// The end of a runtime waits for a closure that waits for a channel.
///
/// After <https://github.com/tokio-rs/tokio/issues/3174>.
pub fn shutdown_waits_for_job() {
    let (sender, receiver) = std::sync::mpsc::channel::<u32>();
    let runtime = runtime();
    let (begins, has_begun) = oneshot::channel();
    drop(runtime.spawn_blocking(move || {
        _ = begins.send(());
        receiver.recv()
    }));
    _ = has_begun.blocking_recv();
    drop(runtime);
    drop(sender);
}

/// The end of a runtime waits for a read of standard input, which is a terminal or a pipe that stays open.
///
/// After <https://github.com/tokio-rs/tokio/issues/2466>.
pub fn shutdown_waits_for_stdin() {
    let runtime = runtime();
    runtime.block_on(async {
        let read = spawn("reads", async { _ = stdin().read_u8().await });
        // The read has begun.
        while blitz_io::runtime::Handle::current()
            .metrics()
            .num_blocking_threads()
            == 0
        {
            task::yield_now().await;
        }
        drop(read);
    });
    drop(runtime);
}
