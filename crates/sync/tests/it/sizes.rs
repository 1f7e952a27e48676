//! How large the locks are, and between which threads they and their guards may
//! go. Both are promises: a change breaks users.

use blitz_io_observe::IS_ENABLED;
use blitz_io_sync::thread::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, Condvar, FairMutex, FairMutexGuard,
    MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard, RawMutex,
    RawRwLock, RawThreadId, ReentrantMutex, ReentrantMutexGuard, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{needs_drop, size_of};
use std::rc::Rc;

/// With the feature `inspect` a lock also has a pointer to the facts about it.
#[test]
fn locks_are_small() {
    if IS_ENABLED {
        return;
    }
    assert_eq!((size_of::<RawMutex>(), align_of::<RawMutex>()), (4, 4));
    assert_eq!((size_of::<RawRwLock>(), align_of::<RawRwLock>()), (8, 4));
    assert_eq!(size_of::<Mutex<()>>(), 4);
    assert_eq!(size_of::<FairMutex<()>>(), 4);
    assert_eq!(size_of::<Mutex<u32>>(), 8);
    // A `u64` has an alignment of 4 on some systems with 32 bits.
    assert_eq!(size_of::<Mutex<u64>>(), 8 + align_of::<u64>());
    assert_eq!(size_of::<RwLock<()>>(), 8);
    assert_eq!(size_of::<RwLock<u64>>(), 16);
    let word = size_of::<usize>();
    assert!(size_of::<ReentrantMutex<()>>() <= 3 * word);
    // Some of its fields have 64 bits on every system.
    assert!(size_of::<Condvar>() <= 5 * size_of::<u64>());
}

/// Compares with the row of sizes in the chapter about parking_lot.
#[test]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn sizes_are_those_of_the_book() {
    const BOOK: &str = include_str!("../../../../book/src/moving/locks.md");
    let is_row = |line: &&str| {
        line.starts_with("| bytes of `Mutex<()>`, `Mutex<u8>`, `RwLock<()>`, `Condvar`")
    };
    let row = BOOK.lines().find(is_row).unwrap();
    let sizes = [
        size_of::<Mutex<()>>(),
        size_of::<Mutex<u8>>(),
        size_of::<RwLock<()>>(),
        size_of::<Condvar>(),
    ];
    let sizes = sizes.map(|size| size.to_string()).join(", ");
    let cell = if IS_ENABLED {
        format!("; with `inspect` {sizes} |")
    } else {
        format!(" | {sizes}; with `inspect`")
    };
    assert!(row.contains(&cell), "{cell} is not in {row}");
}

#[test]
fn guards_are_small() {
    let word = size_of::<usize>();
    assert_eq!(size_of::<MutexGuard<'_, [u64; 9]>>(), word);
    assert_eq!(size_of::<RwLockReadGuard<'_, [u64; 9]>>(), word);
    assert_eq!(size_of::<RwLockWriteGuard<'_, [u64; 9]>>(), word);
    assert_eq!(size_of::<ReentrantMutexGuard<'_, [u64; 9]>>(), word);
    assert_eq!(size_of::<MappedMutexGuard<'_, u64>>(), 2 * word);
    assert_eq!(size_of::<ArcMutexGuard<RawMutex, u64>>(), word);
    // A lock that failed costs no more than one that did not.
    assert_eq!(size_of::<Option<MutexGuard<'_, u8>>>(), word);
    assert_eq!(size_of::<Option<RwLockReadGuard<'_, u8>>>(), word);
}

/// But with the feature `inspect` a lock gives back the memory for the facts about it.
#[test]
fn locks_of_plain_values_need_no_drop() {
    let needed = [
        needs_drop::<Mutex<u64>>(),
        needs_drop::<RwLock<u64>>(),
        needs_drop::<ReentrantMutex<u64>>(),
        needs_drop::<Condvar>(),
    ];
    assert_eq!(needed, [IS_ENABLED; 4]);
    assert!(needs_drop::<Mutex<String>>() && needs_drop::<RwLock<String>>());
}

/// Asks whether a type is `Send` or `Sync`: the constants below are taken if
/// their bound holds, else those of the trait.
struct Ask<T: ?Sized>(PhantomData<T>);

impl<T: ?Sized + Send> Ask<T> {
    const SEND: bool = true;
}

impl<T: ?Sized + Sync> Ask<T> {
    const SYNC: bool = true;
}

trait Otherwise {
    const SEND: bool = false;
    const SYNC: bool = false;
}

impl<T: ?Sized> Otherwise for Ask<T> {}

/// Returns whether a type is `Send`, and whether it is `Sync`.
macro_rules! goes {
    ($type:ty) => {
        (Ask::<$type>::SEND, Ask::<$type>::SYNC)
    };
}

const BOTH: (bool, bool) = (true, true);
const NEITHER: (bool, bool) = (false, false);
const SEND_ONLY: (bool, bool) = (true, false);
const GUARD_SEND: bool = cfg!(feature = "send_guard");

#[test]
fn the_question_is_answered_right() {
    assert_eq!(goes!(u32), BOTH);
    assert_eq!(goes!(Cell<u32>), SEND_ONLY);
    assert_eq!(goes!(Rc<u32>), NEITHER);
    assert_eq!(goes!(std::sync::MutexGuard<'static, u32>), (false, true));
}

#[test]
fn where_locks_may_go() {
    assert_eq!(goes!(Mutex<u32>), BOTH);
    assert_eq!(goes!(Mutex<Cell<u32>>), BOTH);
    assert_eq!(goes!(Mutex<Rc<u32>>), NEITHER);
    assert_eq!(goes!(Mutex<*mut u32>), NEITHER);
    assert_eq!(goes!(FairMutex<Cell<u32>>), BOTH);
    assert_eq!(goes!(RwLock<u32>), BOTH);
    // Readers share the value.
    assert_eq!(goes!(RwLock<Cell<u32>>), SEND_ONLY);
    assert_eq!(goes!(RwLock<Rc<u32>>), NEITHER);
    // Its guards give shared access, but never in two threads.
    assert_eq!(goes!(ReentrantMutex<Cell<u32>>), BOTH);
    assert_eq!(goes!(ReentrantMutex<Rc<u32>>), NEITHER);
    assert_eq!(goes!(Condvar), BOTH);
}

#[test]
fn where_guards_may_go() {
    assert_eq!(goes!(MutexGuard<'static, u32>), (GUARD_SEND, true));
    assert_eq!(goes!(MutexGuard<'static, Cell<u32>>), (GUARD_SEND, false));
    assert_eq!(goes!(MappedMutexGuard<'static, u32>), (GUARD_SEND, true));
    assert_eq!(goes!(FairMutexGuard<'static, u32>), (GUARD_SEND, true));
    assert_eq!(goes!(RwLockReadGuard<'static, u32>), (GUARD_SEND, true));
    assert_eq!(goes!(RwLockWriteGuard<'static, u32>), (GUARD_SEND, true));
    assert_eq!(
        goes!(RwLockUpgradableReadGuard<'static, u32>),
        (GUARD_SEND, true)
    );
    assert_eq!(
        goes!(MappedRwLockReadGuard<'static, u32>),
        (GUARD_SEND, true)
    );
    assert_eq!(
        goes!(MappedRwLockWriteGuard<'static, u32>),
        (GUARD_SEND, true)
    );
    assert_eq!(goes!(MutexGuard<'static, Rc<u32>>), NEITHER);
    assert_eq!(goes!(RwLockReadGuard<'static, Rc<u32>>), NEITHER);
    assert!(!goes!(ArcRwLockReadGuard<RawRwLock, Cell<u32>>).1);
    // Only the thread that locked counts as the owner.
    assert_eq!(goes!(ReentrantMutexGuard<'static, u32>), (false, true));
    assert!(!goes!(ArcReentrantMutexGuard<RawMutex, RawThreadId, u32>).0);
}
