//! Implementations that the write-once cells share.

/// Implements the traits of a write-once cell on top of its `new`, `get` and `From<T>`.
macro_rules! cell_traits {
    ($cell:ident) => {
        blitz_io_core::default_is_new!($cell<T>);

        impl<T: Clone> Clone for $cell<T> {
            /// Returns a cell with a clone of the value, or an empty one.
            fn clone(&self) -> Self {
                self.get().cloned().map_or_else(Self::new, Self::from)
            }
        }

        impl<T: PartialEq> PartialEq for $cell<T> {
            fn eq(&self, other: &Self) -> bool {
                self.get() == other.get()
            }
        }

        impl<T: Eq> Eq for $cell<T> {}
    };
}

pub(crate) use cell_traits;
