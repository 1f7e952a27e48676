use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::TcpStream,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::support::{Certificate, limit, listener, pattern};

fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ways_at_once() {
    let certificate = Certificate::new();
    let (listener, address) = listener().await;
    let acceptor = TlsAcceptor::from(certificate.server(&[]));
    let connector = TlsConnector::from(certificate.client());
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let stream = acceptor.accept(stream).await.unwrap();
                let (mut reader, mut writer) = tokio::io::split(stream);
                tokio::io::copy(&mut reader, &mut writer).await.unwrap();
                writer.shutdown().await.unwrap();
            });
        }
    });
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let connector = connector.clone();
        clients.spawn(async move {
            let stream = TcpStream::connect(address).await.unwrap();
            let stream = connector.connect(name(), stream).await.unwrap();
            let (mut reader, mut writer) = tokio::io::split(stream);
            let data = pattern(1 << 20);
            let sent = data.clone();
            let writing = tokio::spawn(async move {
                writer.write_all(&sent).await.unwrap();
                writer.shutdown().await.unwrap();
            });
            let mut back = Vec::new();
            reader.read_to_end(&mut back).await.unwrap();
            assert!(back == data);
            writing.await.unwrap();
        });
    }
    limit(clients.join_all()).await;
    server.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_between_tls_and_plain() {
    let certificate = Certificate::new();
    let (inner, inner_address) = listener().await;
    let (outer, address) = listener().await;
    let acceptor = TlsAcceptor::from(certificate.server(&[]));
    limit(async {
        let proxy = tokio::spawn(async move {
            let mut outside = acceptor
                .accept(outer.accept().await.unwrap().0)
                .await
                .unwrap();
            let mut inside = TcpStream::connect(inner_address).await.unwrap();
            copy_bidirectional(&mut outside, &mut inside).await.unwrap()
        });
        let server = tokio::spawn(async move {
            let (mut stream, _) = inner.accept().await.unwrap();
            let mut question = Vec::new();
            stream.read_to_end(&mut question).await.unwrap();
            question.reverse();
            stream.write_all(&question).await.unwrap();
        });
        let connector = TlsConnector::from(certificate.client());
        let mut client = connector
            .connect(name(), TcpStream::connect(address).await.unwrap())
            .await
            .unwrap();
        let mut data = pattern(300_000);
        client.write_all(&data).await.unwrap();
        client.shutdown().await.unwrap();
        let mut back = Vec::new();
        client.read_to_end(&mut back).await.unwrap();
        data.reverse();
        assert!(back == data);
        assert_eq!(proxy.await.unwrap(), (300_000, 300_000));
        server.await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_unknown_certificate_is_refused() {
    let (listener, address) = listener().await;
    let acceptor = TlsAcceptor::from(Certificate::new().server(&[]));
    let server = tokio::spawn(async move {
        acceptor
            .accept(listener.accept().await.unwrap().0)
            .await
            .is_err()
    });
    let connector = TlsConnector::from(Certificate::new().client());
    let stream = TcpStream::connect(address).await.unwrap();
    assert!(limit(connector.connect(name(), stream)).await.is_err());
    assert!(limit(server).await.unwrap());
}
