//! The handlers of signals: what each signal calls in this process.
//!
//! The system has one handler for a signal. The first [`add`] for a signal installs [`handle`], which
//! stays: it calls the handler of before, if any, and then the actions of the signal.
//! Both are in a [`Chain`], which is never changed while a handler may read it: a change publishes
//! a copy.
//!
//! # A handler does only what it may
//!
//! It takes no lock, allocates nothing, frees nothing, and restores `errno`. It loads a pointer and
//! counts itself in [`RUNNING`] while it uses what is behind the pointer.
//!
//! # No signal is lost at the installation
//!
//! 1. The chain with the former handler is published before [`handle`] is installed, so each call of
//!    [`handle`] finds it.
//! 2. The installation returns the handler that it replaced. If another thread has changed the
//!    handler since step 1, the chain is published again, with the new handler.
//!
//! # No chain is freed while a handler uses it
//!
//! 1. A handler counts itself on the current side, and then loads the pointer. (Both, and all
//!    below, are sequentially consistent.)
//! 2. A change swaps the pointer. Then it finds each side without handlers once, and frees the
//!    former chain.
//! 3. A handler that has loaded the former pointer counted itself before the swap. So its side has
//!    handlers until it no longer uses the chain.
//! 4. Handlers that start during the wait count themselves on the other side. So the wait ends, even
//!    if signals never do.
//!
//! So when [`remove`] returns, no handler runs the action any more.
//!
//! # A forked process
//!
//! It has its parent's handlers and chains, and a lock of its own (see `PerProcess`). The threads
//! whose handlers are counted do not exist there, so a count says in which generation of process it
//! was made, and one of another generation is zero. A fork between publication and installation
//! leaves `is_installed` unset in the child, which looks whether [`handle`] is installed.

use std::ffi::{c_int, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::{io, thread};

use blitz_io_core::{PerProcess, generation};
use blitz_io_sync::thread::Mutex;
use libc::{SA_RESTART, SA_SIGINFO, SIG_DFL, SIG_IGN, sigaction, siginfo_t};

// The systems' names of the function that returns the address of `errno`.
#[cfg(any(target_os = "illumos", target_os = "solaris"))]
use libc::___errno as errno;
#[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
use libc::__errno as errno;
#[cfg(not(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "android",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "illumos",
    target_os = "solaris"
)))]
use libc::__errno_location as errno;
#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
use libc::__error as errno;

/// Signals that cannot be handled, or whose handler must not return.
pub(super) const FORBIDDEN: [c_int; 5] = [
    libc::SIGKILL,
    libc::SIGSTOP,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGSEGV,
];

/// The handler of a signal. It makes only calls that a handler may make, and does not panic.
type Action = Arc<dyn Fn() + Send + Sync>;

#[derive(Clone)]
struct Chain {
    former: sigaction,
    actions: Vec<(u64, Action)>,
}

struct Slot {
    chain: AtomicPtr<Chain>,
    is_installed: AtomicBool,
}

/// One for each number of a signal, of which no system has more than 128.
static SLOTS: [Slot; 129] = [const {
    Slot {
        chain: AtomicPtr::new(ptr::null_mut()),
        is_installed: AtomicBool::new(false),
    }
}; 129];

/// The number of handlers that use a chain, for each side, below the generation of the process.
static RUNNING: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static SIDE: AtomicUsize = AtomicUsize::new(0);

/// Serialises changes.
static CHANGES: PerProcess<Mutex<()>> = PerProcess::new(Mutex::default);
/// The number of the next action. A child continues to count, as it has its parent's actions.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// An action that has been added.
pub(super) struct Added {
    signal: c_int,
    number: u64,
}

/// Lets a signal, which is positive and not [`FORBIDDEN`], call `action`.
///
/// # Errors
///
/// Returns the system's error if it has no such signal.
///
/// # Safety
///
/// `action` makes only calls that a handler of a signal may make, and does not panic.
pub(super) unsafe fn add(signal: c_int, action: Action) -> io::Result<Added> {
    let slot = SLOTS.get(signal.unsigned_abs() as usize);
    let slot = slot.ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
    let _changes = CHANGES.lock();
    if !slot.is_installed.load(SeqCst) {
        install(signal, slot)?;
    }
    let number = NEXT.fetch_add(1, SeqCst);
    slot.change(|actions| actions.push((number, action)));
    Ok(Added { signal, number })
}

/// Removes an action, and waits for the handlers that run it.
pub(super) fn remove(added: Added) {
    let _changes = CHANGES.lock();
    let slot = &SLOTS[added.signal.unsigned_abs() as usize];
    slot.change(|actions| actions.retain(|(number, _)| *number != added.number));
}

fn install(signal: c_int, slot: &Slot) -> io::Result<()> {
    let ours = handle as *const () as usize;
    let former = exchange(signal, ptr::null())?;
    if former.sa_sigaction != ours {
        // SAFETY: all fields are numbers, and sets of signals for which zeros are the empty set.
        let mut new: sigaction = unsafe { mem::zeroed() };
        new.sa_sigaction = ours;
        // The type is another one on some systems.
        new.sa_flags = (SA_RESTART | SA_SIGINFO) as _;
        slot.publish(Chain {
            former,
            actions: Vec::new(),
        });
        let replaced = exchange(signal, &raw const new)?;
        if replaced.sa_sigaction != ours {
            slot.publish(Chain {
                former: replaced,
                actions: Vec::new(),
            });
        }
    }
    slot.is_installed.store(true, SeqCst);
    Ok(())
}

/// Sets the system's handler of a signal, unless `new` is null, and returns the former one.
fn exchange(signal: c_int, new: *const sigaction) -> io::Result<sigaction> {
    let mut former = MaybeUninit::uninit();
    // SAFETY: `new` is null, or points to a handler that does only what a handler may do.
    if unsafe { libc::sigaction(signal, new, former.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded, so it has written the former handler.
    Ok(unsafe { former.assume_init() })
}

impl Slot {
    /// Publishes a copy with other actions. The caller has the lock.
    fn change(&self, change: impl FnOnce(&mut Vec<(u64, Action)>)) {
        // SAFETY: a chain has been published by the installation, and only a thread that has
        // the lock frees one.
        let mut chain = unsafe { &*self.chain.load(SeqCst) }.clone();
        change(&mut chain.actions);
        self.publish(chain);
    }

    /// Publishes a chain, and frees the former one. The caller has the lock.
    fn publish(&self, chain: Chain) {
        let former = self.chain.swap(Box::into_raw(Box::new(chain)), SeqCst);
        for (side, running) in RUNNING.iter().enumerate() {
            SIDE.store(1 - side, SeqCst);
            while count(running.load(SeqCst)) != 0 {
                thread::yield_now();
            }
        }
        if !former.is_null() {
            // SAFETY: it comes from a box, and no handler uses it: see the module documentation.
            drop(unsafe { Box::from_raw(former) });
        }
    }

    /// Calls `with` with the chain. It is for handlers.
    fn read<R>(&self, with: impl FnOnce(Option<&Chain>) -> R) -> R {
        let running = &RUNNING[SIDE.load(SeqCst)];
        let own = u64::from(generation()) << 32;
        _ = running.fetch_update(SeqCst, SeqCst, |word| Some(own + count(word) + 1));
        // SAFETY: this handler is counted, so the chain is not freed: see the module documentation.
        let result = with(unsafe { self.chain.load(SeqCst).as_ref() });
        _ = running.fetch_update(SeqCst, SeqCst, |word| (count(word) != 0).then(|| word - 1));
        result
    }
}

/// Returns the number of handlers that a word of [`RUNNING`] counts in this process.
fn count(word: u64) -> u64 {
    let is_own = word >> 32 == u64::from(generation());
    if is_own { word & 0xffff_ffff } else { 0 }
}

/// The handler of each signal that has had an action.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the call has no requirements, and returns the address of this thread's variable.
    let (errno, slot) = (unsafe { errno() }, &SLOTS[signal.unsigned_abs() as usize]);
    // SAFETY: the address is valid while the thread lives.
    let before = unsafe { errno.read() };
    // The former handler may never return, so it is called when this one is no longer counted.
    if let Some(former) = slot.read(|chain| chain.map(|chain| chain.former)) {
        // SAFETY: this is the handler that the system would have called, with these arguments.
        unsafe { call(&former, signal, info, context) };
    }
    slot.read(|chain| {
        let actions = chain.map_or(&[][..], |chain| &chain.actions);
        actions.iter().for_each(|(_, action)| action());
    });
    // SAFETY: as for the read: the address is that of this thread's variable.
    unsafe { errno.write(before) };
}

/// Calls a handler as the system does.
///
/// # Safety
///
/// `handler` was installed for `signal`, and the arguments come from the system.
unsafe fn call(handler: &sigaction, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let address = handler.sa_sigaction;
    if address == SIG_DFL || address == SIG_IGN {
        return;
    }
    let address = address as *const ();
    if handler.sa_flags & SA_SIGINFO == 0 {
        // SAFETY: without the flag, the address is that of a function with one parameter.
        let handler: extern "C" fn(c_int) = unsafe { mem::transmute(address) };
        handler(signal);
    } else {
        // SAFETY: with the flag, the address is that of a function with these parameters.
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
            unsafe { mem::transmute(address) };
        handler(signal, info, context);
    }
}
