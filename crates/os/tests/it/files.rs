//! Files against a model: their contents, and the position of the caller.

use std::io::SeekFrom;
use std::pin::pin;
use std::task::Waker;

use blitz_io::fs::{self, File, OpenOptions};
use blitz_io::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use blitz_io::runtime::{Builder, Runtime};
use blitz_io_testing::{Dice, panic_of, poll_once};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The expected state of a file.
#[derive(Default)]
struct Model {
    bytes: Vec<u8>,
    place: usize,
}

impl Model {
    fn write(&mut self, bytes: &[u8]) {
        let end = self.place + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[self.place..end].copy_from_slice(bytes);
        self.place = end;
    }

    fn read(&mut self, bytes: &[u8]) {
        assert_eq!(bytes, &self.bytes[self.place..self.place + bytes.len()]);
        self.place += bytes.len();
    }
}

/// Runs any operations in any order. Reads, flushes and `sync_all` are sometimes dropped in
/// the middle: the caller's position is still where the last operation left it, and no byte
/// is lost.
#[test]
fn any_order_of_operations() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        for seed in 0..40 {
            let path = folder.path().join(seed.to_string());
            let mut dice = Dice(seed);
            let mut model = Model::default();
            let mut file = File::create_new(&path).await.unwrap();
            file.set_max_buf_size([1, 7, 64, 1 << 20][dice.below(4)]);
            for step in 0..60_u8 {
                operate(&mut file, &mut model, &mut dice, step).await;
            }
            file.flush().await.unwrap();
            assert_eq!(fs::read(&path).await.unwrap(), model.bytes, "seed {seed}");
        }
    });
}

async fn operate(file: &mut File, model: &mut Model, dice: &mut Dice, step: u8) {
    let mut buf = vec![0; dice.below(100)];
    match dice.below(9) {
        0 | 1 => {
            buf.fill(step);
            let count = file.write(&buf).await.unwrap();
            assert!(count == buf.len().min(file.max_buf_size()));
            model.write(&buf[..count]);
        }
        2 => {
            let count = file.read(&mut buf).await.unwrap();
            model.read(&buf[..count]);
            let at_end = model.place == model.bytes.len();
            assert!(count > 0 || buf.is_empty() || at_end);
        }
        3 => {
            // If it is not ready, its bytes are for the next read.
            if let std::task::Poll::Ready(count) =
                poll_once(pin!(file.read(&mut buf)), Waker::noop())
            {
                model.read(&buf[..count.unwrap()]);
            }
        }
        4 => {
            let to = dice.below(model.bytes.len() + 1);
            let (to, position) = match dice.below(3) {
                0 => (to, SeekFrom::Start(to as u64)),
                1 => (to, SeekFrom::End(to as i64 - model.bytes.len() as i64)),
                _ => (to, SeekFrom::Current(to as i64 - model.place as i64)),
            };
            assert_eq!(file.seek(position).await.unwrap(), to as u64);
            model.place = to;
        }
        5 => {
            let len = dice.below(200);
            file.set_len(len as u64).await.unwrap();
            model.bytes.resize(len, 0);
            if model.place > len {
                file.rewind().await.unwrap();
                model.place = 0;
            }
        }
        6 => {
            // Too far back: the position of the caller stays the same.
            let before = -(model.place as i64) - 1;
            assert!(file.seek(SeekFrom::Current(before)).await.is_err());
        }
        7 => drop(poll_once(pin!(file.flush()), Waker::noop())),
        _ => drop(poll_once(pin!(file.sync_all()), Waker::noop())),
    }
}

#[test]
fn a_write_survives_its_file_and_its_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    // The only thread of the pool is busy when the runtime ends.
    let runtime = Builder::new_current_thread()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut file = File::create(&path).await.unwrap();
        let (begin, begun) = std::sync::mpsc::channel::<()>();
        blitz_io::task::spawn_blocking(move || begun.recv());
        assert_eq!(file.write(b"written").await.unwrap(), 7);
        drop(file);
        drop(begin);
    });
    drop(runtime);
    assert_eq!(std::fs::read(&path).unwrap(), b"written");
}

#[test]
fn into_the_standard_library_and_back() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut options = OpenOptions::from(std::fs::File::options());
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .open(&path)
            .await
            .unwrap();
        file.write_all(b"abc").await.unwrap();
        // The write is under way, or has just ended.
        let mut file = match file.try_into_std() {
            Ok(std) => File::from(std),
            Err(file) => File::from_std(file.into_std().await),
        };
        assert_eq!(file.stream_position().await.unwrap(), 3);
        let mut other = file.try_clone().await.unwrap();
        other.rewind().await.unwrap();
        assert_eq!(file.read_u8().await.unwrap(), b'a');
        assert_eq!(file.metadata().await.unwrap().len(), 3);
        let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        file.set_modified(then).await.unwrap();
        assert_eq!(file.metadata().await.unwrap().modified().unwrap(), then);
        // An operation whose future was dropped still uses the file.
        drop(poll_once(pin!(file.metadata()), Waker::noop()));
        let std = file.into_std().await;
        assert_eq!(std.metadata().unwrap().len(), 3);
        assert!(format!("{other:?}").starts_with("File { std: File {"));
        assert_eq!(
            panic_of(|| other.set_max_buf_size(0)),
            "literally: `max_buf_size` must be greater than 0"
        );
    });
}

#[test]
fn every_entry_of_a_folder_comes_once_also_if_futures_are_dropped() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        for name in 0..100 {
            std::fs::write(folder.path().join(name.to_string()), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        let mut entries = fs::read_dir(folder.path()).await.unwrap();
        let mut names = Vec::new();
        let mut dice = Dice(7);
        loop {
            let next = if dice.below(2) == 0 {
                match poll_once(pin!(entries.next_entry()), Waker::noop()) {
                    std::task::Poll::Ready(next) => next,
                    std::task::Poll::Pending => continue,
                }
            } else {
                entries.next_entry().await
            };
            let Some(entry) = next.unwrap() else { break };
            let is_folder = entry.file_name() == "folder";
            assert_eq!(entry.file_type().await.unwrap().is_dir(), is_folder);
            assert_eq!(entry.metadata().await.unwrap().is_dir(), is_folder);
            names.push(entry.path());
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 101);
    });
}

#[test]
fn folders_links_and_permissions() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        assert!(fs::create_dir(&deep).await.is_err());
        fs::DirBuilder::new()
            .recursive(true)
            .create(&deep)
            .await
            .unwrap();
        fs::create_dir_all(&deep).await.unwrap();
        let (one, two, three) = (deep.join("one"), deep.join("two"), deep.join("three"));
        fs::write(&one, b"text").await.unwrap();
        assert_eq!(fs::copy(&one, &two).await.unwrap(), 4);
        fs::rename(&two, &three).await.unwrap();
        assert!(!fs::try_exists(&two).await.unwrap());
        fs::hard_link(&one, &two).await.unwrap();
        fs::remove_file(&one).await.unwrap();
        assert_eq!(fs::read_to_string(&two).await.unwrap(), "text");
        let mut permissions = fs::metadata(&two).await.unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&two, permissions).await.unwrap();
        assert!(
            fs::symlink_metadata(&two)
                .await
                .unwrap()
                .permissions()
                .readonly()
        );
        #[cfg(unix)]
        {
            fs::symlink(&two, &one).await.unwrap();
            assert_eq!(fs::read_link(&one).await.unwrap(), two);
            let real = fs::canonicalize(&one).await.unwrap();
            assert_eq!(real, std::fs::canonicalize(&two).unwrap());
        }
        assert!(fs::remove_dir(&deep).await.is_err());
        fs::remove_dir_all(folder.path().join("a")).await.unwrap();
        assert!(!fs::try_exists(&deep).await.unwrap());
    });
}

#[test]
fn without_a_runtime_it_panics_as_tokio_says() {
    let expected =
        "there is no reactor running, must be called from the context of a Tokio 1.x runtime";
    let text = panic_of(|| poll_once(pin!(fs::read("nothing")), Waker::noop()));
    assert!(text.contains(expected), "{text}");
}

/// Reads of cached data and reads by the pool, of all sizes, see the same bytes, and the
/// position is where the last one ended.
#[test]
fn small_and_large_reads_take_turns() {
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .await
            .unwrap();
        let mut at = 0;
        for size in [1, 300_000, 4096, 128 * 1024, 128 * 1024 + 1, 7]
            .into_iter()
            .cycle()
        {
            let mut read = vec![0; size];
            let count = file.read(&mut read).await.unwrap();
            assert_eq!(read[..count], bytes[at..at + count]);
            at += count;
            assert_eq!(file.stream_position().await.unwrap(), at as u64);
            if count == 0 {
                break;
            }
        }
        assert_eq!(at, bytes.len());
        file.rewind().await.unwrap();
        let mut two = [0; 2];
        file.read_exact(&mut two).await.unwrap();
        file.write_all(b"xyz").await.unwrap();
        // The read waits for the write, and continues behind it.
        file.read_exact(&mut two).await.unwrap();
        assert_eq!(two, [5, 6]);
        assert_eq!(std::fs::read(&path).unwrap()[..6], *b"\x00\x01xyz\x05");
        assert_eq!(file.metadata().await.unwrap().len(), bytes.len() as u64);
    });
}

/// Reads that never wait still let other tasks run.
#[test]
fn reads_that_do_not_wait_yield() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut file = File::open("/dev/zero").await.unwrap();
        let has_run = Arc::new(AtomicBool::new(false));
        let other = has_run.clone();
        let other = blitz_io::spawn(async move { other.store(true, Ordering::Relaxed) });
        let mut byte = [1];
        while !has_run.load(Ordering::Relaxed) {
            file.read_exact(&mut byte).await.unwrap();
            assert_eq!(byte, [0]);
        }
        other.await.unwrap();
    });
}

/// A write has failed, and no operation has reported that yet. Then an operation is dropped
/// while a thread carries it out: the next one waits for that thread, too.
#[test]
fn an_operation_waits_for_a_dropped_one_after_a_failed_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    // A read of this length does not end on the calling thread.
    let bytes = vec![7; 300_000];
    std::fs::write(&path, &bytes).unwrap();
    let mut builder = Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).build().unwrap();
    for is_read in [true, false] {
        runtime.block_on(async {
            let mut file = File::open(&path).await.unwrap();
            file.write_all(b"no").await.unwrap();
            // Waits for the write. On some systems it needs write access itself.
            _ = file.sync_all().await;
            // The only thread of the pool is busy.
            let (release, released) = std::sync::mpsc::channel::<()>();
            blitz_io::task::spawn_blocking(move || released.recv());
            let is_pending = if is_read {
                poll_once(pin!(file.read(&mut vec![0; 300_000])), Waker::noop()).is_pending()
            } else {
                poll_once(pin!(file.seek(SeekFrom::End(0))), Waker::noop()).is_pending()
            };
            assert!(is_pending, "{is_read}");
            drop(release);
            assert!(file.set_len(1).await.is_err(), "{is_read}");
            assert!(file.flush().await.is_err(), "{is_read}");
            file.flush().await.unwrap();
            file.rewind().await.unwrap();
            let mut read = Vec::new();
            file.read_to_end(&mut read).await.unwrap();
            assert!(read == bytes, "{is_read}");
        });
    }
}
