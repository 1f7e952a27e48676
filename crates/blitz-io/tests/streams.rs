//! The wrappers with the names of `tokio_stream`.

use std::time::Duration;

use blitz_io::stream::Stream;
use blitz_io::stream::wrappers::errors::BroadcastStreamRecvError::Lagged;
use blitz_io::stream::wrappers::{BroadcastStream, IntervalStream, WatchStream};
use blitz_io::sync::{broadcast, watch};
use blitz_io::task::{coop, yield_now};
use blitz_io::time::{Instant, MissedTickBehavior, interval_at};
use futures_util::{StreamExt, poll};

#[blitz_io::test(start_paused = true)]
async fn an_interval_ticks_as_a_stream() {
    let start = Instant::now();
    let period = Duration::from_millis(20);
    let mut ticks = IntervalStream::new(interval_at(start + period, period));
    assert_eq!(ticks.size_hint(), (usize::MAX, None));
    assert_eq!(ticks.as_ref().period(), period);
    ticks
        .as_mut()
        .set_missed_tick_behavior(MissedTickBehavior::Skip);

    assert!(poll!(ticks.next()).is_pending());
    assert_eq!(ticks.next().await, Some(start + period));
    blitz_io::time::advance(Duration::from_millis(90)).await;
    assert_eq!(ticks.next().await, Some(start + 2 * period));
    assert_eq!(ticks.next().await, Some(start + 6 * period));
    assert_eq!(ticks.into_inner().tick().await, start + 7 * period);
}

#[blitz_io::test]
async fn a_broadcast_stream_waits_lags_and_ends() {
    let (tx, rx) = broadcast::channel(2);
    let mut stream = BroadcastStream::from(rx);
    assert!(poll!(stream.next()).is_pending());
    tx.send(1).unwrap();
    assert_eq!(stream.next().await, Some(Ok(1)));
    for number in 2..6 {
        tx.send(number).unwrap();
    }
    assert_eq!(stream.next().await, Some(Err(Lagged(2))));
    assert_eq!(stream.next().await, Some(Ok(4)));
    drop(tx);
    assert_eq!(stream.next().await, Some(Ok(5)));
    assert_eq!(stream.next().await, None);
    assert_eq!(stream.next().await, None);
    assert_eq!(Lagged(2).to_string(), "channel lagged by 2");
}

/// A stream that is dropped while it waits leaves the channel.
#[blitz_io::test]
async fn a_waiting_stream_can_be_dropped() {
    let (tx, rx) = broadcast::channel::<u8>(2);
    let mut stream = BroadcastStream::new(rx);
    assert!(poll!(stream.next()).is_pending());
    drop(stream);
    assert!(tx.send(1).is_err());

    let (tx, rx) = watch::channel(0);
    let mut stream = WatchStream::from_changes(rx);
    assert!(poll!(stream.next()).is_pending());
    drop(stream);
    assert!(tx.is_closed());
}

#[blitz_io::test]
async fn a_change_that_was_not_seen_outlives_the_sender() {
    let (tx, rx) = watch::channel(0);
    let mut changes = WatchStream::from_changes(rx.clone());
    let mut values = WatchStream::new(rx);
    assert_eq!(values.next().await, Some(0));
    tx.send(1).unwrap();
    drop(tx);
    for stream in [&mut changes, &mut values] {
        assert_eq!(stream.next().await, Some(1));
        assert_eq!(stream.next().await, None);
    }
}

/// When the budget is spent, nothing is lost, not even the first value.
#[blitz_io::test]
async fn streams_take_part_in_the_budget() {
    let (tx, rx) = broadcast::channel(4);
    let (_tx, latest) = watch::channel(7);
    let (mut all, mut values) = (BroadcastStream::new(rx), WatchStream::new(latest));
    tx.send(1).unwrap();
    while coop::has_budget_remaining() {
        coop::consume_budget().await;
    }
    assert!(poll!(all.next()).is_pending());
    assert!(poll!(values.next()).is_pending());
    yield_now().await;
    assert_eq!(all.next().await, Some(Ok(1)));
    assert_eq!(values.next().await, Some(7));
}

#[test]
fn streams_go_to_other_threads() {
    fn both<T: Send + Sync + Unpin>() {}
    both::<BroadcastStream<std::cell::Cell<u8>>>();
    both::<WatchStream<u8>>();
    both::<IntervalStream>();
}

#[cfg(unix)]
#[blitz_io::test]
async fn listeners_accept_as_streams() {
    use blitz_io::net::{TcpListener, TcpStream, UnixListener, UnixStream};
    use blitz_io::stream::wrappers::{TcpListenerStream, UnixListenerStream};

    let mut accepted = TcpListenerStream::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
    let address = accepted.as_ref().local_addr().unwrap();
    assert!(poll!(accepted.next()).is_pending());
    for _ in 0..2 {
        let client = TcpStream::connect(address).await.unwrap();
        let served = accepted.next().await.unwrap().unwrap();
        assert_eq!(served.peer_addr().unwrap(), client.local_addr().unwrap());
    }
    assert_eq!(accepted.into_inner().local_addr().unwrap(), address);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let mut accepted = UnixListenerStream::new(UnixListener::bind(&path).unwrap());
    let _client = UnixStream::connect(&path).await.unwrap();
    assert!(accepted.next().await.unwrap().is_ok());
    assert!(poll!(accepted.next()).is_pending());
}

#[blitz_io::test]
async fn readers_are_streams_of_lines_and_pieces() {
    use blitz_io::io::AsyncBufReadExt;
    use blitz_io::stream::wrappers::{LinesStream, SplitStream};

    let mut lines = LinesStream::new(AsyncBufReadExt::lines(&b"one\n\xff\nthree"[..]));
    assert_eq!(lines.next().await.unwrap().unwrap(), "one");
    let error = lines.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert_eq!(lines.next().await.unwrap().unwrap(), "three");
    assert!(lines.next().await.is_none());

    let mut pieces = SplitStream::new(AsyncBufReadExt::split(&b"a,,b"[..], b','));
    for piece in ["a", "", "b"] {
        assert_eq!(pieces.next().await.unwrap().unwrap(), piece.as_bytes());
    }
    assert!(pieces.next().await.is_none());
}

#[cfg(unix)]
#[blitz_io::test]
async fn folders_sets_and_signals_are_streams() {
    use blitz_io::signal::unix::{SignalKind, signal};
    use blitz_io::stream::wrappers::{JoinSetStream, ReadDirStream, SignalStream};

    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let entries = ReadDirStream::new(blitz_io::fs::read_dir(folder.path()).await.unwrap());
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name())
        .collect()
        .await;
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);

    let mut tasks = JoinSetStream::from(blitz_io::task::JoinSet::new());
    tasks.as_mut().spawn(async { 1 });
    tasks.as_mut().spawn(async { panic!("as it should") });
    assert_eq!(tasks.size_hint(), (2, Some(2)));
    let ended: Vec<_> = tasks.map(|result| result.is_ok()).collect().await;
    assert_eq!(ended.iter().filter(|is_ok| **is_ok).count(), 1);

    let mut signals = SignalStream::new(signal(SignalKind::user_defined1()).unwrap());
    // SAFETY: the signal is handled.
    unsafe { libc::raise(libc::SIGUSR1) };
    assert_eq!(signals.next().await, Some(()));
}
