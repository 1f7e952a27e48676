//! An engine on the network of a simulation, for tests.
//!
//! Each frame is a datagram to each other host: the network loses some, repeats some, and changes their order. Zenoh does
//! less harm: what works here does with Zenoh, too.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io::net::{UdpSocket, lookup_host};
use blitz_io::sim;
use blitz_io::task::AbortHandle;
use blitz_io::time::sleep;
use zenoh::bytes::ZBytes;
use zenoh::key_expr::{KeyExpr, OwnedKeyExpr};

use crate::config::Network;
use crate::error::Error;

/// The largest datagram.
const LARGEST: usize = 65_507;
/// The longest pause, in microseconds.
const LONGEST: u64 = 20_000;

type Callback = Arc<dyn Fn(&str, &ZBytes) + Send + Sync>;

struct Subscribed {
    number: u64,
    key: OwnedKeyExpr,
    callback: Callback,
}

#[derive(Default)]
struct Subscriptions {
    /// The number of the last one.
    last: u64,
    all: Vec<Subscribed>,
}

struct Shared {
    socket: Arc<UdpSocket>,
    peers: Vec<SocketAddr>,
    subscriptions: Mutex<Subscriptions>,
}

impl Shared {
    fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        self.subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls all callbacks for a key.
    fn deliver(&self, key: &str, frame: &ZBytes) {
        let Ok(key) = KeyExpr::try_from(key) else {
            return;
        };
        let matching = |it: &&Subscribed| it.key.intersects(&key);
        let subscriptions = self.subscriptions();
        let callbacks = subscriptions.all.iter().filter(matching);
        let callbacks: Vec<Callback> = callbacks.map(|it| it.callback.clone()).collect();
        drop(subscriptions);
        for callback in callbacks {
            callback(key.as_str(), frame);
        }
    }

    /// Receives frames, in an endless loop.
    async fn receive(&self) {
        let mut buffer = vec![0; LARGEST];
        loop {
            let Ok((len, _)) = self.socket.recv_from(&mut buffer).await else {
                continue;
            };
            if let Some((key, frame)) = split(&buffer[..len]) {
                self.deliver(key, &ZBytes::from(frame.to_vec()));
            }
        }
    }
}

/// Waits for a short time.
pub async fn pause() {
    sleep(Duration::from_micros(sim::random() % LONGEST)).await;
}

/// Splits a datagram into the key and the frame.
fn split(datagram: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = datagram.split_first_chunk()?;
    let (key, frame) = rest.split_at_checked(u16::from_le_bytes(*len).into())?;
    Some((std::str::from_utf8(key).ok()?, frame))
}

/// Returns an address of the configuration without its protocol: here it is always UDP.
fn address(configured: &str) -> &str {
    configured
        .split_once('/')
        .map_or(configured, |(_, address)| address)
}

/// Ends the task that receives.
struct Receiving(AbortHandle);

impl Drop for Receiving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The session of a gateway. Clones are the same one.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
    _receiving: Arc<Receiving>,
}

impl Session {
    /// Opens a session: `listen` has the address of this host, and `connect` has those of all others.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no such host.
    pub async fn open(network: &Network) -> Result<Self, Error> {
        let failed = |error| Error::system("cannot use the simulated network")(error);
        let mut peers = Vec::new();
        for peer in &network.connect {
            peers.extend(lookup_host(address(peer)).await.map_err(failed)?);
        }
        let own: Vec<SocketAddr> = match network.listen.first() {
            Some(own) => lookup_host(address(own)).await.map_err(failed)?.collect(),
            None => Vec::new(),
        };
        let socket = Arc::new(UdpSocket::bind(&own[..]).await.map_err(failed)?);
        let shared = Arc::new(Shared {
            socket,
            peers,
            subscriptions: Mutex::default(),
        });
        let receives = shared.clone();
        let task = blitz_io::spawn(async move { receives.receive().await });
        Ok(Self {
            shared,
            _receiving: Arc::new(Receiving(task.abort_handle())),
        })
    }

    /// Sends a frame to all other hosts.
    pub fn send(&self, key: &str, frame: &ZBytes) {
        let Ok(len) = u16::try_from(key.len()) else {
            return;
        };
        let mut datagram = len.to_le_bytes().to_vec();
        datagram.extend_from_slice(key.as_bytes());
        datagram.extend_from_slice(&frame.to_bytes());
        for &peer in &self.shared.peers {
            // A datagram that cannot be sent is lost.
            _ = self.shared.socket.try_send_to(&datagram, peer);
        }
    }

    /// Begins a subscription.
    pub fn subscribe(
        &self,
        key: String,
        callback: impl Fn(&str, &ZBytes) + Send + Sync + 'static,
    ) -> Subscription {
        let mut subscriptions = self.shared.subscriptions();
        subscriptions.last += 1;
        let number = subscriptions.last;
        // The gateway makes no other keys.
        if let Ok(key) = OwnedKeyExpr::new(key) {
            subscriptions.all.push(Subscribed {
                number,
                key,
                callback: Arc::new(callback),
            });
        }
        drop(subscriptions);
        Subscription {
            session: self.clone(),
            number,
        }
    }
}

/// A subscription, which ends when this is dropped.
pub struct Subscription {
    session: Session,
    number: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut subscriptions = self.session.shared.subscriptions();
        let at = subscriptions
            .all
            .iter()
            .position(|it| it.number == self.number);
        let ended = at.map(|at| subscriptions.all.remove(at));
        drop(subscriptions);
        // The callback may have the last reference to anything.
        drop(ended);
    }
}
