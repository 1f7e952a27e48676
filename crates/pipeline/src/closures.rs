//! The types of the closures that a pipeline is made of.

use crate::emit::Emit;

/// A source that blocks its thread until it has an item.
pub type Source<'a, P, E> = Box<dyn FnMut() -> Result<Option<P>, E> + Send + 'a>;
/// A sink that blocks its thread until an item is written.
pub type Sink<'a, T, E> = Box<dyn FnMut(T) -> Result<(), E> + Send + 'a>;
/// Takes the part of the source with this number.
pub(crate) type Take<'t, P> = &'t mut dyn FnMut(usize) -> P;
/// All stages, with the state of one worker.
pub(crate) type Work<'a, P, T, E> =
    Box<dyn FnMut(Take<'_, P>, &mut Emit<'_, T>) -> Result<(), E> + Send + 'a>;
/// Makes the stages of one worker.
pub(crate) type MakeWork<'a, P, T, E> = Box<dyn Fn() -> Work<'a, P, T, E> + Send + Sync + 'a>;
