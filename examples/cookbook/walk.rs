//! A parallel walk over a directory tree, with the fork-join pool.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use blitz_io::pool::{self, Scope};

/// Adds the sizes of the files below `folder`. Each folder is a job of its own.
fn walk<'scope>(scope: &Scope<'scope>, folder: PathBuf, bytes: &'scope AtomicU64) {
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) => return eprintln!("{}: {error}", folder.display()),
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => scope.spawn(move |scope| walk(scope, entry.path(), bytes)),
            Ok(kind) if kind.is_file() => {
                let size = entry.metadata().map_or(0, |metadata| metadata.len());
                bytes.fetch_add(size, Ordering::Relaxed);
            }
            _ => {} // links are not followed
        }
    }
}

fn size(folder: &Path) -> u64 {
    let bytes = AtomicU64::new(0);
    pool::scope(|scope| walk(scope, folder.to_owned(), &bytes));
    bytes.into_inner()
}

fn main() -> std::io::Result<()> {
    let root = tempfile::tempdir()?;
    for folder in 0..20 {
        let path = root.path().join(format!("{folder}/inner"));
        fs::create_dir_all(&path)?;
        for file in 0..10 {
            fs::write(path.join(file.to_string()), [0; 100])?;
        }
    }
    let bytes = size(root.path());
    println!("{bytes} bytes in 200 files");
    assert_eq!(bytes, 20 * 10 * 100);
    Ok(())
}
