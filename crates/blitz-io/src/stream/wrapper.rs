//! Defines a stream from a type with a `poll_…` method.

/// Defines the stream `$name` for an `$inner`; `$poll` is its `poll_next`.
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
            /// Creates a stream from it.
            #[must_use]
            pub fn new($argument: $inner) -> Self {
                Self { inner: $argument }
            }

            /// Returns the value that the stream was created from.
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
