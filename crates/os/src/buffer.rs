//! The buffer that moves to a thread of the pool and back. The bytes that a task reads or
//! writes are copied through it, because the task may be dropped, with its own memory,
//! before the thread is done.

use std::io::{self, IoSlice, Read, Write};

use blitz_io_aio::ReadBuf;

/// The largest number of bytes that one operation moves, unless a file sets another limit:
/// 2 MiB.
pub(crate) const MAX_BUF_SIZE: usize = 2 * 1024 * 1024;

/// A buffer, and the bytes in it that have not been used. All of its memory is initialised,
/// and it never shrinks.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    memory: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Discards the contents, and returns their length in bytes.
    pub(crate) fn discard(&mut self) -> usize {
        let count = self.len();
        self.start = 0;
        self.end = 0;
        count
    }

    /// Returns the contents.
    #[cfg(io_uring)]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    /// Removes the first bytes of the contents.
    #[cfg(io_uring)]
    pub(crate) fn advance(&mut self, count: usize) {
        self.start += count.min(self.len());
    }

    /// Moves as many bytes to `into` as fit.
    pub(crate) fn copy_to(&mut self, into: &mut ReadBuf<'_>) {
        let count = self.len().min(into.remaining());
        into.put_slice(&self.memory[self.start..self.start + count]);
        self.start += count;
    }

    /// Replaces the contents with at most `limit` bytes of the slices, and returns how many
    /// it took.
    pub(crate) fn copy_from(&mut self, bufs: &[IoSlice<'_>], limit: usize) -> usize {
        self.discard();
        for buf in bufs {
            let part = &buf[..buf.len().min(limit - self.end)];
            let end = self.end + part.len();
            if end <= self.memory.len() {
                self.memory[self.end..end].copy_from_slice(part);
            } else {
                self.memory.truncate(self.end);
                self.memory.extend_from_slice(part);
            }
            self.end = end;
        }
        self.end
    }

    /// Reads once, at most `limit` bytes, replacing the contents. It blocks.
    pub(crate) fn read_from(&mut self, source: &mut impl Read, limit: usize) -> io::Result<()> {
        self.discard();
        if self.memory.len() < limit {
            self.memory.resize(limit, 0);
        }
        self.end = loop {
            match source.read(&mut self.memory[..limit]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?.min(limit),
            }
        };
        Ok(())
    }

    /// Writes all contents, and removes them. It blocks.
    pub(crate) fn write_to(&mut self, target: &mut impl Write) -> io::Result<()> {
        let result = target.write_all(&self.memory[self.start..self.end]);
        self.discard();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_through_in_pieces() {
        let mut buffer = Buffer::default();
        let bufs = [
            IoSlice::new(b"abc"),
            IoSlice::new(b""),
            IoSlice::new(b"defg"),
        ];
        assert_eq!(buffer.copy_from(&bufs, 5), 5);
        assert_eq!(buffer.copy_from(&bufs, 100), 7);
        let mut out = Vec::new();
        buffer.write_to(&mut out).unwrap();
        assert_eq!(out, b"abcdefg");
        assert!(buffer.is_empty());
        buffer.read_from(&mut &b"123456789"[..], 4).unwrap();
        let mut memory = [0; 3];
        let mut into = ReadBuf::new(&mut memory);
        buffer.copy_to(&mut into);
        assert_eq!((into.filled(), buffer.len()), (&b"123"[..], 1));
        assert_eq!(buffer.discard(), 1);
        buffer.read_from(&mut io::empty(), 4).unwrap();
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_source_that_lies_about_what_it_read_is_not_believed() {
        struct Liar;
        impl Read for Liar {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                Ok(buf.len() + 7)
            }
        }
        let mut buffer = Buffer::default();
        buffer.read_from(&mut Liar, 4).unwrap();
        assert_eq!(buffer.len(), 4);
    }
}
