//! The path under which the user's package knows `blitz-io`, or what stands in for Tokio.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

/// Looks the dependency up in the `Cargo.toml` of the package that is being compiled.
///
/// A package that depends on neither `blitz-io` nor a package named `tokio` has the
/// attribute from somebody's re-export; for it the path is `blitz_io` as it is in scope.
/// A package with `tokio` alone uses these attributes only if its `tokio` is a drop-in that
/// re-exports `blitz-io`, and then `tokio::runtime` is what the attribute needs.
pub(crate) fn found(span: Span) -> TokenStream {
    for package in ["blitz-io", "tokio"] {
        match crate_name(package) {
            Ok(FoundCrate::Name(name)) => {
                let name = Ident::new(&name, span);
                return quote_spanned!(span=> ::#name);
            }
            Ok(FoundCrate::Itself) => {
                let name = Ident::new(&package.replace('-', "_"), span);
                return quote_spanned!(span=> ::#name);
            }
            Err(_) => {}
        }
    }
    let name = Ident::new("blitz_io", span);
    quote_spanned!(span=> #name)
}

/// The path of the module that has `PlainData`: `blitz-ipc` itself, or `ipc` of `blitz-io`.
pub(crate) fn ipc(span: Span) -> TokenStream {
    match crate_name("blitz-ipc") {
        Ok(FoundCrate::Name(name)) => {
            let name = Ident::new(&name, span);
            quote_spanned!(span=> ::#name)
        }
        Ok(FoundCrate::Itself) => quote_spanned!(span=> ::blitz_ipc),
        Err(_) => {
            let root = found(span);
            quote_spanned!(span=> #root::ipc)
        }
    }
}

/// The path of a package that stands in for Tokio: `tokio`, as it is in scope, which is what
/// Tokio's attributes use. So they work where `tokio` is a module's import.
pub(crate) fn tokio(span: Span) -> TokenStream {
    let name = Ident::new("tokio", span);
    quote_spanned!(span=> #name)
}
