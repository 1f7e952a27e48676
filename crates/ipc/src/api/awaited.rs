//! Waiting in tasks. The head of `kernel/wait.rs` explains all waits.

use std::future::poll_fn;
use std::io;
use std::pin::pin;

use blitz_io_core::coop::cooperative;
#[cfg(feature = "async")]
use blitz_io_observe::decisions;
use blitz_io_observe::{self as observe, Caller};

use crate::api::endpoint::Endpoint;
#[cfg(feature = "async")]
use crate::api::simulated;
use crate::kernel::wait::{End, Failure, Settled, Waiter};

/// Does the operation if it need not wait. Otherwise returns `None`, and the doorbell becomes
/// readable when this should be called again.
pub(crate) fn attempt_or_arm<W: Waiter<End = Endpoint>>(
    waiter: &mut W,
) -> Result<Option<W::Output>, W::Error> {
    waiter.end().check::<W::Error>()?;
    loop {
        let awaited = match attempt_or_look(waiter)? {
            Settled::Done(output) => return Ok(Some(output)),
            Settled::Waits(event) => event,
        };
        waiter.end().arm(awaited).map_err(W::Error::io)?;
        match waiter.settle()? {
            Settled::Done(output) => return Ok(Some(output)),
            Settled::Waits(event) if event == awaited => return Ok(None),
            Settled::Waits(_) => {}
        }
    }
}

fn attempt_or_look<W: Waiter<End = Endpoint>>(
    waiter: &mut W,
) -> Result<Settled<W::Output>, W::Error> {
    if let Some(output) = waiter.attempt()? {
        return Ok(Settled::Done(output));
    }
    if waiter.end().look_if_due() {
        waiter.looked();
    }
    waiter.settle()
}

/// Does the operation in a task; `readable` waits for the doorbell.
///
/// A future that is dropped has not done it: there is no await after the last attempt.
pub(crate) async fn when<W, F, R>(
    waiter: &mut W,
    mut readable: F,
    caller: Caller,
) -> Result<W::Output, W::Error>
where
    W: Waiter<End = Endpoint>,
    F: FnMut() -> R,
    R: Future<Output = io::Result<()>>,
{
    cooperative(until_done(waiter, |_| Ok(readable()), caller)).await
}

async fn until_done<W, F, R>(
    waiter: &mut W,
    mut readable: F,
    caller: Caller,
) -> Result<W::Output, W::Error>
where
    W: Waiter<End = Endpoint>,
    F: FnMut(&mut Endpoint) -> io::Result<R>,
    R: Future<Output = io::Result<()>>,
{
    // One record for the whole wait, during which the doorbell's timer wakes the task again and again.
    let mut record = observe::Wait::new(caller);
    loop {
        let by = observe::Acquirer::of_poll().await;
        let settled = attempt_or_arm(waiter);
        // The attempt has noted the thread, which may poll futures of another runtime.
        waiter.end().registered.used_by(by);
        if let Some(output) = settled? {
            return Ok(output);
        }
        let mut readable = pin!(readable(waiter.end()).map_err(W::Error::io)?);
        let rung = poll_fn(|context| {
            let polled = readable.as_mut().poll(context);
            if polled.is_pending() {
                let end = waiter.end();
                end.note_peers();
                end.registered.note(&mut record, W::KIND, context.waker());
            }
            polled
        });
        rung.await.map_err(W::Error::io)?;
    }
}

/// Does the operation in a task of the runtime of blitz-io, which also waits for the
/// doorbell.
#[cfg(feature = "async")]
pub(crate) async fn in_runtime<W: Waiter<End = Endpoint>>(
    waiter: &mut W,
    caller: Caller,
) -> Result<W::Output, W::Error> {
    cooperative(until_done_in_runtime(waiter, caller)).await
}

#[cfg(feature = "async")]
async fn until_done_in_runtime<W: Waiter<End = Endpoint>>(
    waiter: &mut W,
    caller: Caller,
) -> Result<W::Output, W::Error> {
    if decisions::is_on() {
        let rung = |end: &mut Endpoint| Ok(simulated::rung((end.segment.id(), end.me)));
        return until_done(waiter, rung, caller).await;
    }
    // Only a wait needs a runtime. Each registers the doorbell after it was armed: a
    // registration also reports what came before it.
    let readable = |end: &mut Endpoint| end.registered().map(crate::api::doorbell::rung);
    let result = until_done(waiter, readable, caller).await;
    if result.as_ref().is_err_and(W::Error::is_io) {
        waiter.end().doorbell.deregister();
    }
    result
}
