//! A way to send messages between processes.

/// Sends messages from some processes to some others.
pub(super) trait Transport: Sized {
    /// The state of a sending process.
    type Sender;
    /// The state of a receiving process.
    type Receiver;
    /// Created before the processes are; each of them has a copy.
    fn new(senders: usize, receivers: usize) -> Self;
    fn sender(self, number: usize) -> Self::Sender;
    fn receiver(self, number: usize) -> Self::Receiver;
    fn send(sender: &mut Self::Sender, message: &[u8]);
    /// Returns the next message's length; the message is at the beginning of `buffer`.
    fn receive(receiver: &mut Self::Receiver, buffer: &mut [u8; 256]) -> usize;
}
