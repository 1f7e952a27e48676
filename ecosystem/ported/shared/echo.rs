//! What the clients of the two echo services send, and how often.

/// Number of calls with a text.
pub const TEXTS: u32 = 100;
pub const TEXT: &str = "hello";

/// Number of calls with a number and data.
pub const NUMBERS: u64 = 1_000;
pub const DATA: [u8; 64] = [b'x'; 64];

pub fn echo(text: &str) -> String {
    format!("echo: {text}")
}
