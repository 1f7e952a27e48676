//! Inflates a gzip member from a point within it.
//!
//! A point is between two blocks of the compressed data. To continue there, a decoder needs the bits of
//! the last byte that belong to the next block, and the 32 KiB of content before the point, to which later
//! blocks refer. [`Inflater`] finds points. [`FromPoint`] puts other blocks in front of the rest of the
//! member, so that any decoder can read it. They are a stored block with that content, and blocks without
//! content that are as long as the missing bits of the byte.

use blitz_io::pipeline::gzip::MemberReader;
use crc32fast::Hasher;
use flate2::bufread::DeflateDecoder;
use libz_rs_sys::{
    Z_BLOCK, Z_BUF_ERROR, Z_NO_FLUSH, Z_OK, Z_STREAM_END, inflate, inflateEnd, inflateInit2_,
    z_stream, zlibVersion,
};
use std::io::{self, BufRead, Cursor, ErrorKind, Read};

/// The length of the content that a block can refer to, in bytes.
const WINDOW: usize = 32 << 10;
/// The size of the ring buffer of the content, a power of two.
const RING: usize = 128 << 10;
/// The parts of a stream's `data_type`: the number of unused bits of the last byte, the flag of the last
/// block, and the flag of a stream that is between two blocks.
const UNUSED_BITS: i32 = 7;
const LAST: i32 = 64;
const BETWEEN: i32 = 128;
/// The number of bytes of a stored point before its window.
const HEAD: usize = 32;

/// A point within a gzip member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The offset in the file of the next byte of the member.
    pub offset: u64,
    /// The number of bytes of the member's content before it.
    pub content: u64,
    /// The checksum of that content.
    checksum: u32,
    /// Number of bits of the byte before `offset` that belong to the next block, and these bits.
    bits: u8,
    byte: u8,
    /// The last content before it.
    window: Vec<u8>,
}

impl Point {
    /// The number of bytes of a stored point.
    pub const LEN: usize = HEAD + WINDOW;

    /// Writes the point, in `LEN` bytes. Returns their checksum.
    pub fn store(&self, out: &mut Vec<u8>) -> u32 {
        let start = out.len();
        out.extend([0; 4]);
        out.extend(self.checksum.to_le_bytes());
        out.extend(self.offset.to_le_bytes());
        out.extend(self.content.to_le_bytes());
        out.extend((self.window.len() as u32).to_le_bytes());
        out.extend([self.bits, self.byte, 0, 0]);
        out.extend(&self.window);
        out.resize(start + Self::LEN, 0);
        let sum = crc32fast::hash(&out[start + 4..]);
        out[start..start + 4].copy_from_slice(&sum.to_le_bytes());
        sum
    }

    /// Reads a stored point. Returns `None` if it is another one, or damaged.
    pub fn load(bytes: &[u8], sum: u32) -> Option<Self> {
        let bytes: &[u8; Self::LEN] = bytes.try_into().ok()?;
        let short =
            |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let window = bytes[HEAD..].get(..short(24) as usize)?;
        let whole = short(0) == sum && sum == crc32fast::hash(&bytes[4..]) && bytes[28] < 8;
        whole.then(|| Self {
            checksum: short(4),
            offset: long(8),
            content: long(16),
            bits: bytes[28],
            byte: bytes[29],
            window: window.to_vec(),
        })
    }
}

/// The state of a member that is being inflated.
pub struct Inflater {
    /// Initialised; its pointers to input and output are used only within a step.
    stream: Box<z_stream>,
    ring: Box<[u8]>,
    /// The position of the next content in the ring.
    at: usize,
    content: u64,
    checksum: Hasher,
    /// The last byte of the input so far.
    last: u8,
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: `new` initialised the stream, and nothing uses it after this.
        unsafe { inflateEnd(&raw mut *self.stream) };
    }
}

/// The outcome of a step.
pub struct Step<'a> {
    /// Number of bytes that the step took from the input.
    pub consumed: usize,
    /// The content that the step produced.
    pub content: &'a [u8],
    pub state: After,
}

/// The place at which a step has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum After {
    /// Anywhere.
    Within,
    /// Between two blocks.
    Boundary,
    /// At the end of the member's data.
    End,
}

impl Inflater {
    /// Begins at the beginning of a member's data, behind its header.
    pub fn new() -> Self {
        let mut stream = Box::<z_stream>::default();
        // Negative: the data has no header.
        let bits = -(WINDOW.ilog2() as i32);
        let size = size_of::<z_stream>() as i32;
        // SAFETY: the stream is a valid one that was not initialised before.
        let result = unsafe { inflateInit2_(&raw mut *stream, bits, zlibVersion(), size) };
        assert_eq!(result, Z_OK, "there is memory for an inflater");
        Self {
            stream,
            ring: vec![0; RING].into(),
            at: 0,
            content: 0,
            checksum: Hasher::new(),
            last: 0,
        }
    }

    /// Inflates a part of the input. If `stops`, this is at most to the end of a block.
    ///
    /// # Errors
    ///
    /// Fails if the input is not compressed data.
    pub fn step(&mut self, input: &[u8], stops: bool) -> io::Result<Step<'_>> {
        let output = &mut self.ring[self.at..];
        self.stream.next_in = input.as_ptr().cast_mut();
        self.stream.avail_in = input.len().min(RING) as u32;
        self.stream.next_out = output.as_mut_ptr();
        self.stream.avail_out = output.len() as u32;
        let before = (self.stream.avail_in, self.stream.avail_out);
        let flush = if stops { Z_BLOCK } else { Z_NO_FLUSH };
        // SAFETY: the stream was initialised, and its input and output are those of two slices, of
        // which the first is only read.
        let result = unsafe { inflate(&raw mut *self.stream, flush) };
        let consumed = (before.0 - self.stream.avail_in) as usize;
        let produced = (before.1 - self.stream.avail_out) as usize;
        let state = match result {
            Z_STREAM_END => After::End,
            Z_OK if self.stream.data_type & (BETWEEN | LAST) == BETWEEN => After::Boundary,
            Z_OK | Z_BUF_ERROR => After::Within,
            _ => return Err(invalid("a member's content is not compressed data")),
        };
        self.last = input[..consumed].last().copied().unwrap_or(self.last);
        let end = self.at + produced;
        let content = &self.ring[self.at..end];
        self.checksum.update(content);
        self.content += produced as u64;
        self.at = end % RING;
        Ok(Step {
            consumed,
            content,
            state,
        })
    }

    /// Returns the number of bytes of content so far.
    pub fn len(&self) -> u64 {
        self.content
    }

    /// Returns the point after a step that has ended between two blocks, with the offset in the
    /// file of the next byte.
    pub fn point(&self, offset: u64) -> Option<Point> {
        let bits = u8::try_from(self.stream.data_type & UNUSED_BITS).ok()?;
        let byte = self.last.checked_shr(8 - u32::from(bits)).unwrap_or(0);
        let length = self.content.min(WINDOW as u64) as usize;
        let from = self.at as isize - length as isize;
        let window = if from >= 0 {
            self.ring[from as usize..self.at].to_vec()
        } else {
            let wrapped = &self.ring[(RING as isize + from) as usize..];
            [wrapped, &self.ring[..self.at]].concat()
        };
        Some(Point {
            offset,
            content: self.content,
            checksum: self.checksum.clone().finalize(),
            bits,
            byte,
            window,
        })
    }

    /// Reads the trailer after the data of a member.
    ///
    /// # Errors
    ///
    /// Fails if the content has another length or checksum than the trailer.
    pub fn trailer(&self, input: &mut impl Read) -> io::Result<()> {
        check_trailer(input, &self.checksum, self.content)
    }
}

fn check_trailer(input: &mut impl Read, checksum: &Hasher, content: u64) -> io::Result<()> {
    let mut trailer = [0; 8];
    input.read_exact(&mut trailer)?;
    let number = |at: usize| u32::from_le_bytes(trailer[at..at + 4].try_into().unwrap_or_default());
    if (number(0), number(4)) == (checksum.clone().finalize(), content as u32) {
        Ok(())
    } else {
        Err(invalid("a member's content has another length or checksum"))
    }
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason)
}

/// Writes compressed data, bit by bit.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    /// Number of bits of the last byte that are written, if not all of them.
    used: u32,
}

impl Bits {
    /// Writes the lowest `count` bits of a number, the lowest one first.
    fn number(&mut self, number: u32, count: u32) {
        for bit in 0..count {
            if self.used == 0 {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((number >> bit & 1) as u8) << self.used;
            }
            self.used = (self.used + 1) % 8;
        }
    }

    /// Writes the code of a symbol, whose highest bit is the first.
    fn code(&mut self, code: &str) {
        for bit in code.bytes() {
            self.number(u32::from(bit == b'1'), 1);
        }
    }

    /// Writes a block without content of 10 bits: with the fixed codes, only the end of a block.
    fn even(&mut self) {
        self.number(0b010, 3);
        self.number(0, 7);
    }

    /// Writes a block without content of 95 bits. It has two symbols, the byte 0 and the end of a
    /// block, with codes of one bit, and only the end occurs.
    fn odd(&mut self) {
        self.number(0b100, 3);
        // 257 literals and lengths, one distance, 18 lengths of codes.
        self.number(0, 5);
        self.number(0, 5);
        self.number(14, 4);
        // The lengths of the codes for 16, 17, 18, 0, …, 1: 0 has the code 0, 1 has 10, and 18,
        // which repeats zeros, has 11.
        for length in [0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2] {
            self.number(length, 3);
        }
        self.code("10");
        for zeros in [138, 117] {
            self.code("11");
            self.number(zeros - 11, 7);
        }
        self.code("10");
        self.code("0");
        self.code("1");
    }
}

impl Point {
    /// Returns the blocks to put in front of the rest of the member.
    fn blocks(&self) -> Vec<u8> {
        let mut bits = Bits::default();
        let length = self.window.len() as u16;
        bits.bytes.push(0);
        bits.bytes.extend(length.to_le_bytes());
        bits.bytes.extend((!length).to_le_bytes());
        bits.bytes.extend(&self.window);
        let (count, byte) = (u32::from(self.bits), u32::from(self.byte));
        let missing = (8 - count) % 8;
        if missing % 2 == 1 {
            bits.odd();
        }
        while bits.used != missing {
            bits.even();
        }
        bits.number(byte, count);
        bits.bytes
    }
}

/// Reads the content of a member from a point on, and then that of the members behind it.
pub struct FromPoint<R> {
    rest: Rest<R>,
    /// Number of bytes of the window that are still to be skipped.
    window: u64,
    content: u64,
    checksum: Hasher,
}

/// The rest of the input.
enum Rest<R> {
    /// A part of the member with the point, and more.
    Member(DeflateDecoder<io::Chain<Cursor<Vec<u8>>, R>>),
    Others(MemberReader<R>),
    Nothing,
}

impl<R: BufRead> FromPoint<R> {
    /// `input` begins at the offset of the point.
    pub fn new(input: R, point: &Point) -> Self {
        let input = Cursor::new(point.blocks()).chain(input);
        Self {
            rest: Rest::Member(DeflateDecoder::new(input)),
            window: point.window.len() as u64,
            content: point.content,
            checksum: Hasher::new_with_initial_len(point.checksum, point.content),
        }
    }

    /// Checks the end of the member, and goes to the next one.
    fn end(&mut self, mut input: R) -> io::Result<()> {
        check_trailer(&mut input, &self.checksum, self.content)?;
        if follows(&mut input)? {
            self.rest = Rest::Others(MemberReader::new(input));
        }
        Ok(())
    }
}

/// Skips zeros, which may follow the last member. Returns `true` if other bytes follow.
fn follows(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = input.fill_buf()?;
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let (ended, more) = (bytes.is_empty(), bytes.len() > zeros);
        input.consume(zeros);
        if ended || more {
            return Ok(more);
        }
    }
}

impl<R: BufRead> Read for FromPoint<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Rest::Member(member) = &mut self.rest {
            if self.window > 0 {
                let window = std::mem::take(&mut self.window);
                io::copy(&mut member.by_ref().take(window), &mut io::sink())?;
            }
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                self.checksum.update(&buffer[..read]);
                self.content += read as u64;
                return Ok(read);
            }
        }
        if let Rest::Others(members) = &mut self.rest {
            return members.read(buffer);
        }
        if let Rest::Member(member) = std::mem::replace(&mut self.rest, Rest::Nothing) {
            let (_, input) = member.into_inner().into_inner();
            self.end(input)?;
            return self.read(buffer);
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blitz_io::pipeline::gzip;
    use std::io::Write;

    /// Text with repeats near and far, and parts that do not compress.
    fn text(length: usize) -> Vec<u8> {
        let mut random = 1_u64;
        let mut text = Vec::new();
        while text.len() < length {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(99);
            let back = (random >> 40) as usize % 40_000;
            if back < text.len() && random & 3 != 0 {
                let from = text.len() - back - 1;
                text.extend_from_within(from..(from + 60).min(text.len()));
            } else {
                text.extend(random.to_le_bytes());
            }
        }
        text
    }

    /// Returns the member's data, its trailer, and all points of it.
    fn points(text: &[u8], level: u32) -> (Vec<u8>, Vec<Point>) {
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::new(level));
        encoder.write_all(text).unwrap();
        let member = encoder.finish().unwrap().split_off(10);
        let (mut inflater, mut found, mut points) = (Inflater::new(), vec![], vec![]);
        let mut at = 0;
        loop {
            // In pieces, as a file is read.
            let end = (at + 1000).min(member.len());
            let step = inflater.step(&member[at..end], true).unwrap();
            at += step.consumed;
            found.extend_from_slice(step.content);
            match step.state {
                After::Boundary => points.push(inflater.point(at as u64).unwrap()),
                After::End => break,
                After::Within => {}
            }
        }
        assert!(found == text);
        inflater.trailer(&mut &member[at..]).unwrap();
        (member, points)
    }

    #[test]
    fn the_rest_follows_from_each_point() {
        let text = text(2_000_000);
        let mut bits = [false; 8];
        for level in [0, 1, 3, 6, 9] {
            let (member, points) = points(&text, level);
            assert!(!points.is_empty(), "level {level}");
            for point in points {
                bits[usize::from(point.bits)] = true;
                let mut stored = vec![];
                let sum = point.store(&mut stored);
                assert_eq!(Point::load(&stored, sum), Some(point.clone()));
                let mut rest = vec![];
                let input = &member[point.offset as usize..];
                FromPoint::new(input, &point)
                    .read_to_end(&mut rest)
                    .unwrap();
                assert!(rest == text[point.content as usize..], "level {level}");
                // Another member and zeros follow.
                let other = gzip::Compressor::new(1).gzip(b"more").unwrap();
                let input = [input, &other, &[0; 9]].concat();
                let mut longer = vec![];
                FromPoint::new(&*input, &point)
                    .read_to_end(&mut longer)
                    .unwrap();
                assert!(longer == [&rest, &b"more"[..]].concat(), "level {level}");
            }
        }
        assert!(bits.iter().filter(|&&seen| seen).count() > 4, "{bits:?}");
    }

    /// A block of any number of bits can be put in front.
    #[test]
    fn blocks_without_content_have_any_length() {
        for bits in 0..8 {
            let window = b"behind".to_vec();
            let (offset, content, checksum) = (0, 0, 0);
            // The next block is stored too: its three bits are those of the byte, and the rest is
            // padding.
            let point = Point {
                offset,
                content,
                checksum,
                bits,
                byte: 0,
                window,
            };
            let mut data = point.blocks();
            let padding = u32::from(bits) < 3;
            data.extend(padding.then_some(0));
            data.extend([1, 0, 0xfe, 0xff, b'!']);
            data.extend([1, 0, 0, 0xff, 0xff]);
            let mut text = String::new();
            DeflateDecoder::new(&*data)
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text, "behind!", "{bits} bits");
        }
    }

    #[test]
    fn damage_is_noticed() {
        let text = text(300_000);
        let (mut member, points) = points(&text, 6);
        let point = &points[0];
        let mut stored = vec![];
        let sum = point.store(&mut stored);
        for at in [0, 5, 20, 25, 28, HEAD + 7] {
            let mut damaged = stored.clone();
            damaged[at] ^= 1;
            assert_eq!(Point::load(&damaged, sum), None, "byte {at}");
        }
        assert_eq!(Point::load(&stored[1..], sum), None);
        let read = |member: &[u8]| {
            FromPoint::new(member, point)
                .read_to_end(&mut vec![])
                .unwrap_err()
                .kind()
        };
        let offset = point.offset as usize;
        assert_eq!(
            read(&member[offset..member.len() - 9]),
            ErrorKind::UnexpectedEof
        );
        assert_eq!(
            read(&member[offset..member.len() - 1]),
            ErrorKind::UnexpectedEof
        );
        *member.last_mut().unwrap() ^= 1;
        assert_eq!(read(&member[offset..]), ErrorKind::InvalidData);
    }
}
