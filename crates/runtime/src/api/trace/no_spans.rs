//! Without the feature `tracing`, there are no spans.

/// Returns the future as it is.
macro_rules! traced {
    ($function:ident $(::<$closure:ty>)? ($future:expr $(, $argument:expr)*)) => {{
        // Used, but not evaluated.
        if false {
            $(_ = $argument;)*
        }
        $future
    }};
}

pub(crate) use traced;
