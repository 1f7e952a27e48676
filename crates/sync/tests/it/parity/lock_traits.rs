// Which traits the locks, their guards and their futures have. See `locks.rs`.

/// A type that is `Sync`, but not `Send`.
type OnlySync = std::sync::MutexGuard<'static, u32>;

pub fn traits() -> Log {
    let mut log = Log::new();
    macro_rules! table {
        ($($t:ty),* $(,)?) => { $(
            let name = stringify!($t);
            log!(log, name, implements!($t: Send), implements!($t: Sync), implements!($t: Unpin));
            log!(log, name, implements!($t: UnwindSafe), implements!($t: RefUnwindSafe));
            log!(log, name, implements!($t: Debug), implements!($t: std::fmt::Display));
            log!(log, name, implements!($t: Clone), implements!($t: Default));
            log!(log, name, implements!($t: PartialEq), implements!($t: std::error::Error));
        )* };
    }
    macro_rules! for_each_value {
        ($($value:ty),* $(,)?) => { $( table!(
            Mutex<$value>,
            MutexGuard<'static, $value>,
            MappedMutexGuard<'static, $value>,
            OwnedMutexGuard<$value>,
            OwnedMappedMutexGuard<$value>,
            OwnedMappedMutexGuard<u32, $value>,
            OwnedMappedMutexGuard<$value, u32>,
            RwLock<$value>,
            RwLockReadGuard<'static, $value>,
            RwLockWriteGuard<'static, $value>,
            RwLockMappedWriteGuard<'static, $value>,
            OwnedRwLockReadGuard<$value>,
            OwnedRwLockReadGuard<u32, $value>,
            OwnedRwLockReadGuard<$value, u32>,
            OwnedRwLockWriteGuard<$value>,
            OwnedRwLockMappedWriteGuard<$value>,
            OwnedRwLockMappedWriteGuard<u32, $value>,
            OwnedRwLockMappedWriteGuard<$value, u32>,
        ); )* };
    }
    for_each_value!(
        u32,
        Cell<u32>,
        OnlySync,
        Rc<u32>,
        std::marker::PhantomPinned,
        &'static mut u32,
        fn(),
        *const u32,
        Box<dyn Any>,
        Box<dyn Any + Send>,
    );
    table!(
        Semaphore,
        SemaphorePermit<'static>,
        OwnedSemaphorePermit,
        AcquireError,
        TryAcquireError,
        TryLockError,
        Mutex<str>,
        RwLock<[u32]>,
        Mutex<dyn Any + Send>,
        RwLock<dyn Any>,
    );
    log
}

/// Logs whether futures may be sent and shared.
pub fn traits_of_futures() -> Log {
    struct Of<T>(std::marker::PhantomData<T>);
    trait No {
        fn is_send(&self) -> bool {
            false
        }
        fn is_sync(&self) -> bool {
            false
        }
        fn is_unpin(&self) -> bool {
            false
        }
    }
    impl<T> No for &Of<T> {}
    #[allow(dead_code)]
    impl<T: Send> Of<T> {
        fn is_send(&self) -> bool {
            true
        }
    }
    #[allow(dead_code)]
    impl<T: Sync> Of<T> {
        fn is_sync(&self) -> bool {
            true
        }
    }
    #[allow(dead_code)]
    impl<T: Unpin> Of<T> {
        fn is_unpin(&self) -> bool {
            true
        }
    }
    fn of<T>(_: T) -> Of<T> {
        Of(std::marker::PhantomData)
    }

    let mut log = Log::new();
    macro_rules! futures {
        ($($future:expr),* $(,)?) => { $(
            let it = &of($future);
            log!(log, stringify!($future), it.is_send(), it.is_sync(), it.is_unpin());
        )* };
    }
    let semaphore = Arc::new(Semaphore::new(1));
    futures!(
        semaphore.acquire(),
        semaphore.acquire_many(1),
        semaphore.clone().acquire_owned(),
        semaphore.clone().acquire_many_owned(1),
    );
    macro_rules! for_each_value {
        ($($value:expr),* $(,)?) => { $(
            #[allow(clippy::arc_with_non_send_sync)]
            let mutex = Arc::new(Mutex::new($value));
            #[allow(clippy::arc_with_non_send_sync)]
            let lock = Arc::new(RwLock::new($value));
            futures!(
                mutex.lock(),
                mutex.clone().lock_owned(),
                lock.read(),
                lock.write(),
                lock.clone().read_owned(),
                lock.clone().write_owned(),
            );
        )* };
    }
    for_each_value!(1, Cell::new(1), Rc::new(1), std::marker::PhantomPinned);
    log
}
