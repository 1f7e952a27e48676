//! Positions in input files.

use serde::{Deserialize, Serialize};

/// The position of a record in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The number of records before it.
    pub record: u64,
    /// The number of lines before it.
    pub line: u64,
    /// The offset in the file: of the record itself in a plain file, else of a gzip member.
    pub offset: u64,
    /// The number of bytes of content between that offset and the record.
    pub skip: u64,
    /// The number and checksum, in the index, of a point between that offset and the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<(u64, u32)>,
}
