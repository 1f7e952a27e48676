//! Switches for the model checker.
//!
//! A model that passes proves little until it has been seen to fail. [`mutants!`](crate::mutants)
//! names steps on which a proof rests: a test switches a `Mutant` on and expects the model to find
//! the lost wake-up or the race. (The mutants of this crate, of the channels and of the pool are
//! patches instead: see `tests/mutants/` and `.ci/mutants`.)
//!
//! A switch is a thread-local, because all threads of one model run on one thread of the operating
//! system, while different tests run on different ones. Outside of the model checker `active` is
//! a constant `false`, and the mistakes are compiled away.

/// Declares `Mutant`, the mistakes that can be made in one concept;
/// `active(mutant)`, whether one is switched on; and, under the model checker,
/// `with(mutant, model)`, which runs a model with that mistake.
#[doc(hidden)]
#[macro_export]
macro_rules! mutants {
    ($($(#[$attribute:meta])* $mutant:ident,)*) => {
        /// A step that can be left out or weakened.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(dead_code, reason = "some mistakes are made in code for the model checker")]
        pub enum Mutant {
            $($(#[$attribute])* $mutant,)*
        }

        #[cfg(loom)]
        std::thread_local! {
            static ACTIVE: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
        }

        /// Whether the mistake is switched on in this thread.
        #[cfg(loom)]
        pub fn active(mutant: Mutant) -> bool {
            ACTIVE.get() == Some(mutant)
        }

        /// Runs `model` with one mistake switched on.
        #[cfg(loom)]
        pub fn with<R>(mutant: Mutant, model: impl FnOnce() -> R) -> R {
            struct Off;
            impl Drop for Off {
                fn drop(&mut self) {
                    ACTIVE.set(None);
                }
            }
            ACTIVE.set(Some(mutant));
            let _off = Off;
            model()
        }

        /// Whether the mistake is switched on: never, outside of the model checker.
        #[cfg(not(loom))]
        #[inline(always)]
        pub(crate) const fn active(_: Mutant) -> bool {
            false
        }
    };
}

#[cfg(loom)]
mod fences {
    use std::cell::Cell;
    use std::thread::LocalKey;

    thread_local! {
        static STORES_ARE_LATE: Cell<bool> = const { Cell::new(false) };
        static BARRIERS_ARE_LATE: Cell<bool> = const { Cell::new(false) };
        static LIGHT_FENCES_ARE_OFF: Cell<bool> = const { Cell::new(false) };
    }

    fn with<R>(switch: &'static LocalKey<Cell<bool>>, model: impl FnOnce() -> R) -> R {
        struct Off(&'static LocalKey<Cell<bool>>);
        impl Drop for Off {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }
        switch.set(true);
        let _off = Off(switch);
        model()
    }

    /// Whether a store may become visible after the look that follows it.
    pub fn stores_are_late() -> bool {
        STORES_ARE_LATE.get()
    }

    /// Runs `model` with stores that may be late, as they are where a heavy fence on the other
    /// side makes up for it. The model must pass.
    pub fn with_late_stores<R>(model: impl FnOnce() -> R) -> R {
        with(&STORES_ARE_LATE, model)
    }

    /// Whether heavy fences come late, so that the process gives up light ones.
    pub fn barriers_are_late() -> bool {
        BARRIERS_ARE_LATE.get()
    }

    /// Runs `model` with stores that may be late, and with heavy fences that are. The model must
    /// pass.
    pub fn with_late_barriers<R>(model: impl FnOnce() -> R) -> R {
        with_late_stores(|| with(&BARRIERS_ARE_LATE, model))
    }

    /// Whether the light fence orders nothing.
    pub fn light_fences_are_off() -> bool {
        LIGHT_FENCES_ARE_OFF.get()
    }

    /// Runs `model` with light fences that order nothing, for a protocol in which another fence
    /// does. The model must pass.
    pub fn without_light_fences<R>(model: impl FnOnce() -> R) -> R {
        with(&LIGHT_FENCES_ARE_OFF, model)
    }
}

#[cfg(loom)]
pub use fences::{
    barriers_are_late, light_fences_are_off, stores_are_late, with_late_barriers, with_late_stores,
    without_light_fences,
};
