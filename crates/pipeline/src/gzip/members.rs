//! A reader of gzip: any number of members, and zeros after them.

use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{HEADER, TRAILER, cut_off, invalid};

/// The number of bytes of a member's header that are always there.
const FIXED_HEADER: usize = HEADER - 2;
/// The first bytes of a member.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// The bits of the header's flags.
const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

/// Reads the content of a gzip file, which has one member or many.
///
/// Zeros after the last member are ignored, as other programs do: tapes and some file systems
/// fill their blocks with them.
///
/// Reading fails with `UnexpectedEof` if the input is cut off or empty, and with `InvalidData`
/// if anything else is wrong.
///
/// ```
/// use std::io::Read;
/// use blitz_io::pipeline::gzip::{Compressor, MemberReader};
///
/// let mut file = Compressor::new(6).gzip(b"one, ")?;
/// file.extend(Compressor::new(1).gzip(b"two")?);
/// file.extend([0; 100]);
/// let mut content = String::new();
/// MemberReader::new(&file[..]).read_to_string(&mut content)?;
/// assert_eq!(content, "one, two");
/// # Ok::<_, std::io::Error>(())
/// ```
pub struct MemberReader<R> {
    input: R,
    inflater: Decompress,
    crc: Crc,
    state: State,
}

/// The next part of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    FirstHeader,
    Content,
    Trailer,
    /// Another member, or the end.
    NextHeader,
    End,
}

impl<R: BufRead> MemberReader<R> {
    /// Creates a reader.
    pub fn new(input: R) -> Self {
        Self {
            input,
            inflater: Decompress::new(false),
            crc: Crc::new(),
            state: State::FirstHeader,
        }
    }

    /// Reads the header of a member and prepares for its content.
    fn header(&mut self) -> io::Result<()> {
        // One after the other: a few bytes that are no header are not one that is cut off.
        for expected in MAGIC {
            if self.array()? != [expected] {
                return Err(invalid(if self.state == State::FirstHeader {
                    "it does not begin like gzip"
                } else {
                    "something that is no gzip follows the end of a member"
                }));
            }
        }
        let [flags, ..] = self.array::<{ FIXED_HEADER - MAGIC.len() }>()?;
        if flags & EXTRA != 0 {
            let length = u16::from_le_bytes(self.array()?);
            for _ in 0..length {
                self.array::<1>()?;
            }
        }
        for text in [NAME, COMMENT] {
            if flags & text != 0 {
                self.skip_text()?;
            }
        }
        if flags & HEADER_CRC != 0 {
            self.array::<2>()?;
        }
        self.inflater.reset(false);
        self.crc.reset();
        self.state = State::Content;
        Ok(())
    }

    /// Skips bytes up to the first zero, and that one.
    fn skip_text(&mut self) -> io::Result<()> {
        loop {
            let [byte] = self.array()?;
            if byte == 0 {
                return Ok(());
            }
        }
    }

    fn trailer(&mut self) -> io::Result<()> {
        let trailer: [u8; TRAILER] = self.array()?;
        let number = |at| super::number(&trailer, at);
        if (number(0), number(4)) != (self.crc.sum(), self.crc.amount()) {
            return Err(invalid("a member's content has another length or checksum"));
        }
        self.state = State::NextHeader;
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        let read = self.input.read_exact(&mut bytes);
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => cut_off(),
            _ => error,
        })?;
        Ok(bytes)
    }

    /// Inflates a part of the content.
    fn content(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let input = self.input.fill_buf()?;
            let at_end = input.is_empty();
            let (read, written) = (self.inflater.total_in(), self.inflater.total_out());
            let inflated = self
                .inflater
                .decompress(input, buffer, FlushDecompress::None)
                .map_err(|_| invalid("a member's content is not compressed data"))?;
            let consumed = (self.inflater.total_in() - read) as usize;
            let produced = (self.inflater.total_out() - written) as usize;
            self.input.consume(consumed);
            self.crc.update(&buffer[..produced]);
            if inflated == Status::StreamEnd {
                self.state = State::Trailer;
                return Ok(produced);
            }
            if produced > 0 {
                return Ok(produced);
            }
            if at_end {
                return Err(cut_off());
            }
        }
    }
}

impl<R: BufRead> Read for MemberReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.state {
                State::FirstHeader => self.header()?,
                State::NextHeader if ended(&mut self.input)? => self.state = State::End,
                State::NextHeader => self.header()?,
                State::Content => match self.content(buffer)? {
                    // An empty member, or the end of one.
                    0 => {}
                    produced => return Ok(produced),
                },
                State::Trailer => self.trailer()?,
                State::End => return Ok(0),
            }
        }
    }
}

/// Returns whether the input ends here, if need be after zeros.
pub(super) fn ended(input: &mut impl BufRead) -> io::Result<bool> {
    let mut zeros = false;
    loop {
        let bytes = match input.fill_buf() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            bytes => bytes?,
        };
        let count = bytes.iter().take_while(|&&byte| byte == 0).count();
        let rest = bytes.len() - count;
        if bytes.is_empty() {
            return Ok(true);
        }
        zeros |= count > 0;
        input.consume(count);
        if rest > 0 {
            return if zeros {
                Err(invalid("after zeros comes something else"))
            } else {
                Ok(false)
            };
        }
    }
}

impl<R> fmt::Debug for MemberReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberReader")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
