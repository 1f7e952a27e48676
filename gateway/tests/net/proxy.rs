//! Forwards connections, and can stop to.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// A port that leads to another one.
pub struct Proxy {
    pub port: u16,
    cut: Arc<(Mutex<bool>, Condvar)>,
}

impl Proxy {
    pub fn new(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new((Mutex::new(false), Condvar::new()));
        let state = cut.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", target)))
                else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to, cut) = (
                        from.try_clone().unwrap(),
                        to.try_clone().unwrap(),
                        state.clone(),
                    );
                    thread::spawn(move || forward(from, to, &cut));
                }
            }
        });
        Self { port, cut }
    }

    /// From now on bytes are neither forwarded nor refused, until it is undone.
    pub fn set_cut(&self, cut: bool) {
        *self.cut.0.lock().unwrap() = cut;
        self.cut.1.notify_all();
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, cut: &(Mutex<bool>, Condvar)) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        drop(cut.1.wait_while(cut.0.lock().unwrap(), |cut| *cut).unwrap());
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    _ = from.shutdown(Shutdown::Both);
    _ = to.shutdown(Shutdown::Both);
}
