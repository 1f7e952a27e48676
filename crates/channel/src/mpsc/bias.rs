//! A channel into which one thread sends most: that thread claims slots without a
//! locked instruction.
//!
//! A claim is one read-modify-write on the word, and that is most of what a send
//! costs. So when the same thread has claimed the last slot of some blocks in
//! succession, the next block is *granted* to it: `BIASED` is set in the word,
//! which keeps everybody else from claiming or reserving, and from then on the
//! position is counted in [`Bias::position`], by that thread, with plain stores.
//! At the end of the block the thread gives the grant back, links the next block
//! as ever, and may be granted that.
//!
//! Whoever else needs the position (another sender, a receiver that wants to
//! sleep, a sender that queues up, the one that closes the channel) *revokes* the
//! grant first: it adds what was claimed to the word and clears `BIASED`.
//!
//! # Nobody claims after the grant has been revoked
//!
//! The granted thread says that it is inside ([`Bias::inside`]), looks whether it
//! still has the grant, claims and fills, and says that it is outside. Who revokes
//! takes the grant away, looks whether the thread is inside, and waits until it is
//! not. That is Dekker's pattern, with a light publication on the frequent side
//! (`fences::publish`) and the heavy fence on the rare one. What is done inside is
//! a few instructions, and no code of the user's. But if the favourite is preempted
//! there, whoever revokes waits until it runs again, for about a time slice.
//!
//! Only one thread ever writes `inside`: a channel grants blocks to one thread in
//! its life, the [`Bias::favourite`]. With two, the one that is late to see that it
//! has lost the grant could say "outside" for the other.
//!
//! The grant is written before `BIASED` becomes visible, by the favourite itself,
//! and taken away under a lock by one who has seen `BIASED`. So a grant without
//! `BIASED` can only be seen by the thread that is just writing it.
//!
//! # When it does not pay
//!
//! What is sent by right of a permit counts for nobody: who serves those that wait
//! for room sends their values (see `wait.rs`), and that is mostly the receiver.
//! Its thread would be the favourite, and stay it.
//!
//! To revoke costs some microseconds. So each time somebody else revokes, the
//! favourite must claim twice as many blocks in succession before it is granted
//! another one.
//!
//! The idea is that of biased locks (Kawachiya, Koseki and Onodera, "Lock
//! Reservation", 2002).

use blitz_futex::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use blitz_sync::internals::{ListLock, ThreadId, fences};

use super::block::{LEN, offset};
use super::chan::{Chan, Pause};
use super::mutant::{Mutant, active};
use super::word::{
    BIASED, CLOSED, INSTALLING, MOST_MESSAGES, RX_WAITS, SLOT, TX_WAITS, position, reserved,
};

const OUTSIDE: u8 = 0;
const INSIDE: u8 = 1;
const REVOKED: u8 = 0;
const GRANTED: u8 = 1;

/// How many blocks in succession earn the first grant.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 2 };
/// What a grant would keep waiting.
const WAITS: u64 = RX_WAITS | TX_WAITS | CLOSED;
/// So that a grant is worth much more than the loss of it costs.
const MOST_PATIENCE: u32 = 1 << 10;

/// See the head of this file.
pub struct Bias {
    /// Whether the favourite may claim without asking.
    granted: AtomicU8,
    /// Whether it is doing so. Written by the favourite alone.
    inside: AtomicU8,
    /// The next slot, while `BIASED` is set. Written by the favourite alone.
    position: AtomicU32,
    /// The thread that blocks are granted to. 0: none yet. Set once.
    favourite: AtomicU64,
    /// Who claimed the last slot of the last block, and of how many in succession.
    /// Written by the one that links blocks.
    last: AtomicU64,
    streak: AtomicU32,
    /// How many it takes.
    patience: AtomicU32,
    /// Held by the one who revokes.
    lock: ListLock,
}

impl Default for Bias {
    fn default() -> Self {
        Self {
            granted: AtomicU8::new(REVOKED),
            inside: AtomicU8::new(OUTSIDE),
            position: AtomicU32::new(0),
            favourite: AtomicU64::new(0),
            last: AtomicU64::new(0),
            streak: AtomicU32::new(0),
            patience: AtomicU32::new(PATIENCE),
            lock: ListLock::new(),
        }
    }
}

impl<T> Chan<T> {
    /// Sends if this thread has the grant, there is room, and it is not the last
    /// slot of the block.
    #[inline(always)]
    pub fn send_granted(&self, value: T) -> Result<(), T> {
        let bias = &self.tail.0.bias;
        if bias.granted.load(Ordering::Relaxed) == REVOKED {
            return Err(value);
        }
        self.send_inside(value)
    }

    #[inline]
    fn send_inside(&self, value: T) -> Result<(), T> {
        let tail = &self.tail.0;
        let bias = &tail.bias;
        if bias.favourite.load(Ordering::Relaxed) != ThreadId::current().get().get() as u64 {
            return Err(value);
        }
        let granted = match active(Mutant::InsideUnannounced) {
            true => bias.granted.load(Ordering::Relaxed),
            false => fences::publish(&bias.inside, INSIDE, &bias.granted),
        };
        let at = bias.position.load(Ordering::Relaxed);
        let permits = reserved(tail.word.load(Ordering::Relaxed));
        let may = granted == GRANTED && offset(at) != LEN - 1 && self.has_room(at, permits);
        if !may {
            bias.inside.store(OUTSIDE, Ordering::Release);
            return Err(value);
        }
        let block = tail.block.load(Ordering::Relaxed);
        // SAFETY: nobody else links a block while we have the grant, so this is
        // the block that was granted to us. It stays until its slots are filled
        // and read, and this one is ours.
        unsafe { (*block).fill(offset(at), (*block).header().turn, value) };
        bias.position.store(at.wrapping_add(1), Ordering::Release);
        bias.inside.store(OUTSIDE, Ordering::Release);
        Ok(())
    }

    /// The position, when the word is this.
    #[inline]
    pub fn position_in(&self, word: u64) -> u32 {
        match word & BIASED {
            0 => position(word),
            _ => self.tail.0.bias.position.load(Ordering::Acquire),
        }
    }

    /// How many messages there are for the receiver, written or about to be, when
    /// the word is this and it has received `head`.
    #[inline]
    pub fn ahead(&self, word: u64, head: u32) -> u32 {
        match self.position_in(word).wrapping_sub(head) {
            // The favourite has filled a slot, which has been read, and has yet to
            // count it.
            negative if negative > MOST_MESSAGES => 0,
            ahead => ahead,
        }
    }

    /// The word, with the whole position in it.
    #[inline]
    pub fn settled_word(&self) -> u64 {
        loop {
            let word = self.tail.0.word.load(Ordering::Acquire);
            if word & BIASED == 0 {
                return word;
            }
            self.revoke();
        }
    }

    /// Takes the grant back.
    #[cold]
    #[inline(never)]
    pub fn revoke(&self) {
        let tail = &self.tail.0;
        let bias = &tail.bias;
        bias.lock.locked(|| {
            let word = tail.word.load(Ordering::Acquire);
            if word & BIASED == 0 {
                return;
            }
            bias.granted.store(REVOKED, Ordering::SeqCst);
            // The favourite is outside when it comes here.
            if bias.favourite.load(Ordering::Relaxed) != ThreadId::current().get().get() as u64 {
                if !active(Mutant::RevokesWithoutFence) {
                    fences::heavy();
                }
                let mut pause = Pause::new();
                while bias.inside.load(Ordering::SeqCst) == INSIDE {
                    pause.turn();
                }
                let patience = bias.patience.load(Ordering::Relaxed);
                let doubled = (patience * 2).min(MOST_PATIENCE);
                bias.patience.store(doubled, Ordering::Relaxed);
                bias.streak.store(0, Ordering::Relaxed);
            }
            let claimed = bias.position.load(Ordering::Acquire);
            let more = u64::from(claimed.wrapping_sub(position(word))) * SLOT;
            tail.word
                .fetch_add(more.wrapping_sub(BIASED), Ordering::AcqRel);
        });
    }

    /// Opens the gate to a block that has been linked, which starts at `start`.
    /// Grants it to this thread if that has earned it. If the last slot before was
    /// not claimed on its `own` account, that counts for nothing.
    pub fn open_gate(&self, start: u32, own: bool) {
        let tail = &self.tail.0;
        if own && self.is_earned() && self.grant(start) {
            return;
        }
        let before = tail.word.fetch_and(!INSTALLING, Ordering::Release);
        tail.set_guess(before & !INSTALLING);
    }

    /// Whether this thread may be granted the next block.
    fn is_earned(&self) -> bool {
        if !enabled() {
            return false;
        }
        let bias = &self.tail.0.bias;
        let this = ThreadId::current().get().get() as u64;
        if bias.last.load(Ordering::Relaxed) != this {
            bias.last.store(this, Ordering::Relaxed);
            bias.streak.store(0, Ordering::Relaxed);
            return false;
        }
        let streak = bias.streak.load(Ordering::Relaxed).saturating_add(1);
        bias.streak.store(streak, Ordering::Relaxed);
        if streak < bias.patience.load(Ordering::Relaxed) {
            return false;
        }
        if self.tail.0.word.load(Ordering::Relaxed) & WAITS != 0 {
            return false;
        }
        match bias.favourite.load(Ordering::Relaxed) {
            0 => {
                bias.favourite.store(this, Ordering::Relaxed);
                true
            }
            favourite => favourite == this,
        }
    }

    /// Grants this thread the block that starts here. Not if anybody waits.
    fn grant(&self, start: u32) -> bool {
        let tail = &self.tail.0;
        let bias = &tail.bias;
        bias.position.store(start, Ordering::Relaxed);
        bias.granted.store(GRANTED, Ordering::Relaxed);
        let mut word = tail.word.load(Ordering::Relaxed);
        while word & WAITS == 0 {
            let next = (word & !INSTALLING) | BIASED;
            match tail
                .word
                .compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        bias.granted.store(REVOKED, Ordering::Relaxed);
        false
    }
}

#[cfg(not(loom))]
fn enabled() -> bool {
    true
}

#[cfg(loom)]
pub use switch::{enabled, with_bias};

/// Under the model checker, only models of the bias have it.
#[cfg(loom)]
mod switch {
    use std::cell::Cell;

    std::thread_local! {
        static ENABLED: Cell<bool> = const { Cell::new(false) };
    }

    pub fn enabled() -> bool {
        ENABLED.get()
    }

    /// Runs a model in which blocks are granted.
    pub fn with_bias<R>(model: impl FnOnce() -> R) -> R {
        struct Off;
        impl Drop for Off {
            fn drop(&mut self) {
                ENABLED.set(false);
            }
        }
        ENABLED.set(true);
        let _off = Off;
        model()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Instant;

    use super::super::chan::channel;
    use super::super::error::{RecvTimeoutError, TryRecvError};
    use super::*;

    const SLOTS: usize = LEN as usize;

    #[test]
    fn what_is_sent_by_right_of_a_permit_earns_nothing() {
        let (tx, mut rx) = channel(Some(2));
        let bias = &tx.chan().tail.0.bias;
        for n in 0..10 * SLOTS {
            tx.chan().try_reserve(1).unwrap();
            tx.chan().send_permitted(n);
            assert_eq!(rx.try_receive(), Ok(n));
        }
        assert_eq!(bias.favourite.load(Ordering::Relaxed), 0);
        for n in 0..10 * SLOTS {
            tx.chan().try_send(n).unwrap();
            assert_eq!(rx.try_receive(), Ok(n));
        }
        assert_eq!(
            bias.favourite.load(Ordering::Relaxed),
            ThreadId::current().get().get() as u64
        );
    }

    #[test]
    fn a_message_that_is_not_counted_yet_keeps_nobody() {
        let (tx, mut rx) = channel(Some(8));
        let bias = &tx.chan().tail.0.bias;
        for n in 0..10 * SLOTS + 3 {
            tx.chan().try_send(n).unwrap();
            assert_eq!(rx.try_receive(), Ok(n));
        }
        assert_eq!(bias.granted.load(Ordering::Relaxed), GRANTED);
        // As if this thread had been interrupted before it could count.
        bias.position.fetch_sub(1, Ordering::Relaxed);
        assert_eq!(rx.try_receive(), Err(TryRecvError::Empty));
        assert_eq!(
            rx.blocking(Some(Instant::now())),
            Err(RecvTimeoutError::Timeout)
        );
        assert_eq!((rx.len(), tx.chan().capacity()), (0, 8));
        bias.position.fetch_add(1, Ordering::Relaxed);
        tx.chan().try_reserve(3).unwrap();
        assert_eq!((rx.len(), tx.chan().capacity()), (0, 5));
        tx.chan().give_back(3);
        tx.chan().try_send(7).unwrap();
        assert_eq!(rx.try_receive(), Ok(7));
    }
}
