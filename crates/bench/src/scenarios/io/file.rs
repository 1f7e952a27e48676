//! Files: reading and writing at random offsets, opening and closing.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;

use super::client::fill;
use super::server::{Reply, UnixServer};
use super::{failure, for_each, measured};
use crate::scenarios::prelude::*;

pub(super) const TASKS: usize = 64;
pub(super) const PAGE: usize = 4096;
/// 16 MiB, which stay in the system's memory.
const PAGES: u64 = 1 << 12;

pub(super) fn scenarios() -> Vec<Scenario> {
    let row = |id, title, bodies| for_each((id, title, 20_000), bodies);
    let title = "Read 4 KiB at a random place, 64 tasks";
    let reads = row("file_read_4k", title, bodies!(read));
    let title = "Write 4 KiB at a random place, 64 tasks";
    let writes = row("file_write_4k", title, bodies!(write));
    let title = "Open a file, ask for its length, close it, 64 tasks";
    let opens = row("file_open_stat", title, bodies!(open_stat));
    [reads, writes, opens].into_iter().flatten().collect()
}

/// A file that is removed when this value is dropped.
pub(super) struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

impl Temporary {
    /// Creates a file whose pages hold their numbers, or an empty one.
    pub(super) fn new(filled: bool) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("blitz-io-bench-file-{}-{number}", std::process::id());
        let file = Self(std::env::temp_dir().join(name));
        let mut content = vec![0; PAGES as usize * PAGE];
        if filled {
            for (number, page) in content.chunks_mut(PAGE).enumerate() {
                fill(page, 1, number as u64);
            }
        }
        fs::write(&file.0, content)?;
        Ok(file)
    }

    #[cfg(all(target_os = "linux", feature = "thread-per-core"))]
    pub(super) fn path(&self) -> &std::path::Path {
        &self.0
    }
}

/// Returns the file that the rows read. It is created once, and removed when the process ends.
pub(super) fn filled() -> io::Result<&'static PathBuf> {
    if let Some(path) = FILE.get() {
        return Ok(path);
    }
    let path = Temporary::new(true)?;
    let kept = FILE.get_or_init(|| path.0.clone());
    // The thread that came second removes its own file.
    if *kept == path.0 {
        std::mem::forget(path);
        // SAFETY: The function takes nothing, does not unwind, and stays for the whole process.
        #[cfg(unix)]
        unsafe {
            libc::atexit(remove_filled);
        }
    }
    Ok(kept)
}

static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Removes the file that [`filled`] has created.
#[cfg(unix)]
extern "C" fn remove_filled() {
    if let Some(path) = FILE.get() {
        _ = fs::remove_file(path);
    }
}

/// Returns the pages that a task uses, in order.
pub(super) fn places(task: usize) -> impl Iterator<Item = u64> {
    let mut state = (task as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % PAGES
    })
}

fn read<S: UnixServer>(cx: &Context, workers: usize) -> Measured {
    let path = filled().map_err(failure)?;
    measure::<S, _>(cx, workers, |task, each| async move {
        let mut file = S::open(path, false).await?;
        let (mut page, mut expected) = (vec![0; PAGE], vec![0; PAGE]);
        for place in places(task).take(each) {
            S::read_at(&mut file, place * PAGE as u64, &mut page).await?;
            fill(&mut expected, 1, place);
            if page != expected {
                return Err(io::Error::other("another page than was asked for"));
            }
        }
        Ok(each as u64)
    })
}

fn write<S: UnixServer>(cx: &Context, workers: usize) -> Measured {
    let temporary = Temporary::new(false).map_err(failure)?;
    let path = temporary.0.clone();
    let sample = measure::<S, _>(cx, workers, move |task, each| {
        let path = path.clone();
        async move {
            let mut file = S::open(&path, true).await?;
            let mut page = vec![0; PAGE];
            for place in places(task).take(each) {
                fill(&mut page, 1, place);
                S::write_at(&mut file, place * PAGE as u64, &page).await?;
            }
            Ok(each as u64)
        }
    })?;
    check(&temporary, sample.ops as usize / TASKS)?;
    Ok(sample)
}

/// Checks that the file holds the written bytes, and nothing else.
pub(super) fn check(temporary: &Temporary, each: usize) -> Result<(), Failure> {
    let mut written = vec![false; PAGES as usize];
    for task in 0..TASKS {
        for place in places(task).take(each) {
            written[place as usize] = true;
        }
    }
    let content = fs::read(&temporary.0).map_err(failure)?;
    let mut expected = vec![0; PAGE];
    let mut right = 0;
    for (number, page) in content.chunks(PAGE).enumerate() {
        if written[number] {
            fill(&mut expected, 1, number as u64);
        } else {
            expected.fill(0);
        }
        right += u64::from(page == expected);
    }
    verify("pages", PAGES, right)
}

fn open_stat<S: UnixServer>(cx: &Context, workers: usize) -> Measured {
    let path = filled().map_err(failure)?;
    measure::<S, _>(cx, workers, |_, each| async move {
        for _ in 0..each {
            let file = S::open(path, false).await?;
            if S::len(&file).await? != PAGES * PAGE as u64 {
                return Err(io::Error::other("another length than it has"));
            }
        }
        Ok(each as u64)
    })
}

/// Runs the tasks, which return how much they have done.
fn measure<S: UnixServer, F: Reply<u64> + 'static>(
    cx: &Context,
    workers: usize,
    mut task: impl FnMut(usize, usize) -> F,
) -> Measured {
    let runtime = S::with_workers(workers);
    let each = cx.share(TASKS);
    measured("operations", each * TASKS as u64, || {
        S::run(runtime, TASKS, |number| task(number, each as usize))
    })
}
