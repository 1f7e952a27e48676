//! pthread conditions and barriers, and semaphores.
//!
//! Conditions and barriers are queues under the address of the object; this crate leaves libc's state of
//! them as it was initialised. A semaphore is libc's, and only its wait is replaced, as with locks.

use core::ffi::{c_int, c_uint, c_void};

use crate::baton::{self, acquired, block, block_in_queue, point, release, wake};
use crate::c::{self, EAGAIN, EINVAL, ETIMEDOUT, Timespec};
use crate::lock;
use crate::real::real;
use crate::shared::region::fault;
use crate::state::{Class, NEVER, active, sim};
use crate::time::{self, REALTIME};

type Object = *mut c_void;

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_init(condition: Object, attributes: *const c_void) -> c_int {
    if active() {
        let mut clock = REALTIME;
        if !attributes.is_null() {
            c::pthread_condattr_getclock(attributes, &mut clock);
        }
        sim().condition_clocks.insert(condition as usize, clock);
    }
    real!("pthread_cond_init", fn(Object, *const c_void) -> c_int)(condition, attributes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_destroy(condition: Object) -> c_int {
    if active() {
        sim().condition_clocks.remove(&(condition as usize));
    }
    real!("pthread_cond_destroy", fn(Object) -> c_int)(condition)
}

unsafe fn wait(call: &'static str, condition: Object, mutex: Object, deadline: u64) -> c_int {
    point(call, condition as usize);
    // A condition may wake a thread for no reason, but even then the thread has released the mutex.
    let spurious = baton::has_fault(fault::SPURIOUS);
    lock::unlock(mutex);
    let timed_out = if spurious {
        baton::yield_now(call);
        false
    } else {
        block_in_queue((Class::Condition, condition as usize), deadline)
    };
    let locked = lock::lock_until(mutex, NEVER);
    if locked != 0 {
        locked
    } else if timed_out {
        ETIMEDOUT
    } else {
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_wait(condition: Object, mutex: Object) -> c_int {
    if !active() {
        return real!("pthread_cond_wait", fn(Object, Object) -> c_int)(condition, mutex);
    }
    wait("pthread_cond_wait", condition, mutex, NEVER)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_timedwait(
    condition: Object,
    mutex: Object,
    until: *const Timespec,
) -> c_int {
    if !active() {
        let wait = real!(
            "pthread_cond_timedwait",
            fn(Object, Object, *const Timespec) -> c_int
        );
        return wait(condition, mutex, until);
    }
    let clock = sim().condition_clocks.get(&(condition as usize)).copied();
    let deadline = time::deadline(clock.unwrap_or(REALTIME), &*until);
    wait("pthread_cond_timedwait", condition, mutex, deadline)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_clockwait(
    condition: Object,
    mutex: Object,
    clock: c_int,
    until: *const Timespec,
) -> c_int {
    if !active() {
        let wait = real!(
            "pthread_cond_clockwait",
            fn(Object, Object, c_int, *const Timespec) -> c_int
        );
        return wait(condition, mutex, clock, until);
    }
    wait(
        "pthread_cond_clockwait",
        condition,
        mutex,
        time::deadline(clock, &*until),
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_signal(condition: Object) -> c_int {
    if !active() {
        return real!("pthread_cond_signal", fn(Object) -> c_int)(condition);
    }
    point("pthread_cond_signal", condition as usize);
    wake((Class::Condition, condition as usize));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cond_broadcast(condition: Object) -> c_int {
    if !active() {
        return real!("pthread_cond_broadcast", fn(Object) -> c_int)(condition);
    }
    point("pthread_cond_broadcast", condition as usize);
    let key = (Class::Condition, condition as usize);
    sim().queues.remove(&key);
    release(key);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_init(
    barrier: Object,
    attributes: *const c_void,
    count: c_uint,
) -> c_int {
    let result = real!(
        "pthread_barrier_init",
        fn(Object, *const c_void, c_uint) -> c_int
    )(barrier, attributes, count);
    if active() && result == 0 {
        sim().barriers.insert(barrier as usize, (count, 0));
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_wait(barrier: Object) -> c_int {
    if !active() {
        return real!("pthread_barrier_wait", fn(Object) -> c_int)(barrier);
    }
    point("pthread_barrier_wait", barrier as usize);
    let Some((count, arrived)) = sim().barriers.get_mut(&(barrier as usize)) else {
        // It was initialised before `main`.
        return EINVAL;
    };
    *arrived += 1;
    let key = (Class::Barrier, barrier as usize);
    if *arrived == *count {
        *arrived = 0;
        release(key);
        return -1;
    }
    block(key, NEVER);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_barrier_destroy(barrier: Object) -> c_int {
    if active() {
        sim().barriers.remove(&(barrier as usize));
    }
    real!("pthread_barrier_destroy", fn(Object) -> c_int)(barrier)
}

unsafe fn try_wait(semaphore: Object) -> bool {
    let taken = real!("sem_trywait", fn(Object) -> c_int)(semaphore) == 0;
    // The first word of a semaphore is its value.
    if taken && *semaphore.cast::<u32>() == 0 {
        acquired((Class::Semaphore, semaphore as usize));
    }
    taken
}

unsafe fn sem_wait_until(semaphore: Object, deadline: u64) -> c_int {
    loop {
        if try_wait(semaphore) {
            return 0;
        }
        if block((Class::Semaphore, semaphore as usize), deadline) {
            *c::__errno_location() = ETIMEDOUT;
            return -1;
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_wait(semaphore: Object) -> c_int {
    if !active() {
        return real!("sem_wait", fn(Object) -> c_int)(semaphore);
    }
    point("sem_wait", semaphore as usize);
    sem_wait_until(semaphore, NEVER)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_timedwait(semaphore: Object, until: *const Timespec) -> c_int {
    sem_clockwait(semaphore, REALTIME, until)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_clockwait(
    semaphore: Object,
    clock: c_int,
    until: *const Timespec,
) -> c_int {
    if !active() {
        return real!("sem_clockwait", fn(Object, c_int, *const Timespec) -> c_int)(
            semaphore, clock, until,
        );
    }
    point("sem_timedwait", semaphore as usize);
    sem_wait_until(semaphore, time::deadline(clock, &*until))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_trywait(semaphore: Object) -> c_int {
    if !active() {
        return real!("sem_trywait", fn(Object) -> c_int)(semaphore);
    }
    point("sem_trywait", semaphore as usize);
    if try_wait(semaphore) {
        return 0;
    }
    *c::__errno_location() = EAGAIN;
    -1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sem_post(semaphore: Object) -> c_int {
    let post = real!("sem_post", fn(Object) -> c_int);
    if !active() {
        return post(semaphore);
    }
    point("sem_post", semaphore as usize);
    let result = post(semaphore);
    release((Class::Semaphore, semaphore as usize));
    result
}
