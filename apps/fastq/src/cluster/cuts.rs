//! The places at which an input file can be cut: the positions of some of its records.

use crate::cut::Cut;
use crate::failure::Failure;
use crate::inflate::{After, Inflater, Point};
use crate::input::{self, InputFile};
use blitz_io::pipeline::gzip;
use flate2::bufread::GzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// The number of positions that are kept. With more than that, most are dropped.
const MOST: usize = 1 << 16;
/// The number of points of gzip members that are kept. With more than that, half are dropped.
const MOST_POINTS: usize = 128;
/// Points are at least this many bytes of content apart.
const POINT_DISTANCE: u64 = 1 << 20;
/// The content is read in pieces of this size.
const CHUNK: usize = 1 << 17;

/// Positions of the records of one file, at regular distances.
pub struct Cuts {
    /// The records of which the position is known.
    pub cuts: Vec<Cut>,
    /// The number of records.
    pub records: u64,
    /// The number of lines.
    pub lines: u64,
    points: Vec<MemberPoint>,
}

/// A point within the gzip member that begins at an offset of the file.
struct MemberPoint {
    member: u64,
    point: Point,
}

/// The number of records between two positions that are kept.
#[derive(Clone, Copy)]
pub enum Step {
    /// A multiple of this number, as small as memory allows.
    Fine(u64),
    /// Exactly this number.
    Fixed(u64),
}

impl Cuts {
    /// Finds the positions of records in the file, up to `most` records.
    pub fn find(file: &InputFile, step: Step, most: u64) -> Result<Self, Failure> {
        let failed = |error| Failure::file(file.name(), "read it", &error);
        let mut finder = Finder::new(step, most);
        if !finder.blocks(file).map_err(failed)? {
            finder = Finder::new(step, most);
            finder.read(file).map_err(failed)?;
        }
        Ok(Self {
            cuts: finder.cuts,
            records: finder.records.min(most),
            lines: finder.lines,
            points: finder.points,
        })
    }

    /// Returns the last point between the offset of a cut and its record.
    pub fn point(&self, cut: &Cut) -> Option<&Point> {
        let place = (cut.offset, cut.skip);
        let after = self
            .points
            .partition_point(|known| (known.member, known.point.content) <= place);
        let last = self.points.get(after.checked_sub(1)?)?;
        (last.member == cut.offset).then_some(&last.point)
    }
}

/// Follows the lines of a file. A record has four lines; empty lines before it are skipped.
struct Finder {
    cuts: Vec<Cut>,
    step: u64,
    fine: bool,
    most: u64,
    records: u64,
    lines: u64,
    /// The line of the record that comes next or is being read.
    part: u8,
    /// The bytes of the current line so far, and the last of them.
    length: u64,
    last: u8,
    /// The position of the current line, if it is the first of a record.
    start: (u64, u64),
    points: Vec<MemberPoint>,
    /// The length of the content between two points, in bytes.
    distance: u64,
}

impl Finder {
    fn new(step: Step, most: u64) -> Self {
        let (fine, step) = match step {
            Step::Fine(step) => (true, step),
            Step::Fixed(step) => (false, step),
        };
        Self {
            cuts: vec![],
            step,
            fine,
            most,
            records: 0,
            lines: 0,
            part: 0,
            length: 0,
            last: 0,
            start: (0, 0),
            points: vec![],
            distance: POINT_DISTANCE,
        }
    }

    /// Reads blocked gzip, whose blocks are inflated whole. Returns false for other files, also
    /// for those that only begin with such blocks.
    fn blocks(&mut self, file: &InputFile) -> io::Result<bool> {
        let mut bytes = open(file)?;
        if !gzip::is_bgzf(bytes.fill_buf()?) {
            return Ok(false);
        }
        let mut next = gzip::bgzf_blocks(bytes, CHUNK);
        let mut inflater = gzip::Decompressor::new();
        let mut offset = 0;
        while !self.is_done() {
            let blocks = match next() {
                Ok(Some(blocks)) => blocks,
                Ok(None) => break,
                // Other members may follow. The slower way also reports the fault.
                Err(_) => return Ok(false),
            };
            let Ok(content) = inflater.bgzf(&blocks) else {
                return Ok(false);
            };
            self.chunk(&content, (offset, 0));
            offset += blocks.len() as u64;
        }
        self.end();
        Ok(true)
    }

    fn read(&mut self, file: &InputFile) -> io::Result<()> {
        let mut bytes = Counted {
            input: open(file)?,
            consumed: 0,
        };
        if bytes.fill_buf()?.starts_with(&input::GZIP) {
            self.members(&mut bytes)?;
        } else {
            self.plain(&mut bytes)?;
        }
        self.end();
        Ok(())
    }

    /// Ends the last line, if it has no end.
    fn end(&mut self) {
        if self.length > 0 {
            self.end_line();
        }
    }

    /// Reads all members of a gzip file.
    fn members(&mut self, bytes: &mut Counted) -> io::Result<()> {
        // Zeros may follow the last member.
        while !self.is_done() && bytes.fill_buf()?.starts_with(&input::GZIP[..1]) {
            let offset = bytes.consumed;
            let mut header = GzDecoder::new(&mut *bytes);
            if header.header().is_none() {
                // This decoder reports the fault.
                header.read_exact(&mut [0])?;
                return Err(ErrorKind::InvalidData.into());
            }
            self.member(bytes, offset)?;
        }
        Ok(())
    }

    /// Reads the data of a member, and its trailer.
    fn member(&mut self, bytes: &mut Counted, offset: u64) -> io::Result<()> {
        let mut inflater = Inflater::new();
        let mut last_point = 0;
        while !self.is_done() {
            let before = inflater.len();
            let input = bytes.fill_buf()?;
            let at_end = input.is_empty();
            // A stop costs time, so there is none before the next point.
            let stops = before - last_point >= self.distance;
            let step = inflater.step(input, stops)?;
            let state = step.state;
            bytes.consume(step.consumed);
            self.chunk(step.content, (offset, before));
            match state {
                After::End => return inflater.trailer(bytes),
                After::Boundary => {
                    last_point = inflater.len();
                    self.keep_point(offset, inflater.point(bytes.consumed));
                }
                _ if at_end && inflater.len() == before => {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn keep_point(&mut self, member: u64, point: Option<Point>) {
        self.points
            .extend(point.map(|point| MemberPoint { member, point }));
        if self.points.len() > MOST_POINTS {
            self.distance *= 2;
            let mut number = 0;
            self.points.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
    }

    /// Reads plain content.
    fn plain(&mut self, bytes: &mut Counted) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        while !self.is_done() {
            let before = bytes.consumed;
            match bytes.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => self.chunk(&chunk[..read], (0, before)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // Nothing needs to be skipped.
        for cut in &mut self.cuts {
            cut.offset = std::mem::take(&mut cut.skip);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.records > self.most
    }

    fn chunk(&mut self, mut bytes: &[u8], (offset, skip): (u64, u64)) {
        let whole = bytes.len();
        while !bytes.is_empty() {
            if self.length == 0 && self.part == 0 {
                let at = (whole - bytes.len()) as u64;
                self.start = (offset, skip + at);
            }
            let Some(end) = memchr::memchr(b'\n', bytes) else {
                self.length += bytes.len() as u64;
                self.last = bytes[bytes.len() - 1];
                return;
            };
            if end > 0 {
                self.length += end as u64;
                self.last = bytes[end - 1];
            }
            self.end_line();
            bytes = &bytes[end + 1..];
        }
    }

    fn end_line(&mut self) {
        let empty = self.length == 0 || (self.length == 1 && self.last == b'\r');
        self.length = 0;
        self.lines += 1;
        if self.part > 0 {
            self.part = (self.part + 1) % 4;
        } else if !empty {
            if self.records.is_multiple_of(self.step) && self.records < self.most {
                self.keep();
            }
            self.records += 1;
            self.part = 1;
        }
    }

    fn keep(&mut self) {
        let (offset, skip) = self.start;
        self.cuts.push(Cut {
            record: self.records,
            line: self.lines - 1,
            offset,
            skip,
            point: None,
        });
        if self.fine && self.cuts.len() > MOST {
            self.step *= if self.step.is_multiple_of(1000) {
                2
            } else {
                10
            };
            let step = self.step;
            self.cuts.retain(|cut| cut.record.is_multiple_of(step));
        }
    }
}

fn open(file: &InputFile) -> io::Result<BufReader<File>> {
    let file = File::open(crate::file_names::path(file.name()))?;
    Ok(BufReader::with_capacity(CHUNK, file))
}

/// Counts the bytes that were consumed.
struct Counted {
    input: BufReader<File>,
    consumed: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.consumed += read as u64;
        Ok(read)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.consumed += amount as u64;
        self.input.consume(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cuts the text, read in pieces of `size` bytes, at every second record.
    fn cut(text: &[u8], size: usize) -> (Vec<Cut>, u64) {
        let mut finder = Finder::new(Step::Fixed(2), u64::MAX);
        for (at, chunk) in text.chunks(size).enumerate() {
            finder.chunk(chunk, (0, (at * size) as u64));
        }
        if finder.length > 0 {
            finder.end_line();
        }
        (finder.cuts, finder.records)
    }

    #[test]
    fn records_are_found_whatever_the_pieces() {
        let text = b"\n\r\n@a\nAC\n+\n@@\n@b\n\n+\n\n\n@c\r\nG\r\n+\r\nI\r\n@d\nA\n+\n@";
        for size in 1..text.len() {
            let (cuts, records) = cut(text, size);
            assert_eq!(records, 4, "pieces of {size}");
            let found: Vec<_> = cuts
                .iter()
                .map(|cut| (cut.record, cut.line, cut.skip))
                .collect();
            assert_eq!(found, [(0, 2, 3), (2, 11, 22)], "pieces of {size}");
        }
    }

    #[test]
    fn positions_become_fewer_when_there_are_many() {
        let mut finder = Finder::new(Step::Fine(1), u64::MAX);
        let record = b"@\nA\n+\nI\n";
        for at in 0..200_000u64 {
            finder.chunk(record, (at * record.len() as u64, 0));
        }
        assert!(finder.cuts.len() <= MOST && finder.step == 10);
        assert!(finder.cuts.iter().enumerate().all(|(at, cut)| {
            cut.record == at as u64 * 10
                && cut.offset == cut.record * 8
                && cut.line == cut.record * 4
        }));
    }
}
