//! Hosts as network namespaces, joined by a switch. They end with the test's process.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::Arc;
use std::thread;

/// A network namespace.
pub struct Namespace(OwnedFd);

impl Namespace {
    fn new() -> io::Result<Self> {
        let made = thread::spawn(|| {
            // SAFETY: it changes the namespace of this thread only, which ends here.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            File::open("/proc/thread-self/ns/net")
        });
        Ok(Self(made.join().unwrap()?.into()))
    }

    /// Calls `action` in a thread of the namespace. Processes and threads that it starts, and its
    /// sockets, belong there.
    pub fn run<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                // SAFETY: it changes the namespace of this thread only.
                let entered = unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) };
                assert_eq!(entered, 0, "{}", io::Error::last_os_error());
                action()
            });
            inside.join().unwrap()
        })
    }

    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// Runs the program `ip` in the namespace.
    fn ip(&self, arguments: &str) -> io::Result<()> {
        self.execute("ip", arguments)
    }

    fn execute(&self, program: &str, arguments: &str) -> io::Result<()> {
        let output = self.run(|| {
            Command::new(program)
                .args(arguments.split_whitespace())
                .output()
        })?;
        let reason = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("{program} {arguments}: {reason}")))
        }
    }
}

/// Some hosts and the switch between them.
pub struct Network {
    pub switch: Arc<Namespace>,
    pub hosts: Vec<Arc<Namespace>>,
}

impl Network {
    /// Creates a network. Prints the reason and returns `None` if it cannot be made.
    pub fn new(hosts: usize) -> Option<Self> {
        match Self::make(hosts) {
            Ok(network) => Some(network),
            Err(error) => {
                eprintln!("skipped: network namespaces cannot be made here: {error}");
                None
            }
        }
    }

    fn make(hosts: usize) -> io::Result<Self> {
        let switch = Namespace::new()?;
        switch.ip("link set lo up")?;
        switch.ip("link add name bridge type bridge")?;
        switch.ip(&format!("address add {}/24 dev bridge", Self::SWITCH))?;
        switch.ip("link set bridge up")?;
        let mut network = Self {
            switch: Arc::new(switch),
            hosts: Vec::new(),
        };
        for number in 0..hosts {
            let host = Namespace::new()?;
            let switch = &network.switch;
            switch.ip(&format!(
                "link add name host{number} type veth peer name eth0 netns {}",
                host.path()
            ))?;
            switch.ip(&format!("link set host{number} master bridge"))?;
            switch.ip(&format!("link set host{number} up"))?;
            host.ip(&format!(
                "address add {}/24 dev eth0",
                Self::address(number)
            ))?;
            host.ip("link set lo up")?;
            host.ip("link set eth0 up")?;
            network.hosts.push(Arc::new(host));
        }
        Ok(network)
    }

    /// Returns the address of the switch.
    pub const SWITCH: &str = "10.77.0.1";

    /// Returns the address of a host.
    pub fn address(host: usize) -> String {
        format!("10.77.0.{}", 11 + host)
    }

    /// Returns the address at which the gateway of a host listens.
    pub fn tcp(host: usize) -> Vec<String> {
        vec![format!("tcp/{}:7447", Self::address(host))]
    }

    /// Limits the rate of the cable of a host in each direction. Fails if the system or its
    /// `tc` has no token bucket filter.
    pub fn shape(&self, host: usize, rate: &str) -> io::Result<()> {
        let filter = format!("root tbf rate {rate} burst 64kb latency 400ms");
        self.switch
            .execute("tc", &format!("qdisc add dev host{host} {filter}"))?;
        self.hosts[host].execute("tc", &format!("qdisc add dev eth0 {filter}"))
    }

    /// Pulls the cable of a host, or plugs it in again.
    pub fn set_link(&self, host: usize, up: bool) {
        let state = if up { "up" } else { "down" };
        self.switch
            .ip(&format!("link set host{host} {state}"))
            .unwrap();
    }
}
