//! Helpers that the programs share: time limits, certificates, servers that the test
//! starts.

use std::{
    fs,
    future::Future,
    net::{SocketAddr, TcpListener as StdListener},
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;

/// Waits for `future`, and fails the test after a minute: a lost wake-up must not hang it.
pub async fn limit<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("no progress within a minute")
}

/// Returns a listener on a free port of the loopback interface.
pub async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Returns the builder of an HTTP client, which ignores the proxies of the environment.
pub fn client() -> reqwest::ClientBuilder {
    provider();
    reqwest::Client::builder().no_proxy()
}

/// Returns bytes that a reader can check.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + i / 251) as u8).collect()
}

/// A self-signed certificate for `localhost`.
pub struct Certificate {
    pub der: CertificateDer<'static>,
    pub key: PrivateKeyDer<'static>,
    pub pem: String,
    pub key_pem: String,
}

impl Certificate {
    pub fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = made.signing_key.serialize_der();
        Certificate {
            der: made.cert.der().clone(),
            key: PrivateKeyDer::try_from(key).unwrap(),
            pem: made.cert.pem(),
            key_pem: made.signing_key.serialize_pem(),
        }
    }

    pub fn server(&self, protocols: &[&str]) -> Arc<rustls::ServerConfig> {
        provider();
        let mut config = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![self.der.clone()], self.key.clone_key())
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|p| p.as_bytes().to_vec()).collect();
        Arc::new(config)
    }

    pub fn client(&self) -> Arc<rustls::ClientConfig> {
        provider();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        Arc::new(
            rustls::ClientConfig::builder()
                .with_root_certificates(roots)
                .with_no_client_auth(),
        )
    }
}

/// Makes ring the provider of the process; all calls but the first fail, which does no
/// harm.
fn provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// An external server in a directory of its own; it ends with the test.
pub struct Server {
    child: Child,
    pub folder: tempfile::TempDir,
    pub port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // An immediate shutdown for PostgreSQL, whose children would survive a kill.
        let _ = Command::new("kill")
            .args(["-QUIT", &self.child.id().to_string()])
            .status();
        for _ in 0..200 {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts PostgreSQL: the user is `tester`, there is no password, and a crash loses the
/// data.
pub fn postgres() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // PostgreSQL refuses to run as root.
    let user = user_for(folder.path(), "postgres");
    let programs = postgres_programs();
    let made = command(&programs.join("initdb"), user, folder.path())
        .args([
            "--auth=trust",
            "--username=tester",
            "--no-sync",
            "--no-locale",
            "--encoding=UTF8",
        ])
        .arg("--pgdata")
        .arg(&data)
        .output()
        .expect("initdb");
    assert!(
        made.status.success(),
        "initdb: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    start(
        folder,
        user,
        &programs.join("postgres"),
        |command, folder, port| {
            command.arg("-D").arg(&data).arg("-k").arg(folder);
            command.args([
                "-h",
                "127.0.0.1",
                "-p",
                &port.to_string(),
                "-c",
                "fsync=off",
            ]);
            command.args(["-c", "shared_buffers=16MB"]);
        },
    )
}

/// Starts Redis on a port and on the socket `redis.sock` in its directory.
pub fn redis() -> Server {
    let folder = tempfile::tempdir().unwrap();
    start(
        folder,
        None,
        Path::new("redis-server"),
        |command, folder, port| {
            command.args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
            ]);
            command.arg("--unixsocket").arg(folder.join("redis.sock"));
        },
    )
}

/// Starts `program` and waits until it accepts connections. Another program may take the free port
/// first; then it ends, and the next port is tried.
fn start(
    folder: tempfile::TempDir,
    user: Option<(u32, u32)>,
    program: &Path,
    arguments: impl Fn(&mut Command, &Path, u16),
) -> Server {
    for _ in 0..10 {
        let port = StdListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut command = command(program, user, folder.path());
        arguments(&mut command, folder.path(), port);
        let log = fs::File::create(folder.path().join("log")).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", program.display()));
        for _ in 0..6000 {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            // Both log this line, one with a capital, when all their sockets listen.
            let log = fs::read_to_string(folder.path().join("log")).unwrap();
            if log.contains("eady to accept connections") {
                return Server {
                    child,
                    folder,
                    port,
                };
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
    let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    panic!("{} did not start: {log}", program.display());
}

fn command(program: &Path, user: Option<(u32, u32)>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command
}

/// Returns the ids of the user `name` if the test runs as root, and gives the directory to
/// that user.
fn user_for(folder: &Path, name: &str) -> Option<(u32, u32)> {
    let id = |arguments: &[&str]| -> u32 {
        let output = Command::new("id").args(arguments).output().unwrap();
        String::from_utf8(output.stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    };
    if id(&["-u"]) != 0 {
        return None;
    }
    let ids = (id(&["-u", name]), id(&["-g", name]));
    chown(folder, Some(ids.0), Some(ids.1)).unwrap();
    Some(ids)
}

/// Debian keeps the programs of each version in a directory outside of `PATH`.
fn postgres_programs() -> PathBuf {
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| {
            entries
                .map(|entry| entry.unwrap().path().join("bin"))
                .collect()
        })
        .unwrap_or_default();
    versions.retain(|folder| folder.join("initdb").exists());
    versions.sort();
    versions.pop().unwrap_or_default()
}
