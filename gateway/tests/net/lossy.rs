//! Forwards datagrams late, and loses some.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::namespace::Namespace;

/// The delay of a datagram.
const DELAY: Duration = Duration::from_millis(50);
/// One of this many datagrams is lost.
const LOST: u64 = 100;

/// Counts what happened to datagrams, in both directions.
#[derive(Default)]
pub struct Lossy {
    pub forwarded: AtomicU64,
    pub lost: AtomicU64,
}

impl Lossy {
    /// Forwards between `listen`, an address of the namespace, and `target`.
    pub fn start(namespace: &Namespace, listen: SocketAddr, target: SocketAddr) -> Arc<Self> {
        let counts = Arc::new(Self::default());
        let of_thread = counts.clone();
        namespace.run(move || {
            let front = Arc::new(UdpSocket::bind(listen).unwrap());
            thread::spawn(move || of_thread.forward(front, target));
        });
        counts
    }

    fn forward(self: Arc<Self>, front: Arc<UdpSocket>, target: SocketAddr) {
        let mut clients = HashMap::new();
        let mut buffer = vec![0; 64 << 10];
        while let Ok((len, client)) = front.recv_from(&mut buffer) {
            let there = clients.entry(client).or_insert_with(|| {
                let back =
                    Arc::new(UdpSocket::bind((front.local_addr().unwrap().ip(), 0)).unwrap());
                back.connect(target).unwrap();
                let (counts, front, incoming) = (self.clone(), front.clone(), back.clone());
                thread::spawn(move || {
                    let here = delayed(move |datagram| {
                        // As in a network: a datagram that cannot be sent is lost.
                        _ = front.send_to(datagram, client);
                    });
                    let mut buffer = vec![0; 64 << 10];
                    loop {
                        // Refused while the gateway behind it is dead.
                        if let Ok(len) = incoming.recv(&mut buffer) {
                            counts.pass(&here, &buffer[..len]);
                        }
                    }
                });
                delayed(move |datagram| _ = back.send(datagram))
            });
            self.pass(there, &buffer[..len]);
        }
    }

    fn pass(&self, to: &mpsc::Sender<(Instant, Vec<u8>)>, datagram: &[u8]) {
        let number = self.forwarded.fetch_add(1, Ordering::Relaxed);
        // The same sequence in each run, without a period that could meet that of the traffic.
        let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        if (random.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) & 0xffff < 0x1_0000 / LOST {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        _ = to.send((Instant::now() + DELAY, datagram.to_vec()));
    }
}

/// Starts a thread that hands datagrams on when they are due.
fn delayed(send: impl Fn(&[u8]) + Send + 'static) -> mpsc::Sender<(Instant, Vec<u8>)> {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        for (due, datagram) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            send(&datagram);
        }
    });
    sender
}
