//! A `String` that bytes are read into: only at the end is it known whether they are text.

use std::io;
use std::mem;
use std::str;

/// While a read is under way, the caller's string is empty, and this type holds its memory.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    text: &'a mut String,
    pub(crate) bytes: Vec<u8>,
    /// The length of the text before the read.
    before: usize,
}

impl<'a> Text<'a> {
    pub(crate) fn new(text: &'a mut String) -> Self {
        let bytes = mem::take(text).into_bytes();
        let before = bytes.len();
        Self {
            text,
            bytes,
            before,
        }
    }

    /// Discards the bytes read so far.
    pub(crate) fn take_back(&mut self) {
        self.bytes.truncate(self.before);
    }

    /// Gives the string back to the caller. It includes the new bytes if they are UTF-8,
    /// and is otherwise unchanged.
    pub(crate) fn finish(&mut self, result: io::Result<usize>) -> io::Result<usize> {
        let result = match str::from_utf8(&self.bytes[self.before..]) {
            Ok(_) => result,
            Err(_) => {
                // Validated from the start of the string, because the error tells the
                // position of the invalid bytes.
                let error = str::from_utf8(&self.bytes).expect_err("a part of it is wrong");
                self.take_back();
                result.and(Err(io::Error::new(io::ErrorKind::InvalidData, error)))
            }
        };
        let bytes = mem::take(&mut self.bytes);
        self.before = 0;
        // SAFETY: the first `before` bytes were those of a string, and the rest has either
        // been found to be text, or has been removed.
        *self.text = unsafe { String::from_utf8_unchecked(bytes) };
        result
    }
}
