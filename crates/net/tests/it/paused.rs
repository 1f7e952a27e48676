//! A paused clock does not advance to a timer while an event has made a task ready. Tokio has the same order since 1.53.3.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
use blitz_io::net::UnixStream;
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::spawn;
use blitz_io::task::yield_now;
use blitz_io::time::{Instant, advance, sleep};

fn paused() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap()
}

#[test]
fn an_event_goes_before_the_next_timer() {
    paused().block_on(async {
        let start = Instant::now();
        let (mut near, mut far) = UnixStream::pair().unwrap();
        near.write_u8(1).await.unwrap();
        let reader = spawn(async move {
            far.read_u8().await.unwrap();
            start.elapsed()
        });
        sleep(Duration::from_millis(100)).await;
        assert_eq!(reader.await.unwrap(), Duration::ZERO);
        assert_eq!(start.elapsed(), Duration::from_millis(100));
    });
}

/// A server that reads a request does so before a timer whose moment has passed, but not its millisecond.
#[test]
fn an_event_goes_before_the_rest_of_a_millisecond() {
    paused().block_on(async {
        let (mut client, mut server) = UnixStream::pair().unwrap();
        advance(Duration::from_micros(300)).await;
        let has_fired = Arc::new(AtomicBool::new(false));
        let fires = has_fired.clone();
        let timer = spawn(async move {
            sleep(Duration::from_secs(1)).await;
            fires.store(true, SeqCst);
        });
        spawn(async move {
            while server.read_u8().await.is_ok() {
                let answer = has_fired.load(SeqCst).into();
                server.write_u8(answer).await.unwrap();
            }
        });
        // Lets the timer begin, and the server wait for a request.
        yield_now().await;
        advance(Duration::from_secs(1)).await;
        client.write_u8(0).await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), 0, "it has not fired");
        timer.await.unwrap();
        client.write_u8(0).await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), 1, "it has fired");
    });
}
