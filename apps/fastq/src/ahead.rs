//! Blocked gzip (BGZF), which any thread inflates ahead of the reader.
//!
//! The source of a run passes chunks of blocks on as [`Task`]s, among the batches that it makes. Each chunk
//! keeps its place in a queue, so the content has the order of the file, whichever thread inflates it.
//!
//! **No thread waits for ever.** (1) A chunk is inflated by the first that takes its blocks: a worker that has
//! the task, or the reader that needs the content. (2) Inflating waits for nothing. (3) Only the reader
//! waits, and only for a chunk whose blocks a worker has taken. By (2) that worker leaves the content or a
//! fault there, even if it panics.
//!
//! **Faults** are those of an ordinary reader. From the first chunk on that is damaged or not of
//! whole blocks, a [`MemberReader`] reads the file again. It also reads members of other kinds.

use blitz_io::pipeline::gzip::{self, Decompressor, MemberReader};
use std::collections::VecDeque;
use std::io::{self, BufReader, Cursor, Read};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A chunk has about this many bytes, compressed or not.
const CHUNK: usize = 1 << 17;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Consecutive blocks of a file.
struct Chunk {
    /// The place of the blocks in the file.
    offset: u64,
    state: Mutex<State>,
    inflated: Condvar,
}

enum State {
    Compressed(Vec<u8>),
    /// A thread has taken the blocks, or the content.
    Taken,
    /// The content, or `None` if the blocks have a fault.
    Content(Option<Vec<u8>>),
}

impl Chunk {
    fn new(offset: u64, state: State) -> Arc<Self> {
        Arc::new(Self {
            offset,
            state: Mutex::new(state),
            inflated: Condvar::new(),
        })
    }

    /// Returns the content, or `None` if the blocks have a fault. The reader calls this once.
    fn content(&self, decompressor: &mut Decompressor) -> Option<Vec<u8>> {
        let mut state = lock(&self.state);
        loop {
            match mem::replace(&mut *state, State::Taken) {
                State::Compressed(blocks) => {
                    drop(state);
                    return decompressor.bgzf(&blocks).ok();
                }
                State::Content(content) => return content,
                State::Taken => {
                    state = self
                        .inflated
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// A chunk to inflate. The reader does it if no thread runs the task.
pub struct Task(Arc<Chunk>);

impl Task {
    /// Inflates the chunk, unless the reader was faster.
    pub fn run(self, decompressor: &mut Decompressor) {
        let mut state = lock(&self.0.state);
        if !matches!(*state, State::Compressed(_)) {
            return;
        }
        let State::Compressed(blocks) = mem::replace(&mut *state, State::Taken) else {
            return;
        };
        drop(state);
        let mut taken = TakenChunk {
            chunk: &self.0,
            content: None,
        };
        taken.content = decompressor.bgzf(&blocks).ok();
    }
}

/// A chunk that a worker inflates. Dropping it leaves the content, or a fault, for the reader.
struct TakenChunk<'a> {
    chunk: &'a Chunk,
    content: Option<Vec<u8>>,
}

impl Drop for TakenChunk<'_> {
    fn drop(&mut self) {
        *lock(&self.chunk.state) = State::Content(self.content.take());
        self.chunk.inflated.notify_one();
    }
}

/// Returns the blocks of a file in groups.
type NextBlocks = Box<dyn FnMut() -> io::Result<Option<Vec<u8>>> + Send>;
/// Opens the file again at this place.
type Reopen = Box<dyn Fn(u64) -> io::Result<Box<dyn Read + Send>> + Send>;

struct Queue {
    /// Reads the next blocks, until the file ends or has a fault.
    next: Option<NextBlocks>,
    reopen: Reopen,
    /// The place after the last chunk.
    offset: u64,
    /// The chunks before the content, in the order of the file.
    chunks: VecDeque<Arc<Chunk>>,
    content: Cursor<Vec<u8>>,
    decompressor: Decompressor,
    /// The ordinary reader, after a fault.
    rest: Option<Box<dyn Read + Send>>,
}

impl Queue {
    /// Reads a chunk, and adds it.
    fn add(&mut self) -> Option<Arc<Chunk>> {
        let next = self.next.as_mut()?;
        let chunk = match next() {
            Ok(Some(blocks)) => {
                let offset = self.offset;
                self.offset += blocks.len() as u64;
                Chunk::new(offset, State::Compressed(blocks))
            }
            Ok(None) => {
                self.next = None;
                return None;
            }
            Err(_) => {
                self.next = None;
                Chunk::new(self.offset, State::Content(None))
            }
        };
        self.chunks.push_back(chunk.clone());
        Some(chunk)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(rest) = &mut self.rest {
                return rest.read(buffer);
            }
            match self.content.read(buffer)? {
                0 => {}
                read => return Ok(read),
            }
            if self.chunks.is_empty() {
                self.add();
            }
            let Some(chunk) = self.chunks.pop_front() else {
                return Ok(0);
            };
            match chunk.content(&mut self.decompressor) {
                Some(content) => self.content = Cursor::new(content),
                None => self.read_as_members(chunk.offset)?,
            }
        }
    }

    /// Continues with an ordinary reader from this place, which is between two members.
    fn read_as_members(&mut self, offset: u64) -> io::Result<()> {
        self.next = None;
        self.chunks.clear();
        self.content = Cursor::default();
        let rest = (self.reopen)(offset)?;
        // After a member, the file may also end or have zeros.
        let rest = Cursor::new(gzip::BGZF_END).chain(rest);
        let rest = BufReader::with_capacity(CHUNK, rest);
        self.rest = Some(Box::new(MemberReader::new(rest)));
        Ok(())
    }
}

/// The way to inflate chunks of a file that its reader has not reached.
pub struct Ahead(Arc<Mutex<Queue>>);

/// The content of a file, in order.
pub struct Content(Arc<Mutex<Queue>>);

/// Makes the reader of a file in BGZF, and the way to inflate it ahead. `reopen` opens the file at a place;
/// the blocks begin at `offset`.
pub fn open(
    offset: u64,
    reopen: impl Fn(u64) -> io::Result<Box<dyn Read + Send>> + Send + 'static,
) -> io::Result<(Content, Ahead)> {
    let queue = Arc::new(Mutex::new(Queue {
        next: Some(Box::new(gzip::bgzf_blocks(reopen(offset)?, CHUNK))),
        reopen: Box::new(reopen),
        offset,
        chunks: VecDeque::new(),
        content: Cursor::default(),
        decompressor: Decompressor::new(),
        rest: None,
    }));
    Ok((Content(queue.clone()), Ahead(queue)))
}

impl Ahead {
    /// Returns the next chunk to inflate, unless there are `most` chunks before the reader already.
    pub fn task(&self, most: usize) -> Option<Task> {
        let mut queue = lock(&self.0);
        if queue.chunks.len() >= most {
            return None;
        }
        queue.add().map(Task)
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        lock(&self.0).read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    fn text() -> Vec<u8> {
        (0..200_000u32)
            .flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes())
            .collect()
    }

    fn blocks(text: &[u8]) -> Vec<u8> {
        let mut file = gzip::Compressor::new(1).bgzf(text).unwrap();
        file.extend(gzip::BGZF_END);
        file
    }

    /// Opens `file`, of which the first `offset` bytes are skipped.
    fn opened(file: Vec<u8>, offset: u64) -> (Content, Ahead) {
        let reopen = move |at: u64| -> io::Result<Box<dyn Read + Send>> {
            Ok(Box::new(Cursor::new(file[at as usize..].to_vec())))
        };
        open(offset, reopen).unwrap()
    }

    fn read(content: &mut Content) -> io::Result<Vec<u8>> {
        let mut all = vec![];
        content.read_to_end(&mut all).map(|_| all)
    }

    /// Returns the content of `file` as an ordinary reader sees it, up to a fault, and the fault.
    fn ordinary(file: &[u8]) -> (Vec<u8>, Option<String>) {
        let mut all = vec![];
        let ended = MemberReader::new(file).read_to_end(&mut all);
        (all, ended.err().map(|error| error.to_string()))
    }

    fn ahead_of(file: &[u8], in_order: bool) -> (Vec<u8>, Option<String>) {
        let (mut content, ahead) = opened(file.to_vec(), 0);
        let mut tasks: Vec<Task> = std::iter::from_fn(|| ahead.task(100)).collect();
        if !in_order {
            tasks.reverse();
        }
        let mut decompressor = Decompressor::new();
        tasks
            .into_iter()
            .for_each(|task| task.run(&mut decompressor));
        let mut all = vec![];
        let ended = content.read_to_end(&mut all);
        (all, ended.err().map(|error| error.to_string()))
    }

    #[test]
    fn the_content_has_the_order_of_the_file_whoever_inflates_it() {
        let text = text();
        let file = blocks(&text);
        assert!(ahead_of(&file, true) == (text.clone(), None));
        assert!(ahead_of(&file, false) == (text.clone(), None));
        // No task is run, or one of three.
        let (mut content, ahead) = opened(file.clone(), 0);
        let mut decompressor = Decompressor::new();
        for number in 0..9 {
            let task = ahead.task(100);
            if number % 3 == 0 {
                task.into_iter()
                    .for_each(|task| task.run(&mut decompressor));
            }
        }
        assert!(read(&mut content).unwrap() == text);
        // From a later block on.
        let first = gzip::Compressor::new(1).bgzf(b"first").unwrap();
        let file = [&first[..], &file].concat();
        assert!(read(&mut opened(file, first.len() as u64).0).unwrap() == text);
    }

    #[test]
    fn workers_inflate_while_the_reader_reads() {
        let text = text();
        let file = blocks(&text);
        for workers in 1..=8 {
            let (mut content, ahead) = opened(file.clone(), 0);
            let (send, tasks) = std::sync::mpsc::channel::<Task>();
            let tasks = Mutex::new(tasks);
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| {
                        let mut decompressor = Decompressor::new();
                        loop {
                            let Ok(task) = lock(&tasks).recv() else {
                                return;
                            };
                            task.run(&mut decompressor);
                        }
                    });
                }
                let mut all = vec![];
                let mut part = vec![0; 50_000];
                loop {
                    while let Some(task) = ahead.task(workers + 1) {
                        send.send(task).unwrap();
                    }
                    match content.read(&mut part).unwrap() {
                        0 => break,
                        read => all.extend_from_slice(&part[..read]),
                    }
                }
                drop(send);
                assert!(all == text, "{workers} workers");
            });
        }
    }

    #[test]
    fn no_more_chunks_are_in_memory_than_wanted() {
        let (mut content, ahead) = opened(blocks(&text()), 0);
        assert_eq!(std::iter::from_fn(|| ahead.task(3)).count(), 3);
        content.read_exact(&mut [0; 10]).unwrap();
        assert_eq!(std::iter::from_fn(|| ahead.task(3)).count(), 1);
    }

    #[test]
    fn faults_are_those_of_an_ordinary_reader() {
        let whole = blocks(&text());
        let middle = whole.len() / 2;
        let mut damaged = whole.clone();
        damaged[middle] ^= 0x55;
        let member = gzip::Compressor::new(6)
            .gzip(b"an ordinary member")
            .unwrap();
        let without_end = &whole[..whole.len() - gzip::BGZF_END.len()];
        for (file, is_whole) in [
            (whole[..middle].to_vec(), false),
            (whole[..whole.len() - 1].to_vec(), false),
            (damaged, false),
            ([&whole[..], b"no gzip"].concat(), false),
            ([&whole[..], &[0; 70_000], b"no zero"].concat(), false),
            (without_end.to_vec(), true),
            ([without_end, &[0; 70_000]].concat(), true),
            ([&whole[..], &whole].concat(), true),
            ([&whole[..], &member, &whole].concat(), true),
        ] {
            let expected = ordinary(&file);
            assert_eq!(expected.1.is_none(), is_whole);
            for in_order in [false, true] {
                assert!(ahead_of(&file, in_order) == expected, "{:?}", expected.1);
            }
        }
    }

    /// The reader gets the fault of a worker that panicked, and does not wait for it.
    #[test]
    fn a_chunk_is_left_even_by_a_panic() {
        let chunk = Chunk::new(7, State::Taken);
        let panicked = std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _taken = TakenChunk {
                    chunk: &chunk,
                    content: None,
                };
                std::panic::panic_any(());
            });
            assert!(chunk.content(&mut Decompressor::new()).is_none());
            worker.join()
        });
        assert!(panicked.is_err());
    }

    #[test]
    fn a_file_that_cannot_be_opened_again_is_a_fault() {
        let whole = blocks(&text());
        let cut = whole[..whole.len() / 2].to_vec();
        let first = Mutex::new(Some(cut));
        let reopen = move |_| -> io::Result<Box<dyn Read + Send>> {
            let first = lock(&first).take();
            let first = first.ok_or(ErrorKind::NotFound)?;
            Ok(Box::new(Cursor::new(first)))
        };
        let (mut content, _) = open(0, reopen).unwrap();
        let error = read(&mut content).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
