//! `Request`: a request of the program's, which the recorder follows.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use super::event::{Code, Event};
use super::recorder::{is_on, record};
use super::serving::{self, Served};
use super::watch::Watched;
use crate::records::Waiter;
use crate::records::recording::request_names::{NO_NAME, place_of};
use crate::records::recording::{lint, recorders};

static LAST: AtomicU64 = AtomicU64::new(0);

/// A request, which ends when this is dropped.
pub struct Request {
    /// 0 if the recorder was off when it began.
    id: u64,
    /// `Some` if the process answers `blitz why`.
    served: Option<Served>,
    /// `Some` if something asks for the ends of requests.
    watched: Option<Box<Watched>>,
    /// The word of the task or thread that works for it, as the recorder of `blitz lint` knows; 0 if it does not.
    owner: u64,
    /// The recorder of `blitz lint` was on when it began.
    is_linted: bool,
    /// The place of its name, if a recorder was on when it began.
    name: u64,
}

/// Begins a request in the current task or thread.
pub fn request<'a>(name: impl Into<Cow<'a, str>>) -> Request {
    let is_linted = recorders::lints();
    let mut request = Request {
        id: 0,
        served: None,
        watched: None,
        owner: 0,
        is_linted,
        name: NO_NAME,
    };
    let (is_kept, is_on) = (serving::is_on(), is_on());
    if !is_kept && !is_on && !is_linted {
        return request;
    }
    let name = name.into();
    if is_on || is_linted {
        request.name = place_of(&name);
    }
    if is_linted {
        request.find_owner();
    }
    request.served = is_kept.then(|| Served::new(&name));
    if !is_on {
        return request;
    }
    let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    record(Event {
        target: request.name,
        ..Event::new(Code::Request, Waiter::current().word(), id)
    });
    request.id = id;
    request.watched = Watched::new(&name);
    request
}

impl Request {
    /// Returns a future that works for the request. The request ends with it.
    pub fn instrument<F: Future>(self, future: F) -> Instrumented<F> {
        Instrumented {
            future,
            request: self.detached(),
        }
    }

    /// Returns the request. The current task or thread works for it no more, and [`enter`](Self::enter) says where it is
    /// worked for.
    #[doc(hidden)]
    #[must_use]
    pub fn detached(mut self) -> Self {
        self.note(Code::Leave);
        self.forget_owner();
        self
    }

    /// The current task or thread works for the request from now on.
    pub fn enter(&self) {
        self.note(Code::Enter);
        if let Some(served) = &self.served {
            served.enter();
        }
        if self.is_linted {
            lint::request_entered(self.name);
        }
    }

    /// The current task or thread works for the request no more.
    pub fn leave(&self) {
        self.note(Code::Leave);
        if self.is_linted {
            lint::request_left();
        }
    }

    /// Returns `true` if the recorder was on when the request began.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.id != 0
    }

    fn note(&self, code: Code) {
        if self.id != 0 && is_on() {
            record(Event::new(code, Waiter::current().word(), self.id));
        }
    }
}

impl Request {
    fn find_owner(&mut self) {
        let here = Waiter::current().word();
        if lint::request_begins(here, self.name) {
            self.owner = here;
        }
    }

    fn forget_owner(&mut self) {
        if self.owner != 0 {
            lint::request_ends(self.owner);
            self.owner = 0;
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.note(Code::RequestEnd);
        if let Some(watched) = self.watched.take() {
            watched.ended();
        }
        self.forget_owner();
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}

/// A future that works for a request.
#[must_use = "futures do nothing unless they are polled"]
pub struct Instrumented<F> {
    // Dropped first: its destructor is part of the request.
    future: F,
    request: Request,
}

impl<F: Future> Future for Instrumented<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is not moved out of this value, which has no `Drop` and moves with `F: Unpin` only.
        let (future, request) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &this.request)
        };
        request.enter();
        let _left = Left(request);
        future.poll(context)
    }
}

/// Notes the end of a poll, also by a panic.
struct Left<'a>(&'a Request);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl<F> fmt::Debug for Instrumented<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instrumented").finish_non_exhaustive()
    }
}
