//! Input files: plain and gzip, including blocked gzip and sequences of members. The content
//! decides, not the name.

use crate::ahead::{self, Ahead};
use crate::cut::Cut;
use crate::failure::Failure;
use crate::file_names::path;
use crate::inflate::{FromPoint, Point};
use crate::parallel;
use blitz_io::pipeline::gzip::{self, MemberReader};
use rapidgzip_core::ReadAt;
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::mem;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The bytes of one read of the inflater.
const COMPRESSED: usize = 1 << 17;
/// The number of bytes that tell blocked gzip from other gzip.
const BGZF_BEGINNING: u64 = 18;
/// The first bytes of a gzip file.
pub const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An input file, which can be read from its beginning several times.
#[derive(Clone)]
pub struct InputFile {
    name: String,
    /// A stream that cannot be opened twice: a pipe, a device or standard input.
    stream: Option<Arc<Mutex<Stream>>>,
    /// The position of the first record that is read for the last time.
    begin: Cut,
    /// The point of a gzip member at which inflating begins for the last time.
    point: Option<Arc<Point>>,
    /// Number of bytes of the file that were read for the last time.
    bytes_read: Arc<AtomicU64>,
}

/// A stream, and the bytes that were read ahead.
struct Stream {
    ahead: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

impl InputFile {
    pub fn open(name: &str) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::file(name, "open it", &error);
        let stream = if name == STDIN {
            Some(Box::new(io::stdin()) as Box<dyn Read + Send>)
        } else if fs::metadata(path(name)).map_err(failed)?.is_file() {
            None
        } else {
            Some(Box::new(File::open(path(name)).map_err(failed)?) as Box<dyn Read + Send>)
        };
        let stream = stream.map(|rest| Stream {
            ahead: vec![],
            rest,
        });
        Ok(Self {
            name: name.to_owned(),
            stream: stream.map(|stream| Arc::new(Mutex::new(stream))),
            begin: Cut::default(),
            point: None,
            bytes_read: Arc::default(),
        })
    }

    /// Lets the file be read from this position on for the last time. `point` is before it in the
    /// same gzip member.
    pub fn from(mut self, mut begin: Cut, point: Option<Point>) -> Self {
        if let Some(point) = point {
            begin.offset = point.offset;
            begin.skip = begin.skip.saturating_sub(point.content);
            self.point = Some(Arc::new(point));
        }
        self.begin = begin;
        self
    }

    /// Returns the position of the first record that is read for the last time.
    pub fn begin(&self) -> Cut {
        self.begin
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if this is a pipe, a device or standard input.
    pub fn is_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// Returns a reader of the content from the beginning. The content can be read again.
    pub fn look_ahead(&self) -> Result<Content, Failure> {
        match &self.stream {
            Some(stream) => Ok(self.content(Again {
                stream: stream.clone(),
                at: 0,
            })),
            None => Ok(self.content(self.file()?)),
        }
    }

    /// Returns a reader of the content from the offset of the begin on, the last one. If other threads can
    /// inflate the content ahead, also returns the way to do so. `idle` is the number of threads that may
    /// inflate other gzip.
    pub fn read(&self, idle: usize) -> Result<(Content, Option<Ahead>), Failure> {
        if let Some(stream) = &self.stream {
            let content = self.content(Last {
                ahead: Cursor::new(mem::take(&mut lock(stream).ahead)),
                stream: stream.clone(),
            });
            return Ok((content, None));
        }
        let failed = |error| Failure::file(&self.name, "read it", &error);
        if let Some(point) = &self.point {
            let file = self.counted().at(point.offset).map_err(failed)?;
            let buffered = BufReader::with_capacity(COMPRESSED, file);
            let content = Box::new(FromPoint::new(buffered, point));
            return Ok((Content::Known(content), None));
        }
        let counted = self.counted();
        let mut file = counted.at(self.begin.offset).map_err(failed)?;
        let mut beginning = vec![];
        let looked = (&mut file).take(BGZF_BEGINNING).read_to_end(&mut beginning);
        looked.map_err(failed)?;
        if !gzip::is_bgzf(&beginning) {
            // One of them would only take over what the reader does.
            if idle > 1 && beginning.starts_with(&GZIP) {
                let content = counted
                    .in_parallel(self.begin.offset, idle)
                    .map_err(failed)?;
                return Ok((Content::Known(Box::new(content)), None));
            }
            return Ok((self.content(Cursor::new(beginning).chain(file)), None));
        }
        let reopen = move |at| Ok(Box::new(counted.at(at)?) as Box<dyn Read + Send>);
        let (content, ahead) = ahead::open(self.begin.offset, reopen).map_err(failed)?;
        Ok((Content::Known(Box::new(content)), Some(ahead)))
    }

    fn counted(&self) -> CountedFile {
        CountedFile {
            path: path(&self.name),
            bytes: self.bytes_read.clone(),
        }
    }

    fn file(&self) -> Result<File, Failure> {
        let file = File::open(path(&self.name));
        file.map_err(|error| Failure::file(&self.name, "open it", &error))
    }

    /// Returns the size of the file, compressed as it is; that of a stream is not known.
    pub fn size(&self) -> Option<u64> {
        let known = fs::metadata(path(&self.name)).ok()?;
        (!self.is_stream()).then_some(known.len())
    }

    /// Returns the number of these bytes that were read for the last time.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    fn content(&self, bytes: impl Read + Send + 'static) -> Content {
        Content::Unknown {
            bytes: Box::new(bytes),
            // An empty file with such a name was cut off.
            may_be_empty: !self.name.ends_with(".gz"),
        }
    }
}

/// The name of standard input.
pub const STDIN: &str = "/dev/stdin";

fn lock(stream: &Mutex<Stream>) -> std::sync::MutexGuard<'_, Stream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a stream from its beginning, and keeps the bytes.
struct Again {
    stream: Arc<Mutex<Stream>>,
    at: usize,
}

impl Read for Again {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Stream { ahead, rest } = &mut *lock(&self.stream);
        let mut known = &ahead[self.at..];
        let read = if known.is_empty() {
            let read = rest.read(buffer)?;
            let room = ahead.try_reserve(read);
            room.map_err(|_| ErrorKind::OutOfMemory)?;
            ahead.extend_from_slice(&buffer[..read]);
            read
        } else {
            known.read(buffer)?
        };
        self.at += read;
        Ok(read)
    }
}

/// Reads the bytes of a stream that were read ahead, and then the rest.
struct Last {
    ahead: Cursor<Vec<u8>>,
    stream: Arc<Mutex<Stream>>,
}

impl Read for Last {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.ahead.read(buffer)? {
            0 => {
                self.ahead = Cursor::default();
                lock(&self.stream).rest.read(buffer)
            }
            read => Ok(read),
        }
    }
}

/// A file of which the bytes that are read are counted.
#[derive(Clone)]
struct CountedFile {
    path: PathBuf,
    bytes: Arc<AtomicU64>,
}

impl CountedFile {
    /// Opens the file at this place.
    fn at(&self, offset: u64) -> io::Result<Counted> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Counted {
            file,
            bytes: self.bytes.clone(),
        })
    }

    /// Lets this many threads inflate the file from this place on.
    fn in_parallel(self, offset: u64, threads: usize) -> io::Result<parallel::Content> {
        let part = CountedPart {
            counted: self.at(0)?,
            offset,
        };
        let reopen = move || Ok(Box::new(self.at(offset)?) as Box<dyn Read + Send>);
        parallel::open(part, threads, reopen)
    }
}

/// A file from a place on, which is read at several places at once.
struct CountedPart {
    counted: Counted,
    offset: u64,
}

impl ReadAt for CountedPart {
    fn len(&self) -> io::Result<u64> {
        Ok(self
            .counted
            .file
            .metadata()?
            .len()
            .saturating_sub(self.offset))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .counted
            .file
            .read_at(self.offset.saturating_add(offset), buffer)?;
        self.counted.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// See [`CountedFile`].
struct Counted {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The content of a file. The first read finds out whether it is compressed: until then it
/// must not wait for a pipe.
pub enum Content {
    Unknown {
        bytes: Box<dyn Read + Send>,
        may_be_empty: bool,
    },
    Known(Box<dyn Read + Send>),
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Self::Unknown {
            bytes,
            may_be_empty,
        } = self
        {
            let mut beginning = vec![];
            bytes.take(GZIP.len() as u64).read_to_end(&mut beginning)?;
            if beginning.is_empty() && !*may_be_empty {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let compressed = beginning == GZIP;
            let bytes = mem::replace(bytes, Box::new(io::empty()));
            let whole = Cursor::new(beginning).chain(bytes);
            *self = Self::Known(if compressed {
                let buffered = BufReader::with_capacity(COMPRESSED, whole);
                Box::new(MemberReader::new(buffered))
            } else {
                Box::new(whole)
            });
        }
        match self {
            Self::Known(content) => content.read(buffer),
            Self::Unknown { .. } => unreachable!("it became known above"),
        }
    }
}
