//! The attributes `#[blitz_io::main]` and `#[blitz_io::test]`.
