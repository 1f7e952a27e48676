//! Parkers: with the token already present, and back and forth between two threads.

use std::sync::OnceLock;
use std::thread::{self, Thread};

use crate::scenarios::prelude::*;

/// A way to park a thread. The thread creates it itself.
trait Park {
    /// The handle through which other threads wake it.
    type Handle: Send + Sync;
    fn new() -> Self;
    fn handle(&self) -> Self::Handle;
    fn park(&self);
    fn unpark(handle: &Self::Handle);
}

/// `std` parks the current thread, without an object.
struct CurrentThread;

/// Makes the contenders: a name, a type, its handle, and how the three are made and used.
macro_rules! peers {
    ($($name:expr, $parker:ty, $handle:ty,
        $new:expr, |$this:ident| $get:expr, $park:expr;)+) => {
        $(impl Park for $parker {
            type Handle = $handle;
            fn new() -> Self {
                $new
            }
            fn handle(&$this) -> Self::Handle {
                $get
            }
            #[inline]
            fn park(&$this) {
                $park;
            }
            #[inline]
            fn unpark(handle: &Self::Handle) {
                handle.unpark();
            }
        })+

        type Table = [(&'static str, Body); [$($name),+].len()];
        const TOKEN: Table = [$(($name, token::<$parker>)),+];
        const PING_PONG: Table = [$(($name, ping_pong::<$parker>)),+];
    };
}

peers! {
    OURS, blitz_io_sync::thread::Parker, blitz_io_sync::thread::Unparker,
        Self::new(), |self| self.unparker().clone(), self.park();
    "std", CurrentThread, Thread, CurrentThread, |self| thread::current(), thread::park();
    "crossbeam", crossbeam_utils::sync::Parker, crossbeam_utils::sync::Unparker,
        Self::new(), |self| self.unparker().clone(), self.park();
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let token = Scenario::new(4, "parker_token", "Parker unpark, then park", SYNC_OPS);
    let title = "Parker ping-pong, round trip";
    let ping_pong = Scenario::new(4, "parker_ping_pong", title, 20_000).threads(2);
    vec![token.with_all(TOKEN), ping_pong.with_all(PING_PONG)]
}

/// Takes tokens that are already present. A lost token hangs here, which verifies that none is
/// lost.
fn token<P: Park>(cx: &Context) -> Measured {
    let parker = CachePadded::new(P::new());
    let handle = parker.handle();
    repeat(cx, "parks that returned", |_| {
        P::unpark(&handle);
        parker.park();
        true
    })
}

/// Two threads hand a token back and forth. The token counts its hand-overs: it belongs
/// to thread 0 at even counts and to thread 1 at odd counts. Parking may return early, so
/// each thread checks the token after it was woken.
fn ping_pong<P: Park>(cx: &Context) -> Measured {
    let handles: [OnceLock<P::Handle>; 2] = [OnceLock::new(), OnceLock::new()];
    let token = CachePadded::new(AtomicU64::new(0));
    let (span, handovers) = start_all(2, |side| {
        let parker = CachePadded::new(P::new());
        let _ = handles[side].set(parker.handle());
        let (handles, token) = (&handles, &token);
        move || {
            let other = handles[1 - side].get().expect("set before the gate");
            let mut handovers = 0u64;
            for round in 0..cx.ops {
                let mine = round * 2 + side as u64;
                while token.load(Relaxed) != mine {
                    parker.park();
                }
                token.store(mine + 1, Relaxed);
                P::unpark(other);
                handovers += 1;
            }
            handovers
        }
    });
    verify("handovers", cx.ops * 2, handovers.iter().sum())?;
    verify("the token's count", cx.ops * 2, token.load(Relaxed))?;
    Ok(Sample::new(span, cx.ops))
}
