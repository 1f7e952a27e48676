//! Operations on objects of which only the origin is known, in the events of a simulation.

use super::{Caller, Origin, recorders};
use crate::decisions::{self, Note};
use crate::{Kind, SUBSTITUTE};

impl Origin {
    /// The current task has done an operation of this kind on the object, at this location, for the report of a simulation. `text`: a sentence without
    /// its subject, with `{}` for the object.
    #[inline(always)]
    pub fn did(self, kind: Kind, at: Caller, text: impl FnOnce() -> String) {
        if decisions::explains() && recorders::traces() {
            let _call = at.calls();
            let object = format!("{}{SUBSTITUTE}{}{SUBSTITUTE}", kind.name(), self.number());
            decisions::note(|| Note::Task(text().replace("{}", &object)));
        }
    }
}
