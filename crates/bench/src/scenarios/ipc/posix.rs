//! POSIX message queues.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use super::transport::Transport;

/// Messages that wait in all queues of a measurement together, as in our ring.
const CAPACITY: usize = 1024;
/// The capacity that a queue may have without further privileges.
const LEAST_CAPACITY: usize = 10;

/// One message queue, whose name has already been removed.
pub(super) struct MessageQueue(OwnedFd);

impl MessageQueue {
    pub(super) fn new(capacity: usize, len: usize) -> io::Result<Self> {
        Self::open(capacity, len).or_else(|_| Self::open(LEAST_CAPACITY, len))
    }

    fn open(capacity: usize, len: usize) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("/blitz-io-bench-{}-{count}", std::process::id());
        let name = CString::new(name).expect("no zero in it");
        // SAFETY: all zeroes is a valid value of the attributes.
        let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
        attributes.mq_maxmsg = capacity as _;
        attributes.mq_msgsize = len as _;
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        let mode: libc::mode_t = 0o600;
        // SAFETY: the name is a C string, and the attributes live as long as the call.
        let fd = unsafe { libc::mq_open(name.as_ptr(), flags, mode, &raw mut attributes) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the name is a C string.
        unsafe { libc::mq_unlink(name.as_ptr()) };
        // SAFETY: on Linux a queue is a descriptor; it has just been made and has no other
        // owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Returns another descriptor of the same queue.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    pub(super) fn send(&self, message: &[u8]) {
        let (bytes, len) = (message.as_ptr().cast(), message.len());
        // SAFETY: `bytes` points to `len` readable bytes.
        let result = unsafe { libc::mq_send(self.0.as_raw_fd(), bytes, len, 0) };
        assert_eq!(result, 0, "mq_send: {}", io::Error::last_os_error());
    }

    pub(super) fn receive(&self, buffer: &mut [u8]) -> usize {
        let (bytes, len) = (buffer.as_mut_ptr().cast(), buffer.len());
        let priority = std::ptr::null_mut();
        // SAFETY: there is room for `len` bytes.
        let received = unsafe { libc::mq_receive(self.0.as_raw_fd(), bytes, len, priority) };
        usize::try_from(received)
            .unwrap_or_else(|_| panic!("mq_receive: {}", io::Error::last_os_error()))
    }
}

/// Returns whether this system has message queues.
pub(super) fn is_supported() -> bool {
    MessageQueue::new(LEAST_CAPACITY, 256).is_ok()
}

/// A queue for each receiver, to each of which senders send, or one for all: then each message goes
/// to one receiver.
pub(super) struct MessageQueues<const ONE: bool>(Vec<MessageQueue>);

impl<const ONE: bool> Transport for MessageQueues<ONE> {
    type Sender = Vec<MessageQueue>;
    type Receiver = MessageQueue;

    fn new(_: usize, receivers: usize) -> Self {
        let queues = if ONE { 1 } else { receivers };
        let queue = |_| MessageQueue::new(CAPACITY / queues, 256).expect("a message queue");
        Self((0..queues).map(queue).collect())
    }

    fn sender(self, _: usize) -> Self::Sender {
        self.0
    }

    fn receiver(mut self, number: usize) -> MessageQueue {
        self.0.swap_remove(if ONE { 0 } else { number })
    }

    fn send(queues: &mut Self::Sender, message: &[u8]) {
        queues.iter().for_each(|queue| queue.send(message));
    }

    fn receive(queue: &mut MessageQueue, buffer: &mut [u8; 256]) -> usize {
        queue.receive(buffer)
    }
}
