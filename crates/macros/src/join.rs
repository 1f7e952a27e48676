//! The code of `join!` and `try_join!`.
//!
//! ```text
//! (krate) (rotating | in_order) (future 0) (future 1) …
//! ```
//!
//! becomes a tuple of `MaybeDone` on the caller's stack and one future that polls the
//! branches that are not done. The future borrows the tuple, because a closure that owned
//! it could be moved. Without `biased`, each poll begins one branch later than the one
//! before, so that a branch that spends the task's whole budget does not starve the others.

use proc_macro2::{Literal, Span, TokenStream};
use quote::quote_spanned;

use crate::select::{arguments, groups};

/// Tells when the future is ready.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Until {
    AllDone,
    FirstError,
}

pub(crate) fn generate(input: TokenStream, until: Until) -> TokenStream {
    let mut groups = groups(input);
    let (support, in_order) = arguments(&mut groups);
    let futures: Vec<_> = groups.collect();
    let count = Literal::u32_unsuffixed(futures.len() as u32);
    let index: Vec<_> = (0..futures.len()).map(Literal::usize_unsuffixed).collect();

    let site = Span::mixed_site();
    let (counter, nth) = if in_order {
        (None, quote_spanned!(site=> turn))
    } else {
        let counter = quote_spanned!(site=> let mut start = #support::Rotation::<#count>::new(););
        (
            Some(counter),
            quote_spanned!(site=> (first + turn) % #count),
        )
    };
    let first = counter
        .as_ref()
        .map(|_| quote_spanned!(site=> let first = start.next();));
    // SAFETY of the generated code: `futures` refers to a tuple in the frame around it, which
    // nothing moves, and whose only name is shadowed by the reference.
    let poll = index.iter().map(|i| {
        let poll =
            quote_spanned!(site=> unsafe { #support::MaybeDone::poll(&mut futures.#i, context) });
        match until {
            Until::AllDone => quote_spanned!(site=> pending |= #poll.is_pending()),
            Until::FirstError => quote_spanned! {site=>
                if #poll.is_pending() {
                    pending = true;
                } else if let #support::Some(failed) = futures.#i.take_error() {
                    return #support::Poll::Ready(failed);
                }
            },
        }
    });
    let output = match until {
        Until::AllDone => quote_spanned!(site=> (#(futures.#index.take(),)*)),
        Until::FirstError => {
            quote_spanned!(site=> #support::Result::Ok((#(futures.#index.take_ok(),)*)))
        }
    };
    quote_spanned! {site=> {
        let mut futures = (#(#support::MaybeDone::new(#futures),)*);
        let futures = &mut futures;
        #counter
        #support::poll_fn(move |context| {
            let mut pending = false;
            #first
            for turn in 0..#count {
                #[allow(clippy::modulo_one)]
                match #nth {
                    #(#index => { #poll })*
                    _ => {}
                }
            }
            if pending {
                return #support::Poll::Pending;
            }
            // For a branch whose output type is uninhabited.
            #[allow(unreachable_code)]
            #support::Poll::Ready(#output)
        })
        .await
    }}
}
