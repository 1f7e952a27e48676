//! The path under which the user's package knows `blitz-io`, or the package that stands in
//! for Tokio.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

/// Looks the dependency up in the `Cargo.toml` of the package that is being compiled.
///
/// A package that depends on neither `blitz-io` nor a package named `tokio` has the
/// attribute from a re-export; for it the path is `blitz_io` as it is in scope. A package
/// with only `tokio` uses these attributes only if its `tokio` is a drop-in package that
/// re-exports `blitz-io`, and then `tokio::runtime` is the path that the attribute needs.
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

/// Returns the path of the module that has `PlainData`: `blitz-io-ipc` itself, or `ipc` of
/// `blitz-io`.
pub(crate) fn ipc(span: Span) -> TokenStream {
    match crate_name("blitz-io-ipc") {
        Ok(FoundCrate::Name(name)) => {
            let name = Ident::new(&name, span);
            quote_spanned!(span=> ::#name)
        }
        Ok(FoundCrate::Itself) => quote_spanned!(span=> ::blitz_io_ipc),
        Err(_) => {
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
