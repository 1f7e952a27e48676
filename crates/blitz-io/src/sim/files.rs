//! The files of hosts, as a test sees them.

use std::io;
use std::path::Path;

use blitz_io_os::simulation::{self, Disk};

use super::host::{Host, ToHost};
use super::hosts::{all, note_disk};

impl Host {
    /// Writes a file of its disk, as a test prepares it: with the folders above it. Everything on the disk is durable then.
    ///
    /// # Errors
    ///
    /// If a file is in the place of a folder, or a folder in that of the file.
    ///
    /// # Panics
    ///
    /// If it is the test itself, and outside of a simulation.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::{fs, sim, time};
    ///
    /// sim::Builder::new().seeds(20).run(|| async {
    ///     let host = sim::host("host", |_me| async {
    ///         time::sleep(time::Duration::from_secs(1)).await;
    ///         let limit = fs::read_to_string("/etc/limit").await.unwrap();
    ///         fs::write("/twice", (2 * limit.parse::<u32>().unwrap()).to_string()).await.unwrap();
    ///     });
    ///     host.write_file("/etc/limit", "21").unwrap();
    ///     time::sleep(time::Duration::from_secs(2)).await;
    ///     assert_eq!(host.read_file("/twice").unwrap(), b"42");
    /// });
    /// ```
    #[track_caller]
    pub fn write_file(&self, path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
        let host = number(self);
        simulation::write_file(host, path.as_ref(), contents.as_ref())
    }

    /// Reads a file of its disk, as its programs would at this moment, or after a restart.
    ///
    /// # Errors
    ///
    /// If there is no such file.
    ///
    /// # Panics
    ///
    /// As [`write_file`](Self::write_file).
    #[track_caller]
    pub fn read_file(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        simulation::read_file(number(self), path.as_ref())
    }
}

/// Returns the number of a host that has a disk.
#[track_caller]
fn number(host: &Host) -> u32 {
    let number = host.number();
    // Panics outside of a simulation.
    let _all = all();
    assert_ne!(number, 0, "the files of the test itself are the system's");
    number
}

/// Sets the disk of a host, from its next operation on.
///
/// # Panics
///
/// If it is the test itself, if there is no such host, and outside of a simulation.
///
/// # Examples
///
/// ```
/// use blitz_io::fs::File;
/// use blitz_io::io::AsyncWriteExt;
/// use blitz_io::sim::{self, Disk};
/// use blitz_io::time::{Duration, sleep};
///
/// sim::Builder::new().seeds(20).run(|| async {
///     let host = sim::host("host", |_me| async {
///         sleep(Duration::from_secs(1)).await;
///         let mut file = File::create("/log").await.unwrap();
///         file.write_all(b"line").await.unwrap();
///         let synced = file.sync_all().await;
///         sim::sometimes("a sync failed", synced.is_err());
///     });
///     sim::set_disk(&host, Disk::new().errors(0.1));
///     sleep(Duration::from_secs(2)).await;
/// });
/// ```
#[track_caller]
pub fn set_disk(host: impl ToHost, disk: Disk) {
    let number = host.number();
    let _all = all();
    assert_ne!(number, 0, "the files of the test itself are the system's");
    note_disk(&[number], disk != Disk::new(), || {
        let name = all().swap_remove(number as usize - 1);
        format!("the disk of {name} is set")
    });
    simulation::set_disk(number, disk);
}

/// Sets the disks of all hosts, also of those that are added later.
///
/// # Panics
///
/// Outside of a simulation.
#[track_caller]
pub fn set_all_disks(disk: Disk) {
    let _all = all();
    note_disk(&[], disk != Disk::new(), || "all disks are set".to_owned());
    simulation::set_all_disks(disk);
}
