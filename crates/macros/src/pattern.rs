//! Patterns that test a value without moving it.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Pat;
use syn::parse::Parser;

/// Turns a pattern for a value into one for a reference to it: the bindings lose `ref` and
/// `mut`, and references are matched by default binding modes.
///
/// Tokens that do not parse as a pattern are returned unchanged: the compiler then reports
/// the error at their position.
pub(crate) fn by_reference(pattern: TokenStream) -> TokenStream {
    match Pat::parse_multi_with_leading_vert.parse2(pattern.clone()) {
        Ok(mut parsed) => {
            relax(&mut parsed);
            parsed.into_token_stream()
        }
        Err(_) => pattern,
    }
}

fn relax(pattern: &mut Pat) {
    match pattern {
        // The compiler does not look through references for a constant.
        Pat::Reference(reference) if may_be_constant(&reference.pat) => {}
        Pat::Reference(reference) => {
            // Edition 2024 rejects `&` below a pattern that looks through a reference.
            let inner = std::mem::replace(&mut *reference.pat, Pat::Verbatim(TokenStream::new()));
            *pattern = inner;
            relax(pattern);
        }
        Pat::Ident(binding) => {
            binding.by_ref = None;
            binding.mutability = None;
            if let Some((_, inner)) = &mut binding.subpat {
                relax(inner);
            }
        }
        Pat::Paren(paren) => relax(&mut paren.pat),
        Pat::Type(typed) => relax(&mut typed.pat),
        Pat::Or(or) => or.cases.iter_mut().for_each(relax),
        Pat::Slice(slice) => slice.elems.iter_mut().for_each(relax),
        Pat::Tuple(tuple) => tuple.elems.iter_mut().for_each(relax),
        Pat::TupleStruct(tuple) => tuple.elems.iter_mut().for_each(relax),
        Pat::Struct(fields) => {
            for field in &mut fields.fields {
                relax(&mut field.pat);
            }
        }
        _ => {}
    }
}

fn may_be_constant(pattern: &Pat) -> bool {
    match pattern {
        Pat::Path(_) | Pat::Const(_) => true,
        Pat::Paren(paren) => may_be_constant(&paren.pat),
        // Recognised by its name, as in the compiler's lints.
        Pat::Ident(binding) => {
            let name = binding.ident.to_string();
            name.starts_with(char::is_uppercase) && binding.subpat.is_none()
        }
        _ => false,
    }
}
