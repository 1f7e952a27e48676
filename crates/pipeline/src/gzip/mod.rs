//! Gzip in pipelines: blocks are compressed and decompressed by the workers.
//!
//! A gzip file is a sequence of members, each compressed independently.
//! [`Stages::gzip_blocks`] makes a member of every block; every gzip program can read the
//! result. BGZF is a convention for small members that contain their own length, so that a
//! reader can pass them to workers without decompressing them: [`Stages::bgzf`] writes it,
//! [`bgzf_blocks`] and [`Stages::bgzf_inflate`] read it. The members of
//! other files do not contain their length: a single worker inflates them, ahead of the
//! others ([`inflate`]).
//!
//! ```
//! use std::io::{self, Read};
//! use blitz_io::pipeline::{self, gzip};
//!
//! let text = b"some text, ".repeat(100_000);
//! let mut file = Vec::new();
//! pipeline::source(gzip::blocks(&text[..], 1 << 17))
//!     .bgzf(6)
//!     .for_each(|block| file.extend(block))
//!     .run()?;
//! file.extend(gzip::BGZF_END);
//!
//! let mut back = Vec::new();
//! pipeline::source(gzip::bgzf_blocks(&file[..], 1 << 16))
//!     .bgzf_inflate()
//!     .for_each(|block| back.extend(block))
//!     .run()?;
//! assert_eq!(back, text);
//! # Ok::<_, pipeline::Error<io::Error>>(())
//! ```

mod members;

use std::fmt;
use std::io::{self, BufRead, BufReader, Error, ErrorKind, Read};

pub use members::MemberReader;

use libdeflater::{CompressionLvl, Crc};

use crate::stages::Stages;

/// The empty block with which a BGZF file ends.
pub const BGZF_END: [u8; 28] = [
    0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, b'B', b'C', 2, 0, 0x1b, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];

/// The number of bytes before the extra field of a member's header.
const HEADER: usize = 12;
/// The number of bytes of a BGZF block's header, as this module writes it.
const BGZF_HEADER: usize = 18;
/// The number of bytes of checksum and length after a member.
const TRAILER: usize = 8;
/// The most content that this module writes into a BGZF block: even uncompressed it fits
/// into 64 KiB.
const BGZF_CONTENT: usize = 0xff00;
/// The most content that a BGZF block may hold.
const BGZF_MAX: usize = 1 << 16;

#[track_caller]
fn level_of(level: u32) -> CompressionLvl {
    let level = CompressionLvl::new(level.min(99) as i32).ok();
    level.expect("a level of compression is at most 12")
}

/// Compresses blocks into gzip members.
pub struct Compressor(libdeflater::Compressor);

impl Compressor {
    /// Creates a compressor with this level: 0 stores, 1 is fast, 12 compresses most.
    ///
    /// # Panics
    ///
    /// Panics if the level is greater than 12.
    #[must_use]
    #[track_caller]
    pub fn new(level: u32) -> Self {
        Self::with(level_of(level))
    }

    fn with(level: CompressionLvl) -> Self {
        Self(libdeflater::Compressor::new(level))
    }

    /// Returns a gzip member with this content.
    pub fn gzip(&mut self, content: &[u8]) -> io::Result<Vec<u8>> {
        let mut member = vec![0; self.0.gzip_compress_bound(content.len())];
        let length = self
            .0
            .gzip_compress(content, &mut member)
            .map_err(Error::other)?;
        member.truncate(length);
        Ok(member)
    }

    /// Returns BGZF blocks with this content, or no block if there is no content.
    pub fn bgzf(&mut self, content: &[u8]) -> io::Result<Vec<u8>> {
        let mut blocks = Vec::with_capacity(content.len() / 3 + BGZF_END.len());
        for content in content.chunks(BGZF_CONTENT) {
            self.add_block(content, &mut blocks)?;
        }
        Ok(blocks)
    }

    fn add_block(&mut self, content: &[u8], blocks: &mut Vec<u8>) -> io::Result<()> {
        let start = blocks.len();
        blocks.extend(&BGZF_END[..BGZF_HEADER]);
        let bound = self.0.deflate_compress_bound(content.len());
        blocks.resize(start + BGZF_HEADER + bound, 0);
        let room = &mut blocks[start + BGZF_HEADER..];
        let length = self
            .0
            .deflate_compress(content, room)
            .map_err(Error::other)?;
        blocks.truncate(start + BGZF_HEADER + length);
        let last = u16::try_from(BGZF_HEADER + length + TRAILER - 1).map_err(Error::other)?;
        blocks[start + 16..start + BGZF_HEADER].copy_from_slice(&last.to_le_bytes());
        blocks.extend(crc(content).to_le_bytes());
        blocks.extend((content.len() as u32).to_le_bytes());
        Ok(())
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}

/// Returns how long the content of these BGZF blocks is, which must be whole blocks.
///
/// The blocks contain their lengths. So a source can tell where in a file the content
/// belongs before it has been decompressed, and the workers can write there without waiting
/// for each other:
///
/// ```
/// use std::io;
/// # #[cfg(unix)]
/// use std::os::unix::fs::FileExt;
/// use blitz_io::pipeline::{self, gzip};
///
/// # #[cfg(unix)] {
/// # let file = gzip::Compressor::new(1).bgzf(&[7; 200_000]).unwrap();
/// # let file = [&file[..], &gzip::BGZF_END].concat();
/// # let output = tempfile::tempfile().unwrap();
/// let mut next = gzip::bgzf_blocks(&file[..], 1 << 16);
/// let mut end = 0;
/// pipeline::source(|| match next()? {
///     Some(blocks) => {
///         let start = end;
///         end += gzip::content_len(&blocks)?;
///         Ok(Some((start, blocks)))
///     }
///     None => Ok(None),
/// })
/// .map_with(gzip::Decompressor::new, |decompressor, (start, blocks)| {
///     output.write_all_at(&decompressor.bgzf(&blocks)?, start)
/// })
/// .for_each(|()| ())
/// .run()?;
/// # assert_eq!(output.metadata().unwrap().len(), 200_000);
/// # }
/// # Ok::<_, pipeline::Error<io::Error>>(())
/// ```
///
/// # Errors
///
/// See [`Decompressor::bgzf`]. But nothing is decompressed, so the content itself may still
/// turn out to be wrong.
pub fn content_len(mut blocks: &[u8]) -> io::Result<u64> {
    let mut len = 0;
    while !blocks.is_empty() {
        let (block, rest) = split_block(blocks)?;
        len += stated_len(block)? as u64;
        blocks = rest;
    }
    Ok(len)
}

/// Returns the first of these blocks, and the others.
fn split_block(blocks: &[u8]) -> io::Result<(&[u8], &[u8])> {
    match block_length(blocks)? {
        Some(length) => blocks.split_at_checked(length).ok_or_else(cut_off),
        None => Err(cut_off()),
    }
}

/// Returns the length of a block's content, according to its trailer.
fn stated_len(block: &[u8]) -> io::Result<usize> {
    let length = number(block, block.len() - 4) as usize;
    if length > BGZF_MAX {
        return Err(invalid("a block says that it holds more than 64 KiB"));
    }
    Ok(length)
}

/// Returns the number in the four bytes at this place.
fn number(block: &[u8], at: usize) -> u32 {
    let bytes = block[at..at + 4].try_into();
    u32::from_le_bytes(bytes.expect("these are four bytes"))
}

fn crc(content: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(content);
    crc.sum()
}

/// Decompresses BGZF blocks.
pub struct Decompressor(libdeflater::Decompressor);

impl Default for Decompressor {
    fn default() -> Self {
        Self::new()
    }
}

impl Decompressor {
    /// Creates a decompressor.
    #[must_use]
    pub fn new() -> Self {
        Self(libdeflater::Decompressor::new())
    }

    /// Returns the content of these BGZF blocks, which must be whole blocks.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if a block is cut off, `InvalidData` if anything else is wrong.
    pub fn bgzf(&mut self, mut blocks: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::with_capacity(content_len(blocks)? as usize);
        while !blocks.is_empty() {
            let (block, rest) = split_block(blocks)?;
            self.add_content(block, &mut content)?;
            blocks = rest;
        }
        Ok(content)
    }

    fn add_content(&mut self, block: &[u8], content: &mut Vec<u8>) -> io::Result<()> {
        let extra = usize::from(u16::from_le_bytes([block[10], block[11]]));
        let trailer = block.len() - TRAILER;
        let body = block
            .get(HEADER + extra..trailer)
            .ok_or_else(|| invalid("a block is too short"))?;
        let length = stated_len(block)?;
        let start = content.len();
        content.resize(start + length, 0);
        let room = &mut content[start..];
        match self.0.deflate_decompress(body, room) {
            Ok(inflated) if inflated == length && crc(room) == number(block, trailer) => Ok(()),
            Ok(_) => Err(invalid("a block's content has another length or checksum")),
            Err(_) => Err(invalid("a block's content is not compressed data")),
        }
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

#[cold]
fn cut_off() -> Error {
    Error::new(ErrorKind::UnexpectedEof, "the compressed data is cut off")
}

/// Returns the length of the BGZF block that begins here, or `None` if its header is
/// incomplete.
fn block_length(data: &[u8]) -> io::Result<Option<usize>> {
    let magic = &BGZF_END[..4];
    let begun = data.len().min(magic.len());
    if data[..begun] != magic[..begun] {
        return Err(invalid("this is no BGZF block"));
    }
    let Some(&[low, high]) = data.get(10..HEADER) else {
        return Ok(None);
    };
    let extra = usize::from(u16::from_le_bytes([low, high]));
    let Some(mut fields) = data.get(HEADER..HEADER + extra) else {
        return Ok(None);
    };
    while let &[one, two, low, high, ref rest @ ..] = fields {
        let length = usize::from(u16::from_le_bytes([low, high]));
        if let (b'B', b'C', &[low, high]) = (one, two, &rest[..length.min(rest.len())]) {
            let block = usize::from(u16::from_le_bytes([low, high])) + 1;
            let least = HEADER + extra + TRAILER;
            return if block < least {
                Err(invalid("a block is too short"))
            } else {
                Ok(Some(block))
            };
        }
        fields = rest.get(length..).unwrap_or(&[]);
    }
    Err(invalid("this is no BGZF block"))
}

/// Returns whether a file that begins like this is in BGZF. 18 bytes are enough for the
/// usual headers.
///
/// ```
/// use blitz_io::pipeline::gzip;
/// assert!(gzip::is_bgzf(&gzip::BGZF_END));
/// assert!(!gzip::is_bgzf(b"plain text"));
/// ```
#[must_use]
pub fn is_bgzf(beginning: &[u8]) -> bool {
    matches!(block_length(beginning), Ok(Some(_)))
}

/// Returns a source that reads blocks of `size` bytes (the last one may be shorter).
///
/// If reading fails, the bytes before that are a block, and the error comes after it.
pub fn blocks<R: Read>(mut input: R, size: usize) -> impl FnMut() -> io::Result<Option<Vec<u8>>> {
    error_after_last(move |block| {
        block.reserve(size);
        let read = input.by_ref().take(size as u64).read_to_end(block);
        read.map(drop)
    })
}

/// Returns a source of the blocks that `read` fills, until one is empty. `read` may fill a block in part and then
/// fail: the error comes after that block.
fn error_after_last(
    mut read: impl FnMut(&mut Vec<u8>) -> io::Result<()>,
) -> impl FnMut() -> io::Result<Option<Vec<u8>>> {
    let mut failed = None;
    move || {
        if let Some(error) = failed.take() {
            return Err(error);
        }
        let mut block = Vec::new();
        match read(&mut block) {
            Err(error) if block.is_empty() => return Err(error),
            Err(error) => failed = Some(error),
            Ok(()) => {}
        }
        Ok((!block.is_empty()).then_some(block))
    }
}

/// Returns a source that inflates ordinary gzip into blocks of `size` bytes: see
/// [`MemberReader`]. Content before something that is missing or wrong is a block, as with [`blocks`].
pub fn inflate<R: BufRead>(input: R, size: usize) -> impl FnMut() -> io::Result<Option<Vec<u8>>> {
    blocks(MemberReader::new(input), size)
}

/// Returns a source that reads whole BGZF blocks, until they or their content have about
/// `size` bytes.
///
/// Zeros after the last block are ignored. It fails with `UnexpectedEof` if the input is cut
/// off or does not end with [`BGZF_END`].
pub fn bgzf_blocks<R: Read>(input: R, size: usize) -> impl FnMut() -> io::Result<Option<Vec<u8>>> {
    let mut input = BufReader::with_capacity(size.max(BGZF_MAX), input);
    let mut ended_well = false;
    error_after_last(move |blocks| {
        blocks.reserve(size.min(BGZF_MAX) + BGZF_MAX);
        let mut content = 0;
        // Blocks can be a thousand times smaller than their content, and empty.
        while blocks.len().max(content) < size {
            let start = blocks.len();
            let is_end = ended_well && members::ended(&mut input)?;
            if is_end {
                break;
            }
            match read_block(&mut input, blocks) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    blocks.truncate(start);
                    return Err(error);
                }
            }
            ended_well = blocks[start..] == BGZF_END;
            content += stated_len(&blocks[start..])?;
        }
        if blocks.is_empty() && !ended_well {
            return Err(cut_off());
        }
        Ok(())
    })
}

/// Appends a block. Returns `false` at the end of the input.
fn read_block(input: &mut impl Read, blocks: &mut Vec<u8>) -> io::Result<bool> {
    let start = blocks.len();
    let mut wanted = HEADER;
    loop {
        let missing = start + wanted - blocks.len();
        let read = input.by_ref().take(missing as u64).read_to_end(blocks)?;
        if read == 0 && blocks.len() == start {
            return Ok(false);
        }
        if read < missing {
            // Data that is not gzip gets that error, and does not count as cut off.
            block_length(&blocks[start..])?;
            return Err(cut_off());
        }
        let header = &blocks[start..];
        match block_length(header)? {
            Some(length) if length == header.len() => return Ok(true),
            Some(length) => wanted = length,
            None => wanted = HEADER + usize::from(u16::from_le_bytes([header[10], header[11]])),
        }
    }
}

impl<'a, P: Send + 'a, S> Stages<'a, P, Vec<u8>, Error, S> {
    /// Adds a stage that makes a gzip member of each block, with a level from 0 to 12.
    ///
    /// # Panics
    ///
    /// Panics if the level is greater than 12.
    #[track_caller]
    pub fn gzip_blocks(self, level: u32) -> Self {
        let level = level_of(level);
        self.map_with(
            move || Compressor::with(level),
            |compressor, block| compressor.gzip(&block),
        )
    }

    /// Adds a stage that makes BGZF blocks of each block, with a level from 0 to 12. The
    /// file is complete when [`BGZF_END`] follows them.
    ///
    /// # Panics
    ///
    /// Panics if the level is greater than 12.
    #[track_caller]
    pub fn bgzf(self, level: u32) -> Self {
        let level = level_of(level);
        self.map_with(
            move || Compressor::with(level),
            |compressor, block| compressor.bgzf(&block),
        )
    }

    /// Adds a stage that decompresses the blocks that [`bgzf_blocks`] has read.
    pub fn bgzf_inflate(self) -> Self {
        self.map_with(Decompressor::new, |decompressor, blocks| {
            decompressor.bgzf(&blocks)
        })
    }
}
