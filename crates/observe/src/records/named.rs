//! `Named`: gives a primitive a name for reports.

use super::Object;

/// A primitive that can have a name, which reports show.
pub trait Named: Sized {
    /// Returns the part that has the name.
    #[doc(hidden)]
    fn inspected(&self) -> &Object;

    /// Names the primitive. The name costs a few bytes until the process ends.
    ///
    /// ```
    /// use blitz_io_observe::{Named, Object};
    ///
    /// struct Gate(Object);
    ///
    /// impl Named for Gate {
    ///     fn inspected(&self) -> &Object {
    ///         &self.0
    ///     }
    /// }
    /// let _gate = Gate(Object::new()).named("gate");
    /// ```
    #[must_use]
    fn named(self, name: &'static str) -> Self {
        self.inspected().set_name(name);
        // This is the only way to the primitive, or it is a channel, whose origin is known since it was made.
        self.inspected().made_here();
        self
    }
}
