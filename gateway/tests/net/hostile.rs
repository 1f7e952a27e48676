//! Peers that should not be heard.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use zenoh::Wait;

use crate::host::{Host, MAX_LEN, count, free_port, message, tcp};
use crate::namespace::Network;

const EXPORT: &str = "[[export]]\nkind = 'route'\nname = 'r'\n";
const IMPORT: &str = "[[import]]\nkind = 'route'\nname = 'r'\n";

/// Writes a new authority and a host's certificate of it. Returns the configuration.
pub fn certificates(place: &Path, name: &str) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let host = CertificateParams::new(vec!["localhost".to_owned(), Network::SWITCH.to_owned()])
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    let write = |kind: &str, text: String| {
        let path = place.join(format!("{name}-{kind}.pem"));
        fs::write(&path, text).unwrap();
        path
    };
    format!(
        "[network.tls]\nauthority = {:?}\ncertificate = {:?}\nkey = {:?}\n",
        write("authority", authority.pem()),
        write("host", host.pem()),
        write("key", key.serialize_pem())
    )
}

#[test]
fn a_wrong_certificate_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let (ours, theirs) = (
        certificates(place.path(), "ours"),
        certificates(place.path(), "theirs"),
    );
    let address = vec![format!("tls/localhost:{}", free_port())];
    let one = Host::start("one", &address, &[], &format!("{ours}{EXPORT}"));
    let stranger = Host::start("stranger", &[], &address, &format!("{theirs}{IMPORT}"));
    let two = Host::start("two", &[], &address, &format!("{ours}{IMPORT}"));
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
    let port = free_port();
    let one = Host::start("one", &tcp(port), &[], EXPORT);
    let two = Host::start("two", &[], &tcp(port), IMPORT);
    let receiver = two.route_receiver("r");
    let mut sender = one.route_sender("r");
    one.until_status(&["export", "r", "two"]);
    let counted = count(receiver, 5000, Arc::default());
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("mode", "'client'".to_owned()),
        ("connect/endpoints", format!("{:?}", tcp(port))),
        ("scouting/multicast/enabled", "false".to_owned()),
    ] {
        config.insert_json5(key, &value).unwrap();
    }
    let evil = zenoh::open(config).wait().unwrap();
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
