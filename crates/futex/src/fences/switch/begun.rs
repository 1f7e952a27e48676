//! The state in a model, which leaves the beginning out.

use super::LIGHT;
use crate::atomic::AtomicU8;

loom::lazy_static! {
    pub static ref STATE: AtomicU8 = AtomicU8::new(LIGHT);
}
