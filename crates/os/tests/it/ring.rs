//! Reads and writes at a position of a file, and opening: the same with a ring, without
//! one, and in a sandbox that forbids it.

use std::future::{Future, poll_fn};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use blitz_io::fs::{self, File};
use blitz_io::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, IoBuf, IoBufMut};
use blitz_io::runtime::{Builder, Runtime};
use blitz_io_driver::io_uring::probe;

/// The number of bytes that each task writes at once.
const BLOCK: usize = 4096;

fn runtime(workers: usize, ring: bool) -> Runtime {
    let mut builder = match workers {
        0 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.worker_threads(workers.max(1)).enable_all();
    builder.enable_io_uring(ring).build().unwrap()
}

/// Returns the contents of a block.
fn block(index: usize) -> Vec<u8> {
    (0..BLOCK).map(|at| (at * 7 + index) as u8).collect()
}

/// Tasks write the blocks of a file and read them again, in another order.
async fn blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .open(&path)
        .await;
    let file = Arc::new(file.unwrap());
    let writes = (0..64).map(|index| {
        let file = file.clone();
        blitz_io::spawn(async move {
            let (result, buf) = file.write_at(block(index), (index * BLOCK) as u64).await;
            assert_eq!(result.unwrap(), BLOCK);
            assert_eq!(buf, block(index));
        })
    });
    for write in writes.collect::<Vec<_>>() {
        write.await.unwrap();
    }
    let reads = (0..64).map(|task| {
        let path = path.clone();
        blitz_io::spawn(async move {
            let file = File::open(&path).await.unwrap();
            assert_eq!(file.metadata().await.unwrap().len(), 64 * BLOCK as u64);
            for round in 0..20 {
                let index = (task * 31 + round * 17) % 64;
                let buf = Vec::with_capacity(BLOCK);
                let (result, buf) = file.read_at(buf, (index * BLOCK) as u64).await;
                assert_eq!(result.unwrap(), buf.len());
                assert_eq!(buf, block(index)[..buf.len()]);
                assert!(!buf.is_empty());
            }
        })
    });
    for read in reads.collect::<Vec<_>>() {
        read.await.unwrap();
    }
}

/// Operations that cannot be carried out return an error and the buffer.
async fn errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let error = File::open(&path).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(File::open("a\0b").await.is_err());
    fs::write(&path, "text").await.unwrap();
    let file = File::open(&path).await.unwrap();
    assert_eq!(file.read_at(vec![0; 9], 4).await.0.unwrap(), 0);
    assert_eq!(
        file.read_at(vec![1; 9], 3).await.1,
        [b't', 1, 1, 1, 1, 1, 1, 1, 1]
    );
    assert!(file.read_at(vec![0; 9], u64::MAX).await.0.is_err());
    let (result, buf) = file.write_at(String::from("no"), 0).await;
    assert!(result.is_err());
    assert_eq!(buf, "no");
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .await
        .unwrap();
    let error = full.write_at(String::from("no"), 0).await.0.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    let folder = File::open(folder.path()).await.unwrap();
    assert!(folder.read_at(vec![0; 9], 0).await.0.is_err());
    // Reads of a file that shrinks stop at its end.
    let other = std::fs::File::options().write(true).open(&path).unwrap();
    other.set_len(2).unwrap();
    assert_eq!(file.read_at(vec![0; 9], 0).await.0.unwrap(), 2);
}

/// A file keeps its own position.
async fn places() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .open(&path)
        .await
        .unwrap();
    file.write_all(b"01234").await.unwrap();
    file.flush().await.unwrap();
    file.write_at(String::from("abc"), 1).await.0.unwrap();
    file.write_all(b"56789").await.unwrap();
    file.flush().await.unwrap();
    let mut again = File::open(&path).await.unwrap();
    let mut two = [0; 2];
    again.read_exact(&mut two).await.unwrap();
    assert_eq!(again.read_at(vec![0; 3], 5).await.1, b"567");
    let mut rest = String::new();
    again.read_to_string(&mut rest).await.unwrap();
    assert_eq!((&two, rest.as_str()), (b"0a", "bc456789"));
}

fn all(ring: bool) {
    for workers in [0, 1, 4] {
        let runtime = runtime(workers, ring);
        runtime.block_on(blocks());
        runtime.block_on(async { blitz_io::spawn(errors()).await.unwrap() });
        runtime.block_on(places());
    }
}

#[test]
fn files_with_a_ring() {
    all(true);
}

#[test]
fn files_without_a_ring() {
    all(false);
}

/// The filter of system calls applies to one thread and those that it starts.
#[test]
fn files_in_a_sandbox_that_forbids_the_ring() {
    std::thread::spawn(|| {
        if !forbid_io_uring() {
            println!("no filter can be set here");
            return;
        }
        assert_eq!(probe().unwrap_err().raw_os_error(), Some(libc::EPERM));
        all(true);
    })
    .join()
    .unwrap();
}

/// The environment variable decides, whatever the builder says. Each case is a separate
/// process.
#[test]
fn the_environment_forbids_the_ring() {
    if let Some(value) = std::env::var_os("BLITZ_IO_URING") {
        assert_eq!(has_ring(), value != "0" && probe().is_ok());
        return;
    }
    for value in ["0", "1"] {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let test = blitz_io_testing::limited(&mut command)
            .args(["--exact", "ring::the_environment_forbids_the_ring"])
            .env("BLITZ_IO_URING", value)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&test.stdout);
        assert!(test.status.success(), "{value}: {text}");
        assert!(text.contains("1 passed"), "{text}");
    }
}

/// Returns whether a runtime whose builder allows a ring has one once it has written.
fn has_ring() -> bool {
    let runtime = runtime(1, true);
    runtime.block_on(async { blitz_io::spawn(blocks()).await.unwrap() });
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let mut files = descriptors
        .flatten()
        .map(|entry| std::fs::read_link(entry.path()));
    files.any(|file| file.is_ok_and(|file| file.to_string_lossy().contains("io_uring")))
}

/// Returns whether that worked: an outer sandbox may not permit another one.
fn forbid_io_uring() -> bool {
    let instruction = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let mut filter = [
        // The system call's number comes first.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(equal, 0, 1, libc::SYS_io_uring_setup as u32),
        instruction(
            libc::BPF_RET,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        instruction(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program is valid, and is copied.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    }
}

/// Bytes that record when they are dropped, and are overwritten then.
struct Watched {
    bytes: Vec<u8>,
    dropped: Arc<AtomicUsize>,
}

// SAFETY: the bytes are those of a `Vec`.
unsafe impl IoBuf for Watched {
    fn stable_ptr(&self) -> *const u8 {
        self.bytes.stable_ptr()
    }

    fn bytes_init(&self) -> usize {
        self.bytes.bytes_init()
    }

    fn bytes_total(&self) -> usize {
        self.bytes.bytes_total()
    }
}

// SAFETY: the bytes are those of a `Vec`, which is borrowed mutably.
unsafe impl IoBufMut for Watched {
    fn stable_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.stable_mut_ptr()
    }

    unsafe fn set_init(&mut self, count: usize) {
        // SAFETY: the caller guarantees it.
        unsafe { self.bytes.set_init(count) };
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.bytes.fill(0xaa);
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Drops futures after zero, one or two polls, and the runtime with some of them in flight:
/// every buffer is dropped once, and none while the kernel has it.
#[test]
fn futures_that_are_dropped_leave_their_buffers_to_the_kernel() {
    for (workers, ring) in [(0, true), (2, true), (2, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![1; 64 * BLOCK]).unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        let runtime = runtime(workers, ring);
        let watched = dropped.clone();
        let started = runtime.block_on(async {
            blitz_io::spawn(async move {
                let options = fs::OpenOptions::new()
                    .read(true)
                    .write(true)
                    .open(&path)
                    .await;
                let file = Arc::new(options.unwrap());
                let mut started = 0;
                for index in 0..192 {
                    let buf = Watched {
                        bytes: vec![1; BLOCK],
                        dropped: watched.clone(),
                    };
                    let file = file.clone();
                    let place = (index % 64 * BLOCK) as u64;
                    started += 1;
                    let mut write = Box::pin(async move { file.write_at(buf, place).await.0 });
                    for _ in 0..index % 3 {
                        let polled = poll_fn(|cx| Poll::Ready(write.as_mut().poll(cx))).await;
                        if let Poll::Ready(result) = polled {
                            assert_eq!(result.unwrap(), BLOCK);
                            break;
                        }
                        blitz_io::task::yield_now().await;
                    }
                    if index % 5 == 0 {
                        blitz_io::spawn(write);
                    }
                }
                // Only the bytes that were written have been seen.
                assert_eq!(fs::read(&path).await.unwrap(), vec![1; 64 * BLOCK]);
                started
            })
            .await
            .unwrap()
        });
        drop(runtime);
        assert_eq!(dropped.load(Ordering::Relaxed), started, "{workers} {ring}");
    }
}

/// A file's own operations and their results, beside those of a standard library file: in
/// the same order, with the same numbers.
async fn like_std(workers: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
    let mut options = std::fs::File::options();
    options.read(true).write(true).create(true);
    let mut file = fs::OpenOptions::from(options.clone())
        .open(&ours)
        .await
        .unwrap();
    let mut std = options.open(&theirs).unwrap();
    let mut state = 0x9e37_79b9_u64 + workers as u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for step in 0..600 {
        match random(6) {
            0 => {
                let to = SeekFrom::Start(random(50_000));
                assert_eq!(file.seek(to).await.unwrap(), std.seek(to).unwrap());
            }
            1 => {
                let to = SeekFrom::Current(random(2000) as i64 - 1000);
                let (got, expected) = (file.seek(to).await, std.seek(to));
                assert_eq!(got.ok(), expected.ok(), "{step}");
            }
            2 => {
                let len = random(5000) as usize;
                let (mut got, mut expected) = (vec![0; len], vec![0; len]);
                let count = std.read(&mut expected).unwrap();
                assert_eq!(file.read(&mut got).await.unwrap(), count, "{step}");
                assert_eq!(got, expected);
            }
            3 => file.flush().await.unwrap(),
            _ => {
                let bytes = vec![step as u8; random(5000) as usize];
                file.write_all(&bytes).await.unwrap();
                std.write_all(&bytes).unwrap();
            }
        }
        if step == 400 {
            // From now on two files share the position.
            let mut other = file.try_clone().await.unwrap();
            let place = other.seek(SeekFrom::Current(0)).await.unwrap();
            assert_eq!(place, std.stream_position().unwrap());
        }
        if step == 500 {
            file.sync_data().await.unwrap();
            file.sync_all().await.unwrap();
        }
    }
    file.shutdown().await.unwrap();
    let mut file = file.into_std().await;
    assert_eq!(
        file.stream_position().unwrap(),
        std.stream_position().unwrap()
    );
    assert!(std::fs::read(&ours).unwrap() == std::fs::read(&theirs).unwrap());
}

#[test]
fn a_file_does_what_that_of_std_does() {
    for (workers, ring) in [(0, true), (1, true), (2, true), (2, false)] {
        let runtime = runtime(workers, ring);
        let run = async move { blitz_io::spawn(like_std(workers)).await.unwrap() };
        runtime.block_on(run);
    }
}

/// The error of a write is reported to the next operation, once, and the file continues to
/// work.
#[test]
fn the_error_of_a_write_is_told_to_the_next_operation() {
    let Some(fixed) = file_of_fixed_length(BLOCK) else {
        println!("such a file cannot be had here");
        return;
    };
    let path = format!("/proc/self/fd/{}", fixed.as_raw_fd());
    for ring in [true, false] {
        let path = path.clone();
        let write = async move {
            let mut file = File::options().write(true).open(path).await.unwrap();
            file.seek(SeekFrom::Start(BLOCK as u64)).await.unwrap();
            file.write_all(b"too long").await.unwrap();
            let error = file.flush().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{ring}");
            file.flush().await.unwrap();
            file.write_all(b"too long").await.unwrap();
            let error = file.write_all(b"too long").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{ring}");
            // The file's position has not moved.
            assert_eq!(file.seek(SeekFrom::Current(-8)).await.unwrap(), 4088);
            file.write_all(b"it fits.").await.unwrap();
            file.shutdown().await.unwrap();
            assert_eq!(file.seek(SeekFrom::Current(0)).await.unwrap(), 4096);
        };
        let run = async { blitz_io::spawn(write).await.unwrap() };
        runtime(1, ring).block_on(run);
    }
    let mut last = [0; 8];
    fixed.read_exact_at(&mut last, BLOCK as u64 - 8).unwrap();
    assert_eq!(&last, b"it fits.");
}

/// Returns a file that refuses to grow, or `None` if the system has none.
fn file_of_fixed_length(len: usize) -> Option<std::fs::File> {
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(c"fixed".as_ptr(), libc::MFD_ALLOW_SEALING) };
    if fd == -1 {
        return None;
    }
    // SAFETY: the descriptor is open, and has no other owner.
    let file = unsafe { std::fs::File::from_raw_fd(fd) };
    file.set_len(len as u64).unwrap();
    // SAFETY: the descriptor is open.
    let sealed = unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_GROW) };
    let has_path = std::path::Path::new("/proc/self/fd").exists();
    (sealed == 0 && has_path).then_some(file)
}

/// Accepted writes are written: when the file is dropped at once, when the runtime is
/// dropped, and for a file that outlives its runtime.
#[test]
fn accepted_writes_are_written_whatever_is_dropped() {
    for (workers, ring) in [(0, true), (1, true), (2, true), (2, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = |index: usize| folder.path().join(format!("{index}"));
        let runtime = runtime(workers, ring);
        let writes = (0..64).map(|index| {
            let path = path(index);
            async move {
                let mut file = File::create(path).await.unwrap();
                file.write_all(&block(index)).await.unwrap();
                file.write_all(&block(index + 1)).await.unwrap();
                (index % 2 == 0).then_some(file)
            }
        });
        let kept = runtime.block_on(async {
            let writes: Vec<_> = writes.map(blitz_io::spawn).collect();
            let mut kept = Vec::new();
            for write in writes {
                kept.extend(write.await.unwrap());
            }
            kept
        });
        drop(runtime);
        drop(kept);
        for index in 0..64 {
            let written = std::fs::read(path(index)).unwrap();
            let expected = [block(index), block(index + 1)].concat();
            assert!(written == expected, "{index} {workers} {ring}");
        }
    }
}

/// A current-thread runtime has no thread that polls its driver between two calls of
/// `block_on`. Another thread's operations on files end nevertheless.
#[test]
fn files_of_a_runtime_whose_thread_does_something_else() {
    let runtime = runtime(0, true);
    let handle = runtime.handle().clone();
    let files = async {
        let folder = tempfile::tempdir().unwrap();
        let mut options = File::options();
        options.read(true).write(true).create(true);
        let file = options.open(folder.path().join("file")).await.unwrap();
        // More than a read takes from memory on the calling thread.
        let bytes = vec![7; 1 << 20];
        let (result, bytes) = file.write_at(bytes, 0).await;
        assert_eq!(result.unwrap(), bytes.len());
        file.sync_data().await.unwrap();
        file.sync_all().await.unwrap();
        let (result, read) = file.read_at(Vec::with_capacity(bytes.len()), 0).await;
        assert_eq!(result.unwrap(), bytes.len());
        assert!(read == bytes);
    };
    let other = std::thread::spawn(move || handle.block_on(files));
    other.join().unwrap();
}

/// The system's calls with a position refuse files that have none. A ring does not.
#[test]
fn a_fifo_has_no_positions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the name is a C string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    for (ring, flags) in [(true, 0), (true, libc::O_NONBLOCK), (false, 0)] {
        let path = path.clone();
        let files = async move {
            let mut options = File::options();
            options.read(true).write(true).custom_flags(flags);
            let file = options.open(path).await.unwrap();
            let copy = file.try_clone().await.unwrap();
            let owned = File::from_std(file.try_clone().await.unwrap().into_std().await);
            for file in [file, copy, owned] {
                let error = file.read_at(vec![0; 9], 0).await.0.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotSeekable, "{ring} {flags}");
                let error = file.write_at(String::from("x"), 0).await.0.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotSeekable, "{ring} {flags}");
            }
        };
        runtime(1, ring).block_on(async { blitz_io::spawn(files).await.unwrap() });
    }
}

/// Regular files whose file system cannot tell whether an operation would wait: the system's
/// calls ignore that they are in non-blocking mode, but a ring gives the operations up.
#[test]
fn a_file_in_non_blocking_mode_is_read_and_written() {
    let path = "/proc/self/coredump_filter";
    if !std::path::Path::new(path).exists() {
        println!("such a file cannot be had here");
        return;
    }
    for ring in [true, false] {
        let files = async move {
            let mut options = File::options();
            options
                .read(true)
                .write(true)
                .custom_flags(libc::O_NONBLOCK);
            let mut file = options.open(path).await.unwrap();
            let (result, _) = file.write_at(String::from("0x11"), 0).await;
            assert_eq!(result.unwrap(), 4, "{ring}");
            let (result, read) = file.read_at(vec![0; 9], 0).await;
            assert_eq!((result.unwrap(), &*read), (9, &b"00000011\n"[..]), "{ring}");
            file.write_all(b"0x22").await.unwrap();
            file.flush().await.unwrap();
            assert_eq!(std::fs::read(path).unwrap(), b"00000022\n", "{ring}");
            // A write for which no task waits.
            file.write_all(b"0x33").await.unwrap();
        };
        runtime(1, ring).block_on(async { blitz_io::spawn(files).await.unwrap() });
        // The runtime has ended.
        assert_eq!(std::fs::read(path).unwrap(), b"00000033\n", "{ring}");
    }
}
