//! Peers whose frames a gateway must ignore.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use zenoh::Wait;

use crate::host::{Host, MAX_LEN, count, free_port, message, tcp};
use crate::namespace::Network;

const EXPORT: &str = "[[export]]\nkind = 'route'\nname = 'r'\n";
const IMPORT: &str = "[[import]]\nkind = 'route'\nname = 'r'\n";

/// An authority whose certificates the hosts show.
pub struct Authority {
    place: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// The files of a host: the certificate of the authority, its own, and its key.
pub struct Certificate(pub [PathBuf; 3]);

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self {
            place: tempfile::tempdir().unwrap(),
            issuer,
        }
    }

    /// Writes a certificate with this common name.
    pub fn certificate(&self, name: &str) -> Certificate {
        let key = KeyPair::generate().unwrap();
        let addresses = vec!["localhost".to_owned(), Network::SWITCH.to_owned()];
        let mut params = CertificateParams::new(addresses).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        let host = params.signed_by(&key, &self.issuer).unwrap();
        let write = |kind: &str, text: String| {
            let path = self.place.path().join(format!("{name}-{kind}.pem"));
            fs::write(&path, text).unwrap();
            path
        };
        Certificate([
            write("authority", self.issuer.pem()),
            write("host", host.pem()),
            write("key", key.serialize_pem()),
        ])
    }

    /// Returns the configuration of the host with this name, among these.
    pub fn host(&self, name: &str, hosts: &[&str]) -> String {
        let Certificate([authority, certificate, key]) = self.certificate(name);
        format!(
            "hosts = {hosts:?}\n[network.tls]\nauthority = {authority:?}\ncertificate = {certificate:?}\nkey = {key:?}\n"
        )
    }
}

/// Opens a connection that keeps no rule of the gateways.
pub fn stranger(address: &[String], certificate: Option<&Certificate>) -> zenoh::Session {
    let mut config = zenoh::Config::default();
    let mut settings = vec![
        ("mode", "'peer'".to_owned()),
        ("listen/endpoints", "[]".to_owned()),
        ("connect/endpoints", format!("{address:?}")),
        ("connect/exit_on_failure", "true".to_owned()),
        ("connect/timeout_ms", "10000".to_owned()),
        ("scouting/gossip/enabled", "false".to_owned()),
        ("scouting/multicast/enabled", "false".to_owned()),
    ];
    if let Some(Certificate([authority, certificate, key])) = certificate {
        settings.extend([
            (
                "transport/link/tls/root_ca_certificate",
                format!("{authority:?}"),
            ),
            (
                "transport/link/tls/connect_certificate",
                format!("{certificate:?}"),
            ),
            ("transport/link/tls/connect_private_key", format!("{key:?}")),
            ("transport/link/tls/enable_mtls", "true".to_owned()),
        ]);
    }
    for (key, value) in settings {
        config.insert_json5(key, &value).unwrap();
    }
    zenoh::open(config).wait().unwrap()
}

#[test]
fn a_wrong_certificate_is_refused() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let hosts = ["one", "two", "stranger"];
    let address = vec![format!("tls/localhost:{}", free_port())];
    let one = Host::start(
        "one",
        &address,
        &[],
        &format!("{}{EXPORT}", ours.host("one", &hosts)),
    );
    let stranger = Host::start(
        "stranger",
        &[],
        &address,
        &format!("{}{IMPORT}", theirs.host("stranger", &hosts)),
    );
    let two = Host::start(
        "two",
        &[],
        &address,
        &format!("{}{IMPORT}", ours.host("two", &hosts)),
    );
    let receiver = two.route_receiver("r");
    let mut sender = one.route_sender("r");
    one.until_status(&["export", "r", "two"]);
    let counted = count(receiver, 5000, Arc::default());
    for number in 0..5000 {
        sender.send(&message(number)).unwrap();
    }
    assert_eq!(counted.join().unwrap().missing, 0);
    assert!(!one.status().contains("stranger") && !stranger.status().contains("one"));
}

#[test]
fn malformed_frames_change_nothing() {
    let (port, of_two) = (free_port(), free_port());
    let one = Host::start("one", &tcp(port), &[], EXPORT);
    let two = Host::start("two", &tcp(of_two), &tcp(port), IMPORT);
    let receiver = two.route_receiver("r");
    let mut sender = one.route_sender("r");
    one.until_status(&["export", "r", "two"]);
    let counted = count(receiver, 5000, Arc::default());
    let evil = stranger(&[tcp(port), tcp(of_two)].concat(), None);
    let mut random = 1_u64;
    let mut frame = blitz_io_gateway::wire::Writer::batch(&Default::default()).finish();
    for number in 0..5000 {
        sender.send(&message(number)).unwrap();
        for _ in 0..8 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (random >> 33) as usize % frame.len();
            frame[at] = (random >> 25) as u8;
        }
        // In the exporter's name, to the exporter, and as a stranger.
        let prefix = format!("blitz/1/route/r/{MAX_LEN}");
        for key in [
            "data/one",
            "ack/one/two",
            "ack/one/evil",
            "data/evil",
            "data/one/more",
        ] {
            evil.put(format!("{prefix}/{key}"), frame.clone())
                .wait()
                .unwrap();
        }
    }
    assert_eq!(counted.join().unwrap().missing, 0);
    evil.close().wait().unwrap();
}
