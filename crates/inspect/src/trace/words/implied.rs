//! Which events say no more than those beside them.

use crate::trace::recording::{Ender, Event, For, Target, What};

/// Returns `true` if one of the events that follow implies this one: the next, or that after the end of the wait for an object.
pub(super) fn implied_later(later: &[&Event], event: &Event) -> bool {
    // Wake-ups of others may lie between.
    let own = later.iter().filter(|next| next.waiter == event.waiter);
    let mut later = own.skip_while(|next| implied_by(event, next));
    later.next().is_some_and(|next| implies(next, event))
}

/// Returns `true` if the event of its waiter before this one implies it.
pub(super) fn implied_before(earlier: &[&Event], event: &Event) -> bool {
    if !matches!(event.what, What::WaitEnd(_)) {
        return false;
    }
    let mut own = earlier
        .iter()
        .rev()
        .filter(|before| before.waiter == event.waiter);
    own.next().is_some_and(|before| implied_by(before, event))
}

/// Returns `true` if the next event implies this one. A waiter that takes an object has begun an operation on it, and waits no
/// more. A waiter that waits for an object, or has done something with it, has begun an operation on it. A task that yields by its waker has woken itself.
pub(super) fn implies(next: &Event, event: &Event) -> bool {
    if matches!(next.what, What::Yields { .. }) {
        return is_own_wake(event) && next.waiter == event.waiter;
    }
    let is_begin = matches!(event.what, What::Operates { .. });
    let (What::WaitEnd(For {
        target: Target::Object(object),
        ..
    })
    | What::Operates { object, .. }) = event.what
    else {
        return false;
    };
    let is_same = match next.what {
        What::Acquired { object: taken, .. } | What::Permits { object: taken, .. } => {
            taken == object
        }
        What::Wait(wait) => is_begin && wait.target == Target::Object(object),
        // It begins with it again, or has done it.
        What::Operates { object: used, .. } => used == object,
        // It is about that object.
        What::Noted { kind, .. } => kind != 0,
        _ => false,
    };
    is_same && next.waiter == event.waiter
}

/// Returns `true` if the event before it implies this one. A waiter that operates on an object waits for it no more.
pub(super) fn implied_by(before: &Event, event: &Event) -> bool {
    let What::Operates { object, .. } = before.what else {
        return false;
    };
    let ends =
        matches!(event.what, What::WaitEnd(For { target: Target::Object(of), .. }) if of == object);
    ends && before.waiter == event.waiter
}

pub(super) fn is_own_wake(event: &Event) -> bool {
    matches!(event.what, What::Wake { by: Ender::Waiter(by) } if by == event.waiter)
}
