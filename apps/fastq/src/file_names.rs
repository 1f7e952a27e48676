//! Names of files as text, also those that are not UTF-8.
//!
//! Options, messages and names of split files are text. So each byte of a name that is not
//! part of UTF-8 becomes a character of a private range, and [`path`] makes the same byte of it
//! again. A character of that range in a name is treated like bytes that are not UTF-8, so that
//! every name comes back.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The character of the byte 0.
const FIRST: u32 = 0x10_FE00;

fn stands_for_byte(c: char) -> bool {
    (FIRST..FIRST + 0x100).contains(&(c as u32))
}

/// Returns the text for an argument.
pub fn text(argument: &OsStr) -> String {
    let bytes = |text: &mut String, bytes: &[u8]| {
        text.extend(bytes.iter().map(|&byte| {
            char::from_u32(FIRST + u32::from(byte)).expect("the range has characters only")
        }));
    };
    let mut text = String::new();
    for chunk in argument.as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if stands_for_byte(c) {
                bytes(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                text.push(c);
            }
        }
        bytes(&mut text, chunk.invalid());
    }
    text
}

/// Returns the path that the text stands for.
#[cfg(unix)]
pub fn path(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        if stands_for_byte(c) {
            bytes.push((c as u32 - FIRST) as u8);
        } else {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Returns the path that the text stands for. Names that are no text are not supported here.
#[cfg(not(unix))]
pub fn path(text: &str) -> PathBuf {
    PathBuf::from(text)
}

/// Returns the text of a name with `prefix` and a point before its last part.
pub fn with_prefix(name: &str, prefix: &str) -> String {
    let path = Path::new(name);
    let base = path.file_name().unwrap_or_default().to_string_lossy();
    let prefixed = path.with_file_name(format!("{prefix}.{base}"));
    prefixed.to_string_lossy().into_owned()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn every_name_comes_back() {
        let private = char::from_u32(FIRST + 7).unwrap().to_string();
        for name in [
            &b"plain"[..],
            "\u{fc}ml\u{e4}ut".as_bytes(),
            b"\xff\xfe.gz",
            b"a\xc3",
            private.as_bytes(),
            b"",
        ] {
            let text = text(OsStr::from_bytes(name));
            assert_eq!(path(&text).as_os_str().as_bytes(), name);
        }
        assert_eq!(text(OsStr::new("\u{fc}.gz")), "\u{fc}.gz");
        assert!(text(OsStr::from_bytes(b"\xff.gz")).ends_with(".gz"));
    }
}
