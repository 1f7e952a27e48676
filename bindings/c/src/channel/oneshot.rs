//! A single element.

use std::ffi::{c_int, c_void};
use std::mem::{ManuallyDrop, offset_of};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use blitz_io::sync::oneshot::error::TryRecvError;
use blitz_io::sync::oneshot::{Slot, SlotReceiver, SlotSender};
use blitz_io_core::recycle;

use super::end::{Case, Receives, Sends, deliver, recv_entry};
use super::{Ends, blitz_receiver, blitz_sender};
use crate::element::Element;
use crate::error::{BLITZ_ECLOSED, BLITZ_EEMPTY, Outcome, invalid};
use crate::exclusive::Exclusive;
use crate::wait::{self, Limit};

/// A channel with its ends and their handles, in one recycled block. The ends are dropped when their
/// handles are freed; the second of them frees the memory.
struct Pair<T: Element> {
    sender: blitz_sender,
    receiver: blitz_receiver,
    sends: ManuallyDrop<Sender<T>>,
    receives: ManuallyDrop<Receiver<T>>,
    slot: Slot<T>,
    is_one_freed: AtomicBool,
}

pub(super) fn channel<T: Element>(size: usize) -> Ends {
    let pair = recycle::allocate::<Pair<T>>().as_ptr();
    // SAFETY: this call owns the memory, and nothing reads a field before it is written.
    unsafe {
        (&raw mut (*pair).is_one_freed).write(AtomicBool::new(false));
        (&raw mut (*pair).slot).write(Slot::new());
    }
    // SAFETY: the slot was written, and nothing else uses it. It does not move until
    // `free_half` has been called for both handles, and the ends, which borrow it, are dropped before.
    let slot: &'static mut Slot<T> = unsafe { &mut (*pair).slot };
    let (sender, receiver) = slot.channel();
    // SAFETY: this call owns the memory of the fields. A `ManuallyDrop` has the layout of its value.
    let (sends, receives) = unsafe {
        let sends = (&raw mut (*pair).sends).cast::<Sender<T>>();
        let receives = (&raw mut (*pair).receives).cast::<Receiver<T>>();
        sends.write(Sender(Exclusive::new(Some(sender))));
        receives.write(Receiver(Exclusive::new(Some(receiver))));
        (sends, receives)
    };
    // SAFETY: fields of an allocation are not at NULL. Each end lives until its `free_…` is called.
    unsafe {
        let sender = NonNull::new_unchecked(&raw mut (*pair).sender);
        let receiver = NonNull::new_unchecked(&raw mut (*pair).receiver);
        blitz_sender::begin(sender, size, sends, free_sender::<T>);
        blitz_receiver::begin(receiver, size, receives, free_receiver::<T>);
        (sender, receiver)
    }
}

/// # Safety
///
/// The handle comes from `channel` with the same type, and is not used again.
unsafe fn free_sender<T: Element>(handle: NonNull<blitz_sender>) {
    // SAFETY: the handle is a field of the pair, and points into its allocation.
    let pair = unsafe { handle.byte_sub(offset_of!(Pair<T>, sender)) }.cast::<Pair<T>>();
    // SAFETY: only this call, which is the only one for the handle, drops the end and frees its half.
    unsafe {
        ManuallyDrop::drop(&mut (*pair.as_ptr()).sends);
        free_half::<T>(pair);
    }
}

/// # Safety
///
/// The handle comes from `channel` with the same type, and is not used again.
unsafe fn free_receiver<T: Element>(handle: NonNull<blitz_receiver>) {
    // SAFETY: the handle is a field of the pair, and points into its allocation.
    let pair = unsafe { handle.byte_sub(offset_of!(Pair<T>, receiver)) }.cast::<Pair<T>>();
    // SAFETY: only this call, which is the only one for the handle, drops the end and frees its half.
    unsafe {
        ManuallyDrop::drop(&mut (*pair.as_ptr()).receives);
        free_half::<T>(pair);
    }
}

/// # Safety
///
/// It is called once for each of the two handles, after their end has been dropped.
#[inline]
unsafe fn free_half<T: Element>(pair: NonNull<Pair<T>>) {
    let is_one_freed = {
        // SAFETY: this half is not freed yet.
        let flag = unsafe { &(*pair.as_ptr()).is_one_freed };
        flag.load(Ordering::Acquire) || flag.swap(true, Ordering::AcqRel)
    };
    if is_one_freed {
        // SAFETY: the other half does not use the pair any more, and `channel` made it so.
        unsafe {
            pair.drop_in_place();
            recycle::free(pair);
        }
    }
}

/// The sender, until it has sent.
struct Sender<T: 'static>(Exclusive<Option<SlotSender<'static, T>>>);

impl<T: Element> Sends for Sender<T> {
    #[inline(always)]
    fn try_send(&self, value: &[u8]) -> Outcome {
        let sender = self.0.enter()?.take().ok_or(BLITZ_ECLOSED)?;
        sender.send(T::read(value)).map_err(|_| BLITZ_ECLOSED)
    }

    fn clone(&self, _: usize) -> Outcome<NonNull<blitz_sender>> {
        Err(invalid("the sender of a single value cannot be cloned"))
    }

    fn is_closed(&self) -> bool {
        let is_closed = |sender: &SlotSender<'static, T>| sender.is_closed();
        self.0
            .enter()
            .is_ok_and(|sender| sender.as_ref().is_none_or(is_closed))
    }

    fn wait_closed(&self, limit: Limit) -> Outcome {
        match &mut *self.0.enter()? {
            Some(sender) => wait::on(sender.closed(), limit),
            None => Ok(()),
        }
    }
}

/// The receiver, until it has received.
struct Receiver<T: 'static>(Exclusive<Option<SlotReceiver<'static, T>>>);

impl<T: Element> Receiver<T> {
    async fn recv(&self, to: &mut [u8]) -> Outcome {
        let mut entered = self.0.enter()?;
        let receiver = entered.as_mut().ok_or(BLITZ_ECLOSED)?;
        let received = receiver.await.map_err(|_| BLITZ_ECLOSED);
        *entered = None;
        deliver(received, to)
    }
}

impl<T: Element> Receives for Receiver<T> {
    #[inline(always)]
    fn try_recv(&self, to: &mut [u8]) -> Outcome {
        let mut entered = self.0.enter()?;
        let receiver = entered.as_mut().ok_or(BLITZ_ECLOSED)?;
        let received = match receiver.try_recv() {
            Err(TryRecvError::Empty) => return Err(BLITZ_EEMPTY),
            Err(TryRecvError::Closed) => Err(BLITZ_ECLOSED),
            Ok(value) => Ok(value),
        };
        *entered = None;
        deliver(received, to)
    }

    extern "C" fn recv_until(&self, to: *mut c_void, size: usize, deadline_ns: u64) -> c_int {
        recv_entry(to, size, deadline_ns, |to, limit| {
            wait::on(Self::recv(self, to), limit)?
        })
    }

    fn receiving<'a>(&'a self, to: &'a mut [u8]) -> Case<'a> {
        Box::pin(Self::recv(self, to))
    }

    fn close(&self) -> Outcome {
        if let Some(receiver) = &mut *self.0.enter()? {
            receiver.close();
        }
        Ok(())
    }

    fn len(&self) -> usize {
        let has_value = |receiver: &SlotReceiver<'static, T>| !receiver.is_empty();
        self.0
            .enter()
            .map_or(0, |entered| entered.as_ref().is_some_and(has_value).into())
    }
}
