// Scenarios that are compiled twice: with `sync` being Tokio's and ours. Each returns its log.

use std::any::Any;
use std::cell::Cell;
use std::fmt::Debug;
use std::future::Future;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use blitz_io_testing::{Dice, Wakings, implements, log, poll_once};

use sync::{
    AcquireError, MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard,
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit,
    RwLock, RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit,
    TryAcquireError, TryLockError,
};

type Log = Vec<String>;

/// The message with which a closure panics.
fn panic_text<R>(run: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).err().expect("a panic");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast::<&str>().unwrap().to_string(),
    }
}

fn poll<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
    match poll_once(future, Waker::noop()) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

fn now<F: Future>(future: F) -> F::Output {
    poll(pin!(future)).expect("nothing to wait for")
}

pub fn shown() -> Log {
    let mut log = Log::new();
    let semaphore = Arc::new(Semaphore::new(3));
    let permit = semaphore.try_acquire_many(2).unwrap();
    let owned = semaphore.clone().try_acquire_owned().unwrap();
    log!(log, &semaphore, &permit, &owned);
    log.push(format!("{semaphore:#?} {permit:#?} {owned:#?}"));
    let error = semaphore.try_acquire().unwrap_err();
    log!(log, error.to_string(), &error);
    semaphore.close();
    let error = semaphore.try_acquire().unwrap_err();
    log!(log, error.to_string(), &error, &semaphore);
    let error = now(semaphore.acquire()).unwrap_err();
    log!(log, error.to_string(), &error);

    let mutex = Arc::new(Mutex::new("value"));
    log.push(format!("{mutex:?} {mutex:#?}"));
    let guard = mutex.try_lock().unwrap();
    log.push(format!("{guard:?} {guard} {guard:>9} {mutex:?} {mutex:#?}"));
    let error = mutex.try_lock().unwrap_err();
    log!(log, error.to_string(), error);
    let mapped = MutexGuard::map(guard, |value| value);
    log.push(format!("{mapped:?} {mapped} {mapped:>9}"));
    drop(mapped);
    let owned = mutex.try_lock_owned().unwrap();
    log.push(format!("{owned:?} {owned} {owned:>9}"));
    let owned = OwnedMutexGuard::map(owned, |value| value);
    log.push(format!("{owned:?} {owned} {owned:>9}"));

    let lock = Arc::new(RwLock::new("value"));
    log.push(format!("{lock:?} {lock:#?}"));
    let guard = lock.try_read().unwrap();
    log.push(format!("{guard:?} {guard} {guard:>9} {lock:?}"));
    drop(guard);
    let guard = lock.try_write().unwrap();
    log.push(format!("{guard:?} {guard} {guard:>9} {lock:?}"));
    let guard = RwLockWriteGuard::into_mapped(guard);
    log.push(format!("{guard:?} {guard} {guard:>9} {lock:?}"));
    drop(guard);
    let guard = lock.clone().try_read_owned().unwrap();
    log.push(format!("{guard:?} {guard} {guard:>9} {lock:?}"));
    drop(guard);
    let guard = lock.clone().try_write_owned().unwrap();
    log.push(format!("{guard:?} {guard} {guard:>9} {lock:?}"));
    let guard = OwnedRwLockWriteGuard::into_mapped(guard);
    log.push(format!("{guard:?} {guard} {guard:>9} {lock:?}"));
    log
}

pub fn panics() -> Log {
    let mut log = Log::new();
    log.push(panic_text(|| Semaphore::new(Semaphore::MAX_PERMITS + 1)));
    log.push(panic_text(|| RwLock::with_max_readers(1, 0)));
    log.push(panic_text(|| {
        RwLock::with_max_readers(1, (u32::MAX >> 3) + 1)
    }));
    let full = Semaphore::new(Semaphore::MAX_PERMITS);
    log.push(panic_text(|| full.add_permits(1)));
    log.push(panic_text(|| full.add_permits(Semaphore::MAX_PERMITS + 1)));
    let nearly = Semaphore::new(Semaphore::MAX_PERMITS - 5);
    log.push(panic_text(|| nearly.add_permits(6)));
    // A guard comes back to a semaphore that others have filled since.
    let filled = Semaphore::new(Semaphore::MAX_PERMITS);
    let permit = filled.try_acquire_many(3).unwrap();
    filled.add_permits(3);
    log.push(panic_text(|| drop(permit)));
    // Permits of two semaphores.
    let (one, two) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(1)));
    let mut permit = one.try_acquire().unwrap();
    log.push(panic_text(|| permit.merge(two.try_acquire().unwrap())));
    drop(permit);
    let mut permit = one.clone().try_acquire_owned().unwrap();
    log.push(panic_text(|| {
        permit.merge(two.clone().try_acquire_owned().unwrap())
    }));
    drop(permit);
    log!(log, one.available_permits(), two.available_permits());
    log!(log, Semaphore::MAX_PERMITS);
    log
}

pub fn permits() -> Log {
    let mut log = Log::new();
    let semaphore = Semaphore::new(10);
    let mut permit = now(semaphore.acquire_many(5)).unwrap();
    let two = permit.split(2).unwrap();
    log!(
        log,
        permit.num_permits(),
        two.num_permits(),
        permit.split(4).is_none()
    );
    let none = permit.split(0).unwrap();
    log!(
        log,
        none.num_permits(),
        std::ptr::eq(none.semaphore(), &semaphore)
    );
    drop(none);
    permit.merge(two);
    log!(log, permit.num_permits(), semaphore.available_permits());
    permit.split(1).unwrap().forget();
    drop(permit);
    log!(log, semaphore.available_permits());
    log!(
        log,
        semaphore.forget_permits(0),
        semaphore.forget_permits(3)
    );
    log!(
        log,
        semaphore.available_permits(),
        semaphore.forget_permits(100)
    );
    log!(
        log,
        semaphore.available_permits(),
        semaphore.forget_permits(1)
    );
    semaphore.add_permits(0);
    log!(log, semaphore.available_permits());

    let semaphore = Arc::new(Semaphore::new(10));
    let mut permit = now(semaphore.clone().acquire_many_owned(5)).unwrap();
    let two = permit.split(2).unwrap();
    log!(
        log,
        permit.num_permits(),
        two.num_permits(),
        permit.split(4).is_none()
    );
    permit.merge(two);
    log!(
        log,
        permit.num_permits(),
        Arc::ptr_eq(permit.semaphore(), &semaphore)
    );
    permit.split(1).unwrap().forget();
    log!(log, Arc::strong_count(&semaphore));
    drop(permit);
    log!(
        log,
        Arc::strong_count(&semaphore),
        semaphore.available_permits()
    );
    log
}

/// None at all can be had always, unless all is closed.
pub fn no_permits() -> Log {
    let mut log = Log::new();
    let semaphore = Arc::new(Semaphore::new(0));
    let mut waits = pin!(semaphore.acquire());
    log!(log, poll(waits.as_mut()).is_some());
    log!(
        log,
        semaphore
            .try_acquire_many(0)
            .map(|permit| permit.num_permits())
    );
    log!(log, now(semaphore.acquire_many(0)).unwrap().num_permits());
    log!(
        log,
        semaphore.blocking_acquire_many(0).unwrap().num_permits()
    );
    semaphore.close();
    log!(
        log,
        semaphore.try_acquire_many(0).is_err(),
        now(semaphore.acquire_many(0)).is_err()
    );
    log
}

/// While a task waits, the permits belong to it.
pub fn what_there_is_belongs_to_who_waits() -> Log {
    let mut log = Log::new();
    let semaphore = Semaphore::new(2);
    let mut three = Box::pin(semaphore.acquire_many(3));
    log!(
        log,
        poll(three.as_mut()).is_some(),
        semaphore.available_permits()
    );
    log!(
        log,
        semaphore.try_acquire().is_err(),
        semaphore.forget_permits(1)
    );
    let mut one = pin!(semaphore.acquire());
    log!(log, poll(one.as_mut()).is_some());
    drop(three);
    log!(log, semaphore.available_permits());
    let one = poll(one.as_mut()).map(|permit| permit.unwrap().num_permits());
    log!(log, one, semaphore.available_permits());
    log
}

pub fn who_was_served_before_it_was_closed_is_told() -> Log {
    let mut log = Log::new();
    let semaphore = Semaphore::new(0);
    let mut waits = Box::pin(semaphore.acquire());
    log!(log, poll(waits.as_mut()).is_some());
    semaphore.add_permits(1);
    semaphore.close();
    log!(log, semaphore.available_permits());
    log!(log, poll(waits.as_mut()).map(|permit| permit.is_err()));
    drop(waits);
    log!(log, semaphore.available_permits(), semaphore.is_closed());
    semaphore.close();
    semaphore.add_permits(3);
    log!(
        log,
        semaphore.available_permits(),
        semaphore.forget_permits(2)
    );
    log
}

pub fn polled_after_the_end() -> Log {
    let semaphore = Semaphore::new(1);
    let mut acquire = pin!(semaphore.acquire());
    drop(poll(acquire.as_mut()));
    vec![panic_text(|| drop(poll(acquire.as_mut())))]
}

pub fn guards_of_mutexes() -> Log {
    let mut log = Log::new();
    let mutex = Arc::new(Mutex::from((1, String::from("one"))));
    let guard = now(mutex.lock());
    log!(log, std::ptr::eq(MutexGuard::mutex(&guard), &*mutex));
    let guard = MutexGuard::try_map(guard, |_| None::<&mut u32>).unwrap_err();
    let Ok(text) = MutexGuard::try_map(guard, |pair| Some(&mut pair.1)) else {
        panic!("it is there")
    };
    let text = MappedMutexGuard::try_map(text, |_| None::<&mut String>).unwrap_err();
    let mut text = MappedMutexGuard::map(text, |text| text);
    text.make_ascii_uppercase();
    log!(log, &*text, mutex.try_lock().is_err());
    drop(text);
    let guard = now(mutex.clone().lock_owned());
    log!(
        log,
        &*guard,
        Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex)
    );
    let guard = OwnedMutexGuard::try_map(guard, |_| None::<&mut u32>).unwrap_err();
    let Ok(text) = OwnedMutexGuard::try_map(guard, |pair| Some(&mut pair.1)) else {
        panic!("it is there")
    };
    let text = OwnedMappedMutexGuard::try_map(text, |_| None::<&mut String>).unwrap_err();
    let text = OwnedMappedMutexGuard::map(text, |text| text);
    log!(
        log,
        &*text,
        mutex.clone().try_lock_owned().is_err(),
        Arc::strong_count(&mutex)
    );
    drop(text);
    log!(
        log,
        Arc::strong_count(&mutex),
        *mutex.blocking_lock() == (1, "ONE".into())
    );
    drop(mutex.clone().blocking_lock_owned());
    let mut mutex = Arc::into_inner(mutex).unwrap();
    mutex.get_mut().0 = 2;
    log!(
        log,
        mutex.into_inner(),
        Mutex::<u32>::default().into_inner()
    );

    static CONSTANT: Mutex<u32> = Mutex::const_new(5);
    log!(log, *CONSTANT.try_lock().unwrap());
    let unsized_one: &Mutex<[u32]> = &Mutex::new([1, 2, 3]);
    log!(log, unsized_one, now(unsized_one.lock()).len());
    let any: Arc<Mutex<dyn Any + Send>> = Arc::new(Mutex::new(7));
    log!(log, now(any.clone().lock_owned()).downcast_ref::<i32>());
    log!(
        log,
        OwnedMutexGuard::map(now(any.lock_owned()), |any| any
            .downcast_mut::<i32>()
            .unwrap())
    );
    log
}

/// A closure that panics unlocks.
pub fn panics_in_closures() -> Log {
    let mut log = Log::new();
    let mutex = Arc::new(Mutex::new(1));
    let borrowed = || {
        drop(MutexGuard::map(
            mutex.try_lock().unwrap(),
            |_| -> &mut u32 { panic!("a") },
        ))
    };
    log!(log, panic_text(borrowed), mutex.try_lock().is_ok());
    let guard = mutex.clone().try_lock_owned().unwrap();
    log.push(panic_text(|| {
        drop(OwnedMutexGuard::map(guard, |_| -> &mut u32 { panic!("b") }))
    }));
    log!(log, mutex.try_lock().is_ok());
    let lock = Arc::new(RwLock::new(1));
    let guard = lock.try_write().unwrap();
    log.push(panic_text(|| {
        drop(RwLockWriteGuard::downgrade_map(guard, |_| -> &u32 {
            panic!("c")
        }))
    }));
    log!(log, lock.try_write().is_ok());
    let guard = lock.clone().try_write_owned().unwrap();
    log.push(panic_text(|| {
        drop(OwnedRwLockWriteGuard::map(guard, |_| -> &mut u32 {
            panic!("d")
        }))
    }));
    log!(log, lock.try_write().is_ok());
    log
}

pub fn guards_of_rwlocks() -> Log {
    let mut log = Log::new();
    let lock = Arc::new(RwLock::from((1, String::from("one"))));
    let state = || (lock.try_read().is_ok(), lock.try_write().is_ok());

    let guard = RwLockReadGuard::try_map(now(lock.read()), |_| None::<&u32>).unwrap_err();
    let Ok(text) = RwLockReadGuard::try_map(guard, |pair| Some(&pair.1)) else {
        panic!("it is there")
    };
    let text: RwLockReadGuard<'_, str> = RwLockReadGuard::map(text, |text| text.as_ref());
    log!(log, &*text, state());
    drop(text);
    let guard = OwnedRwLockReadGuard::try_map(now(lock.clone().read_owned()), |_| None::<&u32>);
    let guard = guard.unwrap_err();
    log!(
        log,
        Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&guard), &lock)
    );
    let Ok(text) = OwnedRwLockReadGuard::try_map(guard, |pair| Some(&pair.1)) else {
        panic!("it is there")
    };
    let text = OwnedRwLockReadGuard::map(text, |text| text.as_str());
    log!(log, &*text, state(), Arc::strong_count(&lock));
    drop(text);

    let guard = RwLockWriteGuard::try_map(now(lock.write()), |_| None::<&mut u32>).unwrap_err();
    let guard = RwLockWriteGuard::try_downgrade_map(guard, |_| None::<&u32>).unwrap_err();
    log!(log, &*guard, state());
    let Ok(text) = RwLockWriteGuard::try_map(guard, |pair| Some(&mut pair.1)) else {
        panic!("it is there")
    };
    let text = RwLockMappedWriteGuard::try_map(text, |_| None::<&mut String>).unwrap_err();
    let mut text = RwLockMappedWriteGuard::map(text, |text| text.as_mut_str());
    text.make_ascii_uppercase();
    log!(log, &*text, state());
    drop(text);
    let text = RwLockWriteGuard::downgrade_map(now(lock.write()), |pair| &pair.1);
    log!(log, &*text, state());
    drop(text);
    let text = RwLockWriteGuard::try_downgrade_map(now(lock.write()), |pair| Some(&pair.1));
    log!(log, text.as_deref().ok(), state());
    drop(text);
    let reader = now(lock.write()).downgrade();
    log!(log, &*reader, state());
    drop(reader);
    log!(log, state());

    let guard = now(lock.clone().write_owned());
    log!(
        log,
        Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&guard), &lock)
    );
    let guard = OwnedRwLockWriteGuard::try_map(guard, |_| None::<&mut u32>).unwrap_err();
    let guard = OwnedRwLockWriteGuard::try_downgrade_map(guard, |_| None::<&u32>).unwrap_err();
    let Ok(text) = OwnedRwLockWriteGuard::try_map(guard, |pair| Some(&mut pair.1)) else {
        panic!("it is there")
    };
    let text = OwnedRwLockMappedWriteGuard::try_map(text, |_| None::<&mut String>).unwrap_err();
    log!(
        log,
        Arc::ptr_eq(OwnedRwLockMappedWriteGuard::rwlock(&text), &lock)
    );
    let text = OwnedRwLockMappedWriteGuard::map(text, |text| text.as_mut_str());
    log!(log, &*text, state(), Arc::strong_count(&lock));
    drop(text);
    let guard = now(lock.clone().write_owned());
    let text = OwnedRwLockWriteGuard::downgrade_map(guard, |pair| &pair.1);
    log!(log, &*text, state(), Arc::strong_count(&lock));
    drop(text);
    let guard = now(lock.clone().write_owned());
    let text = OwnedRwLockWriteGuard::try_downgrade_map(guard, |pair| Some(&pair.1));
    log!(log, text.is_ok(), state(), Arc::strong_count(&lock));
    drop(text);
    let reader = now(lock.clone().write_owned()).downgrade();
    log!(log, &*reader, state(), Arc::strong_count(&lock));
    drop(reader);
    log!(log, state(), Arc::strong_count(&lock));

    lock.blocking_write().0 = 2;
    log!(log, lock.blocking_read().0);
    let mut lock = Arc::into_inner(lock).unwrap();
    lock.get_mut().0 += 1;
    log!(
        log,
        lock.into_inner(),
        RwLock::<u32>::default().into_inner()
    );
    static CONSTANT: RwLock<u32> = RwLock::const_new(5);
    static NARROW: RwLock<u32> = RwLock::const_with_max_readers(5, 1);
    log!(log, *CONSTANT.try_read().unwrap());
    let reader = NARROW.try_read();
    log!(log, reader.is_ok(), NARROW.try_read().is_ok());
    let any: Arc<RwLock<dyn Any + Send + Sync>> = Arc::new(RwLock::new(7));
    log!(log, now(any.clone().read_owned()).downcast_ref::<i32>());
    let narrow = RwLock::with_max_readers(5, 1);
    let reader = now(narrow.write()).downgrade();
    log!(log, *reader, narrow.try_read().is_ok());
    log
}

/// A reader's guard may be used where a shorter lifetime is required.
#[allow(dead_code)]
fn shorter<'short, 'long: 'short>(
    guard: RwLockReadGuard<'long, &'long str>,
) -> RwLockReadGuard<'short, &'short str> {
    guard
}
