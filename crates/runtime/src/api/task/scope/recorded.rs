//! `Recorded`: a child's future with its record, for a child that the future of its scope polls.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_observe::{Caller, ChildRecord};
use pin_project_lite::pin_project;

use super::children::Child;
use super::member::Member;
use crate::kernel::task::Id;

pin_project! {
    /// A child with its record. The member keeps the list of its scope, to which the record leads.
    pub(super) struct Recorded<F: Future> {
        // Dropped first.
        record: ChildRecord,
        #[pin]
        member: Member<F>,
    }
}

impl<F: Future> Recorded<F> {
    /// Adds the record to a child with this id.
    pub(super) fn new(member: Member<F>, id: Id, caller: Caller) -> Self {
        Self {
            record: ChildRecord::new::<Child>(id.as_u64(), caller),
            member,
        }
    }
}

impl<F: Future> Future for Recorded<F> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        // SAFETY: only `Children` polls it, with a waker of the child: an `Arc<Child>`, of which this is a part.
        let _entered = unsafe { this.record.enter(context.waker()) };
        this.member.poll(context)
    }
}
