//! Threads. They stay real ones; each sleeps until it gets the baton.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::Ordering;

use crate::baton;
use crate::c::{self, EBUSY, ETIMEDOUT, Start, Timespec};
use crate::end;
use crate::leaks;
use crate::real::real;
use crate::shared::region::kind;
use crate::state::{Class, NEVER, State, Thread, active, sim};
use crate::step;
use crate::sys;
use crate::time;

/// Rounds in which libc calls destructors of thread-specific values.
const ROUNDS: u32 = 4;

/// The start routine of a new thread and its argument.
struct Body {
    /// Its record, which does not move. The list of the records is read with the baton only.
    record: *const Thread,
    start: Start,
    argument: *mut c_void,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut usize,
    attributes: *const c_void,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let create = real!(
        "pthread_create",
        fn(*mut usize, *const c_void, Start, *mut c_void) -> c_int
    );
    if !active() {
        return create(thread, attributes, start, argument);
    }
    step::close();
    let s = sim();
    let id = s.threads.len() as u32;
    let mut record = Box::new(Thread::new(id, s.current));
    record.starts = leaks::starts();
    let mut detached = 0;
    if !attributes.is_null() {
        c::pthread_attr_getdetachstate(attributes, &mut detached);
    }
    record.detached = detached != 0;
    let body = Box::into_raw(Box::new(Body {
        record: &*record,
        start,
        argument,
    }));
    s.threads.push(record);
    s.is_creating = true;
    let result = create(thread, attributes, run, body.cast());
    let s = sim();
    s.is_creating = false;
    if result != 0 {
        drop(Box::from_raw(body));
        s.threads.pop();
        return result;
    }
    s.threads[id as usize].pthread = *thread;
    // Until then it runs in libc, beside this thread.
    let has_arrived: *const _ = &s.threads[id as usize].has_arrived;
    while (*has_arrived).load(Ordering::Acquire) == 0 {
        sys::futex_wait(&*has_arrived, 0);
    }
    s.live.push(id);
    s.region().threads += 1;
    baton::started(id);
    // The new thread may be the first to run.
    baton::point_alone("pthread_create");
    0
}

unsafe extern "C" fn run(body: *mut c_void) -> *mut c_void {
    let body = Box::from_raw(body.cast::<Body>());
    sys::futex_wake(&(*body.record).has_arrived);
    baton::sleep(body.record);
    let s = sim();
    s.me().tid = sys::gettid();
    s.runs();
    c::pthread_setspecific(s.key, core::ptr::dangling());
    baton::begins();
    step::calls_program();
    (body.start)(body.argument)
}

/// Destructor of the key that every thread has: the last of its last round ends the thread.
pub unsafe extern "C" fn ended(_: *mut c_void) {
    if !active() {
        return;
    }
    // What follows must not be stepped: this thread may be without the baton then.
    step::close();
    let s = sim();
    s.me().rounds += 1;
    if s.me().rounds < ROUNDS {
        c::pthread_setspecific(s.key, core::ptr::dangling());
        return;
    }
    let me = s.current;
    s.me().state = State::Done;
    s.me().call = "its end";
    s.live.retain(|id| *id != me);
    s.event(u64::from(me) ^ 0xe4d);
    baton::ended();
    baton::release((Class::Join, me as usize));
    let next = baton::choose_thread(kind::NEXT);
    baton::leave(next);
}

unsafe fn find(thread: usize) -> Option<u32> {
    let mut threads = sim().threads.iter().rev();
    let found = threads.find(|record| record.pthread == thread && !record.detached);
    found.map(|record| record.id)
}

unsafe fn join_until(
    call: &'static str,
    thread: usize,
    result: *mut *mut c_void,
    deadline: u64,
) -> c_int {
    baton::point(call, thread);
    if let Some(id) = find(thread) {
        while sim().threads[id as usize].state != State::Done {
            if baton::block((Class::Join, id as usize), deadline) {
                return ETIMEDOUT;
            }
        }
        // Its number may be given to a later thread.
        sim().threads[id as usize].detached = true;
    }
    real!("pthread_join", fn(usize, *mut *mut c_void) -> c_int)(thread, result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: usize, result: *mut *mut c_void) -> c_int {
    if !active() {
        return real!("pthread_join", fn(usize, *mut *mut c_void) -> c_int)(thread, result);
    }
    if thread == c::pthread_self() {
        return c::EDEADLK;
    }
    join_until("pthread_join", thread, result, NEVER)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_tryjoin_np(thread: usize, result: *mut *mut c_void) -> c_int {
    if !active() {
        return real!("pthread_tryjoin_np", fn(usize, *mut *mut c_void) -> c_int)(thread, result);
    }
    match join_until("pthread_tryjoin_np", thread, result, 0) {
        ETIMEDOUT => EBUSY,
        other => other,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_timedjoin_np(
    thread: usize,
    result: *mut *mut c_void,
    until: *const Timespec,
) -> c_int {
    pthread_clockjoin_np(thread, result, time::REALTIME, until)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_clockjoin_np(
    thread: usize,
    result: *mut *mut c_void,
    clock: c_int,
    until: *const Timespec,
) -> c_int {
    if !active() {
        let join = real!(
            "pthread_clockjoin_np",
            fn(usize, *mut *mut c_void, c_int, *const Timespec) -> c_int
        );
        return join(thread, result, clock, until);
    }
    let deadline = time::deadline(clock, &*until);
    join_until("pthread_clockjoin_np", thread, result, deadline)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_detach(thread: usize) -> c_int {
    if active() {
        baton::point("pthread_detach", thread);
        if let Some(id) = find(thread) {
            sim().threads[id as usize].detached = true;
        }
    }
    real!("pthread_detach", fn(usize) -> c_int)(thread)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_cancel(thread: usize) -> c_int {
    if active() {
        end::escaped("pthread_cancel", pthread_cancel as *const () as usize);
    }
    real!("pthread_cancel", fn(usize) -> c_int)(thread)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: usize, name: *const c_char) -> c_int {
    if active() {
        let s = sim();
        let found = s
            .threads
            .iter_mut()
            .rev()
            .find(|record| record.pthread == thread);
        if let Some(record) = found {
            set_name(record, name);
        }
    }
    // The kernel's name is for the eyes of a person only.
    real!("pthread_setname_np", fn(usize, *const c_char) -> c_int)(thread, name)
}

/// Keeps a thread's name for the reports.
pub unsafe fn set_name(record: &mut Thread, name: *const c_char) {
    for at in 0..15 {
        let byte = *name.add(at) as u8;
        record.name[at] = byte;
        record.name[at + 1] = 0;
        if byte == 0 {
            break;
        }
    }
    let end = record.name.iter().position(|byte| *byte == 0);
    baton::named(record.id, &record.name[..end.unwrap_or(15)]);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    if active() {
        baton::sched_yield();
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_yield() -> c_int {
    sched_yield()
}
