//! Files of hosts, and what is left of them after a crash.

use std::cell::Cell;
use std::future::{Future, pending};
use std::io::{self, ErrorKind, SeekFrom};
use std::path::Path;
use std::time::Duration;

use blitz_io::fs::{self, File};
use blitz_io::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use blitz_io::sim::{self, Builder, Disk, Faults, Host, Schedule};
use blitz_io::time::{Instant, sleep};

use super::builder;

/// Bytes of a sector, which a disk writes as a whole.
const SECTOR: usize = 512;

/// Returns a builder with enough runs for each outcome of a crash.
fn many() -> Builder {
    Builder::new().seeds(400).schedule(Schedule::Random)
}

/// Adds a host that runs `work` in its first life only, and waits until that is done.
async fn once<F>(name: &str, work: impl Fn() -> F + 'static) -> Host
where
    F: Future<Output = io::Result<()>> + 'static,
{
    let is_first = Cell::new(true);
    let host = sim::host(name, move |_| {
        let work = is_first.replace(false).then(&work);
        async move {
            if let Some(work) = work {
                work.await.unwrap();
                pending::<()>().await;
            }
        }
    });
    sleep(Duration::from_secs(1)).await;
    host
}

async fn sync_root() -> io::Result<()> {
    File::open("/").await?.sync_all().await
}

/// Appends bytes to a file, as one write of the system.
async fn append(path: &str, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::options().append(true).create(true).open(path).await?;
    file.write_all(bytes).await?;
    file.flush().await?;
    Ok(file)
}

#[test]
fn each_host_has_its_own_files() {
    builder().run(|| async {
        let path = "/a/file of a simulated host";
        let hosts = sim::hosts(2, move |me| async move {
            assert!(!fs::try_exists(path).await?);
            fs::create_dir("/a").await?;
            fs::write(path, me.name()).await?;
            sleep(Duration::from_secs(1)).await;
            assert_eq!(fs::read_to_string(path).await?, me.name());
            Ok::<_, io::Error>(())
        });
        sleep(Duration::from_secs(2)).await;
        assert_eq!(hosts[0].read_file(path).unwrap(), b"host-0");
        assert_eq!(hosts[1].read_file(path).unwrap(), b"host-1");
        assert!(!Path::new(path).exists());
    });
}

#[test]
fn the_files_of_the_test_itself_are_the_systems() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let same = path.clone();
    Builder::new().seeds(3).run(move || {
        let path = same.clone();
        async move {
            let of_host = path.clone();
            sim::host("host", move |_| {
                let path = of_host.clone();
                async move {
                    let error = fs::read(&path).await.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::NotFound);
                }
            });
            fs::write(&path, "real").await.unwrap();
            assert_eq!(fs::read(&path).await.unwrap(), b"real");
            sleep(Duration::from_secs(1)).await;
        }
    });
    assert_eq!(std::fs::read(&path).unwrap(), b"real");
}

#[test]
fn what_was_synced_survives_each_crash() {
    let report = many().run(|| async {
        let host = once("host", || async {
            let file = append("/file", b"synced").await?;
            file.sync_data().await?;
            sync_root().await?;
            append("/file", b" and not").await?;
            Ok(())
        })
        .await;
        assert_eq!(host.read_file("/file").unwrap(), b"synced and not");
        host.crash();
        let left = host.read_file("/file").unwrap();
        assert!(left == b"synced" || left == b"synced and not", "{left:?}");
        sim::sometimes("it was lost", left == b"synced");
        sim::sometimes("it was left", left != b"synced");
        host.restart();
        let after = host.read_file("/file").unwrap();
        assert_eq!(after, left);
        // Nothing is unsynced any more.
        host.crash();
        assert_eq!(host.read_file("/file").unwrap(), left);
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

#[test]
fn a_crash_leaves_some_of_the_unsynced_writes() {
    let report = many().run(|| async {
        let host = once("host", || async {
            append("/file", b"").await?.sync_all().await?;
            sync_root().await?;
            append("/file", b"one").await?;
            append("/file", b"two").await?;
            append("/file", &[b'x'; 3 * SECTOR]).await?;
            Ok(())
        })
        .await;
        host.crash();
        let left = host.read_file("/file").unwrap();
        let all = 6 + 3 * SECTOR;
        sim::sometimes("all", left.len() == all && left.starts_with(b"onetwox"));
        sim::sometimes("nothing", left.is_empty());
        sim::sometimes("the first one", left == b"one");
        sim::sometimes("the first two", left == b"onetwo");
        sim::sometimes(
            "a torn one",
            left.len() > 6 && left.len() < all && left.len() % SECTOR == 0,
        );
        let hole =
            left.len() == all && (left.starts_with(b"one\0\0\0x") || left.starts_with(b"\0"));
        sim::sometimes("all but one", hole);
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

#[test]
fn a_program_that_is_killed_loses_no_write_that_its_system_has() {
    builder().run(|| async {
        let host = once("host", || async {
            append("/file", b"flushed").await?;
            Ok(())
        })
        .await;
        host.kill();
        assert_eq!(host.read_file("/file").unwrap(), b"flushed");
    });
}

#[test]
fn a_write_that_was_not_flushed_may_be_lost_with_its_program() {
    let report = builder().run(|| async {
        let host = sim::host("host", |me| async move {
            let mut file = File::create("/file").await.unwrap();
            file.write_all(b"in a buffer").await.unwrap();
            me.kill();
            pending::<()>().await;
        });
        sleep(Duration::from_secs(1)).await;
        let left = host.read_file("/file").unwrap();
        sim::sometimes("lost", left.is_empty());
        sim::sometimes("written", left == b"in a buffer");
    });
    assert!(report.happened("lost") > 0);
    assert_eq!(report.happened("lost") + report.happened("written"), 60);
}

#[test]
fn names_survive_after_a_sync_of_their_folder_only() {
    let report = many().run(|| async {
        let host = once("host", || async {
            append("/named", b"1").await?.sync_all().await?;
            sync_root().await?;
            append("/first", b"2").await?.sync_all().await?;
            append("/second", b"3").await?.sync_all().await?;
            Ok(())
        })
        .await;
        host.crash();
        assert_eq!(host.read_file("/named").unwrap(), b"1");
        let (first, second) = (host.read_file("/first"), host.read_file("/second"));
        // Names are made durable in their order.
        assert!(first.is_ok() || second.is_err());
        sim::sometimes("both are lost", first.is_err());
        sim::sometimes("one is lost", first.is_ok() && second.is_err());
        sim::sometimes("none is lost", second.is_ok());
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

/// Replaces a file by a new one, in the way of all programs.
async fn replace(is_synced: bool) -> io::Result<()> {
    fs::write("/file", "old").await?;
    File::open("/file").await?.sync_all().await?;
    sync_root().await?;
    fs::write("/new", "new").await?;
    if is_synced {
        File::open("/new").await?.sync_all().await?;
    }
    fs::rename("/new", "/file").await?;
    sync_root().await
}

#[test]
fn a_file_that_is_replaced_before_it_is_synced_may_be_empty() {
    let report = many().run(|| async {
        let host = once("host", || replace(false)).await;
        host.crash();
        let left = host.read_file("/file").unwrap();
        sim::sometimes("the new one", left == b"new");
        sim::sometimes("an empty one", left.is_empty());
        assert_ne!(left, b"old");
    });
    assert!(report.never().is_empty(), "{:?}", report.never());

    let report = many().run(|| async {
        let host = sim::host("host", |_| replace(true));
        sleep(Duration::from_millis(sim::random() % 20)).await;
        host.crash();
        let left = host.read_file("/file").unwrap_or_default();
        sim::sometimes("the old one", left == b"old");
        sim::sometimes("the new one", left == b"new");
        host.restart();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(host.read_file("/file").unwrap(), b"new");
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

#[test]
fn a_rename_that_a_crash_undoes_leaves_both_folders_as_they_were() {
    many().run(|| async {
        let host = once("host", || async {
            fs::create_dir_all("/a/inner").await?;
            fs::create_dir("/b").await?;
            append("/a/inner/file", b"1").await?.sync_all().await?;
            for folder in ["/", "/a", "/a/inner", "/b"] {
                File::open(folder).await?.sync_all().await?;
            }
            fs::rename("/a/inner", "/b/moved").await
        })
        .await;
        host.crash();
        let old = host.read_file("/a/inner/../inner/file");
        let new = host.read_file("/b/moved/../moved/file");
        assert_eq!(old.is_ok(), new.is_err());
        assert_eq!(old.or(new).unwrap(), b"1");
    });
}

#[test]
fn a_sync_that_has_failed_drops_what_it_was_to_write() {
    let report = many().run(|| async {
        let host = sim::host("host", |me| async move {
            if me.read_file("/file").is_ok() {
                return;
            }
            let mut file = File::create("/file").await.unwrap();
            sync_root().await.unwrap();
            file.write_all(b"dropped").await.unwrap();
            file.flush().await.unwrap();
            sim::set_disk(&me, Disk::new().errors(0.5));
            let failed = file.sync_all().await;
            sim::set_disk(&me, Disk::new());
            sim::sometimes("it failed", failed.is_err());
            file.sync_all().await.unwrap();
            // The program reads what no crash leaves.
            assert_eq!(fs::read("/file").await.unwrap(), b"dropped");
            me.crash();
            let left = me.read_file("/file").unwrap();
            assert_eq!(left.is_empty(), failed.is_err());
        });
        sleep(Duration::from_secs(1)).await;
        assert!(!host.is_running());
    });
    assert!(report.happened("it failed") > 0);
}

#[test]
fn a_full_disk_has_room_for_a_part() {
    let report = many().run(|| async {
        let host = sim::host("host", |_| async {
            let mut file = File::create("/file").await.unwrap();
            sim::set_all_disks(Disk::new().full(0.5));
            _ = file.write_all(b"12345678").await;
            match file.flush().await {
                Ok(()) => sim::sometimes("there is room", true),
                Err(error) => assert_eq!(error.kind(), ErrorKind::StorageFull),
            }
            if let Err(error) = File::create("/other").await {
                assert_eq!(error.kind(), ErrorKind::StorageFull);
                sim::sometimes("no room for a name", true);
            }
        });
        sleep(Duration::from_secs(1)).await;
        let left = host.read_file("/file").unwrap();
        assert!(b"12345678".starts_with(&left));
        sim::sometimes("a part", !left.is_empty() && left.len() < 8);
        sim::sometimes("nothing", left.is_empty());
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

#[test]
fn a_disk_takes_its_time() {
    builder().run(|| async {
        let time = |seconds| Duration::from_secs(seconds);
        sim::set_all_disks(
            Disk::new()
                .latency(time(1), time(1))
                .sync_latency(time(5), time(5)),
        );
        let host = sim::host("host", |_| async {
            let start = Instant::now();
            let file = File::create("/file").await.unwrap();
            assert_eq!(start.elapsed(), Duration::from_secs(1));
            file.sync_all().await.unwrap();
            assert_eq!(start.elapsed(), Duration::from_secs(6));
            fs::write("/file", "done").await.unwrap();
        });
        sleep(time(6)).await;
        assert_eq!(host.read_file("/file").unwrap(), b"");
        sleep(time(2)).await;
        assert_eq!(host.read_file("/file").unwrap(), b"done");
    });
}

#[test]
fn an_operation_under_way_ends_with_its_host() {
    builder().run(|| async {
        let minute = Duration::from_secs(60);
        sim::set_all_disks(Disk::new().latency(minute, minute));
        let host = sim::host("host", |_| fs::write("/file", "late"));
        sleep(Duration::from_secs(30)).await;
        host.kill();
        sleep(minute).await;
        assert!(host.read_file("/file").is_err());
    });
}

#[test]
fn disks_fail_at_random_and_a_run_may_switch_that_off() {
    let report = many().run(|| async {
        sim::host("host", |_| async {
            let mut count = 0;
            for number in 0..200 {
                let wrote = fs::write(format!("/{}", number % 7), "text").await;
                count += u32::from(wrote.is_err());
                sleep(Duration::from_millis(50)).await;
            }
            sim::sometimes("errors", count > 0);
            sim::sometimes("no error", count == 0);
        });
        let short = Duration::from_millis(500);
        let faults = Faults::new().disk_errors().full_disks().slow_disks();
        sim::inject(faults.interval(short, short).length(short, short));
        sleep(Duration::from_secs(100)).await;
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

#[test]
fn a_file_of_an_earlier_life_is_closed() {
    builder().run(|| async {
        let (sender, mut receiver) = blitz_io::sync::mpsc::unbounded_channel();
        let host = sim::host("host", move |me| {
            let sender = sender.clone();
            async move {
                if me.read_file("/file").is_err() {
                    sender.send(File::create("/file").await.unwrap()).unwrap();
                }
            }
        });
        let mut file = receiver.recv().await.unwrap();
        file.write_all(b"by the test").await.unwrap();
        file.flush().await.unwrap();
        assert_eq!(host.read_file("/file").unwrap(), b"by the test");
        host.kill();
        file.write_all(b"late").await.unwrap();
        file.flush().await.unwrap_err();
        assert_eq!(host.read_file("/file").unwrap(), b"by the test");
    });
}

/// Runs code on a host, once.
fn on_host<F>(code: impl Fn() -> F + Copy + 'static)
where
    F: Future<Output = io::Result<()>> + 'static,
{
    builder().run(move || async move {
        sim::host("host", move |_| code());
        sleep(Duration::from_secs(10)).await;
    });
}

#[test]
fn files_are_read_and_written_as_those_of_a_system() {
    on_host(|| async {
        let mut options = File::options();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .open("file")
            .await?;
        file.write_all(b"hello, file").await?;
        file.seek(SeekFrom::Start(7)).await?;
        let mut text = String::new();
        file.read_to_string(&mut text).await?;
        assert_eq!(text, "file");
        file.seek(SeekFrom::End(-4)).await?;
        file.write_all(b"disk").await?;
        file.flush().await?;
        assert_eq!(fs::read("/file").await?, b"hello, disk");

        // Clones share the position.
        let mut clone = file.try_clone().await?;
        file.rewind().await?;
        assert_eq!(clone.read_u8().await?, b'h');
        assert_eq!(file.read_u8().await?, b'e');

        file.set_len(5).await?;
        file.set_len(7).await?;
        assert_eq!(fs::read("/file").await?, b"hello\0\0");
        append("/file", b"!").await?;
        assert_eq!(fs::read("/file").await?, b"hello\0\0!");
        assert_eq!(file.metadata().await?.len(), 8);
        drop(File::create("/file").await?);
        assert_eq!(fs::read("/file").await?, b"");
        Ok(())
    });
}

#[cfg(unix)]
#[test]
fn files_are_read_and_written_at_positions() {
    on_host(|| async {
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open("/file")
            .await?;
        let (result, _) = file.write_at(b"world".to_vec(), 6).await;
        assert_eq!(result?, 5);
        let (result, _) = file.write_at(b"hello ".to_vec(), 0).await;
        assert_eq!(result?, 6);
        let (result, buf) = file.read_at(Vec::with_capacity(20), 4).await;
        assert_eq!((result?, buf), (7, b"o world".to_vec()));
        Ok(())
    });
}

#[test]
fn errors_are_those_of_a_system() {
    async fn kind<T>(result: impl Future<Output = io::Result<T>>) -> ErrorKind {
        result.await.map(drop).unwrap_err().kind()
    }
    on_host(|| async {
        fs::create_dir_all("/a/b").await?;
        fs::write("/file", "").await?;
        assert_eq!(kind(fs::read("/missing")).await, ErrorKind::NotFound);
        assert_eq!(kind(fs::read("/missing/file")).await, ErrorKind::NotFound);
        assert_eq!(kind(fs::read("/file/x")).await, ErrorKind::NotADirectory);
        assert_eq!(kind(fs::read("/a")).await, ErrorKind::IsADirectory);
        assert_eq!(kind(fs::write("/a", "")).await, ErrorKind::IsADirectory);
        assert_eq!(kind(fs::create_dir("/a")).await, ErrorKind::AlreadyExists);
        assert_eq!(kind(fs::create_dir("/x/y")).await, ErrorKind::NotFound);
        assert_eq!(
            kind(fs::create_dir_all("/file/a")).await,
            ErrorKind::NotADirectory
        );
        assert_eq!(
            kind(File::create_new("/file")).await,
            ErrorKind::AlreadyExists
        );
        assert_eq!(
            kind(fs::remove_dir("/a")).await,
            ErrorKind::DirectoryNotEmpty
        );
        assert_eq!(
            kind(fs::remove_dir("/file")).await,
            ErrorKind::NotADirectory
        );
        assert_eq!(
            kind(fs::remove_dir_all("/file")).await,
            ErrorKind::NotADirectory
        );
        assert_eq!(
            kind(fs::rename("/a", "/a/b/c")).await,
            ErrorKind::InvalidInput
        );
        assert_eq!(
            kind(fs::rename("/file", "/a")).await,
            ErrorKind::IsADirectory
        );
        assert_eq!(kind(fs::rename("/x", "/y")).await, ErrorKind::NotFound);
        assert_eq!(
            kind(File::options().open("/file")).await,
            ErrorKind::InvalidInput
        );
        let mut only_read = File::open("/file").await?;
        only_read.write_all(b"x").await?;
        assert!(only_read.flush().await.is_err());
        Ok(())
    });
}

#[test]
fn folders_and_links_are_those_of_a_system() {
    on_host(|| async {
        fs::create_dir_all("/a/b").await?;
        fs::write("/a/file", "text").await?;
        fs::hard_link("/a/file", "/a/b/other").await?;
        fs::copy("/a/file", "/a/copy").await?;
        fs::write("/a/b/other", "changed").await?;
        assert_eq!(fs::read("/a/file").await?, b"changed");
        assert_eq!(fs::read("/a/copy").await?, b"text");
        assert_eq!(
            fs::canonicalize("/a/b/../file").await?,
            Path::new("/a/file")
        );

        let mut names = Vec::new();
        let mut entries = fs::read_dir("/a").await?;
        while let Some(entry) = entries.next_entry().await? {
            let is_dir = entry.file_type().await?.is_dir();
            assert_eq!(is_dir, entry.metadata().await?.is_dir());
            assert_eq!(is_dir, entry.path() == Path::new("/a/b"));
            names.push(entry.file_name());
        }
        assert_eq!(names, ["b", "copy", "file"]);

        fs::remove_file("/a/file").await?;
        assert_eq!(fs::read("/a/b/other").await?, b"changed");
        fs::remove_dir_all("/a").await?;
        assert!(!fs::try_exists("/a").await?);
        Ok(())
    });
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_followed() {
    on_host(|| async {
        fs::create_dir("/a").await?;
        fs::write("/a/file", "text").await?;
        fs::symlink("a", "/link").await?;
        fs::symlink("/loop", "/loop").await?;
        assert_eq!(fs::read("/link/file").await?, b"text");
        assert_eq!(fs::read_link("/link").await?, Path::new("a"));
        assert_eq!(fs::canonicalize("/link/file").await?, Path::new("/a/file"));
        assert!(fs::metadata("/link").await?.is_dir());
        assert!(fs::symlink_metadata("/link").await?.is_symlink());
        assert!(fs::read("/loop").await.is_err());
        fs::remove_file("/link").await?;
        assert_eq!(fs::read("/a/file").await?, b"text");
        Ok(())
    });
}

#[test]
fn the_time_of_a_change_is_that_of_the_hosts_clock() {
    on_host(|| async {
        sleep(Duration::from_secs(5)).await;
        fs::write("/file", "text").await?;
        let written = sim::system_time();
        sleep(Duration::from_secs(3)).await;
        assert_eq!(fs::metadata("/file").await?.modified()?, written);
        let file = File::open("/file").await?;
        file.set_modified(written - Duration::from_secs(60)).await?;
        let modified = file.metadata().await?.modified()?;
        assert_eq!(modified, written - Duration::from_secs(60));
        Ok(())
    });
}

#[cfg(unix)]
#[test]
fn permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    on_host(|| async {
        let mut options = File::options();
        options
            .write(true)
            .create(true)
            .mode(0o600)
            .open("/file")
            .await?;
        let mode = fs::metadata("/file").await?.permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let permissions = std::fs::Permissions::from_mode(0o440);
        fs::set_permissions("/file", permissions).await?;
        let mode = fs::metadata("/file").await?.permissions().mode();
        assert_eq!(mode & 0o777, 0o440);
        Ok(())
    });
}

#[test]
fn a_crash_is_the_same_in_each_replay() {
    let builder = Builder::new().seeds(100).check_determinism(true);
    builder.run(|| async {
        let host = once("host", || async {
            for number in 0..5 {
                append("/file", &[number; 700]).await?;
                fs::write(format!("/{number}"), "text").await?;
            }
            Ok(())
        })
        .await;
        host.crash();
        let left = host.read_file("/file").unwrap_or_default();
        // The time depends on what is left.
        sleep(Duration::from_millis(left.len() as u64)).await;
    });
}
