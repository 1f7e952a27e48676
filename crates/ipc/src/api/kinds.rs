use crate::api::builder::Builder;
use crate::api::error::Error;
use crate::api::kind::Kind;
use crate::{Receiver, Sender};

macro_rules! kind {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
        pub struct $name;

        impl $name {
            /// Creates a builder, to change the default settings.
            pub fn builder() -> Builder {
                Builder::new(Kind::$name)
            }

            /// Joins the segment `name` as a sender, and makes it if there is none.
            ///
            /// # Errors
            ///
            /// See [`Builder::sender`].
            pub fn sender(name: &str) -> Result<Sender, Error> {
                Self::builder().sender(name)
            }

            /// Joins the segment `name` as a receiver, and makes it if there is none.
            ///
            /// # Errors
            ///
            /// See [`Builder::receiver`].
            pub fn receiver(name: &str) -> Result<Receiver, Error> {
                Self::builder().receiver(name)
            }
        }
    };
}

kind! {
    /// One sender; every receiver gets every message.
    ///
    /// ```
    /// use blitz_io::ipc::Route;
    /// # if blitz_io::ipc::is_supported() {
    /// # let name = &format!("prices-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "prices";
    /// # "#;
    /// let mut sender = Route::sender(name)?;
    /// let mut readers = [Route::receiver(name)?, Route::receiver(name)?];
    /// sender.send(b"ACME 12.50")?;
    /// for reader in &mut readers {
    ///     assert_eq!(*reader.recv()?, *b"ACME 12.50");
    /// }
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Route
}

kind! {
    /// Many senders; every receiver gets every message, all in the same order.
    ///
    /// ```
    /// use blitz_io::ipc::Channel;
    /// # if blitz_io::ipc::is_supported() {
    /// # let name = &format!("chat-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "chat";
    /// # "#;
    /// let (mut ann, mut bob) = (Channel::sender(name)?, Channel::sender(name)?);
    /// let mut screen = Channel::receiver(name)?;
    /// ann.send(b"hello")?;
    /// bob.send(b"hi")?;
    /// assert_eq!(*screen.recv()?, *b"hello");
    /// assert_eq!(*screen.recv()?, *b"hi");
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Channel
}

kind! {
    /// Many senders; each message goes to one receiver.
    ///
    /// If a receiver dies while it holds a message, another receiver gets the message.
    ///
    /// The messages are in shared memory, and are lost when the last participant leaves. A
    /// producer that sends and ends before a worker has joined loses them, though each send
    /// returned `Ok`. Two remedies:
    ///
    /// * The producer calls [`Sender::drained`] before it ends.
    /// * Another process keeps the queue: it joins as a receiver and receives nothing.
    ///
    /// ```
    /// use blitz_io::ipc::{Queue, RecvError};
    /// # if blitz_io::ipc::is_supported() {
    /// # let name = &format!("work-doc-{}", std::process::id());
    /// # let _ = r#"
    /// let name = "work";
    /// # "#;
    /// let mut sender = Queue::sender(name)?;
    /// let (mut one, mut two) = (Queue::receiver(name)?, Queue::receiver(name)?);
    /// sender.send(b"job")?;
    /// assert_eq!(*one.recv()?, *b"job");
    /// assert_eq!(two.try_recv().unwrap_err(), RecvError::Empty);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Queue
}
