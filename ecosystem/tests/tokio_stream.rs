use std::time::Duration;

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    sync::{broadcast, mpsc, watch},
    time::{Instant, interval},
};
use tokio_stream::{
    StreamExt, StreamMap,
    wrappers::{
        BroadcastStream, IntervalStream, LinesStream, ReadDirStream, ReceiverStream, SignalStream,
        TcpListenerStream, UnboundedReceiverStream, WatchStream, errors::BroadcastStreamRecvError,
    },
};

use crate::support::{limit, listener};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn channels() {
    limit(async {
        let (sender, receiver) = mpsc::channel(4);
        let (unbounded, other) = mpsc::unbounded_channel();
        let mut map = StreamMap::new();
        map.insert(
            "bounded",
            Box::pin(ReceiverStream::new(receiver))
                as std::pin::Pin<Box<dyn tokio_stream::Stream<Item = u64> + Send>>,
        );
        map.insert("unbounded", Box::pin(UnboundedReceiverStream::new(other)));
        let sending = tokio::spawn(async move {
            for i in 0..500 {
                sender.send(i).await.unwrap();
                unbounded.send(1000 + i).unwrap();
            }
        });
        let (mut bounded, mut rest) = (0, 1000);
        while let Some((key, value)) = map.next().await {
            let next = if key == "bounded" {
                &mut bounded
            } else {
                &mut rest
            };
            assert_eq!(value, *next);
            *next += 1;
        }
        assert_eq!((bounded, rest), (500, 1500));
        sending.await.unwrap();

        let (sender, receiver) = broadcast::channel(4);
        let mut stream = BroadcastStream::new(receiver);
        for i in 0..6 {
            sender.send(i).unwrap();
        }
        drop(sender);
        assert_eq!(
            stream.next().await,
            Some(Err(BroadcastStreamRecvError::Lagged(2)))
        );
        assert_eq!(
            stream.collect::<Result<Vec<_>, _>>().await.unwrap(),
            [2, 3, 4, 5]
        );

        let (sender, receiver) = watch::channel(0);
        let mut stream = WatchStream::new(receiver);
        assert_eq!(stream.next().await, Some(0));
        let waiting = tokio::spawn(async move { (stream.next().await, stream.next().await) });
        sender.send(1).unwrap();
        let closing = tokio::spawn(async move {
            sender.closed().await;
        });
        waiting.abort();
        let _ = waiting.await;
        closing.await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn time() {
    let begin = Instant::now();
    let ticks = IntervalStream::new(interval(Duration::from_secs(1))).take(5);
    let times: Vec<u64> = ticks.map(|tick| (tick - begin).as_secs()).collect().await;
    assert_eq!(times, [0, 1, 2, 3, 4]);

    let throttled = tokio_stream::iter(0..5).throttle(Duration::from_secs(2));
    assert_eq!(throttled.collect::<Vec<_>>().await, [0, 1, 2, 3, 4]);
    // Also after the last one.
    assert_eq!(begin.elapsed().as_secs(), 4 + 10);

    let (sender, receiver) = mpsc::channel(1);
    let late = ReceiverStream::new(receiver).timeout(Duration::from_secs(3));
    let mut late = std::pin::pin!(late);
    sender.send(1).await.unwrap();
    assert_eq!(late.next().await.unwrap().unwrap(), 1);
    assert!(late.next().await.unwrap().is_err());
    drop(sender);
    assert!(late.next().await.is_none());

    let slow = IntervalStream::new(interval(Duration::from_secs(1))).take(10);
    let chunks = slow
        .chunks_timeout(4, Duration::from_secs(30))
        .map(|chunk| chunk.len());
    assert_eq!(chunks.collect::<Vec<_>>().await, [4, 4, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sockets_files_and_signals() {
    limit(async {
        let (listener, address) = listener().await;
        let clients = tokio::spawn(async move {
            for i in 0..20 {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream
                    .write_all(format!("{i}\nend\n").as_bytes())
                    .await
                    .unwrap();
            }
        });
        let mut accepted = TcpListenerStream::new(listener).take(20);
        let mut lines = 0;
        while let Some(stream) = accepted.next().await {
            let stream = BufReader::new(stream.unwrap());
            lines += LinesStream::new(stream.lines())
                .collect::<Vec<_>>()
                .await
                .len();
        }
        assert_eq!(lines, 40);
        clients.await.unwrap();

        let folder = tempfile::tempdir().unwrap();
        for i in 0..10 {
            tokio::fs::write(folder.path().join(i.to_string()), "x")
                .await
                .unwrap();
        }
        let entries = ReadDirStream::new(tokio::fs::read_dir(folder.path()).await.unwrap());
        assert_eq!(
            entries.collect::<Result<Vec<_>, _>>().await.unwrap().len(),
            10
        );

        let kind = tokio::signal::unix::SignalKind::user_defined2();
        let mut signals = SignalStream::new(tokio::signal::unix::signal(kind).unwrap());
        let me = std::process::id().to_string();
        let sent = tokio::process::Command::new("kill")
            .args(["-USR2", &me])
            .status()
            .await
            .unwrap();
        assert!(sent.success());
        assert_eq!(signals.next().await, Some(()));
    })
    .await;
}
