// Included twice, with `io` for Tokio's and for this crate's: what happens must be the
// same.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{Cursor, Error, ErrorKind, IoSlice, SeekFrom};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use blitz_io_testing::{Dice, Wakings, log, poll_once};
use io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt, BufReader, BufStream, BufWriter, ReadBuf,
};

type Log = Vec<String>;

/// A stream whose every step is random: it provides and accepts pieces of any size, is not
/// ready, is interrupted, or fails.
struct Choppy {
    dice: Dice,
    input: VecDeque<u8>,
    output: Arc<Mutex<Vec<u8>>>,
    vectored: bool,
    seeking: bool,
    /// One step in this many fails.
    failures: usize,
}

impl Choppy {
    fn new(seed: u64, input: &[u8], failures: usize) -> (Self, Arc<Mutex<Vec<u8>>>) {
        let output = Arc::new(Mutex::new(Vec::new()));
        let choppy = Self {
            dice: Dice(seed),
            input: input.iter().copied().collect(),
            output: output.clone(),
            vectored: seed % 2 == 0,
            seeking: false,
            failures,
        };
        (choppy, output)
    }

    fn step(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.dice.below(6) {
            0 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            1 => Poll::Ready(Err(ErrorKind::Interrupted.into())),
            _ if self.failures > 0 && self.dice.below(self.failures) == 0 => {
                Poll::Ready(Err(Error::other("by dice")))
            }
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncRead for Choppy {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        std::task::ready!(self.step(cx))?;
        if self.dice.below(3) == 0 {
            buf.initialize_unfilled();
        }
        let count = (1 + self.dice.below(40)).min(self.input.len()).min(buf.remaining());
        let bytes: Vec<u8> = self.input.drain(..count).collect();
        buf.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Choppy {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        std::task::ready!(self.step(cx))?;
        let count = self.dice.below(40).min(buf.len());
        self.output.lock().unwrap().extend(&buf[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        std::task::ready!(self.step(cx))?;
        self.output.lock().unwrap().push(b'F');
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        std::task::ready!(self.step(cx))?;
        self.output.lock().unwrap().push(b'S');
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        std::task::ready!(self.step(cx))?;
        let all: Vec<u8> = bufs.iter().flat_map(|buf| buf.to_vec()).collect();
        let count = self.dice.below(60).min(all.len());
        self.output.lock().unwrap().extend(&all[..count]);
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        self.vectored
    }
}

impl AsyncSeek for Choppy {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> std::io::Result<()> {
        self.output.lock().unwrap().extend(format!("{position:?}").bytes());
        if self.dice.below(6) == 0 {
            return Err(Error::other("cannot seek"));
        }
        self.seeking = true;
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<u64>> {
        std::task::ready!(self.step(cx))?;
        let was = std::mem::replace(&mut self.seeking, false);
        Poll::Ready(Ok(was as u64 * 7))
    }
}

fn text(dice: &mut Dice, length: usize) -> Vec<u8> {
    let pieces: [&[u8]; 8] = [b"a", b"bc", b"\n", b"\r\n", "é".as_bytes(), b"\xff", b"word ", b"x"];
    let mut text = Vec::new();
    while text.len() < length {
        // Rarely bytes that are not text.
        let piece = dice.below(pieces.len());
        if piece != 5 || dice.below(8) == 0 {
            text.extend(pieces[piece]);
        }
    }
    text
}

/// Polls up to `limit` times; `None` if the future was dropped before its end.
fn run<F: Future>(limit: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..limit {
        if let Poll::Ready(output) = poll_once(future.as_mut(), Waker::noop()) {
            return Some(output);
        }
    }
    None
}

fn whole<F: Future>(future: F) -> F::Output {
    run(100_000, future).expect("it never ends")
}

fn kind<T: std::fmt::Debug>(result: std::io::Result<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{:?} {error}", error.kind()),
    }
}

pub fn buffered_reads(seed: u64) -> Log {
    let mut seen = Log::new();
    let mut dice = Dice(seed);
    let input = text(&mut dice, 300);
    let (choppy, _) = Choppy::new(seed, &input, 20);
    let mut reader = BufReader::with_capacity(1 + dice.below(50), choppy);
    let mut bytes = b"before".to_vec();
    let mut string = String::from("before");
    for _ in 0..60 {
        // Futures are dropped in the middle.
        let limit = 1 + dice.below(4);
        match dice.below(8) {
            0 => log!(seen, run(limit, reader.read_until(b'\n', &mut bytes)).map(kind), &bytes),
            1 => log!(seen, run(limit, reader.read_line(&mut string)).map(kind), &string),
            2 => {
                let filled = run(limit, reader.fill_buf()).map(|bytes| kind(bytes.map(<[u8]>::to_vec)));
                log!(seen, filled);
                reader.consume(dice.below(10));
            }
            3 => {
                let mut buf = vec![0; dice.below(70)];
                log!(seen, run(limit, reader.read(&mut buf)).map(kind), &buf);
            }
            4 => log!(seen, run(limit, reader.read_u16()).map(kind)),
            5 => log!(seen, run(limit, reader.read_f64_le()).map(kind)),
            6 => {
                let distance = [0, 5, -3, i64::MIN, i64::MAX][dice.below(5)];
                log!(seen, run(limit, reader.seek(SeekFrom::Current(distance))).map(kind));
            }
            _ => log!(seen, reader.buffer()),
        }
        if dice.below(20) == 0 {
            bytes.clear();
            string.clear();
        }
    }
    log!(seen, reader.into_inner().output.lock().unwrap());
    seen
}

pub fn reads_to_the_end(seed: u64) -> Log {
    let mut seen = Log::new();
    let mut dice = Dice(seed);
    let length = [0, 5, 31, 32, 33, 64, 500][dice.below(7)];
    let input = text(&mut dice, length);
    for failures in [0, 10] {
        let mut bytes = Vec::with_capacity([0, input.len(), input.len() + 40][dice.below(3)]);
        let (mut choppy, _) = Choppy::new(seed, &input, failures);
        log!(seen, kind(whole(choppy.read_to_end(&mut bytes))), &bytes, bytes.capacity());
        let mut string = String::from("before");
        let (mut choppy, _) = Choppy::new(seed + 1, &input, failures);
        log!(seen, kind(whole(choppy.read_to_string(&mut string))), &string);
        let (choppy, _) = Choppy::new(seed + 2, &input, failures);
        let mut taken = choppy.take(dice.below(600) as u64);
        let mut bytes = Vec::new();
        log!(seen, kind(whole(taken.read_to_end(&mut bytes))), &bytes, taken.limit());
        let (choppy, _) = Choppy::new(seed + 3, &input, failures);
        let mut chain = (&b"first"[..]).chain(choppy);
        let mut bytes = Vec::new();
        log!(seen, kind(whole(chain.read_to_end(&mut bytes))), &bytes);
        let (mut choppy, _) = Choppy::new(seed + 4, &input, failures);
        let mut exact = vec![0; dice.below(100)];
        log!(seen, kind(whole(choppy.read_exact(&mut exact))), &exact);
    }
    seen
}

pub fn lines_and_pieces(seed: u64) -> Log {
    let mut seen = Log::new();
    let mut dice = Dice(seed);
    let input = text(&mut dice, 400);
    let (choppy, _) = Choppy::new(seed, &input, 15);
    let mut lines = BufReader::with_capacity(30, choppy).lines();
    for _ in 0..80 {
        log!(seen, run(1 + dice.below(3), lines.next_line()).map(kind));
    }
    let (choppy, _) = Choppy::new(seed + 1, &input, 15);
    let mut pieces = BufReader::with_capacity(30, choppy).split(b'a');
    for _ in 0..80 {
        log!(seen, run(1 + dice.below(3), pieces.next_segment()).map(kind));
    }
    seen
}

pub fn buffered_writes(seed: u64) -> Log {
    let mut seen = Log::new();
    let mut dice = Dice(seed);
    let input = text(&mut dice, 500);
    let (choppy, output) = Choppy::new(seed, &[], 20);
    let mut writer = BufWriter::with_capacity(1 + dice.below(64), choppy);
    for _ in 0..60 {
        let start = dice.below(400);
        let part = &input[start..start + dice.below(100)];
        let limit = 1 + dice.below(4);
        match dice.below(7) {
            0 => log!(seen, run(limit, writer.write(part)).map(kind)),
            1 => log!(seen, run(limit, writer.write_all(part)).map(kind)),
            2 => log!(seen, run(limit, writer.flush()).map(kind)),
            3 => {
                let (one, two) = part.split_at(dice.below(part.len() + 1));
                let bufs = [IoSlice::new(&[]), IoSlice::new(one), IoSlice::new(two)];
                log!(seen, run(limit, writer.write_vectored(&bufs)).map(kind));
            }
            4 => {
                let mut source = part;
                log!(seen, run(limit, writer.write_all_buf(&mut source)).map(kind), &source);
                log!(seen, run(limit, writer.write_buf(&mut source)).map(kind), &source);
            }
            5 => log!(seen, run(limit, writer.write_i64(start as i64)).map(kind)),
            _ => log!(seen, run(limit, writer.seek(SeekFrom::Start(start as u64))).map(kind)),
        }
        log!(seen, writer.buffer(), writer.is_write_vectored());
    }
    log!(seen, run(1000, writer.shutdown()).map(kind), output.lock().unwrap());
    seen
}

fn digest(bytes: &Mutex<Vec<u8>>) -> (usize, u64) {
    let bytes = bytes.lock().unwrap();
    let sum = bytes.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    (bytes.len(), sum)
}

pub fn copies(seed: u64) -> Log {
    let mut seen = Log::new();
    let mut dice = Dice(seed);
    let length = dice.below(30_000);
    let input = text(&mut dice, length);
    for failures in [0, 300] {
        let (mut source, _) = Choppy::new(seed, &input, failures);
        let (mut target, output) = Choppy::new(seed + 1, &[], failures);
        log!(seen, kind(whole(io::copy(&mut source, &mut target))), digest(&output));
        let (source, _) = Choppy::new(seed + 2, &input, failures);
        let (mut target, output) = Choppy::new(seed + 3, &[], failures);
        let mut source = BufReader::with_capacity(100, source);
        log!(seen, kind(whole(io::copy_buf(&mut source, &mut target))), digest(&output));
        let (mut near, to_near) = Choppy::new(seed + 4, &input, failures);
        let (mut far, to_far) = Choppy::new(seed + 5, &input[..length / 2], failures);
        let both = io::copy_bidirectional_with_sizes(&mut near, &mut far, 1 + dice.below(90), 64);
        log!(seen, kind(whole(both)), digest(&to_near), digest(&to_far));
    }
    seen
}

pub fn streams_in_memory(seed: u64) -> Log {
    let mut seen = Log::new();
    let mut dice = Dice(seed);
    let (near, far) = io::duplex(1 + dice.below(40));
    let mut ends = [Some(near), Some(far)];
    let (mut receiver, mut sender) = io::simplex(1 + dice.below(20));
    let (wakings, waker) = Wakings::new();
    let mut cx = Context::from_waker(&waker);
    for step in 0..80_u8 {
        let end = &mut ends[dice.below(2)];
        let bytes: Vec<u8> = (0..dice.below(30)).map(|more| step.wrapping_add(more as u8)).collect();
        let mut room = vec![0; dice.below(30)];
        match (dice.below(9), end.as_mut()) {
            (0..=2, Some(end)) => {
                let written = Pin::new(end).poll_write(&mut cx, &bytes);
                log!(seen, written.map(kind));
            }
            (3..=5, Some(end)) => {
                let mut buf = ReadBuf::new(&mut room);
                let read = Pin::new(end).poll_read(&mut cx, &mut buf);
                log!(seen, read.map(kind), buf.filled());
            }
            (6, Some(end)) if dice.below(10) == 0 => {
                log!(seen, Pin::new(end).poll_shutdown(&mut cx).map(kind));
            }
            (7, _) => {
                let (one, two) = bytes.split_at(bytes.len() / 2);
                let bufs = [IoSlice::new(one), IoSlice::new(two)];
                let written = Pin::new(&mut sender).poll_write_vectored(&mut cx, &bufs);
                let mut buf = ReadBuf::new(&mut room);
                let read = Pin::new(&mut receiver).poll_read(&mut cx, &mut buf);
                log!(seen, written.map(kind), read.map(kind), buf.filled());
            }
            (8, _) if dice.below(20) == 0 => *end = None,
            _ => {}
        }
        log!(seen, wakings.count());
    }
    seen
}

pub fn both_directions_buffered(seed: u64) -> Log {
    let mut seen = Log::new();
    let mut dice = Dice(seed);
    let input = text(&mut dice, 200);
    let (choppy, output) = Choppy::new(seed, &input, 0);
    let mut stream = BufStream::with_capacity(16, 16, choppy);
    let mut bytes = Vec::new();
    log!(seen, kind(whole(stream.read_until(b'\n', &mut bytes))), &bytes);
    log!(seen, kind(whole(stream.write_u32_le(7))));
    // Both ways of nesting are the same.
    let mut other = BufWriter::with_capacity(8, BufReader::with_capacity(8, stream.into_inner()));
    log!(seen, kind(whole(other.write(b"abc"))));
    let mut stream = BufStream::from(other);
    log!(seen, kind(whole(stream.fill_buf()).map(<[u8]>::to_vec)));
    let flushed = run(1000, stream.flush()).map(kind);
    log!(seen, flushed, output.lock().unwrap());
    log!(seen, format!("{:?}", BufReader::with_capacity(3, &b"abc"[..])));
    log!(seen, format!("{:?}", BufWriter::with_capacity(16, Vec::new())));
    log!(seen, format!("{:?} {:?} {:?}", io::empty(), io::sink(), io::repeat(3)));
    seen
}

pub fn memory_of_std(seed: u64) -> Log {
    let mut seen = Log::new();
    let mut dice = Dice(seed);
    let mut room = [0; 10];
    let mut cursor = Cursor::new(&mut room[..]);
    for _ in 0..6 {
        log!(seen, kind(whole(cursor.write(&[7; 4][..dice.below(5)]))), cursor.position());
    }
    let mut cursor = Cursor::new(b"abcdefgh".to_vec());
    for _ in 0..20 {
        let place = [SeekFrom::Start(3), SeekFrom::End(-2), SeekFrom::End(9), SeekFrom::Current(-1)];
        log!(seen, kind(whole(cursor.seek(place[dice.below(4)]))));
        let mut buf = vec![0; dice.below(4)];
        log!(seen, kind(whole(cursor.read(&mut buf))), &buf, cursor.position());
        log!(seen, kind(whole(cursor.stream_position())));
        cursor.set_position([2, u64::MAX, 8][dice.below(3)]);
        let filled = Pin::new(&mut cursor).poll_fill_buf(&mut Context::from_waker(Waker::noop()));
        log!(seen, filled.map(|bytes| kind(bytes.map(<[u8]>::len))));
        let mut one = [0];
        log!(seen, kind(whole(cursor.read(&mut one))), &one);
        cursor.set_position(1);
    }
    seen
}
