//! Starts NATS servers for the tests of async-nats, from the program `nats-server`.
//!
//! The drop of a `Server` ends the program and removes its folder, which has the log and JetStream's
//! data. Every function panics on an error, since only tests call it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// One server.
pub struct Server {
    child: Child,
    folder: PathBuf,
    arguments: Vec<String>,
}

/// Three servers that know each other.
pub struct Cluster {
    pub servers: Vec<Server>,
}

/// Starts a server without a configuration.
pub fn run_basic_server() -> Server {
    run_server("")
}

/// Starts a server with the configuration in a file, at a port that the system chooses.
pub fn run_server(configuration: &str) -> Server {
    run_server_with_port(configuration, None)
}

/// Starts a server at this port.
pub fn run_server_with_port(configuration: &str, port: Option<&str>) -> Server {
    Server::start(configuration, port, &[])
}

/// Starts three servers with this configuration.
pub fn run_cluster(configuration: &str) -> Cluster {
    // All three ports are reserved before one is given to a server.
    let reserved: Vec<_> = (0..3)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let routes: Vec<_> = reserved
        .iter()
        .map(|listener| format!("nats://{}", listener.local_addr().unwrap()))
        .collect();
    drop(reserved);
    let start = |(index, route): (usize, &String)| {
        let name = format!("server-{index}");
        let options = [
            ["--cluster_name", "cluster"],
            ["--server_name", &name],
            ["--cluster", route],
            ["--routes", &routes.join(",")],
        ];
        Server::start(configuration, None, options.as_flattened())
    };
    Cluster {
        servers: routes.iter().enumerate().map(start).collect(),
    }
}

/// Tells the clients of a server that it is about to end.
pub fn set_lame_duck_mode(server: &Server) {
    let signal = format!("kill -USR2 {}", server.child.id());
    let status = Command::new("sh").args(["-c", &signal]).status();
    assert!(status.unwrap().success());
}

impl Cluster {
    /// Returns the address of the first server.
    pub fn client_url(&self) -> String {
        self.servers[0].client_url()
    }
}

impl Server {
    fn start(configuration: &str, port: Option<&str>, options: &[&str]) -> Self {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("nats-{}-{number}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let (store, log) = (path("store"), path("log"));
        let mut arguments = vec!["--store_dir", &store, "--log", &log];
        arguments.extend(["--addr", "127.0.0.1", "--port", port.unwrap_or("-1")]);
        if !configuration.is_empty() {
            arguments.extend(["--config", configuration]);
        }
        arguments.extend(options);
        let arguments: Vec<_> = arguments.into_iter().map(String::from).collect();
        let mut server = Self {
            child: spawn(&arguments),
            folder,
            arguments,
        };
        server.wait();
        server
    }

    /// Waits until the server accepts clients.
    fn wait(&mut self) {
        while self.port_in_log().is_none() {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the server ended ({status}):\n{}", self.log());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn port_in_log(&self) -> Option<u16> {
        let log = self.log();
        let (_, address) = log.split_once("Listening for client connections on ")?;
        // The server may still be writing the line.
        let (address, _) = address.split_once('\n')?;
        address.trim().rsplit(':').next()?.parse().ok()
    }

    /// Returns the port for clients.
    pub fn client_port(&self) -> u16 {
        self.port_in_log().expect("it was in the log before")
    }

    /// Returns the address for clients. The server's greeting says whether it wants TLS. The certificate of the tests
    /// is one for `localhost`.
    pub fn client_url(&self) -> String {
        let port = self.client_port();
        let mut greeting = String::new();
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        BufReader::new(stream).read_line(&mut greeting).unwrap();
        if greeting.contains("\"tls_required\":true") {
            format!("tls://localhost:{port}")
        } else {
            format!("nats://127.0.0.1:{port}")
        }
    }

    /// Ends the server and starts it again with its data.
    pub fn restart(&mut self) {
        self.stop();
        fs::remove_file(self.folder.join("log")).unwrap();
        self.child = spawn(&self.arguments);
        self.wait();
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn spawn(arguments: &[String]) -> Child {
    let mut command = Command::new("nats-server");
    command.args(arguments).stdin(Stdio::null());
    command.spawn().expect("nats-server is in PATH")
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
