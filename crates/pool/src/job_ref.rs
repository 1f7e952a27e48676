//! The right to run a job, which is all that queues know about it.

/// The first field of every job.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    execute: unsafe fn(*const Header),
}

impl Header {
    /// `execute` is called with the address of this header, once, in a thread of the pool.
    #[inline(always)]
    pub(crate) fn new(execute: unsafe fn(*const Header)) -> Self {
        Self { execute }
    }
}

/// The right to run a job once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRef(*const Header);

// SAFETY: the closures behind it are `Send`: every constructor requires that.
unsafe impl Send for JobRef {}

impl JobRef {
    /// # Safety
    ///
    /// Called once, while the job is alive, by a worker of its pool.
    pub(crate) unsafe fn execute(self) {
        // SAFETY: the header belongs to a job whose function takes this very pointer.
        unsafe { ((*self.0).execute)(self.0) }
    }

    /// Makes a job that is never run, for models.
    #[cfg(loom)]
    pub fn numbered(number: usize) -> Self {
        Self(std::ptr::without_provenance(number * align_of::<Header>()))
    }

    pub(crate) fn as_ptr(self) -> *const Header {
        self.0
    }

    /// # Safety
    ///
    /// `ptr` points to the header of a job.
    #[inline(always)]
    pub(crate) unsafe fn from_ptr(ptr: *const Header) -> Self {
        Self(ptr)
    }

    /// Identifies the job as long as it is alive.
    pub(crate) fn tag(self) -> usize {
        self.0 as usize
    }

    /// Returns the number of a job in recordings: the tag of its scope, if it has one.
    #[inline]
    pub(crate) fn number(tag: usize, header: *const Header) -> usize {
        if tag == 0 { header as usize } else { tag }
    }
}
