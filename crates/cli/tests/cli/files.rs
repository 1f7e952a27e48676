//! Files that are missing, unreadable or hostile: one code for all commands, and a message that names the file.

use std::fs;

use super::common::expect;

#[test]
fn a_file_that_is_no_input_is_named_and_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (missing, hostile, text) = (at("missing"), at("hostile"), at("text"));
    fs::write(&hostile, b"BLITZSIM\xff\xff\xff\xff\0{[\x1f\x8b").unwrap();
    fs::write(&text, "{\"format\": \"").unwrap();
    let commands: &[&[&str]] = &[
        #[cfg(unix)]
        &["trace", "report"],
        #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
        &["sim", "replay"],
        #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
        &["sim", "shrink"],
        #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
        &["sim", "run", "--"],
        &["pipe", "gunzip"],
        #[cfg(feature = "bench")]
        &[
            "bench",
            "--quick",
            "--filter=^mutex_uncontended$",
            "--compare",
        ],
        #[cfg(feature = "bench")]
        &["bench", "report", "--draft"],
    ];
    for command in commands {
        let folder = folder.path().to_str().unwrap().to_owned();
        for file in [&missing, &hostile, &text, &folder] {
            let ran = expect(1, &[*command, &[file]].concat());
            let said = format!("error: {file}");
            assert!(ran.err.contains(&said), "{command:?}: {ran:?}");
            assert_eq!(ran.out, "", "{command:?}");
        }
    }
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    {
        let ran = expect(1, &["sim", "atomics", &text]);
        assert!(ran.err.contains(&format!("error: {text}")), "{ran:?}");
    }
    #[cfg(unix)]
    for file in [&missing, &hostile, &text] {
        let ran = expect(1, &["lint", "--config", file, "--", "true"]);
        assert!(ran.err.contains(&format!("error: {file}")), "{ran:?}");
    }
}
