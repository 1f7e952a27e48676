use std::{
    io::{self, BufRead, Read, Write},
    net::SocketAddr,
    time::Duration,
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures::{SinkExt, StreamExt, io::AsyncReadExt as _};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, duplex},
    net::{TcpStream, UdpSocket},
    sync::mpsc,
    time::Instant,
};
use tokio_util::{
    codec::{
        BytesCodec, Decoder, Encoder, Framed, FramedRead, LengthDelimitedCodec, LinesCodec,
        LinesCodecError,
    },
    compat::TokioAsyncReadCompatExt,
    io::{InspectReader, ReaderStream, StreamReader, SyncIoBridge},
    sync::{CancellationToken, PollSemaphore, PollSender},
    task::{AbortOnDropHandle, JoinMap, LocalPoolHandle, TaskTracker},
    time::DelayQueue,
    udp::UdpFramed,
};

use crate::support::{limit, listener, pattern};

/// Two bytes of length, followed by that many bytes in reverse order.
struct Reversed;

impl Decoder for Reversed {
    type Item = Vec<u8>;
    type Error = io::Error;

    fn decode(&mut self, source: &mut BytesMut) -> io::Result<Option<Vec<u8>>> {
        let Some(header) = source.first_chunk() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes(*header));
        if source.len() < 2 + length {
            source.reserve(2 + length - source.len());
            return Ok(None);
        }
        source.advance(2);
        Ok(Some(
            source.split_to(length).iter().rev().copied().collect(),
        ))
    }
}

impl Encoder<&[u8]> for Reversed {
    type Error = io::Error;

    fn encode(&mut self, item: &[u8], target: &mut BytesMut) -> io::Result<()> {
        target.put_u16(item.len() as u16);
        target.extend(item.iter().rev());
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codecs_over_tcp() {
    let (listener, address) = listener().await;
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut lines = Framed::new(stream, LinesCodec::new_with_max_length(100));
        for i in 0..1000 {
            assert_eq!(lines.next().await.unwrap().unwrap(), format!("line {i}"));
        }
        lines.send("go on").await.unwrap();
        assert!(matches!(
            lines.next().await,
            Some(Err(LinesCodecError::MaxLineLengthExceeded))
        ));
        let (stream, _) = listener.accept().await.unwrap();
        let mut frames = Framed::new(stream, LengthDelimitedCodec::new());
        while let Some(frame) = frames.next().await {
            frames.send(frame.unwrap().freeze()).await.unwrap();
        }
        let (stream, _) = listener.accept().await.unwrap();
        let mut own = Framed::new(stream, Reversed);
        while let Some(item) = own.next().await {
            own.send(&item.unwrap()).await.unwrap();
        }
    });
    limit(async {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut lines = Framed::new(stream, LinesCodec::new());
        for i in 0..1000 {
            lines.feed(format!("line {i}")).await.unwrap();
        }
        SinkExt::<String>::flush(&mut lines).await.unwrap();
        assert_eq!(lines.next().await.unwrap().unwrap(), "go on");
        lines.send("x".repeat(200)).await.unwrap();

        let stream = TcpStream::connect(address).await.unwrap();
        let mut frames = Framed::new(stream, LengthDelimitedCodec::new());
        for length in [0, 1, 1000, 100_000, 1_000_000] {
            frames.send(Bytes::from(pattern(length))).await.unwrap();
            assert!(frames.next().await.unwrap().unwrap() == pattern(length));
        }
        drop(frames);
        let stream = TcpStream::connect(address).await.unwrap();
        let mut own = Framed::new(stream, Reversed);
        for length in 0..300 {
            own.send(&pattern(length)).await.unwrap();
            assert_eq!(own.next().await.unwrap().unwrap(), pattern(length));
        }
        drop(own);
        server.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn datagrams() {
    let bind = || async { UdpSocket::bind("127.0.0.1:0").await.unwrap() };
    let (a, b) = (bind().await, bind().await);
    let to: SocketAddr = b.local_addr().unwrap();
    let (mut a, mut b) = (
        UdpFramed::new(a, BytesCodec::new()),
        UdpFramed::new(b, BytesCodec::new()),
    );
    for i in 0..100u8 {
        a.send((Bytes::from(vec![i; 100]), to)).await.unwrap();
        let (data, _) = limit(b.next()).await.unwrap().unwrap();
        assert_eq!(data, vec![i; 100]);
    }
}

#[tokio::test(start_paused = true)]
async fn delay_queue() {
    let begin = Instant::now();
    let mut queue = DelayQueue::new();
    let keys: Vec<_> = (0..100u64)
        .map(|i| queue.insert(i, Duration::from_millis(1000 - 10 * i)))
        .collect();
    queue.reset(&keys[50], Duration::from_secs(100));
    assert_eq!(queue.remove(&keys[99]).into_inner(), 99);
    let mut order = Vec::new();
    while let Some(expired) = queue.next().await {
        let time = begin.elapsed();
        assert!(time + Duration::from_millis(2) > expired.deadline() - begin);
        order.push(expired.into_inner());
    }
    let mut expected: Vec<u64> = (0..99).rev().filter(|i| *i != 50).collect();
    expected.push(50);
    assert_eq!(order, expected);
    assert_eq!(begin.elapsed().as_secs(), 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_with_keys() {
    let mut map = JoinMap::new();
    for key in 0..100 {
        map.spawn(key, async move {
            match key % 10 {
                0 => panic!("on purpose"),
                1 => std::future::pending().await,
                _ => key * 2,
            }
        });
    }
    map.abort_matching(|key| key % 10 == 1);
    let (mut sum, mut panics, mut aborted) = (0, 0, 0);
    while let Some((key, joined)) = limit(map.join_next()).await {
        match joined {
            Ok(value) => {
                assert_eq!(value, key * 2);
                sum += 1;
            }
            Err(error) if error.is_panic() => panics += 1,
            Err(error) => aborted += usize::from(error.is_cancelled()),
        }
    }
    assert_eq!((sum, panics, aborted), (80, 10, 10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling() {
    let root = CancellationToken::new();
    let tracker = TaskTracker::new();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    for i in 0..50 {
        let (token, sender) = (root.child_token(), sender.clone());
        tracker.spawn(async move {
            let done = token.run_until_cancelled(async {
                tokio::time::sleep(Duration::from_secs(if i < 25 { 0 } else { 3600 })).await;
            });
            sender.send(done.await.is_some()).unwrap();
        });
    }
    drop(sender);
    let mut finished = 0;
    while finished < 25 {
        assert!(limit(receiver.recv()).await.unwrap());
        finished += 1;
    }
    let alone = root.child_token();
    let guard = alone.clone().drop_guard();
    drop(guard);
    assert!(alone.is_cancelled() && !root.is_cancelled());
    root.cancel();
    tracker.close();
    limit(tracker.wait()).await;
    while let Some(done) = receiver.recv().await {
        assert!(!done);
        finished += 1;
    }
    assert_eq!(finished, 50);
    let handle = AbortOnDropHandle::new(tokio::spawn(std::future::pending::<()>()));
    let abort = handle.abort_handle();
    drop(handle);
    while !abort.is_finished() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_readers_and_threads() {
    let data = pattern(500_000);
    limit(async {
        let (mut writer, reader) = duplex(1000);
        let sent = data.clone();
        let writing = tokio::spawn(async move {
            writer.write_all(&sent).await.unwrap();
        });
        let mut seen = 0;
        let reader = InspectReader::new(reader, |bytes| seen += bytes.len());
        let mut back = Vec::new();
        StreamReader::new(ReaderStream::with_capacity(reader, 333))
            .read_to_end(&mut back)
            .await
            .unwrap();
        assert!(back == data);
        assert_eq!(seen, data.len());
        writing.await.unwrap();

        // Blocking code at both ends of an asynchronous pipe.
        let (writer, reader) = duplex(64);
        let mut writer = SyncIoBridge::new(writer);
        let writing = tokio::task::spawn_blocking(move || {
            for i in 0..2000 {
                writeln!(writer, "{i}").unwrap();
            }
            writer.shutdown().unwrap();
        });
        let reader = SyncIoBridge::new(tokio::io::BufReader::new(reader));
        let reading = tokio::task::spawn_blocking(move || {
            reader
                .lines()
                .map(|line| line.unwrap().parse::<u64>().unwrap())
                .sum::<u64>()
        });
        writing.await.unwrap();
        assert_eq!(reading.await.unwrap(), 1999 * 1000);

        let (mut writer, reader) = duplex(10);
        let writing =
            tokio::spawn(async move { writer.write_all(b"compatible with futures").await });
        let mut text = String::new();
        reader.compat().read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "compatible with futures");
        writing.await.unwrap().unwrap();

        let mut frames = FramedRead::new(&data[..], BytesCodec::new());
        let mut length = 0;
        while let Some(frame) = frames.next().await {
            length += frame.unwrap().len();
        }
        assert_eq!(length, data.len());
        let mut nothing = String::new();
        io::empty().read_to_string(&mut nothing).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn polled_channels_and_local_pools() {
    let (sender, mut receiver) = mpsc::channel(2);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let mut sender = PollSender::new(sender.clone());
        tasks.spawn(async move {
            for i in 0..100u64 {
                sender.send(i).await.unwrap();
            }
            sender.close();
        });
    }
    drop(sender);
    let mut sum = 0;
    while let Some(i) = limit(receiver.recv()).await {
        sum += i;
    }
    assert_eq!(sum, 8 * 4950);
    tasks.join_all().await;

    let semaphore = std::sync::Arc::new(tokio::sync::Semaphore::new(1));
    let mut polled = PollSemaphore::new(semaphore.clone());
    let permit = polled.next().await.unwrap();
    assert_eq!(semaphore.available_permits(), 0);
    drop(permit);
    assert_eq!(semaphore.available_permits(), 1);

    let pool = LocalPoolHandle::new(2);
    let answers = (0..10).map(|i| {
        pool.spawn_pinned(move || async move {
            let counter = std::rc::Rc::new(std::cell::Cell::new(i));
            let other = counter.clone();
            tokio::task::spawn_local(async move { other.set(other.get() + 1) })
                .await
                .unwrap();
            counter.get()
        })
    });
    let answers = limit(futures::future::try_join_all(answers)).await.unwrap();
    assert_eq!(answers, (1..=10).collect::<Vec<_>>());
}
