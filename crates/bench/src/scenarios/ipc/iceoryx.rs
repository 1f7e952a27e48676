//! iceoryx2: publish and subscribe through shared memory, with receivers that poll or that
//! sleep until an event.
//!
//! * By default a subscriber's buffer drops the oldest message when it is full. Here a publisher
//!   waits for room (`enable_safe_overflow(false)`, `RetryUntilDelivered`), and gives up, with
//!   an error, after [`PATIENCE`].
//! * A publisher waits only for subscribers that have connected to it, and drops messages for
//!   others once their buffers are full. A subscriber connects when it looks for messages. So
//!   each side waits for all of the other side, and connects, before the clock runs.
//! * A service has room for 2 publishers and 8 subscribers unless it is configured
//!   otherwise.
//! * The parent must not use the library: the state that it keeps for a process would pass
//!   through a `fork`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::port::update_connections::UpdateConnections;
use iceoryx2::port::{BackpressureAction, BackpressureInfo};
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::{event, publish_subscribe};

use super::link::{Link, Poll};
use super::transport::Transport;

/// Messages of one publisher that wait for one subscriber, as many as in our ring.
const CAPACITY: usize = 1024;
/// The number of large messages that wait, as many as in our ring for them.
const LINK_CAPACITY: usize = 4;
/// The longest wait for the other processes, for room, or for a message.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time between two attempts to open a service, or two checks of a condition.
const PAUSE: Duration = Duration::from_millis(1);

/// A service of which only the name exists yet.
struct Named {
    name: String,
    senders: usize,
    receivers: usize,
    capacity: usize,
    len: usize,
}

/// The service in one process.
struct Opened {
    messages: publish_subscribe::PortFactory<ipc::Service, [u8], ()>,
    events: event::PortFactory<ipc::Service>,
}

impl Named {
    fn new(senders: usize, receivers: usize, capacity: usize, len: usize) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self {
            name: format!("blitz-io-bench/{}/{count}", std::process::id()),
            senders,
            receivers,
            capacity,
            len,
        }
    }

    fn open(&self) -> Opened {
        set_log_level(LogLevel::Error);
        let node = NodeBuilder::new()
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc::Service>()
            .expect("a node");
        let name: ServiceName = self.name.as_str().try_into().expect("a valid name");
        let messages = until_ok("a service for messages", || {
            node.service_builder(&name)
                .publish_subscribe::<[u8]>()
                .enable_safe_overflow(false)
                .history_size(0)
                .max_publishers(self.senders)
                .max_subscribers(self.receivers)
                .max_nodes(self.senders + self.receivers)
                .subscriber_max_buffer_size(self.capacity)
                .subscriber_max_borrowed_samples(1)
                .open_or_create()
        });
        let events = until_ok("a service for events", || {
            node.service_builder(&name)
                .event()
                .max_notifiers(self.senders)
                .max_listeners(self.receivers)
                .max_nodes(self.senders + self.receivers)
                .event_id_max_value(0)
                .open_or_create()
        });
        Opened { messages, events }
    }
}

/// Opens a service. Several processes do so at the same time, and one of them creates it.
fn until_ok<R, E: std::fmt::Debug>(what: &str, mut open: impl FnMut() -> Result<R, E>) -> R {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match open() {
            Ok(opened) => return opened,
            Err(error) if Instant::now() >= deadline => panic!("{what}: {error:?}"),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        thread::sleep(PAUSE);
    }
}

/// A publisher that waits for room.
pub(super) struct Sends {
    publisher: Publisher<ipc::Service, [u8], ()>,
    /// `None` if receivers poll.
    notifier: Option<Notifier<ipc::Service>>,
    len: usize,
    _service: Opened,
}

impl Sends {
    fn new(named: &Named, with_events: bool) -> Self {
        let service = named.open();
        let publisher = service
            .messages
            .publisher_builder()
            .initial_max_slice_len(named.len)
            .max_loaned_samples(1)
            .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
            .set_backpressure_handler(|info: &BackpressureInfo| {
                if info.elapsed_time < PATIENCE {
                    BackpressureAction::Retry
                } else {
                    BackpressureAction::DiscardDataAndFail
                }
            })
            .create()
            .expect("a publisher");
        let counts = service.messages.dynamic_config();
        until("all subscribers", || {
            counts.number_of_subscribers() == named.receivers
        });
        publisher.update_connections().expect("connections");
        let notifier = with_events.then(|| {
            let listeners = service.events.dynamic_config();
            until("all listeners", || {
                listeners.number_of_listeners() == named.receivers
            });
            let notifier = service.events.notifier_builder().create();
            notifier.expect("a notifier")
        });
        Self {
            publisher,
            notifier,
            len: named.len,
            _service: service,
        }
    }

    #[inline]
    fn send_copy(&self, message: &[u8]) {
        let place = self.publisher.loan_slice_uninit(message.len());
        let place = place.expect("a place for a message");
        place.write_from_slice(message).send().expect("room");
        self.notify();
    }

    #[inline]
    fn send(&self, write: impl FnOnce(&mut [u8])) {
        let place = self.publisher.loan_slice_uninit(self.len);
        let mut place = place.expect("a place for a message");
        let bytes = place.payload_mut();
        // SAFETY: bytes of a mapped file always have a value, and may have any. Other
        // processes read what is written here unchanged.
        let bytes = unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [u8]) };
        write(bytes);
        // SAFETY: bytes of a mapped file always have a value, and `u8` may have any.
        let message = unsafe { place.assume_init() };
        message.send().expect("room");
        self.notify();
    }

    #[inline]
    fn notify(&self) {
        if let Some(notifier) = &self.notifier {
            notifier.notify().expect("listeners");
        }
    }
}

/// A subscriber.
pub(super) struct Receives {
    subscriber: Subscriber<ipc::Service, [u8], ()>,
    /// `None` if the subscriber polls.
    listener: Option<Listener<ipc::Service>>,
    _service: Opened,
}

impl Receives {
    fn new(named: &Named, with_events: bool) -> Self {
        let service = named.open();
        let listener = with_events.then(|| {
            let listener = service.events.listener_builder().create();
            listener.expect("a listener")
        });
        let subscriber = service
            .messages
            .subscriber_builder()
            .buffer_size(named.capacity)
            .create()
            .expect("a subscriber");
        let counts = service.messages.dynamic_config();
        until("all publishers", || {
            counts.number_of_publishers() == named.senders
        });
        subscriber.update_connections().expect("connections");
        Self {
            subscriber,
            listener,
            _service: service,
        }
    }

    #[inline]
    fn poll<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let message = self.subscriber.receive().expect("a service that works");
        message.map(|message| read(message.payload()))
    }

    /// Polls, or sleeps, until there is a message.
    #[inline]
    fn receive<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        let mut read = Some(read);
        let mut once = |message: &[u8]| read.take().map(|read| read(message));
        loop {
            for _ in 0..1000 {
                if let Some(Some(read)) = self.poll(&mut once) {
                    return read;
                }
                match &self.listener {
                    Some(listener) => sleep(listener),
                    None => std::hint::spin_loop(),
                }
            }
            // The other process may need this processor.
            thread::yield_now();
        }
    }
}

/// Sleeps until the next notification. There may have been several, and the receiver may
/// have taken their messages already, so it may find none.
fn sleep(listener: &Listener<ipc::Service>) {
    let began = Instant::now();
    let notified = listener.timed_wait(|_| (), PATIENCE);
    let notified = notified.expect("a service that works");
    let in_vain = notified == 0 && began.elapsed() >= PATIENCE;
    assert!(!in_vain, "no message within {PATIENCE:?}");
}

macro_rules! transport {
    ($(#[$attribute:meta])* $name:ident, $with_events:literal) => {
        $(#[$attribute])*
        pub(super) struct $name(Named);

        impl Transport for $name {
            type Sender = Sends;
            type Receiver = Receives;

            fn new(senders: usize, receivers: usize) -> Self {
                Self(Named::new(senders, receivers, CAPACITY, 256))
            }

            fn sender(self, _: usize) -> Self::Sender {
                Sends::new(&self.0, $with_events)
            }

            fn receiver(self, _: usize) -> Self::Receiver {
                Receives::new(&self.0, $with_events)
            }

            #[inline]
            fn send(sender: &mut Self::Sender, message: &[u8]) {
                sender.send_copy(message);
            }

            #[inline]
            fn receive(receiver: &mut Self::Receiver, buffer: &mut [u8; 256]) -> usize {
                receiver.receive(|message| {
                    buffer[..message.len()].copy_from_slice(message);
                    message.len()
                })
            }
        }

        impl Link for $name {
            type Sender = Sends;
            type Receiver = Receives;

            fn new(len: usize) -> Self {
                Self(Named::new(1, 1, LINK_CAPACITY, len))
            }

            fn sender(self) -> Self::Sender {
                Sends::new(&self.0, $with_events)
            }

            fn receiver(self) -> Self::Receiver {
                Receives::new(&self.0, $with_events)
            }

            #[inline]
            fn send(sender: &mut Self::Sender, write: impl FnOnce(&mut [u8])) {
                sender.send(write);
            }

            #[inline]
            fn receive<R>(receiver: &mut Self::Receiver, read: impl FnOnce(&[u8]) -> R) -> R {
                receiver.receive(read)
            }

            fn send_copy(sender: &mut Self::Sender, message: &[u8]) {
                sender.send_copy(message);
            }
        }
    };
}

transport!(
    /// Receivers poll.
    Polled, false
);
transport!(
    /// Receivers sleep; the sender notifies them after each message.
    WithEvents, true
);

impl Poll for Polled {
    #[inline]
    fn poll<R>(receiver: &mut Self::Receiver, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        receiver.poll(read)
    }
}
