//! The programs are tests; see `tests`.
