//! The engine, which carries frames to the gateways of other hosts: Zenoh.
//!
//! Tests with the feature `sim` have another one, on the network of a simulation (`simulated.rs`). Both deliver a frame to each
//! subscriber of its key, on all hosts that they reach, or lose it.

use zenoh::bytes::ZBytes;
use zenoh::qos::CongestionControl;
use zenoh::{Session, Wait, pubsub};
use zenoh_runtime::ZRuntime;

use crate::error::Error;

#[cfg(feature = "sim")]
pub mod simulated;

/// The session of a gateway.
#[derive(Clone)]
pub enum Engine {
    /// Zenoh.
    Zenoh(Session),
    /// The network of a simulation.
    #[cfg(feature = "sim")]
    Simulated(simulated::Session),
}

/// What happens to a frame, besides being sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Whether the sender waits for a slow network.
    pub congestion: CongestionControl,
    /// The engine does not wait for other frames, to send all in one packet.
    pub is_express: bool,
}

impl Engine {
    /// Returns the number of this session, for people.
    pub fn id(&self) -> String {
        match self {
            Self::Zenoh(session) => session.zid().to_string(),
            #[cfg(feature = "sim")]
            Self::Simulated(_) => "simulated".to_owned(),
        }
    }

    /// Returns `true` in a simulation, where all hosts are one process.
    pub fn is_simulated(&self) -> bool {
        match self {
            Self::Zenoh(_) => false,
            #[cfg(feature = "sim")]
            Self::Simulated(_) => true,
        }
    }

    /// Declares a publisher of frames with this key.
    ///
    /// # Errors
    ///
    /// [`Error`] if the session is closed.
    pub async fn publisher(&self, key: String, delivery: Delivery) -> Result<Publisher, Error> {
        match self {
            Self::Zenoh(session) => session
                .declare_publisher(key)
                .congestion_control(delivery.congestion)
                .express(delivery.is_express)
                .await
                .map(Publisher::Zenoh)
                .map_err(Error::engine("cannot publish")),
            #[cfg(feature = "sim")]
            Self::Simulated(session) => Ok(Publisher::Simulated(session.clone(), key)),
        }
    }

    /// Calls `callback` with the key and the frame, for each frame whose key matches this one. `*` stands for one part of a key.
    /// The subscription ends with the result.
    ///
    /// # Errors
    ///
    /// [`Error`] if the session is closed.
    pub async fn subscribe(
        &self,
        key: String,
        callback: impl Fn(&str, &ZBytes) + Send + Sync + 'static,
    ) -> Result<Subscriber, Error> {
        match self {
            Self::Zenoh(session) => session
                .declare_subscriber(key)
                .callback(move |sample| callback(sample.key_expr().as_str(), sample.payload()))
                .await
                .map(|subscriber| Subscriber::Zenoh(Box::new(subscriber)))
                .map_err(Error::engine("cannot subscribe")),
            #[cfg(feature = "sim")]
            Self::Simulated(session) => Ok(Subscriber::Simulated(session.subscribe(key, callback))),
        }
    }

    /// Publishes one frame with this key, without waiting for a slow network. A failure loses the frame.
    pub fn put(&self, key: String, frame: impl Into<ZBytes>, is_express: bool) {
        match self {
            Self::Zenoh(session) => {
                let put = session.put(key, frame);
                let put = put.congestion_control(CongestionControl::Drop);
                _ = put.express(is_express).wait();
            }
            #[cfg(feature = "sim")]
            Self::Simulated(session) => session.send(&key, &frame.into()),
        }
    }

    /// Returns at once, but in a simulation time passes: a gateway may be killed here. The caller is between two stores that
    /// outlive the gateway.
    pub async fn pause(&self) {
        match self {
            Self::Zenoh(_) => {}
            #[cfg(feature = "sim")]
            Self::Simulated(_) => simulated::pause().await,
        }
    }

    /// Runs a task on the threads that read frames, so no other thread must wake to deliver one.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match self {
            Self::Zenoh(_) => drop(ZRuntime::RX.spawn(task)),
            #[cfg(feature = "sim")]
            Self::Simulated(_) => drop(blitz_io::spawn(task)),
        }
    }
}

/// A publisher of frames with one key.
pub enum Publisher {
    /// Zenoh's.
    Zenoh(pubsub::Publisher<'static>),
    /// The session and the key.
    #[cfg(feature = "sim")]
    Simulated(simulated::Session, String),
}

impl Publisher {
    /// Publishes a frame. With [`CongestionControl::Block`] this waits while the network is slow. A failure loses the frame.
    pub fn put(&self, frame: impl Into<ZBytes>) {
        match self {
            Self::Zenoh(publisher) => _ = publisher.put(frame).wait(),
            #[cfg(feature = "sim")]
            Self::Simulated(session, key) => session.send(key, &frame.into()),
        }
    }
}

/// A subscription, which ends when this is dropped.
pub enum Subscriber {
    /// Zenoh's.
    Zenoh(#[allow(dead_code, reason = "it is dropped")] Box<pubsub::Subscriber<()>>),
    /// That of a simulation.
    #[cfg(feature = "sim")]
    Simulated(#[allow(dead_code, reason = "it is dropped")] simulated::Subscription),
}
