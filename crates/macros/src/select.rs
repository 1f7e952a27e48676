//! The code of `select!`.
//!
//! ```text
//! (krate) (random | in_order) (fallback) {(pattern) (future) (precondition?) (handler)} …
//! ```
//!
//! The declarative macro has parsed the branches with the compiler's own parser. They
//! become:
//!
//! * a bit set of the disabled branches;
//! * a tuple of the futures on the caller's stack;
//! * one future that polls the enabled ones until the output of one matches its pattern;
//! * a `match` that runs the handler after the futures are dropped.
//!
//! The handlers are outside of the polling, so they may use `.await`, `?`, `break` and
//! `return`.

use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{format_ident, quote_spanned};

use crate::pattern;

/// The bits of the largest mask.
const MOST_BRANCHES: usize = 64;

struct Branch {
    pattern: TokenStream,
    future: TokenStream,
    /// Empty if there is none.
    precondition: TokenStream,
    handler: TokenStream,
}

pub(crate) fn generate(input: TokenStream) -> TokenStream {
    let mut groups = groups(input);
    let (support, in_order) = arguments(&mut groups);
    let fallback = groups.next().unwrap_or_default();
    let branches: Vec<_> = groups.map(branch).collect();
    let site = Span::mixed_site();
    if branches.len() > MOST_BRANCHES {
        return quote_spanned!(site=> ::core::compile_error!("up to 64 branches supported"));
    }

    let count = Literal::u32_unsuffixed(branches.len() as u32);
    let index: Vec<_> = (0..branches.len()).map(Literal::usize_unsuffixed).collect();
    let variant: Vec<_> = (0..branches.len())
        .map(|i| format_ident!("_{i}", span = site))
        .collect();
    let mask = mask(branches.len());
    let pattern = branches.iter().map(|branch| &branch.pattern);
    let test = branches
        .iter()
        .map(|branch| pattern::by_reference(branch.pattern.clone()));
    let future = branches.iter().map(|branch| &branch.future);
    let handler = branches.iter().map(|branch| &branch.handler);
    let preconditions = branches
        .iter()
        .zip(&index)
        .filter(|(branch, _)| !branch.precondition.is_empty())
        .map(|(Branch { precondition, .. }, i)| {
            quote_spanned! {site=>
                let enabled: bool = #precondition;
                if !enabled {
                    disabled |= 1 << #i;
                }
            }
        });
    let (first, nth) = if in_order {
        (None, quote_spanned!(site=> turn))
    } else {
        (
            Some(quote_spanned!(site=> let first = #support::thread_rng_n(#count);)),
            quote_spanned!(site=> (first + turn) % #count),
        )
    };

    // SAFETY of the generated code: `futures` refers to a tuple in the frame around it, which
    // nothing moves, and whose only name is shadowed by the reference.
    quote_spanned! {site=> {
        #[allow(non_camel_case_types)]
        enum __BlitzSelect<#(#variant,)*> {
            #(#variant(#variant),)*
            Disabled,
        }
        #[allow(unused_mut)]
        let mut disabled: #mask = 0;
        #(#preconditions)*
        #[allow(unused_mut)]
        let mut output = {
            // The expressions are evaluated first and alone, so that their temporaries live
            // long enough.
            let futures = (#(#future,)*);
            let mut futures = (#(#support::IntoFuture::into_future(futures.#index),)*);
            let futures = &mut futures;
            let output = #support::poll_fn(move |context| {
                // With the budget spent, every branch of this crate would be pending, and a
                // branch that does not use the budget would win each time.
                if #support::poll_budget_available(context).is_pending() {
                    return #support::Poll::Pending;
                }
                let mut pending = false;
                #first
                for turn in 0..#count {
                    #[allow(clippy::modulo_one)]
                    match #nth {
                        #(
                            #[allow(unreachable_code)]
                            #index if disabled & (1 << #index) == 0 => {
                                let future =
                                    unsafe { #support::Pin::new_unchecked(&mut futures.#index) };
                                let output = match #support::Future::poll(future, context) {
                                    #support::Poll::Ready(output) => output,
                                    #support::Poll::Pending => {
                                        pending = true;
                                        continue;
                                    }
                                };
                                disabled |= 1 << #index;
                                #[allow(unused_variables, unused_mut, unreachable_patterns)]
                                match &output {
                                    #test => {}
                                    _ => continue,
                                }
                                return #support::Poll::Ready(__BlitzSelect::#variant(output));
                            }
                        )*
                        _ => {}
                    }
                }
                if pending {
                    #support::Poll::Pending
                } else {
                    #support::Poll::Ready(__BlitzSelect::Disabled)
                }
            })
            .await;
            output
        };
        match output {
            #(__BlitzSelect::#variant(#pattern) => #handler,)*
            __BlitzSelect::Disabled => #fallback,
            #[allow(unreachable_patterns)]
            _ => ::core::unreachable!("a pattern did not match a second time"),
        }
    }}
}

/// Returns the smallest type that has a bit for each branch: it is part of the caller's
/// future.
fn mask(branches: usize) -> Ident {
    let bits = branches.next_power_of_two().max(8);
    format_ident!("u{bits}")
}

fn branch(tokens: TokenStream) -> Branch {
    let mut parts = groups(tokens);
    let mut part = || parts.next().unwrap_or_default();
    Branch {
        pattern: part(),
        future: part(),
        precondition: part(),
        handler: part(),
    }
}

/// Returns the content of each group in `tokens`.
pub(crate) fn groups(tokens: TokenStream) -> impl Iterator<Item = TokenStream> {
    tokens.into_iter().filter_map(|token| match token {
        TokenTree::Group(group) => Some(Group::stream(&group)),
        _ => None,
    })
}

/// Returns the path of the support module, and whether branches are polled in the order
/// written.
pub(crate) fn arguments(groups: &mut impl Iterator<Item = TokenStream>) -> (TokenStream, bool) {
    let krate = groups.next().unwrap_or_default();
    let order = groups.next().unwrap_or_default().to_string();
    let support = quote_spanned!(Span::mixed_site()=> #krate::macros::support);
    (support, order == "in_order")
}
