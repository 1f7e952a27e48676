//! The derive macro of `PlainData`.
//!
//! The trait is unsafe to implement; its requirements are checked here, and by a constant
//! beside the implementation:
//!
//! ```text
//! #[derive(Clone, Copy, PlainData)]        const _: () = {
//! #[repr(C)]                                   const fn is_plain<T: blitz_io::ipc::PlainData>() {}
//! struct Trade {                               is_plain::<f64>();
//!     price: f64,                      ⇒       is_plain::<u64>();
//!     volume: u64,                             assert!(size_of::<f64>() + size_of::<u64>() == size_of::<Trade>());
//! }                                        };
//!                                          unsafe impl blitz_io::ipc::PlainData for Trade {
//!                                              const FINGERPRINT: … = …;
//!                                          }
//! ```
//!
//! A type with parameters cannot have such a constant, so it is rejected.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parse;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitStr, Path, Result, Token};

use crate::crate_path;

const NOT_A_STRUCT: &str = "`PlainData` can be derived for structs only: not every pattern of bytes is a value of an enum or a union";
const GENERIC: &str = "`PlainData` cannot be derived for a type with parameters: whether it has padding depends on them. Derive it for a struct of concrete types";
const NO_REPR: &str = "`PlainData` needs `#[repr(C)]` or `#[repr(transparent)]`: otherwise the fields may stand elsewhere in another program";
const PADDING: &str = "there is padding between the fields or after them: put the larger fields first, and fill what remains with a field of bytes";
const UNKNOWN: &str = "expected `crate = \"…\"`";

pub(crate) fn derive(item: TokenStream) -> TokenStream {
    let implemented = syn::parse2(item).and_then(|input: DeriveInput| implement(&input));
    implemented.unwrap_or_else(Error::into_compile_error)
}

fn implement(input: &DeriveInput) -> Result<TokenStream> {
    let fields = checked(input)?;
    let root = crate_named(&input.attrs)?;
    let root = root.unwrap_or_else(|| crate_path::ipc(input.ident.span()));
    let name = &input.ident;
    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let names = fields
        .members()
        .map(|member| member.to_token_stream().to_string());
    let own_name = name.to_string();
    // With the field's span, so that the compiler's error names the field.
    let plain = types
        .iter()
        .map(|field| quote_spanned!(field.span()=> is_plain::<#field>();));
    Ok(quote! {
        const _: () = {
            const fn is_plain<T: #root::PlainData>() {}
            #(#plain)*
            ::core::assert!(
                0 #(+ ::core::mem::size_of::<#types>())* == ::core::mem::size_of::<#name>(),
                #PADDING
            );
        };

        // SAFETY: the constant above does not compile unless every field is plain data and
        // there is no padding.
        #[automatically_derived]
        unsafe impl #root::PlainData for #name {
            const FINGERPRINT: #root::Fingerprint = #root::Fingerprint::of_struct(
                #own_name,
                &[#((#names, <#types as #root::PlainData>::FINGERPRINT)),*],
            );
        }
    })
}

/// Returns the fields if the type can be plain data.
fn checked(input: &DeriveInput) -> Result<&Fields> {
    let Data::Struct(structure) = &input.data else {
        return Err(Error::new_spanned(&input.ident, NOT_A_STRUCT));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, GENERIC));
    }
    if !has_layout(&input.attrs)? {
        return Err(Error::new_spanned(&input.ident, NO_REPR));
    }
    Ok(&structure.fields)
}

/// Returns whether the language defines the positions of the fields.
fn has_layout(attributes: &[Attribute]) -> Result<bool> {
    let mut found = false;
    for attribute in attributes.iter().filter(|one| one.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            // The number in `align` or `packed`.
            if meta.input.peek(syn::token::Paren) {
                let number;
                syn::parenthesized!(number in meta.input);
                TokenStream::parse(&number)?;
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// Returns the path in `#[plain_data(crate = "…")]`.
fn crate_named(attributes: &[Attribute]) -> Result<Option<TokenStream>> {
    let mut found = None;
    let own = |one: &&Attribute| one.path().is_ident("plain_data");
    for attribute in attributes.iter().filter(own) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error(UNKNOWN));
            }
            meta.input.parse::<Token![=]>()?;
            let path: Path = meta.input.parse::<LitStr>()?.parse()?;
            found = Some(path.into_token_stream());
            Ok(())
        })?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(source: &str) -> String {
        derive(source.parse().unwrap()).to_string()
    }

    #[track_caller]
    fn refused(source: &str, message: &str) {
        let file: syn::File = syn::parse_str(&derived(source)).unwrap();
        let [syn::Item::Macro(error)] = &file.items[..] else {
            panic!("more than an error: {}", derived(source));
        };
        let text = error.mac.parse_body::<LitStr>().unwrap().value();
        assert_eq!(text, message, "for {source}");
    }

    #[test]
    fn what_cannot_be_plain_is_refused_with_the_reason() {
        refused("#[repr(u8)] enum Side { Buy, Sell }", NOT_A_STRUCT);
        refused("#[repr(C)] union Both { a: u8, b: i8 }", NOT_A_STRUCT);
        refused("#[repr(C)] struct Pair<T> { a: T, b: T }", GENERIC);
        refused("#[repr(C)] struct Text<'a>(&'a u8);", GENERIC);
        refused("#[repr(C)] struct Row<const N: usize>([u8; N]);", GENERIC);
        refused("struct Unordered { a: u8 }", NO_REPR);
        refused("#[repr(align(8))] struct Aligned(u64);", NO_REPR);
        refused("#[repr(C)] #[plain_data(path)] struct A(u8);", UNKNOWN);
    }

    #[test]
    fn every_field_is_checked_and_all_sizes_are_added() {
        for source in [
            "#[repr(C)] struct Trade { price: f64, volume: u64 }",
            "#[repr(C, align(16))] struct Trade(f64, u64);",
            "#[repr(C)] #[repr(packed(2))] struct Trade(f64, u64);",
        ] {
            let code = derived(source);
            for part in [
                "is_plain :: < f64 > ()",
                "is_plain :: < u64 > ()",
                "size_of :: < f64 > () + :: core :: mem :: size_of :: < u64 > ()",
                ":: PlainData for Trade",
            ] {
                assert!(code.contains(part), "{part} in {code}");
            }
        }
    }

    #[test]
    fn the_crate_can_be_named() {
        let code = derived(r#"#[repr(C)] #[plain_data(crate = "other::ipc")] struct A(u8);"#);
        assert!(
            code.contains("unsafe impl other :: ipc :: PlainData for A"),
            "{code}"
        );
    }
}
