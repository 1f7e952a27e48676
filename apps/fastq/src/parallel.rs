//! Ordinary gzip, which several threads inflate.
//!
//! A member has no index of its blocks. The package rapidgzip-core guesses where blocks begin, inflates from
//! there with marks for the content that is not known yet, and fills them in when it is. (The
//! algorithm is that of Knespel and Brunst, "Rapidgzip: Parallel Decompression and Seeking in Gzip Files
//! Using Cache Prefetching", HPDC 2023.) It compares each member's checksum and length. Its threads end when
//! the reader is dropped.
//!
//! It gets only processors that the run leaves idle ([`idle_processors`]): guessing and filling in take about
//! as much again as inflating, which is lost if every processor has work.
//!
//! **Faults** are those of an ordinary reader. After one, a [`MemberReader`] reads the file again. It skips
//! the bytes that were returned before, and continues from there, up to its own fault if it has one.

use blitz_io::pipeline::gzip::MemberReader;
use rapidgzip_core::{Decoder, DecoderReader, ReadAt};
use std::io::{self, BufReader, ErrorKind, Read};
use std::thread;

/// The bytes of one read of the ordinary reader.
const COMPRESSED: usize = 1 << 17;

/// Returns the number of processors that a run with this many threads leaves idle.
pub fn idle_processors(threads: usize) -> usize {
    thread::available_parallelism().map_or(0, |all| all.get().saturating_sub(threads))
}

/// Opens the file again at its begin.
type Reopen = Box<dyn Fn() -> io::Result<Box<dyn Read + Send>> + Send>;

/// The content of a gzip file, in order.
pub struct Content {
    reopen: Reopen,
    inflated: Inflated,
    /// The number of bytes of the content that were returned.
    returned: u64,
}

enum Inflated {
    InParallel(Box<DecoderReader>),
    Ordinary(Box<dyn Read + Send>),
}

/// Returns the content of the file, which `threads` threads inflate, at least one. `reopen` opens it at the
/// same begin.
pub fn open(
    file: impl ReadAt + 'static,
    threads: usize,
    reopen: impl Fn() -> io::Result<Box<dyn Read + Send>> + Send + 'static,
) -> io::Result<Content> {
    let decoder = Decoder::builder().decoder_threads(threads.max(1)).build();
    let decoder = decoder.map_err(io::Error::other)?;
    let mut content = Content {
        reopen: Box::new(reopen),
        inflated: Inflated::Ordinary(Box::new(io::empty())),
        returned: 0,
    };
    match decoder.reader(file) {
        Ok(reader) => content.inflated = Inflated::InParallel(Box::new(reader)),
        Err(_) => content.begin_again()?,
    }
    Ok(content)
}

impl Content {
    /// Continues with an ordinary reader, behind what was returned.
    #[cold]
    fn begin_again(&mut self) -> io::Result<()> {
        let buffered = BufReader::with_capacity(COMPRESSED, (self.reopen)()?);
        let mut ordinary = MemberReader::new(buffered);
        let skipped = io::copy(&mut (&mut ordinary).take(self.returned), &mut io::sink())?;
        if skipped < self.returned {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.inflated = Inflated::Ordinary(Box::new(ordinary));
        Ok(())
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Inflated::InParallel(reader) = &mut self.inflated {
            match reader.read(buffer) {
                Ok(read) => {
                    self.returned += read as u64;
                    return Ok(read);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
                Err(_) => self.begin_again()?,
            }
        }
        match &mut self.inflated {
            Inflated::Ordinary(reader) => reader.read(buffer),
            Inflated::InParallel(_) => unreachable!("it became an ordinary one above"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blitz_io::pipeline::gzip::{BGZF_END, Compressor};
    use std::io::Cursor;

    /// Reads of random bases with names and qualities: some 8 MB, a third of that compressed.
    fn text() -> Vec<u8> {
        let mut state = 1u64;
        let mut next = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize
        };
        let mut text = Vec::new();
        for number in 0..24_000 {
            text.extend(format!("@read:{number}\n").bytes());
            text.extend((0..150).map(|_| b"ACGT"[next() % 4]));
            text.extend(b"\n+\n");
            text.extend((0..150).map(|_| b"FFFFF:,#"[next() % 8]));
            text.push(b'\n');
        }
        text
    }

    fn member(text: &[u8]) -> Vec<u8> {
        Compressor::new(4).gzip(text).unwrap()
    }

    /// Returns what was read, and the fault.
    fn all(mut content: impl Read) -> (Vec<u8>, Option<String>) {
        let mut all = vec![];
        let ended = content.read_to_end(&mut all);
        (all, ended.err().map(|error| error.to_string()))
    }

    fn in_parallel(file: &[u8], threads: usize) -> (Vec<u8>, Option<String>) {
        let again = file.to_vec();
        let reopen = move || Ok(Box::new(Cursor::new(again.clone())) as Box<dyn Read + Send>);
        all(open(file.to_vec(), threads, reopen).unwrap())
    }

    #[test]
    fn the_content_is_the_same_for_every_number_of_threads() {
        let text = text();
        let halves = text.split_at(text.len() / 2);
        let files = [
            member(&text),
            [member(halves.0), member(b""), member(halves.1)].concat(),
            [member(&text), vec![0; 70_000]].concat(),
        ];
        for file in files {
            for threads in [1, 2, 3, 8] {
                assert!(
                    in_parallel(&file, threads) == (text.clone(), None),
                    "{threads}"
                );
            }
        }
    }

    #[test]
    fn faults_are_those_of_an_ordinary_reader() {
        let whole = member(&text());
        let middle = whole.len() / 2;
        let mut damaged = whole.clone();
        damaged[middle] ^= 0x55;
        let mut wrong_checksum = whole.clone();
        let checksum = whole.len() - 8;
        wrong_checksum[checksum] ^= 1;
        for file in [
            vec![],
            whole[..1].to_vec(),
            whole[..11].to_vec(),
            whole[..middle].to_vec(),
            whole[..whole.len() - 1].to_vec(),
            damaged,
            wrong_checksum,
            [&whole[..], b"no gzip"].concat(),
            [&whole[..], &whole[..middle]].concat(),
            [&whole[..], &BGZF_END].concat(),
        ] {
            let expected = all(MemberReader::new(&file[..]));
            for threads in [1, 4] {
                let (content, fault) = in_parallel(&file, threads);
                assert_eq!(fault, expected.1);
                assert!(content == expected.0, "{} bytes", content.len());
            }
        }
    }

    #[test]
    fn a_reader_that_is_dropped_ends_its_threads() {
        let file = member(&text());
        for read in [0, 1, 100_000] {
            let again = file.clone();
            let reopen = move || Ok(Box::new(Cursor::new(again.clone())) as Box<dyn Read + Send>);
            let held = std::sync::Arc::new(file.clone());
            let mut content = open(held.clone(), 4, reopen).unwrap();
            content.read_exact(&mut vec![0; read]).unwrap();
            drop(content);
            assert_eq!(std::sync::Arc::strong_count(&held), 1);
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_again_is_a_fault() {
        let whole = member(&text());
        let cut = whole[..whole.len() / 2].to_vec();
        let mut content = open(cut, 2, || Err(ErrorKind::NotFound.into())).unwrap();
        let error = content.read_to_end(&mut vec![]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
