//! The code that the attributes generate from a function.
//!
//! ```text
//! #[blitz_io::main(worker_threads = 2)]        fn main() -> Output {
//! async fn main() -> Output {                      let body = async { … };
//!     …                                   ⇒        return blitz_io::runtime::Builder::new_multi_thread()
//! }                                                    .worker_threads(2).enable_all().build()
//!                                                      .expect("Failed building the Runtime").block_on(body);
//!                                              }
//! ```
//!
//! `body` is hygienic: the user's code cannot refer to it. If the arguments are wrong, the
//! function is expanded without them next to the error, so that the compiler can still check
//! the rest of the file.

use proc_macro2::{Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, GenericArgument, PathArguments, Result, ReturnType, Type};

use crate::arguments::{Arguments, UnhandledPanic};
use crate::function::Function;
use crate::purpose::{Flavor, Purpose};
use crate::text;

/// Expands an attribute. `default_path` finds the crate where the arguments do not name
/// one.
pub(crate) fn attribute(
    purpose: Purpose,
    default_path: fn(Span) -> TokenStream,
    arguments: TokenStream,
    item: TokenStream,
) -> TokenStream {
    let function: Function = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return beside(item, error),
    };
    match understand(purpose, arguments, &function) {
        Ok(arguments) => expand(purpose, default_path, arguments, function),
        Err(error) => beside(
            expand(purpose, default_path, Arguments::after_an_error(), function),
            error,
        ),
    }
}

/// Expands an attribute in a program that has the feature `macros` without `rt`.
pub(crate) fn no_runtime(purpose: Purpose, item: TokenStream) -> TokenStream {
    beside(
        item,
        Error::new(Span::call_site(), text::no_runtime(purpose)),
    )
}

/// Returns the item with the error after it, so that the compiler can still check the rest of the file.
pub(crate) fn beside(mut item: TokenStream, error: Error) -> TokenStream {
    item.extend(error.into_compile_error());
    item
}

fn understand(purpose: Purpose, arguments: TokenStream, function: &Function) -> Result<Arguments> {
    let signature = &function.signature;
    match purpose {
        Purpose::Main if signature.ident == "main" && !signature.inputs.is_empty() => {
            let message = text::MAIN_WITH_ARGUMENTS;
            return Err(Error::new_spanned(&signature.ident, message));
        }
        Purpose::Test => {
            if let Some(second) = function.test_attribute() {
                return Err(Error::new_spanned(second, text::SECOND_TEST));
            }
        }
        Purpose::Main => {}
    }
    if signature.asyncness.is_none() {
        return Err(Error::new_spanned(signature.fn_token, text::NOT_ASYNC));
    }
    Arguments::parse(purpose, arguments)
}

fn expand(
    purpose: Purpose,
    default_path: fn(Span) -> TokenStream,
    arguments: Arguments,
    mut function: Function,
) -> TokenStream {
    function.signature.asyncness = None;
    let body = Ident::new("body", Span::mixed_site());
    let bind = match purpose {
        Purpose::Main => bind_main(&body, &function),
        Purpose::Test => bind_test(&body, &function),
    };
    let run = run(&body, default_path, arguments, &function);
    let test = match purpose {
        Purpose::Main => None,
        // This attribute comes last, so that the other attributes see only what the user
        // wrote.
        Purpose::Test => Some(quote!(#[::core::prelude::v1::test])),
    };
    let Function {
        attributes,
        visibility,
        signature,
        body: braces,
    } = function;
    let mut inside = Group::new(proc_macro2::Delimiter::Brace, quote!(#bind #run));
    inside.set_span(braces.span());
    quote!(#(#attributes)* #test #visibility #signature #inside)
}

/// Binds the body, with a check of its type that costs nothing at run time: the compiler then
/// reports a mismatch at the function's return type.
fn bind_main(body: &Ident, function: &Function) -> TokenStream {
    let code = &function.body;
    let check = match &function.signature.output {
        // The type cannot be named, or does not need to be.
        ReturnType::Type(_, output)
            if matches!(**output, Type::Never(_)) || has_impl_trait(output) =>
        {
            None
        }
        output => {
            let output = output_type(output);
            Some(quote! {
                if false {
                    let _: &dyn ::core::future::Future<Output = #output> = &#body;
                }
            })
        }
    };
    quote! {
        let #body = async #code;
        #check
    }
}

/// Binds the body behind a pointer: a crate with a thousand tests then has one `block_on`
/// for each result type instead of one for each test.
fn bind_test(body: &Ident, function: &Function) -> TokenStream {
    let code = &function.body;
    let output = output_type(&function.signature.output);
    quote! {
        let #body = async #code;
        let #body = ::core::pin::pin!(#body);
        let #body: ::core::pin::Pin<&mut dyn ::core::future::Future<Output = #output>> = #body;
    }
}

fn output_type(output: &ReturnType) -> TokenStream {
    match output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, output) => output.to_token_stream(),
    }
}

/// Generates the code that builds the runtime and runs the body, with the spans of the last
/// statement.
fn run(
    body: &Ident,
    default_path: fn(Span) -> TokenStream,
    arguments: Arguments,
    function: &Function,
) -> TokenStream {
    let (first, last) = function.last_statement();
    let krate = arguments.crate_path.map_or_else(
        || default_path(Span::call_site().located_at(first)),
        ToTokens::into_token_stream,
    );
    let new = match arguments.flavor {
        Flavor::MultiThread => quote_spanned!(first=> new_multi_thread()),
        Flavor::CurrentThread | Flavor::Local => quote_spanned!(first=> new_current_thread()),
    };
    let build = match arguments.flavor {
        Flavor::Local => quote_spanned!(first=> build_local(::core::default::Default::default())),
        _ => quote_spanned!(first=> build()),
    };
    let worker_threads = arguments
        .worker_threads
        .map(|n| quote!(.worker_threads(#n)));
    let start_paused = arguments.start_paused.map(|b| quote!(.start_paused(#b)));
    let name = arguments.name.map(|name| quote!(.name(#name)));
    let unhandled_panic = arguments.unhandled_panic.map(|policy| {
        let policy = match policy {
            UnhandledPanic::Ignore => quote!(Ignore),
            UnhandledPanic::ShutdownRuntime => quote!(ShutdownRuntime),
        };
        quote!(.unhandled_panic(#krate::runtime::UnhandledPanic::#policy))
    });
    // The first token needs a span of the user's code; otherwise messages point to the
    // attribute.
    let runtime = quote_spanned! {first=>
        <#krate::runtime::Builder>::#new
            #worker_threads #start_paused #unhandled_panic #name
            .enable_all()
            .#build
            .expect("Failed building the Runtime")
    };
    // A call is where its name is. Reports show the line of the function.
    let fn_token = function.signature.fn_token.span;
    let block_on = Ident::new("block_on", last.located_at(fn_token));
    let body = if arguments.deadlock_panics {
        quote_spanned!(last=> #krate::inspect::panic_on_deadlock(#body))
    } else {
        quote!(#body)
    };
    // A `return`, so that the compiler does not suggest adding a semicolon to generated
    // code.
    quote_spanned! {last=>
        #[allow(
            clippy::diverging_sub_expression,
            clippy::expect_used,
            clippy::needless_return,
            clippy::unwrap_in_result
        )]
        {
            return #runtime.#block_on(#body);
        }
    }
}

fn has_impl_trait(output: &Type) -> bool {
    match output {
        Type::ImplTrait(_) => true,
        Type::Array(array) => has_impl_trait(&array.elem),
        Type::Group(group) => has_impl_trait(&group.elem),
        Type::Paren(paren) => has_impl_trait(&paren.elem),
        Type::Ptr(pointer) => has_impl_trait(&pointer.elem),
        Type::Reference(reference) => has_impl_trait(&reference.elem),
        Type::Slice(slice) => has_impl_trait(&slice.elem),
        Type::Tuple(tuple) => tuple.elems.iter().any(has_impl_trait),
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|segment| arguments_have_impl_trait(&segment.arguments)),
        _ => false,
    }
}

fn arguments_have_impl_trait(arguments: &PathArguments) -> bool {
    match arguments {
        PathArguments::None => false,
        PathArguments::AngleBracketed(list) => list.args.iter().any(|argument| match argument {
            GenericArgument::Type(inner) => has_impl_trait(inner),
            GenericArgument::AssocType(inner) => has_impl_trait(&inner.ty),
            _ => false,
        }),
        PathArguments::Parenthesized(list) => {
            list.inputs.iter().any(|input| has_impl_trait(&input.ty))
                || matches!(&list.output, ReturnType::Type(_, output) if has_impl_trait(output))
        }
    }
}
