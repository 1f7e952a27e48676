//! A program that is a server.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};

use crate::{PATIENCE, program};

/// A server that ends with the test.
pub struct Server {
    pub child: Child,
    pub address: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Server {
    /// Starts a program at a port that the system chooses.
    pub fn start(name: &str, arguments: &[&str]) -> Self {
        let mut command = program(name);
        command.args(["--listen", "127.0.0.1:0"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let mut server = Self {
            child,
            address: SocketAddr::from(([0; 4], 0)),
        };
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        server.address = address.parse().unwrap();
        server
    }

    /// Connects. Reading from the connection waits for an answer, but not for ever.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Ends it as Ctrl-C does. Returns its exit code.
    #[cfg(unix)]
    pub fn interrupt(mut self) -> Option<i32> {
        let id = i32::try_from(self.child.id()).unwrap();
        // SAFETY: `kill` has no preconditions.
        assert_eq!(unsafe { libc::kill(id, libc::SIGINT) }, 0);
        let mut code = None;
        crate::eventually("the server ends", || {
            code = self.child.try_wait().unwrap().map(|status| status.code());
            code.is_some()
        });
        code.flatten()
    }
}
