//! Sends back what it receives over TLS, with rustls.
//!
//! ```sh
//! cargo run --release --example tls_echo -- --listen 127.0.0.1:4433 --write-certificate cert.pem
//! openssl s_client -connect 127.0.0.1:4433 -CAfile cert.pem -servername localhost
//! ```
//!
//! `tokio_rustls` requires Tokio's traits, which the sockets of blitz-io have (the feature
//! `tokio`); no runtime of Tokio is started. The streams that `tokio_rustls` returns have
//! only Tokio's traits, and `FromTokio` gives them those of blitz-io. Without a
//! certificate, the program makes one that is valid for `localhost` only.
//!
//! The exit code is 0, 1 if the address or a certificate cannot be used, and 2 if the
//! command line is wrong.

mod shutdown;

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use blitz_io::fs;
use blitz_io::io::{AsyncWriteExt, FromTokio, copy, split};
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::select;
use blitz_io::sync::CancellationToken;
use blitz_io::task::TaskTracker;
use blitz_io::time::{sleep, timeout};
use clap::Parser;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

/// Sends back what comes over TLS.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// Where to listen; port 0 lets the system choose
    #[arg(long, default_value = "127.0.0.1:4433", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// The chain of certificates, in PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The private key of the first of them, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Where to write the certificate that the program makes
    #[arg(long, value_name = "FILE", conflicts_with = "certificate")]
    write_certificate: Option<PathBuf>,
}

/// How long a handshake may take, so that silent clients do not accumulate.
const HANDSHAKE: Duration = Duration::from_secs(10);

#[blitz_io::main]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tls_echo: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let (chain, key) = match (&options.certificate, &options.key) {
        (Some(certificate), Some(key)) => read(certificate, key).await?,
        _ => make(options.write_certificate.as_deref()).await?,
    };
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(|error| format!("cannot listen at {}: {error}", options.listen))?;
    let end = CancellationToken::new();
    let ending = end.clone();
    shutdown::on_request("tls_echo", move || ending.cancel());
    println!("listening on {}", listener.local_addr()?);
    serve(listener, acceptor, end).await;
    Ok(())
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

async fn read(certificate: &Path, key: &Path) -> Result<Identity, Box<dyn Error>> {
    let load = |path: &Path| {
        let path = path.to_owned();
        async move {
            let read = fs::read(&path).await;
            read.map_err(|error| format!("cannot read {}: {error}", path.display()))
        }
    };
    let chain = CertificateDer::pem_slice_iter(&load(certificate).await?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("{}: {error}", certificate.display()))?;
    let private = PrivateKeyDer::from_pem_slice(&load(key).await?)
        .map_err(|error| format!("{}: {error}", key.display()))?;
    Ok((chain, private))
}

/// Makes a self-signed certificate.
async fn make(write_to: Option<&Path>) -> Result<Identity, Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    if let Some(path) = write_to {
        let written = fs::write(path, made.cert.pem()).await;
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    Ok((vec![made.cert.into()], key))
}

/// Accepts connections until the end.
async fn serve(listener: TcpListener, acceptor: TlsAcceptor, end: CancellationToken) {
    let connections = TaskTracker::new();
    loop {
        let accepted = select! {
            accepted = listener.accept() => accepted,
            () = end.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (acceptor, end) = (acceptor.clone(), end.clone());
                connections.spawn(async move {
                    let result = select! {
                        result = echo(stream, &acceptor) => result,
                        () = end.cancelled() => Ok(()),
                    };
                    if let Err(error) = result {
                        eprintln!("tls_echo: {peer}: {error}");
                    }
                });
            }
            Err(error) => {
                // For example, there are no descriptors left, which lasts for a while.
                eprintln!("tls_echo: cannot accept: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
    connections.close();
    connections.wait().await;
}

/// Serves one connection, from the handshake to the end.
async fn echo(stream: TcpStream, acceptor: &TlsAcceptor) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let stream = timeout(HANDSHAKE, acceptor.accept(stream)).await??;
    let (mut read, mut write) = split(FromTokio::new(stream));
    copy(&mut read, &mut write).await?;
    // Tells the client that the data is complete, and that the connection did not just
    // break.
    write.shutdown().await
}
