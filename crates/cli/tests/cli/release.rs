//! Which builds of the program are those of a release.

use std::fs;

use tempfile::TempDir;

use super::common::expect;

#[allow(
    dead_code,
    reason = "the script has a main function, which Cargo calls"
)]
#[path = "../../build.rs"]
mod script;

#[test]
fn packages_and_builds_of_the_workflow_are_of_a_release() {
    let folder = TempDir::new().expect("there is a folder for temporary files");
    let release = |built| script::release(folder.path(), built, "0.2.0");
    let tag = Ok(Some("v0.2.0".to_owned()));
    assert_eq!(release(None), Ok(None));
    // A variable of a workflow that is not set.
    assert_eq!(release(Some("")), Ok(None));
    assert_eq!(release(Some("v0.2.0")), tag);
    let other = release(Some("v0.3.0")).expect_err("the tag is of another version");
    assert!(
        other.contains("v0.3.0") && other.contains("v0.2.0"),
        "{other}"
    );
    let packed = folder.path().join(script::PACKED);
    fs::write(packed, "{}").expect("the file can be written");
    assert_eq!(release(None), tag);
}

/// `-V` has the version alone, as man pages have.
#[test]
fn the_version_has_the_revision_if_it_is_known() {
    let version = env!("CARGO_PKG_VERSION");
    let revision = script::long_version(version, Some("0123456789abcdef0123456789abcdef01234567"));
    assert_eq!(revision, format!("{version} (0123456789ab)"));
    assert_eq!(script::long_version(version, None), version);

    let known = expect(0, &["doctor", "--json"]).json();
    let long = script::long_version(version, known["revision"].as_str());
    for arguments in [&["--version"][..], &["why", "--version"]] {
        let ran = expect(0, arguments);
        assert!(ran.out.ends_with(&format!(" {long}\n")), "{}", ran.out);
    }
    assert_eq!(expect(0, &["-V"]).out, format!("blitz {version}\n"));
}

/// The lines in the help are those that this program writes.
#[test]
fn the_help_has_the_line_of_this_build() {
    let help = expect(0, &["migrate", "--help"]).out;
    let tag = match (env!("BLITZ_RELEASE_TAG"), env!("BLITZ_FETCHED_REVISION")) {
        ("", "") => String::new(),
        ("", revision) => format!(", rev = \"{revision}\""),
        (tag, _) => format!(", tag = \"{tag}\""),
    };
    let line = format!(
        "tokio = {{ git = \"{}\"{tag} }}",
        env!("CARGO_PKG_REPOSITORY")
    );
    assert!(help.contains(&line), "{help}");
}
