//! Tasks with files and child processes that are on another thread at every await.

use std::io::SeekFrom;
use std::time::Duration;

use blitz_io::fs::{self, File};
use blitz_io::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use blitz_io::runtime::Builder;
use blitz_io_testing::{MovingTask, move_at_every_await};

const BLOCK: usize = 512;
const LIMIT: Duration = Duration::from_secs(900);

/// Reads and writes through the buffer of the file, and past it.
async fn file(path: std::path::PathBuf) {
    let mut file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .await
        .unwrap();
    for round in 0..50_u8 {
        let place = u64::from(round) * BLOCK as u64;
        file.write_all(&[round; BLOCK]).await.unwrap();
        file.flush().await.unwrap();
        file.seek(SeekFrom::Start(place)).await.unwrap();
        let mut block = [0; BLOCK];
        file.read_exact(&mut block).await.unwrap();
        assert_eq!(block, [round; BLOCK]);
        let (written, block) = file.write_at(vec![!round; BLOCK], place).await;
        assert_eq!(written.unwrap(), BLOCK);
        let (read, block) = file.read_at(block, place).await;
        assert_eq!((read.unwrap(), block[0]), (BLOCK, !round));
    }
    assert_eq!(fs::metadata(&path).await.unwrap().len(), 50 * BLOCK as u64);
}

#[test]
fn files_with_and_without_a_ring() {
    for ring in [true, false] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .enable_io_uring(ring)
            .build()
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let task =
            |name: u8| -> MovingTask { Box::pin(file(folder.path().join(name.to_string()))) };
        let handle = runtime.handle().clone();
        move_at_every_await((0..4).map(task).collect(), LIMIT, move |run| {
            let _runtime = handle.enter();
            run();
        });
    }
}

#[cfg(unix)]
#[test]
fn children() {
    use blitz_io::process::Command;
    use std::process::Stdio;

    async fn child() {
        for round in 0..5 {
            let mut child = Command::new("cat")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .unwrap();
            let mut input = child.stdin.take().unwrap();
            input.write_all(&[round; 100]).await.unwrap();
            drop(input);
            let output = child.wait_with_output().await.unwrap();
            assert!(output.status.success());
            assert_eq!(output.stdout, [round; 100]);
        }
    }

    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let handle = runtime.handle().clone();
    let (stop, stopped) = blitz_io::sync::oneshot::channel();
    // Only this thread polls its driver.
    let driver = std::thread::spawn(move || runtime.block_on(stopped));
    let tasks: Vec<MovingTask> = vec![Box::pin(child()), Box::pin(child())];
    move_at_every_await(tasks, LIMIT, move |run| {
        let _runtime = handle.enter();
        run();
    });
    stop.send(()).unwrap();
    driver.join().unwrap().unwrap();
}
