//! A type with a `poll_…` method as a stream.

/// Makes the stream `$name` of an `$inner`; `$poll` is its `poll_next`.
macro_rules! wrapper {
    (
        $(#[$doc:meta])*
        $name:ident, $inner:ty, $argument:ident,
        fn($this:ident, $context:ident) -> $item:ty { $poll:expr }
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            inner: $inner,
        }

        impl $name {
            /// Makes a stream of it.
            #[must_use]
            pub fn new($argument: $inner) -> Self {
                Self { inner: $argument }
            }

            /// Returns what the stream was made of.
            #[must_use = "the stream is gone, and this is what it was made of"]
            pub fn into_inner(self) -> $inner {
                self.inner
            }
        }

        impl futures_core::Stream for $name {
            type Item = $item;

            fn poll_next(
                mut self: std::pin::Pin<&mut Self>,
                $context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<$item>> {
                let $this = &mut self.inner;
                $poll
            }
        }

        impl AsRef<$inner> for $name {
            fn as_ref(&self) -> &$inner {
                &self.inner
            }
        }

        impl AsMut<$inner> for $name {
            fn as_mut(&mut self) -> &mut $inner {
                &mut self.inner
            }
        }
    };
}

pub(super) use wrapper;
