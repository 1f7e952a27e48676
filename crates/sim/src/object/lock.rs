//! pthread mutexes, read-write locks and `pthread_once`.
//!
//! Locks are not modelled: libc's own `trylock` decides, so recursive, error-checking and robust ones,
//! static initialisers and the layouts are libc's. Only the wait is replaced: where `trylock` says "busy",
//! the thread blocks until an unlock.

use core::ffi::{c_int, c_void};

use crate::baton::{self, acquired, block, point, release};
use crate::c::{EBUSY, EDEADLK, ETIMEDOUT, Timespec};
use crate::real::real;
use crate::state::{Class, NEVER, active, sim};
use crate::step;
use crate::sys;
use crate::time::{self, REALTIME};

type Lock = *mut c_void;

/// The kind of an error-checking mutex, in glibc's field.
const ERROR_CHECKING: i32 = 2;

/// Acquires a mutex, or fails with `ETIMEDOUT`.
pub unsafe fn lock_until(mutex: Lock, deadline: u64) -> c_int {
    let trylock = real!("pthread_mutex_trylock", fn(Lock) -> c_int);
    loop {
        let result = trylock(mutex);
        if result != EBUSY {
            acquired((Class::Mutex, mutex as usize));
            return result;
        }
        let owner = *mutex.cast::<i32>().add(2);
        let kind = *mutex.cast::<i32>().add(4) & 3;
        if kind == ERROR_CHECKING && owner == sys::gettid() {
            return EDEADLK;
        }
        if block((Class::Mutex, mutex as usize), deadline) {
            return ETIMEDOUT;
        }
    }
}

/// Releases a mutex.
pub unsafe fn unlock(mutex: Lock) -> c_int {
    let result = real!("pthread_mutex_unlock", fn(Lock) -> c_int)(mutex);
    release((Class::Mutex, mutex as usize));
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_lock(mutex: Lock) -> c_int {
    if !active() {
        return real!("pthread_mutex_lock", fn(Lock) -> c_int)(mutex);
    }
    point("pthread_mutex_lock", mutex as usize);
    lock_until(mutex, NEVER)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_trylock(mutex: Lock) -> c_int {
    let trylock = real!("pthread_mutex_trylock", fn(Lock) -> c_int);
    if !active() {
        return trylock(mutex);
    }
    point("pthread_mutex_trylock", mutex as usize);
    let result = trylock(mutex);
    if result != EBUSY {
        acquired((Class::Mutex, mutex as usize));
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_unlock(mutex: Lock) -> c_int {
    if !active() {
        return real!("pthread_mutex_unlock", fn(Lock) -> c_int)(mutex);
    }
    point("pthread_mutex_unlock", mutex as usize);
    unlock(mutex)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_timedlock(mutex: Lock, until: *const Timespec) -> c_int {
    pthread_mutex_clocklock(mutex, REALTIME, until)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: Lock,
    clock: c_int,
    until: *const Timespec,
) -> c_int {
    if !active() {
        let lock = real!(
            "pthread_mutex_clocklock",
            fn(Lock, c_int, *const Timespec) -> c_int
        );
        return lock(mutex, clock, until);
    }
    point("pthread_mutex_timedlock", mutex as usize);
    lock_until(mutex, time::deadline(clock, &*until))
}

/// Acquires a read-write lock with one of libc's functions that do not wait.
unsafe fn rwlock_until(
    lock: Lock,
    attempt: unsafe extern "C" fn(Lock) -> c_int,
    deadline: u64,
) -> c_int {
    loop {
        let result = attempt(lock);
        if result != EBUSY {
            return result;
        }
        if block((Class::RwLock, lock as usize), deadline) {
            return ETIMEDOUT;
        }
    }
}

macro_rules! rwlock {
    ($lock:ident, $timed:ident, $clocked:ident, $try:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $lock(lock: Lock) -> c_int {
            if !active() {
                return real!(stringify!($lock), fn(Lock) -> c_int)(lock);
            }
            point(stringify!($lock), lock as usize);
            rwlock_until(lock, real!(stringify!($try), fn(Lock) -> c_int), NEVER)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $timed(lock: Lock, until: *const Timespec) -> c_int {
            $clocked(lock, REALTIME, until)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $clocked(lock: Lock, clock: c_int, until: *const Timespec) -> c_int {
            if !active() {
                let real = real!(
                    stringify!($clocked),
                    fn(Lock, c_int, *const Timespec) -> c_int
                );
                return real(lock, clock, until);
            }
            point(stringify!($timed), lock as usize);
            let deadline = time::deadline(clock, &*until);
            rwlock_until(lock, real!(stringify!($try), fn(Lock) -> c_int), deadline)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $try(lock: Lock) -> c_int {
            if active() {
                point(stringify!($try), lock as usize);
            }
            real!(stringify!($try), fn(Lock) -> c_int)(lock)
        }
    };
}

rwlock!(
    pthread_rwlock_rdlock,
    pthread_rwlock_timedrdlock,
    pthread_rwlock_clockrdlock,
    pthread_rwlock_tryrdlock
);
rwlock!(
    pthread_rwlock_wrlock,
    pthread_rwlock_timedwrlock,
    pthread_rwlock_clockwrlock,
    pthread_rwlock_trywrlock
);

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_rwlock_unlock(lock: Lock) -> c_int {
    let unlock = real!("pthread_rwlock_unlock", fn(Lock) -> c_int);
    if !active() {
        return unlock(lock);
    }
    point("pthread_rwlock_unlock", lock as usize);
    let result = unlock(lock);
    release((Class::RwLock, lock as usize));
    result
}

/// Spin locks of libc spin without a call, so another thread could never release one.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_lock(lock: Lock) -> c_int {
    if !active() {
        return real!("pthread_spin_lock", fn(Lock) -> c_int)(lock);
    }
    point("pthread_spin_lock", lock as usize);
    let trylock = real!("pthread_spin_trylock", fn(Lock) -> c_int);
    loop {
        let result = trylock(lock);
        if result != EBUSY {
            return result;
        }
        block((Class::Mutex, lock as usize), NEVER);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_spin_unlock(lock: Lock) -> c_int {
    let unlock = real!("pthread_spin_unlock", fn(Lock) -> c_int);
    if !active() {
        return unlock(lock);
    }
    point("pthread_spin_unlock", lock as usize);
    let result = unlock(lock);
    release((Class::Mutex, lock as usize));
    result
}

/// glibc's value of a control whose function has returned.
const ONCE_DONE: i32 = 2;

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_once(control: *mut i32, function: unsafe extern "C" fn()) -> c_int {
    if !active() {
        return real!(
            "pthread_once",
            fn(*mut i32, unsafe extern "C" fn()) -> c_int
        )(control, function);
    }
    let key = (Class::Once, control as usize);
    if *control & ONCE_DONE != 0 {
        return 0;
    }
    point("pthread_once", control as usize);
    // While a thread executes the function, the queue of the key has its number first.
    while *control & ONCE_DONE == 0 {
        if sim().queues.contains_key(&key) {
            baton::block(key, NEVER);
            continue;
        }
        let current = sim().current;
        sim().queues.entry(key).or_default().push_back(current);
        step::calls_program();
        function();
        sim().queues.remove(&key);
        *control = ONCE_DONE;
        release(key);
    }
    0
}
