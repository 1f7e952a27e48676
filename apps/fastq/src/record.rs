//! Records of a FASTQ file, found in blocks of bytes and not copied out of them.

use crate::ahead::Ahead;
use crate::count;
use crate::cut::Cut;
use crate::failure::Failure;
use crate::input::InputFile;
use crate::spare::Spare;
use std::io::{self, Read};

/// The position of a record in its block.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    name: u32,
    name_len: u32,
    seq: u32,
    len: u32,
    strand: u32,
    strand_len: u32,
    qual: u32,
}

/// A read: four byte strings, with `qual` as long as `seq`.
#[derive(Clone, Copy, Debug)]
pub struct Read4<'a> {
    pub name: &'a [u8],
    pub seq: &'a [u8],
    pub strand: &'a [u8],
    pub qual: &'a [u8],
}

impl<'a> Read4<'a> {
    pub fn len(&self) -> usize {
        self.seq.len()
    }

    /// Shortens the read to `len` bases; a longer `len` changes nothing.
    pub fn truncate(&mut self, len: usize) {
        if len < self.seq.len() {
            self.seq = &self.seq[..len];
            self.qual = &self.qual[..len];
        }
    }

    /// Keeps the bases from `from` on, at most `len` of them.
    pub fn slice(&mut self, from: usize, len: usize) {
        let to = self.seq.len().min(from + len);
        self.seq = &self.seq[from..to];
        self.qual = &self.qual[from..to];
    }

    /// Writes the four lines.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_tagged(&[], out);
    }

    /// Writes the four lines, with `tag` after the name.
    pub fn write_tagged(&self, tag: &[u8], out: &mut Vec<u8>) {
        out.reserve(self.name.len() + tag.len() + 2 * self.seq.len() + self.strand.len() + 5);
        out.extend_from_slice(self.name);
        if !tag.is_empty() {
            out.push(b' ');
            out.extend_from_slice(tag);
        }
        for part in [self.seq, self.strand, self.qual] {
            out.push(b'\n');
            out.extend_from_slice(part);
        }
        out.push(b'\n');
    }
}

/// Consecutive records and the bytes that hold them.
#[derive(Default)]
pub struct Block {
    data: Vec<u8>,
    places: Vec<Place>,
    /// Number of records of the file before these.
    before: u64,
    /// Number of lines of the file before the bytes, and number of lines up to the last
    /// record.
    lines: [u64; 2],
}

/// The memory of a block.
type Memory = (Vec<u8>, Vec<Place>);

/// Blocks that are no longer needed, to be used again.
static SPARE: Spare<Memory> = Spare::new();

impl Block {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn get(&self, at: usize) -> Read4<'_> {
        let place = self.places[at];
        let part = |from: u32, len: u32| &self.data[from as usize..(from + len) as usize];
        Read4 {
            name: part(place.name, place.name_len),
            seq: part(place.seq, place.len),
            strand: part(place.strand, place.strand_len),
            qual: part(place.qual, place.len),
        }
    }

    /// Converts qualities that start at 64 to qualities that start at 33.
    pub fn shift_to_phred33(&mut self) {
        for place in &self.places {
            for qual in &mut self.data[place.qual as usize..(place.qual + place.len) as usize] {
                *qual = (*qual as i8 as i32 - 31).max(33) as u8;
            }
        }
    }

    /// Returns the number of records of the file up to the end of this block.
    pub fn end(&self) -> u64 {
        self.before + self.len() as u64
    }

    /// Returns the number of a record in the file, and that of its line, both counted from 1.
    pub fn locate(&self, at: usize) -> (u64, u64) {
        let before = &self.data[..self.places[at].name as usize];
        let lines = memchr::memchr_iter(b'\n', before).count() as u64;
        (self.before + at as u64 + 1, self.lines[0] + lines + 1)
    }

    /// Returns the numbers of the last record and the last line of the block.
    pub fn last(&self) -> (u64, u64) {
        (self.end(), self.lines[1])
    }

    /// Gives the memory back, unless it is unusually large.
    pub fn recycle(self) {
        if self.data.capacity() <= 4 * BLOCK {
            SPARE.give((self.data, self.places));
        }
    }
}

vectorized! {
    /// Returns `true` if all can be qualities. It does not stop at the first wrong one, so that vector
    /// registers can be used.
    fn are_qualities(characters: &[u8]) -> bool {
        count::bytes(characters, |character| !is_quality(character)) == 0
    }
}

/// Returns `true` if a quality can have this character.
fn is_quality(character: u8) -> bool {
    (b'!'..=b'~').contains(&character)
}

/// Cuts an input file into blocks.
pub struct Blocks {
    name: String,
    input: Box<dyn Read + Send>,
    /// The first `filled` bytes were read. The first `at` belong to records that were returned
    /// or are being read.
    data: Vec<u8>,
    filled: usize,
    at: usize,
    ended: bool,
    lines: u64,
    records: u64,
}

/// The bytes of one read.
const CHUNK: usize = 1 << 16;
/// Blocks are cut after this many bytes if the records are long.
const BLOCK: usize = 4 << 20;
/// The longest line: more than the longest human chromosome. The memory that the input can take
/// depends on it.
const LINE: usize = 256 << 20;
/// The largest block. It has at least one record, and four lines fit into it. Offsets in it fit
/// into 32 bits.
const LARGEST: usize = BLOCK + 4 * LINE + CHUNK;

impl Blocks {
    /// Cuts the file for the last time, from its begin on. If other threads can inflate it ahead, also
    /// returns the way to do so. `idle` is the number of threads that may inflate other gzip.
    pub fn open(file: &InputFile, idle: usize) -> Result<(Self, Option<Ahead>), Failure> {
        let (mut content, ahead) = file.read(idle)?;
        let Cut {
            record, line, skip, ..
        } = file.begin();
        let skipped = io::copy(&mut (&mut content).take(skip), &mut io::sink());
        match skipped {
            Ok(skipped) if skipped == skip => {}
            Ok(_) => return Err(Failure::data(format!("{}: it is cut off", file.name()))),
            Err(error) => return Err(Failure::file(file.name(), "read it", &error)),
        }
        let mut blocks = Self::new(file.name(), Box::new(content));
        (blocks.records, blocks.lines) = (record, line);
        Ok((blocks, ahead))
    }

    /// Cuts the file, all of which can be read again.
    pub fn look_ahead(file: &InputFile) -> Result<Self, Failure> {
        Ok(Self::new(file.name(), Box::new(file.look_ahead()?)))
    }

    pub fn new(name: &str, input: Box<dyn Read + Send>) -> Self {
        Self {
            name: name.to_owned(),
            input,
            data: vec![],
            filled: 0,
            at: 0,
            ended: false,
            lines: 0,
            records: 0,
        }
    }

    /// Returns the next `most` records, or fewer only if the input ends. A block without
    /// records is the end.
    pub fn next(&mut self, most: usize) -> Result<Block, Failure> {
        self.take(most, usize::MAX)
    }

    /// Returns the next `most` records, or fewer if the records are long or the input ends.
    pub fn some(&mut self, most: usize) -> Result<Block, Failure> {
        self.take(most, BLOCK)
    }

    /// Returns the numbers of the last record and the last line so far.
    pub fn last(&self) -> (u64, u64) {
        (self.records, self.lines)
    }

    fn take(&mut self, most: usize, bytes: usize) -> Result<Block, Failure> {
        let (mut rest, mut places) = SPARE.take();
        let before = self.lines;
        places.clear();
        while places.len() < most && self.at < bytes {
            match self.record()? {
                Some(place) => places.push(place),
                None => break,
            }
        }
        // The memory of old blocks stays initialised.
        let left = &self.data[self.at..self.filled];
        rest.resize(rest.len().max(left.len()), 0);
        rest[..left.len()].copy_from_slice(left);
        (self.filled, self.at) = (left.len(), 0);
        let data = std::mem::replace(&mut self.data, rest);
        Ok(Block {
            data,
            before: self.records - places.len() as u64,
            lines: [before, self.lines],
            places,
        })
    }

    fn record(&mut self) -> Result<Option<Place>, Failure> {
        let (name, name_len) = loop {
            match self.line()? {
                None => return Ok(None),
                Some((_, 0)) => {}
                Some(line) => break line,
            }
        };
        self.records += 1;
        if self.data[name as usize] != b'@' {
            return Err(self.wrong(format!(
                "expected a name that starts with '@', got {}",
                self.shown(name, name_len)
            )));
        }
        let Some((seq, len)) = self.line()? else {
            return Err(self.wrong("the input ends before the bases"));
        };
        let (strand, strand_len) = match self.plus() {
            Some(line) => line,
            None => self
                .line()?
                .ok_or_else(|| self.wrong("the input ends before the line that starts with '+'"))?,
        };
        if strand_len == 0 || self.data[strand as usize] != b'+' {
            return Err(self.wrong(format!(
                "expected '+', got {}",
                self.shown(strand, strand_len)
            )));
        }
        let qual = match self.qualities(len) {
            Some(qual) => qual,
            None => self.other_qualities(len, strand)?,
        };
        Ok(Some(Place {
            name,
            name_len,
            seq,
            len,
            strand,
            strand_len,
            qual,
        }))
    }

    /// Returns the next line if it is in memory and only a plus sign.
    #[inline]
    fn plus(&mut self) -> Option<(u32, u32)> {
        let start = self.at;
        if !self.data[start..self.filled].starts_with(b"+\n") {
            return None;
        }
        self.at += 2;
        self.lines += 1;
        Some((start as u32, 1))
    }

    /// Returns the next line if it is in memory and has this many qualities. As these have no line
    /// end, the line need not be searched for its own.
    #[inline]
    fn qualities(&mut self, len: u32) -> Option<u32> {
        let start = self.at;
        let line = self.data[start..self.filled].get(..=len as usize)?;
        let (&end, quals) = line.split_last()?;
        if end != b'\n' || !are_qualities(quals) {
            return None;
        }
        self.at += line.len();
        self.lines += 1;
        Some(start as u32)
    }

    /// Reads qualities that are not in memory, or have another line end, or are wrong. If there
    /// are no bases, the empty line, which may be missing, is anywhere.
    #[cold]
    fn other_qualities(&mut self, len: u32, anywhere: u32) -> Result<u32, Failure> {
        let Some((qual, qual_len)) = self.line()?.or((len == 0).then_some((anywhere, 0))) else {
            return Err(self.wrong("the input ends before the qualities"));
        };
        if qual_len != len {
            return Err(self.wrong(format!("{len} bases, but {qual_len} qualities")));
        }
        let quals = &self.data[qual as usize..][..len as usize];
        if !are_qualities(quals) {
            return Err(self.no_quality(quals));
        }
        Ok(qual)
    }

    /// Returns the start and the length of the next line, without its end.
    #[inline]
    fn line(&mut self) -> Result<Option<(u32, u32)>, Failure> {
        let start = self.at;
        let mut from = start;
        let end = loop {
            if let Some(found) = memchr::memchr(b'\n', &self.data[from..self.filled]) {
                self.at = from + found + 1;
                break from + found;
            }
            from = self.filled;
            if self.ended {
                if from == start {
                    return Ok(None);
                }
                self.at = from;
                break from;
            }
            if from - start > LINE {
                self.lines += 1;
                return Err(self.wrong(format!("the line is longer than {} MiB", LINE >> 20)));
            }
            if from > LARGEST {
                self.lines += 1;
                return Err(self.wrong("reads this long can be neither pairs nor split"));
            }
            self.fill()?;
        };
        self.lines += 1;
        let end = if end > start && self.data[end - 1] == b'\r' {
            end - 1
        } else {
            end
        };
        Ok(Some((start as u32, (end - start) as u32)))
    }

    #[cold]
    fn fill(&mut self) -> Result<(), Failure> {
        let end = self.filled + CHUNK;
        if self.data.capacity() == 0 {
            self.data.reserve_exact(BLOCK / 8);
        }
        if let Some(more) = end.checked_sub(self.data.len()) {
            if self.data.try_reserve(more).is_err() {
                self.lines += 1;
                return Err(self.wrong("not enough memory for the record"));
            }
            self.data.resize(end, 0);
        }
        let got = loop {
            match self.input.read(&mut self.data[self.filled..end]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                got => break got,
            }
        };
        match got {
            Ok(got) => {
                self.filled += got;
                self.ended = got == 0;
                Ok(())
            }
            Err(error) => {
                let (record, line) = (self.records, self.lines + 1);
                let name = &self.name;
                Err(Failure::data(format!(
                    "{name}: cannot read on after record {record}, at line {line}: {error}"
                )))
            }
        }
    }

    fn shown(&self, start: u32, len: u32) -> String {
        let line = &self.data[start as usize..(start + len) as usize];
        format!("{:?}", String::from_utf8_lossy(&line[..line.len().min(60)]))
    }

    #[cold]
    fn no_quality(&self, quals: &[u8]) -> Failure {
        let mut quals = quals.iter().enumerate();
        let wrong = quals.find(|&(_, &quality)| !is_quality(quality));
        let (at, &quality) = wrong.expect("one was found");
        let (at, shown) = (at + 1, quality.escape_ascii());
        self.wrong(format!(
            "quality {at} is '{shown}', which is none: they are '!' to '~'"
        ))
    }

    #[cold]
    fn wrong(&self, what: impl std::fmt::Display) -> Failure {
        Failure::data(format!(
            "{}: record {}, line {}: {what}",
            self.name, self.records, self.lines
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &'static str) -> Blocks {
        Blocks::new("x.fq", Box::new(text.as_bytes()))
    }

    fn failure(text: &'static str) -> String {
        blocks(text).next(1000).err().expect("it is wrong").message
    }

    #[test]
    fn records_are_where_they_were() {
        let mut blocks = blocks("@a b\r\nAC\r\n+x\r\nII\r\n\n@c\n\n+\n\n@d\nG\n+\nJ");
        let block = blocks.next(2).unwrap();
        assert_eq!(block.len(), 2);
        let read = block.get(0);
        assert_eq!(
            (read.name, read.seq, read.strand, read.qual),
            (&b"@a b"[..], &b"AC"[..], &b"+x"[..], &b"II"[..])
        );
        assert_eq!(block.get(1).seq, b"");
        let block = blocks.next(2).unwrap();
        assert_eq!((block.len(), block.get(0).qual), (1, &b"J"[..]));
        assert_eq!(blocks.next(2).unwrap().len(), 0);
    }

    #[test]
    fn errors_name_file_record_and_line() {
        assert_eq!(
            failure("@a\nA\n+\nI\nb\n"),
            "x.fq: record 2, line 5: expected a name that starts with '@', got \"b\""
        );
        assert_eq!(
            failure("@a\nAC\n+\nI\n"),
            "x.fq: record 1, line 4: 2 bases, but 1 qualities"
        );
        assert_eq!(
            failure("@a\nAC\n+\n"),
            "x.fq: record 1, line 3: the input ends before the qualities"
        );
        assert_eq!(
            failure("@a\nAC\nII\n"),
            "x.fq: record 1, line 3: expected '+', got \"II\""
        );
        assert_eq!(
            failure("@a\nACG\n+\n!~\t\n"),
            "x.fq: record 1, line 4: quality 3 is '\\t', which is none: they are '!' to '~'"
        );
    }

    #[test]
    fn any_cut_gives_the_same_records() {
        let text: String = (0..200)
            .map(|n| format!("@r{n}\n{}\n+\n{}\n", "A".repeat(n), "I".repeat(n)))
            .collect();
        for most in [1, 3, 7, 199, 1000] {
            let mut blocks = Blocks::new(
                "x.fq",
                Box::new(std::io::Cursor::new(text.clone().into_bytes())),
            );
            let mut out = vec![];
            loop {
                let block = blocks.next(most).unwrap();
                if block.len() == 0 {
                    break;
                }
                (0..block.len()).for_each(|at| block.get(at).write(&mut out));
                block.recycle();
            }
            assert_eq!(out, text.as_bytes(), "{most}");
        }
    }
}
