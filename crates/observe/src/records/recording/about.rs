//! `About`: what a closure on a thread for blocking work does.
//!
//! The closure's task owns it, and its record has a pointer to it. The reader copies the text while it
//! has the record's slot, so the owner frees the text after that (`slot.rs`).

use std::path::Path;
use std::ptr::NonNull;

/// A description, or none: then the closure has no record.
#[derive(Debug)]
pub struct About(Option<Box<Job>>);

#[derive(Debug)]
struct Job {
    what: &'static str,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Nothing,
    Text(Box<str>),
    Descriptor(i32),
}

/// A pointer to a description.
#[derive(Clone, Copy)]
pub struct AboutRef(NonNull<Job>);

// SAFETY: the description is not changed while there is a pointer to it.
unsafe impl Send for AboutRef {}
// SAFETY: the description is not changed while there is a pointer to it, so threads may share it.
unsafe impl Sync for AboutRef {}

impl About {
    /// The absence of a description.
    pub const NONE: Self = Self(None);

    /// Returns the description that `describe` makes. Without records it is not called.
    #[must_use]
    pub fn of(describe: impl FnOnce() -> Self) -> Self {
        describe()
    }

    fn new(what: &'static str, target: Target) -> Self {
        Self(Some(Box::new(Job { what, target })))
    }

    /// Describes a closure of the user's, by its name if it has one.
    #[must_use]
    pub fn closure(name: Option<&str>) -> Self {
        match name {
            Some(name) => Self::text("", name),
            None => Self::operation(""),
        }
    }

    /// Describes an operation.
    #[must_use]
    pub fn operation(what: &'static str) -> Self {
        Self::new(what, Target::Nothing)
    }

    /// Describes an operation on an object that has this name.
    #[must_use]
    pub fn text(what: &'static str, name: &str) -> Self {
        Self::new(what, Target::Text(name.into()))
    }

    /// Describes an operation on a file with this path.
    #[must_use]
    pub fn path(what: &'static str, path: &Path) -> Self {
        Self::text(what, &path.to_string_lossy())
    }

    /// Describes an operation on an open file. If the closure closes the file at its end, a report of that
    /// moment may name another file.
    #[must_use]
    pub fn descriptor(what: &'static str, descriptor: i32) -> Self {
        Self::new(what, Target::Descriptor(descriptor))
    }

    /// Returns the pointer for a record. The description must outlive the record.
    #[must_use]
    pub fn for_record(&self) -> Option<AboutRef> {
        self.0.as_deref().map(|job| AboutRef(NonNull::from(job)))
    }
}

/// The greatest number of bytes of a text that a report has.
const LENGTH: usize = 128;

/// A copy of a description.
pub(super) struct Copied {
    what: &'static str,
    descriptor: Option<i32>,
    text: [u8; LENGTH],
    length: usize,
}

impl AboutRef {
    /// Copies the description, and allocates nothing.
    ///
    /// # Safety
    ///
    /// The description exists.
    pub(super) unsafe fn copy(self) -> Copied {
        // SAFETY: by this function's contract, the description exists.
        let job = unsafe { self.0.as_ref() };
        let mut copied = Copied {
            what: job.what,
            descriptor: None,
            text: [0; LENGTH],
            length: 0,
        };
        match &job.target {
            Target::Nothing => {}
            Target::Text(text) => {
                // The end of a path tells more than its beginning.
                let rest = &text.as_bytes()[text.len().saturating_sub(LENGTH)..];
                copied.text[..rest.len()].copy_from_slice(rest);
                copied.length = rest.len();
            }
            Target::Descriptor(descriptor) => copied.descriptor = Some(*descriptor),
        }
        copied
    }
}

impl Copied {
    /// Returns the name of the job, which is empty for a closure without a name.
    pub(super) fn name(&self) -> String {
        let target = match self.descriptor {
            Some(descriptor) => super::descriptor::file(descriptor),
            None => String::from_utf8_lossy(&self.text[..self.length]).into_owned(),
        };
        format!("{} {target}", self.what).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_jobs() {
        let name = |about: &About| {
            let about = about.for_record().expect("it is one");
            // SAFETY: the description exists.
            unsafe { about.copy() }.name()
        };
        assert_eq!(name(&About::closure(None)), "");
        assert_eq!(name(&About::closure(Some("hash"))), "hash");
        assert_eq!(name(&About::operation("read stdin")), "read stdin");
        assert_eq!(name(&About::path("open", Path::new("/a/b"))), "open /a/b");
        let long = format!("{}/end", "ü".repeat(200));
        let shown = name(&About::text("open", &long));
        assert!(shown.len() < 140 && shown.ends_with("/end"), "{shown}");
        assert!(About::NONE.for_record().is_none());
    }
}
