//! Every path that hands memory to a reader: bytes said to be initialised have been written,
//! and bytes said to be read are those of the source.
//!
//! [`Watching`] looks at each buffer that it gets, so a fault shows without Miri. Each poll
//! writes a number of its own to the whole unfilled part. So the initialised bytes that
//! follow the filled ones must be such numbers. Under Miri each look at a byte that was
//! never written is a fault.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufStream,
    Compat, FromFutures, FromHyper, FromTokio, ReadBuf, copy, copy_bidirectional, copy_buf, duplex,
    join, sink, split,
};
use bytes::{BufMut, BytesMut};
use pollster::block_on;

/// Sizes of pieces that make a vector full exactly, nearly, and not at all.
const PIECES: [&[usize]; 5] = [&[1], &[10, 25, 44], &[44, 25, 10], &[32], &[200]];

/// Lengths of sources: around the size of the probe of `read_to_end`, and of its vectors.
const LENGTHS: [usize; 6] = [0, 1, 32, 33, 79, 150];

/// Returns a source's contents: text, with the end of a line at each tenth byte.
fn text(len: usize) -> Vec<u8> {
    let byte = |at: usize| match at % 10 {
        9 => b'\n',
        _ => b'a' + (at % 26) as u8,
    };
    (0..len).map(byte).collect()
}

/// The owner of the memory that the reader gets.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    /// Nothing but the reader has written to its unfilled part.
    Fresh,
    /// Its owner has initialised it, and may have used it before.
    Used,
}

/// A reader whose bytes come in pieces, each after a poll that is pending.
struct Watching {
    rest: Vec<u8>,
    pieces: &'static [usize],
    memory: Memory,
    polls: usize,
}

impl Watching {
    fn new(pieces: &'static [usize], len: usize, memory: Memory) -> Self {
        Self {
            rest: text(len),
            pieces,
            memory,
            polls: 0,
        }
    }

    /// Returns the number that a poll writes: neither zero nor text.
    fn mark(poll: usize) -> u8 {
        0x80 | (poll % 0x80) as u8
    }

    fn look(&self, buf: &ReadBuf<'_>) {
        let behind = &buf.initialized()[buf.filled().len()..];
        for (at, byte) in behind.iter().enumerate() {
            let marked = *byte >= 0x80 && usize::from(byte & 0x7f) < self.polls;
            let used = self.memory == Memory::Used && byte.is_ascii();
            assert!(
                marked || used,
                "byte {at} of {} is {byte:#x}, which nothing has written there",
                behind.len()
            );
        }
    }
}

impl AsyncRead for Watching {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.look(buf);
        let poll = self.polls;
        self.polls += 1;
        buf.initialize_unfilled().fill(Self::mark(poll));
        if poll % 2 == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let piece = self.pieces[poll / 2 % self.pieces.len()];
        let count = piece.min(buf.remaining()).min(self.rest.len());
        let bytes: Vec<u8> = self.rest.drain(..count).collect();
        buf.initialize_unfilled_to(count).copy_from_slice(&bytes);
        buf.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watching {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Runs `path` with readers of all lengths and pieces.
fn with_each(memory: Memory, path: impl AsyncFn(Watching, &[u8])) {
    for pieces in PIECES {
        for len in LENGTHS {
            block_on(path(Watching::new(pieces, len, memory), &text(len)));
        }
    }
}

/// Reads to the end into vectors of several capacities, which have contents already.
async fn read_all<R: AsyncRead + Unpin>(make: impl Fn() -> R, expected: &[u8]) {
    for capacity in [0, 31, 32, 64] {
        let mut bytes = Vec::with_capacity(capacity);
        let read = make().read_to_end(&mut bytes).await.unwrap();
        assert_eq!((read, &bytes[..]), (expected.len(), expected));

        let mut bytes = Vec::with_capacity(capacity);
        bytes.extend_from_slice(b"before");
        make().read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes, [b"before", expected].concat());

        let mut text = String::with_capacity(capacity);
        make().read_to_string(&mut text).await.unwrap();
        assert_eq!(text.as_bytes(), expected);
    }
}

#[test]
fn a_vector_that_the_probe_has_enlarged_is_not_said_to_be_initialised() {
    for pieces in PIECES {
        for len in LENGTHS {
            block_on(read_all(
                || Watching::new(pieces, len, Memory::Fresh),
                &text(len),
            ));
        }
    }
}

#[test]
fn a_vector_that_is_read_into_again_after_an_error() {
    /// Fails after each piece.
    struct Failing(Watching, bool);

    impl AsyncRead for Failing {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            self.1 = !self.1;
            if self.1 {
                self.0.look(buf);
                let poll = self.0.polls;
                buf.initialize_unfilled().fill(Watching::mark(poll));
                self.0.polls += 2;
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            Pin::new(&mut self.0).poll_read(cx, buf)
        }
    }

    with_each(Memory::Fresh, async |reader, expected| {
        let mut reader = Failing(reader, false);
        let mut bytes = Vec::with_capacity(64);
        while reader.read_to_end(&mut bytes).await.is_err() {}
        assert_eq!(bytes, expected);
    });
}

#[test]
fn a_buffer_of_the_caller_is_filled_with_what_was_read() {
    with_each(Memory::Fresh, async |mut reader, expected| {
        let mut bytes = Vec::with_capacity(10);
        while reader.read_buf(&mut bytes).await.unwrap() != 0 {}
        assert_eq!(bytes, expected);
    });
    with_each(Memory::Fresh, async |mut reader, expected| {
        let mut bytes = BytesMut::with_capacity(10);
        while reader.read_buf(&mut bytes).await.unwrap() != 0 {}
        assert_eq!(bytes, expected);
    });
    with_each(Memory::Fresh, async |mut reader, expected| {
        let (mut first, mut second) = ([0; 20], Vec::new());
        let mut both = (&mut first[..]).chain_mut(&mut second);
        while reader.read_buf(&mut both).await.unwrap() != 0 {}
        let len = expected.len().min(20);
        assert_eq!(first[..len], expected[..len]);
        assert_eq!(second, &expected[len..]);
    });
    with_each(Memory::Used, async |mut reader, expected| {
        let mut bytes = [0; 7];
        let mut all = Vec::new();
        loop {
            let count = reader.read(&mut bytes).await.unwrap();
            if count == 0 {
                break;
            }
            all.extend_from_slice(&bytes[..count]);
        }
        assert_eq!(all, expected);
    });
    with_each(Memory::Used, async |mut reader, expected| {
        let mut bytes = vec![0; expected.len()];
        reader.read_exact(&mut bytes).await.unwrap();
        assert_eq!(bytes, expected);
    });
    with_each(Memory::Used, async |mut reader, expected| {
        for number in expected.chunks_exact(8) {
            let number = u64::from_be_bytes(number.try_into().unwrap());
            assert_eq!(reader.read_u64().await.unwrap(), number);
        }
    });
}

#[test]
fn a_part_of_a_buffer_is_filled_with_what_was_read() {
    for pieces in PIECES {
        let new = |len| Watching::new(pieces, len, Memory::Fresh);
        for limit in [0, 31, 32, 33, 99] {
            let taken = text(limit);
            for capacity in [0, 33, 64] {
                let mut bytes = Vec::with_capacity(capacity);
                let mut reader = new(100).take(limit as u64);
                block_on(reader.read_to_end(&mut bytes)).unwrap();
                assert_eq!(bytes, taken);
                let mut bytes = Vec::with_capacity(capacity);
                // The second source finds the numbers of the first one.
                let mut second = new(40);
                second.polls = 0x80;
                let mut reader = new(limit).chain(second).take(limit as u64 + 39);
                block_on(reader.read_to_end(&mut bytes)).unwrap();
                assert_eq!(bytes, [&taken[..], &text(39)].concat());
            }
        }
    }
}

#[test]
fn a_buffered_reader_passes_on_what_was_read() {
    with_each(Memory::Used, async |reader, expected| {
        let mut bytes = Vec::with_capacity(64);
        let mut reader = BufReader::with_capacity(40, reader);
        assert_eq!(reader.fill_buf().await.unwrap().first(), expected.first());
        reader.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(bytes, expected);
    });
    with_each(Memory::Used, async |reader, expected| {
        let mut bytes = Vec::new();
        let mut reader = BufStream::with_capacity(16, 16, reader);
        while reader.read_until(b'e', &mut bytes).await.unwrap() != 0 {}
        assert_eq!(bytes, expected);
    });
    with_each(Memory::Used, async |reader, expected| {
        let mut lines = BufReader::with_capacity(9, reader).lines();
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            all.push(line);
        }
        let expected = std::str::from_utf8(expected).unwrap();
        assert_eq!(all, expected.lines().collect::<Vec<_>>());
    });
}

#[test]
fn a_copy_is_what_was_read() {
    with_each(Memory::Used, async |mut reader, expected| {
        let mut to = Vec::new();
        copy(&mut reader, &mut to).await.unwrap();
        assert_eq!(to, expected);
    });
    with_each(Memory::Used, async |reader, expected| {
        let mut to = Vec::new();
        copy_buf(&mut BufReader::with_capacity(30, reader), &mut to)
            .await
            .unwrap();
        assert_eq!(to, expected);
    });
    with_each(Memory::Used, async |reader, expected| {
        let (mut near, mut far) = duplex(1_000);
        let mut both = join(reader, sink());
        far.shutdown().await.unwrap();
        copy_bidirectional(&mut both, &mut near).await.unwrap();
        drop(near);
        let mut to = Vec::with_capacity(64);
        far.read_to_end(&mut to).await.unwrap();
        assert_eq!(to, expected);
    });
    with_each(Memory::Fresh, async |reader, expected| {
        let mut to = Vec::with_capacity(64);
        split(reader).0.read_to_end(&mut to).await.unwrap();
        assert_eq!(to, expected);
    });
}

/// Our reader behind the traits of another package, and that behind ours.
#[test]
fn a_buffer_of_another_package_is_filled_with_what_was_read() {
    for pieces in PIECES {
        for len in LENGTHS {
            let (text, compat) = (&text(len), |memory| {
                Compat::new(Watching::new(pieces, len, memory))
            });
            block_on(read_all(|| FromTokio::new(compat(Memory::Fresh)), text));
            block_on(read_all(|| FromHyper::new(compat(Memory::Fresh)), text));
            // Its traits have initialised memory only.
            block_on(read_all(|| FromFutures::new(compat(Memory::Used)), text));
        }
    }
}
