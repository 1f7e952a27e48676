//! Text for a Windows console, which accepts only whole characters.
//!
//! One write moves a limited number of bytes. Where the limit would split a UTF-8
//! character, the write ends before it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::AsyncWrite;

use crate::buffer::MAX_BUF_SIZE;

/// Passes writes on, on Windows without splitting characters.
#[derive(Debug)]
pub(super) struct WholeCharacters<W>(pub(super) W);

/// Returns the longest prefix of `bytes` with at most `limit` bytes that does not end in
/// the middle of a character. For bytes that are not text, it ends at most three bytes
/// before the limit.
fn whole_characters(bytes: &[u8], limit: usize) -> &[u8] {
    if bytes.len() <= limit {
        return bytes;
    }
    let continues = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    // A character has up to three continuation bytes.
    let cuts = (limit.saturating_sub(3)..=limit).rev();
    let cut = cuts.into_iter().find(|cut| !continues(bytes[*cut]));
    &bytes[..cut.unwrap_or(limit)]
}

impl<W: AsyncWrite + Unpin> AsyncWrite for WholeCharacters<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if cfg!(windows) {
            buf = whole_characters(buf, MAX_BUF_SIZE);
        }
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_cuts_no_character() {
        let text = "aé█𐍈b".repeat(5);
        for limit in 4..text.len() + 3 {
            let mut rest = text.as_bytes();
            while !rest.is_empty() {
                let part = whole_characters(rest, limit);
                assert!(!part.is_empty() && part.len() <= limit.max(1));
                assert!(std::str::from_utf8(part).is_ok());
                rest = &rest[part.len()..];
            }
        }
    }

    #[test]
    fn what_is_no_text_is_written_up_to_the_limit() {
        assert_eq!(whole_characters(&[0xAA; 50], 20).len(), 20);
        assert_eq!(whole_characters(&[0xFF; 50], 20).len(), 20);
        assert_eq!(whole_characters(&[7; 5], 20).len(), 5);
    }
}
