//! How long a task tries before it waits.
//!
//! A task that waits gives its thread to another one, and is scheduled again later:
//! about a microsecond of work in all, and a lock whose waiters are served in turn
//! stays contended from then on, since its next owner has to be scheduled first.
//! Most sections take less than that. So a task that finds a lock taken, and nobody
//! waiting for it yet, glances at it for up to [`PAUSES`] pauses, about half a
//! microsecond, before it joins the queue. It never yields or sleeps: the thread
//! belongs to other tasks as well.
//!
//! That is in vain when the owner does not run at the moment: it waits for something
//! else while it holds the lock, or it is a task of this very thread. Programs have
//! one habit or the other, so each thread remembers how its last glances ended. After
//! each one in vain it skips twice as many, up to [`MOST_SKIPPED`].

#[cfg(not(loom))]
pub(crate) use real::Glance;

#[cfg(loom)]
pub(crate) use model::Glance;

#[cfg(not(loom))]
mod real {
    use std::cell::Cell;
    use std::hint;

    /// How many `spin_loop` hints a glance takes at most.
    const PAUSES: u32 = 31;
    /// How many glances are skipped at most before another one is tried.
    const MOST_SKIPPED: u8 = 127;

    thread_local! {
        static LUCK: Cell<Luck> = const { Cell::new(Luck { skip: 0, next: 1 }) };
    }

    /// How this thread's last glances ended.
    #[derive(Clone, Copy)]
    struct Luck {
        /// How many are still to be skipped.
        skip: u8,
        /// How many will be skipped after the next one in vain.
        next: u8,
    }

    /// One attempt.
    pub(crate) struct Glance {
        /// How long to pause next.
        pause: u32,
        left: u32,
    }

    impl Glance {
        pub(crate) fn new() -> Self {
            let luck = LUCK.get();
            if luck.skip != 0 {
                let skip = luck.skip - 1;
                LUCK.set(Luck { skip, ..luck });
            }
            Self {
                pause: 1,
                left: if luck.skip == 0 { PAUSES } else { 0 },
            }
        }

        /// Lets a moment pass. `false` when it is time to wait.
        pub(crate) fn turn(&mut self) -> bool {
            if self.left == 0 {
                return false;
            }
            let pause = self.pause.min(self.left);
            (0..pause).for_each(|_| hint::spin_loop());
            self.left -= pause;
            self.pause *= 2;
            if self.left == 0 {
                let Luck { next, .. } = LUCK.get();
                LUCK.set(Luck {
                    skip: next,
                    next: next.saturating_mul(2).min(MOST_SKIPPED),
                });
            }
            true
        }

        /// It was not in vain.
        pub(crate) fn worked(self) {
            LUCK.set(Luck { skip: 0, next: 1 });
        }
    }

    #[cfg(test)]
    mod tests {
        use super::{Glance, MOST_SKIPPED};

        fn in_vain() -> bool {
            let mut glance = Glance::new();
            let tried = glance.turn();
            while glance.turn() {}
            tried
        }

        #[test]
        fn who_glances_in_vain_does_it_less_often() {
            let tried = (0..1000).filter(|_| in_vain()).count();
            assert!((10..20).contains(&tried), "{tried}");
        }

        #[test]
        fn who_had_luck_tries_again() {
            (0..1000).for_each(|_| _ = in_vain());
            let mut glance = Glance::new();
            for _ in 0..MOST_SKIPPED {
                if glance.turn() {
                    break;
                }
                glance = Glance::new();
            }
            glance.worked();
            assert!(in_vain());
        }
    }
}

#[cfg(loom)]
mod model {
    /// No attempt: the model checker tries the orders in which it would have
    /// worked.
    pub(crate) struct Glance;

    impl Glance {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn turn(&mut self) -> bool {
            false
        }

        pub(crate) fn worked(self) {}
    }
}
