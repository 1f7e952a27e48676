//! Commands of the guide.

use std::process::Command;

use crate::host::{Host, free_port, message, number_of};

const GUIDE: &str = include_str!("../../../book/src/guides/beyond-one-machine.md");

/// Returns the block of the guide behind this heading.
fn block(heading: &str) -> &'static str {
    let (_, section) = GUIDE.split_once(heading).unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    block.split_once("```").unwrap().0
}

#[test]
fn the_certificates_of_the_guide_work() {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: openssl is missing");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let script = block("## Certificates").replace("lab-1.example", "localhost");
    let made = Command::new("sh")
        .args(["-e", "-c", &script])
        .current_dir(place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");
    let address = vec![format!("tls/localhost:{}", free_port())];
    let host = |name: &'static str,
                peer: &str,
                listen: &[String],
                connect: &[String],
                rule: &str| {
        let file = |name: &str| place.path().join(name);
        let tls = format!(
            "hosts = [{peer:?}]\n[network.tls]\nauthority = {:?}\ncertificate = {:?}\nkey = {:?}\n",
            file("authority.pem"),
            file(&format!("{name}.pem")),
            file(&format!("{name}.key"))
        );
        let rules = format!("{tls}[[{rule}]]\nkind = 'route'\nname = 'r'\n");
        Host::start(name, listen, connect, &rules)
    };
    let one = host("lab-1", "lab-2", &address, &[], "export");
    let two = host("lab-2", "lab-1", &[], &address, "import");
    let (mut sender, mut receiver) = (one.route_sender("r"), two.route_receiver("r"));
    one.until_status(&["export", "r", "lab-2"]);
    sender.send(&message(1)).unwrap();
    assert_eq!(number_of(&receiver.recv().unwrap()), 1);
}
