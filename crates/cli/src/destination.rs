//! Files that a command writes at its end.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::exit::Exit;

/// Refuses files that cannot be written, before a long run whose result would be lost. Leaves no file behind.
pub fn check<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Exit> {
    let is_file = |path: &&Path| path.as_os_str() != "-";
    for path in paths.into_iter().filter(is_file) {
        try_to_write(path).map_err(|error| {
            Exit::unwritable(path, error)
                .with_advice("Give a file in a folder that exists and that you may write to.")
        })?;
    }
    Ok(())
}

fn try_to_write(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            OpenOptions::new().write(true).create_new(true).open(path)?;
            fs::remove_file(path)
        }
        Err(error) => Err(error),
        Ok(known) if known.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(known) if known.is_file() => OpenOptions::new().write(true).open(path).map(drop),
        // The reader of a pipe would take this for the end.
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_can_be_written_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::write(&old, "text").unwrap();
        check([&*new, &old, Path::new("-")]).unwrap();
        assert!(!new.exists());
        assert_eq!(fs::read(&old).unwrap(), b"text");
        for wrong in [folder.path().to_owned(), new.join("x"), old.join("x")] {
            assert!(
                matches!(check([&*wrong]), Err(Exit::Failed(_))),
                "{wrong:?}"
            );
        }
    }
}
