//! The echo over TLS, with rustls on blocking sockets as the client.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::server::Server;
use crate::{program, run};

/// Connects as a client that trusts this certificate.
fn connect(server: &Server, certificate: &Path) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(certificate).unwrap();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    StreamOwned::new(connection, server.connect())
}

/// Starts a server with a certificate of its own.
fn start() -> (Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("certificate.pem");
    let server = Server::start("tls_echo", &["--write-certificate", path.to_str().unwrap()]);
    (server, folder)
}

#[test]
fn everything_comes_back_and_the_end_is_an_end() {
    let (server, folder) = start();
    let clients: Vec<_> = (1..=4_usize)
        .map(|client| {
            let mut stream = connect(&server, &folder.path().join("certificate.pem"));
            std::thread::spawn(move || {
                let message: Vec<u8> = (0..50_000).map(|n| (n * client % 251) as u8).collect();
                let mut echo = vec![0; message.len()];
                for _ in 0..10 {
                    stream.write_all(&message).unwrap();
                    stream.flush().unwrap();
                    stream.read_exact(&mut echo).unwrap();
                    assert!(echo == message);
                }
                stream.conn.send_close_notify();
                stream.flush().unwrap();
                // An error would mean that the server did not announce the end of its data.
                assert_eq!(stream.read(&mut echo).unwrap(), 0);
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
}

#[test]
fn plain_text_is_refused_and_others_are_served() {
    let (server, folder) = start();
    let mut plain = server.connect();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    // An alert, a reset, or the end, but no hang.
    _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"GET"));
    let mut stream = connect(&server, &folder.path().join("certificate.pem"));
    stream.write_all(b"hello").unwrap();
    let mut echo = [0; 5];
    stream.read_exact(&mut echo).unwrap();
    assert_eq!(&echo, b"hello");
}

#[test]
fn a_certificate_that_is_none_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.pem");
    for text in [None, Some("no certificate")] {
        if let Some(text) = text {
            std::fs::write(&path, text).unwrap();
        }
        let mut command = program("tls_echo");
        command
            .args(["--listen", "127.0.0.1:0", "--certificate"])
            .arg(&path);
        command.arg("--key").arg(&path);
        let ran = run(command, "");
        assert_eq!(ran.code, 1);
        assert!(ran.err.starts_with("tls_echo: "), "{}", ran.err);
    }
}
