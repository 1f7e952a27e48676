//! The path under which the user's package knows `blitz-io`, or the package that stands in
//! for Tokio.

use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

use crate::manifest;

/// The packages with these attributes.
const PACKAGES: [&str; 2] = ["blitz-io", "tokio"];

/// Returns the identifier of `package` in the package that is being compiled: its own, or the one
/// that its `Cargo.toml` gives to the dependency. Returns `None` outside of cargo too.
fn crate_name(package: &str) -> Option<String> {
    if env::var("CARGO_PKG_NAME").is_ok_and(|own| own == package) {
        return Some(package.replace('-', "_"));
    }
    Some(dependency_on(package)?.replace('-', "_"))
}

/// Returns the name that the `Cargo.toml` of the package that is being compiled gives to this dependency.
fn dependency_on(package: &str) -> Option<String> {
    let (text, root) = own_manifest()?;
    manifest::name_of(&text, package, root)
}

/// Returns the name of the dependency that has this library: of `blitz-io`, or of the package that stands in for Tokio.
pub(crate) fn dependency() -> Option<String> {
    let own = env::var("CARGO_PKG_NAME").unwrap_or_default();
    if PACKAGES.contains(&own.as_str()) {
        return None;
    }
    PACKAGES.iter().find_map(|package| dependency_on(package))
}

/// Returns the manifest of the package that is being compiled, and a function for that of its workspace.
pub(crate) fn own_manifest() -> Option<(String, impl Fn() -> Option<String>)> {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    Some((text, move || workspace(&folder)))
}

/// Returns the manifest of the workspace around a package.
fn workspace(folder: &Path) -> Option<String> {
    let mut texts = (folder.ancestors())
        .filter_map(|folder| fs::read_to_string(folder.join("Cargo.toml")).ok());
    texts.find(|text| manifest::is_root(text))
}

/// Looks the dependency up in the `Cargo.toml` of the package that is being compiled.
///
/// A package that depends on neither `blitz-io` nor a package named `tokio` has the
/// attribute from a re-export; for it the path is `blitz_io` as it is in scope. A package
/// with only `tokio` uses these attributes only if its `tokio` is a drop-in package that
/// re-exports `blitz-io`, and then `tokio::runtime` is the path that the attribute needs.
pub(crate) fn found(span: Span) -> TokenStream {
    for package in PACKAGES {
        if let Some(name) = crate_name(package) {
            let name = Ident::new(&name, span);
            return quote_spanned!(span=> ::#name);
        }
    }
    let name = Ident::new("blitz_io", span);
    quote_spanned!(span=> #name)
}

/// Returns the path of the module that has `PlainData`: `blitz-io-ipc` itself, or `ipc` of
/// `blitz-io`.
pub(crate) fn ipc(span: Span) -> TokenStream {
    match crate_name("blitz-io-ipc") {
        Some(name) => {
            let name = Ident::new(&name, span);
            quote_spanned!(span=> ::#name)
        }
        None => {
            let root = found(span);
            quote_spanned!(span=> #root::ipc)
        }
    }
}

/// Returns the path of a package that stands in for Tokio: `tokio`, as it is in scope,
/// which is what Tokio's attributes use. So the attributes also work where `tokio` is a
/// module's import.
pub(crate) fn tokio(span: Span) -> TokenStream {
    let name = Ident::new("tokio", span);
    quote_spanned!(span=> #name)
}
