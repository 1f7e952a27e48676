//! Implementations that forward everything to a pinned field.

/// Implements `AsyncRead` through the field `$field` of a `pin_project!` struct.
macro_rules! forward_read {
    ([$($generics:tt)*] $type:ty, $field:ident) => {
        impl<$($generics)*> $crate::AsyncRead for $type {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &mut $crate::ReadBuf<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.project().$field.poll_read(cx, buf)
            }
        }
    };
}

/// Implements `AsyncBufRead` likewise.
macro_rules! forward_buf_read {
    ([$($generics:tt)*] $type:ty, $field:ident) => {
        impl<$($generics)*> $crate::AsyncBufRead for $type {
            fn poll_fill_buf(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<&[u8]>> {
                self.project().$field.poll_fill_buf(cx)
            }

            fn consume(self: std::pin::Pin<&mut Self>, amt: usize) {
                self.project().$field.consume(amt);
            }
        }
    };
}

/// Implements `AsyncWrite` likewise.
macro_rules! forward_write {
    ([$($generics:tt)*] $type:ty, $field:ident) => {
        impl<$($generics)*> $crate::AsyncWrite for $type {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.project().$field.poll_write(cx, buf)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.project().$field.poll_flush(cx)
            }

            fn poll_shutdown(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                self.project().$field.poll_shutdown(cx)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.project().$field.poll_write_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                self.$field.is_write_vectored()
            }
        }
    };
}

/// Implements `AsyncSeek` likewise.
macro_rules! forward_seek {
    ([$($generics:tt)*] $type:ty, $field:ident) => {
        impl<$($generics)*> $crate::AsyncSeek for $type {
            fn start_seek(
                self: std::pin::Pin<&mut Self>,
                position: std::io::SeekFrom,
            ) -> std::io::Result<()> {
                self.project().$field.start_seek(position)
            }

            fn poll_complete(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<u64>> {
                self.project().$field.poll_complete(cx)
            }
        }
    };
}

pub(crate) use {forward_buf_read, forward_read, forward_seek, forward_write};
