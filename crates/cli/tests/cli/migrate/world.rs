//! A program, its registry and a checkout, in a folder of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::common::{Ran, blitz};

/// A program, the registry that it uses, and a checkout of what looks like blitz-io.
pub struct World {
    folder: TempDir,
}

impl World {
    /// Creates a program with these dependencies, which the registry does not have yet.
    pub fn new(dependencies: &str) -> World {
        let world = World {
            folder: TempDir::new().expect("there is a folder for temporary files"),
        };
        library(&world.at("program"), "program", "0.1.0", dependencies);
        let registry = world.at("registry");
        let config = format!(
            "[source.crates-io]\nreplace-with = \"folder\"\n\
             [source.folder]\nlocal-registry = '{}'\n",
            registry.display()
        );
        write(&world.at("program/.cargo/config.toml"), &config);
        fs::create_dir_all(registry.join("index")).expect("a folder can be created");
        world
    }

    /// Adds a package to the registry. It is only resolved and never compiled, so it needs no
    /// file but its line in the index.
    pub fn publish(&self, name: &str, version: &str, dependency: Option<(&str, &str)>) -> &World {
        let depends = |(name, req)| {
            json!({
                "name": name, "req": req, "features": [], "optional": false,
                "default_features": true, "target": null, "kind": "normal",
            })
        };
        let line = json!({
            "name": name, "vers": version, "deps": Vec::from_iter(dependency.map(depends)),
            "cksum": "0".repeat(64), "features": {}, "yanked": false,
        });
        let index = format!("registry/index/{}/{}/{name}", &name[..2], &name[2..4]);
        let index = self.at(&index);
        let lines = fs::read_to_string(&index).unwrap_or_default();
        write(&index, &format!("{lines}{line}\n"));
        self
    }

    /// Creates the checkout. `needs` are the dependencies of its crate `blitz-io`.
    pub fn checkout(&self, needs: &str) -> &World {
        let ours = |name: &str| format!("{name} = {{ path = '../../crates/{name}' }}\n");
        for (name, version, on) in [
            ("tokio", "1.54.1", "blitz-io"),
            ("rayon-core", "1.13.0", "blitz-io-pool"),
            ("parking_lot", "0.12.5", "blitz-io-sync"),
            ("parking_lot_core", "0.9.12", "blitz-io-futex"),
            ("atomic-wait", "1.1.0", "blitz-io-futex"),
        ] {
            let folder = self.at(&format!("blitz-io/drop-in/{name}"));
            let features = match name {
                "tokio" => "\n[features]\ninspect = []\nsim = []\n",
                _ => "",
            };
            library(&folder, name, version, &(ours(on) + features));
        }
        for (name, dependencies) in [
            ("blitz-io", needs),
            ("blitz-io-futex", ""),
            ("blitz-io-pool", ""),
            ("blitz-io-sync", ""),
        ] {
            let folder = self.at(&format!("blitz-io/crates/{name}"));
            library(&folder, name, "0.1.0", dependencies);
        }
        self
    }

    /// Lets this program build in the folder `target` beside all programs.
    pub fn share_target(&self, program: &str) -> &World {
        let target = self.at("target");
        let line = format!("[build]\ntarget-dir = '{}'\n", target.display());
        self.edit(&format!("{program}/.cargo/config.toml"), |text| {
            text + &line
        })
    }

    /// Runs Cargo in the program's folder.
    pub fn cargo(&self, arguments: &[&str]) -> &World {
        self.cargo_in("program", arguments)
    }

    /// Runs Cargo in this folder.
    pub fn cargo_in(&self, folder: &str, arguments: &[&str]) -> &World {
        let (is_done, said) = self.try_cargo(folder, arguments);
        assert!(is_done, "cargo {arguments:?}: {said}");
        self
    }

    /// Runs Cargo in the program's folder, where it fails. Returns what it says.
    pub fn refuses(&self, arguments: &[&str]) -> String {
        let (is_done, said) = self.try_cargo("program", arguments);
        assert!(!is_done, "cargo {arguments:?}: {said}");
        said
    }

    pub fn try_cargo(&self, folder: &str, arguments: &[&str]) -> (bool, String) {
        let ran = Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(self.at(folder))
            .output()
            .expect("cargo starts");
        let said = String::from_utf8_lossy(&ran.stderr);
        (ran.status.success(), said.into_owned())
    }

    /// Resolves the program.
    pub fn lock(&self) -> &World {
        self.cargo(&["generate-lockfile"])
    }

    /// Checks that Cargo accepts the lock file as it is.
    pub fn is_current(&self) {
        self.cargo(&["update", "--workspace", "--locked"]);
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at("program").join(name)).unwrap_or_default()
    }

    pub fn files(&self) -> (String, String) {
        self.files_of("program")
    }

    pub fn files_of(&self, program: &str) -> (String, String) {
        let read = |name| fs::read_to_string(self.at(program).join(name)).unwrap_or_default();
        (read("Cargo.toml"), read("Cargo.lock"))
    }

    /// Changes the text of a file.
    pub fn edit(&self, path: &str, change: impl FnOnce(String) -> String) -> &World {
        let file = self.at(path);
        let text = fs::read_to_string(&file).expect("the file is there");
        write(&file, &change(text));
        self
    }

    /// Appends lines to the manifest.
    pub fn append(&self, lines: &str) -> &World {
        self.edit("program/Cargo.toml", |text| text + lines)
    }

    /// Runs the command in the program's folder and expects `code`.
    pub fn blitz(&self, code: i32, arguments: &[&str]) -> Ran {
        let mut command = blitz(&["migrate"]);
        command.args(arguments).current_dir(self.at("program"));
        let ran = Ran::from(command.output().expect("the command starts"));
        assert_eq!(ran.code, Some(code), "{arguments:?}\n{ran:?}");
        ran
    }

    /// Runs `blitz migrate --json` with the checkout as the source.
    pub fn migrate(&self, code: i32) -> Ran {
        self.blitz(code, &["--json", "--path", "../blitz-io"])
    }
}

pub fn write(path: &Path, text: &str) {
    let folder = path.parent().expect("the path has a folder");
    fs::create_dir_all(folder).expect("a folder can be created");
    fs::write(path, text).expect("a file can be written");
}

pub fn library(folder: &Path, name: &str, version: &str, dependencies: &str) {
    let package = format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\n");
    let rest = format!("edition = \"2021\"\n\n[dependencies]\n{dependencies}");
    write(&folder.join("Cargo.toml"), &format!("{package}{rest}"));
    write(&folder.join("src/lib.rs"), "");
}
