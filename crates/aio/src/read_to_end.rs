//! The steps of `read_to_end` and `read_to_string`.
//!
//! Bytes are read into the spare capacity of the vector. The initialised part of that is
//! remembered, so that it is not zeroed again and again for a reader that wants initialised
//! memory.

use std::io;
use std::mem::{self, MaybeUninit};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::operation::Step;
use crate::utf8::Text;
use crate::{AsyncRead, ReadBuf};

/// A read gets at least this much room. A vector that was full from the start is not
/// enlarged before a read of this many bytes has found that there are more.
const PROBE: usize = 32;

/// The progress of filling a vector.
#[derive(Debug)]
pub(crate) struct Filling {
    read: usize,
    /// The number of initialised bytes at the start of the spare capacity. A step that
    /// changes the vector without a `ReadBuf` of that memory (reserves, appends) sets it to zero: the
    /// memory may be another one, and its spare part starts elsewhere.
    initialized: usize,
    first_capacity: usize,
}

impl Filling {
    pub(crate) fn new(bytes: &Vec<u8>) -> Self {
        Self {
            read: 0,
            initialized: 0,
            first_capacity: bytes.capacity(),
        }
    }

    /// Reads to the end. A call after that starts to count from zero.
    pub(crate) fn poll<R: AsyncRead + ?Sized>(
        &mut self,
        mut reader: Pin<&mut R>,
        cx: &mut Context<'_>,
        bytes: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let some = if self.may_be_complete(bytes) {
                self.poll_probe(reader.as_mut(), cx, bytes)
            } else {
                self.poll_spare(reader.as_mut(), cx, bytes)
            };
            match ready!(some) {
                Ok(0) => return Poll::Ready(Ok(mem::take(&mut self.read))),
                Ok(count) => self.read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Returns whether the caller may have sized the vector for exactly the bytes that
    /// there are.
    fn may_be_complete(&self, bytes: &Vec<u8>) -> bool {
        self.first_capacity >= PROBE
            && bytes.capacity() == self.first_capacity
            && bytes.capacity() - bytes.len() < PROBE
    }

    fn poll_spare<R: AsyncRead + ?Sized>(
        &mut self,
        reader: Pin<&mut R>,
        cx: &mut Context<'_>,
        bytes: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        if bytes.capacity() - bytes.len() < PROBE {
            bytes.reserve(PROBE);
            self.initialized = 0;
        }
        let spare = bytes.spare_capacity_mut();
        let start = spare.as_ptr().cast::<u8>();
        let mut buf = ReadBuf::uninit(spare);
        // SAFETY: an earlier call has seen this many bytes of it initialised. Since then the
        // vector has neither moved nor grown: only `Filling` changes it while it is borrowed,
        // and both `reserve` above and the probe set the number to zero.
        unsafe { buf.assume_init(self.initialized) };
        let result = reader.poll_read(cx, &mut buf);
        // A reader can replace this `ReadBuf` by another one.
        assert_eq!(buf.filled().as_ptr(), start);
        let count = buf.filled().len();
        self.initialized = buf.initialized().len() - count;
        // SAFETY: the reader has filled `count` bytes of the spare capacity.
        unsafe { bytes.set_len(bytes.len() + count) };
        result.map_ok(|()| count)
    }

    fn poll_probe<R: AsyncRead + ?Sized>(
        &mut self,
        reader: Pin<&mut R>,
        cx: &mut Context<'_>,
        bytes: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        let mut memory = [MaybeUninit::uninit(); PROBE];
        let mut probe = ReadBuf::uninit(&mut memory);
        ready!(reader.poll_read(cx, &mut probe))?;
        self.initialized = 0;
        bytes.extend_from_slice(probe.filled());
        Poll::Ready(Ok(probe.filled().len()))
    }
}

/// The step of `read_to_end`.
#[derive(Debug)]
pub struct ReadToEnd<'a> {
    bytes: &'a mut Vec<u8>,
    filling: Filling,
}

impl<'a> ReadToEnd<'a> {
    pub(crate) fn new(bytes: &'a mut Vec<u8>) -> Self {
        let filling = Filling::new(bytes);
        Self { bytes, filling }
    }
}

impl<R: AsyncRead + ?Sized> Step<R> for ReadToEnd<'_> {
    type Output = io::Result<usize>;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.filling.poll(reader, cx, self.bytes)
    }
}

/// The step of `read_to_string`.
#[derive(Debug)]
pub struct ReadToString<'a> {
    text: Text<'a>,
    filling: Filling,
}

impl<'a> ReadToString<'a> {
    pub(crate) fn new(text: &'a mut String) -> Self {
        let text = Text::new(text);
        let filling = Filling::new(&text.bytes);
        Self { text, filling }
    }
}

impl<R: AsyncRead + ?Sized> Step<R> for ReadToString<'_> {
    type Output = io::Result<usize>;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let result = ready!(self.filling.poll(reader, cx, &mut self.text.bytes));
        if result.is_err() {
            self.text.take_back();
        }
        Poll::Ready(self.text.finish(result))
    }
}
