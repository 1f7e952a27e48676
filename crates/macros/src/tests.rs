//! Misuse is reported with Tokio's messages. (Examples in the documentation show that it
//! does not compile; the tests of `blitz-io` test correct use.)

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Item, ItemFn, ItemMacro};

use crate::crate_path;
use crate::expand::{attribute, no_runtime};
use crate::purpose::Purpose;

/// Expands the attribute, and returns the function and the errors next to it.
fn expanded(purpose: Purpose, arguments: &str, function: &str) -> (ItemFn, Vec<String>) {
    let parse = |source: &str| -> TokenStream { source.parse().unwrap() };
    split(attribute(
        purpose,
        crate_path::found,
        parse(arguments),
        parse(function),
    ))
}

fn split(tokens: TokenStream) -> (ItemFn, Vec<String>) {
    let file: syn::File = syn::parse2(tokens).unwrap();
    let (mut functions, mut errors) = (Vec::new(), Vec::new());
    for item in file.items {
        match item {
            Item::Fn(function) => functions.push(function),
            Item::Macro(ItemMacro { mac, .. }) => {
                let name = mac.path.segments.last().unwrap().ident.to_string();
                assert_eq!(name, "compile_error");
                errors.push(mac.parse_body::<syn::LitStr>().unwrap().value());
            }
            other => panic!("not expected: {}", quote!(#other)),
        }
    }
    assert_eq!(functions.len(), 1);
    (functions.remove(0), errors)
}

#[track_caller]
fn refused(purpose: Purpose, arguments: &str, function: &str, message: &str) {
    let (function, errors) = expanded(purpose, arguments, function);
    assert_eq!(errors, [message], "for {arguments:?}");
    // The function is no longer async, so there is no second error about that.
    assert!(function.sig.asyncness.is_none());
    assert!(!function.block.stmts.is_empty());
}

#[track_caller]
fn wrong_main(arguments: &str, message: &str) {
    refused(Purpose::Main, arguments, "async fn main() {}", message);
}

#[track_caller]
fn wrong_test(arguments: &str, message: &str) {
    refused(Purpose::Test, arguments, "async fn some_test() {}", message);
}

fn text_of(purpose: Purpose, arguments: &str, function: &str) -> String {
    let (function, errors) = expanded(purpose, arguments, function);
    assert_eq!(errors, [""; 0]);
    quote!(#function).to_string().replace(' ', "")
}

#[test]
fn a_value_of_the_wrong_kind() {
    wrong_main(
        "flavor = 123",
        "Failed to parse value of `flavor` as string.",
    );
    wrong_main("name = 1", "Failed to parse value of `name` as string.");
    wrong_main(
        "unhandled_panic = true",
        "Failed to parse value of `unhandled_panic` as string.",
    );
    wrong_main(
        "worker_threads = \"4\"",
        "Failed to parse value of `worker_threads` as integer.",
    );
    wrong_main(
        "worker_threads = 99999999999999999999999",
        "Failed to parse value of `worker_threads` as integer: number too large to fit in target type",
    );
    wrong_main(
        "start_paused = 1",
        "Failed to parse value of `start_paused` as bool.",
    );
    wrong_main("crate = 456", "Failed to parse value of `crate` as path.");
    wrong_main(
        "crate = \"456\"",
        "Failed to parse value of `crate` as path: \"456\"",
    );
    wrong_main(
        "crate = \"abc-edf\"",
        "Failed to parse value of `crate` as path: \"abc-edf\"",
    );
    wrong_main("flavor = local", "Must be a literal");
}

#[test]
fn no_such_flavor() {
    wrong_main(
        "flavor = \"single_thread\"",
        "The single threaded runtime flavor is called `current_thread`.",
    );
    wrong_main(
        "flavor = \"basic_scheduler\"",
        "The `basic_scheduler` runtime flavor has been renamed to `current_thread`.",
    );
    wrong_main(
        "flavor = \"threaded_scheduler\"",
        "The `threaded_scheduler` runtime flavor has been renamed to `multi_thread`.",
    );
    wrong_test(
        "flavor = \"fast\"",
        "No such runtime flavor `fast`. The runtime flavors are `current_thread`, `local`, and `multi_thread`.",
    );
}

#[test]
fn no_such_policy() {
    wrong_test(
        "flavor = \"current_thread\", unhandled_panic = \"ignor\"",
        "No such unhandled panic behavior `ignor`. The unhandled panic behaviors are `ignore` and `shutdown_runtime`.",
    );
}

#[test]
fn an_argument_that_another_flavor_has() {
    for flavor in ["current_thread", "local"] {
        wrong_main(
            &format!("worker_threads = 4, flavor = \"{flavor}\""),
            "The `worker_threads` option requires the `multi_thread` runtime flavor. Use `#[blitz_io::main(flavor = \"multi_thread\")]`",
        );
    }
    wrong_test(
        "worker_threads = 4",
        "The `worker_threads` option requires the `multi_thread` runtime flavor. Use `#[blitz_io::test(flavor = \"multi_thread\")]`",
    );
    wrong_main(
        "start_paused = true",
        "The `start_paused` option requires the `current_thread` runtime flavor. Use `#[blitz_io::main(flavor = \"current_thread\")]`",
    );
    wrong_test(
        "flavor = \"multi_thread\", unhandled_panic = \"ignore\"",
        "The `unhandled_panic` option requires the `current_thread` runtime flavor. Use `#[blitz_io::test(flavor = \"current_thread\")]`",
    );
}

#[test]
fn an_argument_that_does_not_exist_or_comes_twice() {
    wrong_main(
        "foo = 1",
        "Unknown attribute foo is specified; expected one of: `flavor`, `worker_threads`, `start_paused`, `crate`, `unhandled_panic`, `name`.",
    );
    wrong_test(
        "foo",
        "Unknown attribute foo is specified; expected one of: `flavor`, `worker_threads`, `start_paused`, `crate`, `unhandled_panic`, `name`.",
    );
    wrong_main("foo::bar", "Must have specified ident");
    wrong_main("foo::bar = 1", "Must have specified ident");
    wrong_main("flavor(local)", "Unknown attribute inside the macro");
    wrong_main(
        "core_threads = 4",
        "Attribute `core_threads` is renamed to `worker_threads`",
    );
    wrong_main("worker_threads = 0", "`worker_threads` may not be 0.");
    wrong_test(
        "deadlock = \"abort\"",
        "No such deadlock behavior `abort`. The deadlock behavior is `panic`.",
    );
    for argument in ["flavor", "worker_threads", "start_paused", "crate", "name"] {
        wrong_main(
            argument,
            &format!("The `{argument}` attribute requires an argument."),
        );
    }
    for (argument, value) in [
        ("flavor", "\"local\""),
        ("worker_threads", "4"),
        ("start_paused", "true"),
        ("unhandled_panic", "\"ignore\""),
        ("crate", "\"a::b\""),
        ("name", "\"a\""),
        ("deadlock", "\"panic\""),
    ] {
        wrong_main(
            &format!("{argument} = {value}, {argument} = {value}"),
            &format!("`{argument}` set multiple times."),
        );
    }
}

#[test]
fn a_flavor_without_its_key() {
    for flavor in ["threaded_scheduler", "multi_thread"] {
        wrong_main(
            flavor,
            "Set the runtime flavor with #[blitz_io::main(flavor = \"multi_thread\")].",
        );
    }
    for flavor in ["basic_scheduler", "current_thread", "single_threaded"] {
        wrong_test(
            flavor,
            "Set the runtime flavor with #[blitz_io::test(flavor = \"current_thread\")].",
        );
    }
}

#[test]
fn functions_that_will_not_do() {
    let missing = "the `async` keyword is missing from the function declaration";
    refused(Purpose::Main, "", "fn main() {}", missing);
    refused(Purpose::Test, "", "fn a_test() {}", missing);
    refused(
        Purpose::Main,
        "",
        "async fn main(arguments: Vec<String>) {}",
        "the main function cannot accept arguments",
    );
    let second = "second test attribute is supplied, consider removing or changing the order of your test attributes";
    for attribute in [
        "#[test]",
        "#[core::prelude::v1::test]",
        "#[::core::prelude::rust_2024::test]",
        "#[std::prelude::rust_2021::test]",
        "#[::std::prelude::v1::test]",
    ] {
        let function = format!("{attribute} async fn a_test() {{}}");
        refused(Purpose::Test, "", &function, second);
    }
}

#[test]
fn attributes_that_only_look_like_a_second_test_are_kept() {
    for attribute in [
        "#[other::test]",
        "#[test_case]",
        "#[core::test]",
        "#[should_panic(expected=\"x\")]",
        "#[::test]",
    ] {
        let function = format!("{attribute} async fn a_test() {{}}");
        let text = text_of(Purpose::Test, "", &function);
        assert!(text.starts_with(attribute), "{text}");
        // The generated attribute comes last.
        assert!(
            text.contains("#[::core::prelude::v1::test]fna_test()"),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_function_stays_and_the_error_stands_beside_it() {
    let tokens = attribute(
        Purpose::Main,
        crate_path::found,
        TokenStream::new(),
        quote!(
            struct Main;
        ),
    );
    let text = tokens.to_string();
    assert!(text.starts_with("struct Main ;"), "{text}");
    assert!(text.contains("compile_error"), "{text}");
}

#[test]
fn without_a_runtime_there_is_nothing_to_start() {
    let (_, errors) = split(no_runtime(
        Purpose::Main,
        quote!(
            fn main() {}
        ),
    ));
    assert_eq!(
        errors,
        ["The #[blitz_io::main] macro requires rt or rt-multi-thread."]
    );
    let (_, errors) = split(no_runtime(
        Purpose::Test,
        quote!(
            fn some_test() {}
        ),
    ));
    assert_eq!(
        errors,
        ["The #[blitz_io::test] macro requires rt or rt-multi-thread."]
    );
}

#[test]
fn in_tokios_place_the_path_is_the_one_in_scope() {
    let function: TokenStream = "async fn main() {}".parse().unwrap();
    let tokens = attribute(
        Purpose::Main,
        crate_path::tokio,
        TokenStream::new(),
        function,
    );
    let text = tokens.to_string().replace(' ', "");
    assert!(text.contains("<tokio::runtime::Builder>"), "{text}");
}

#[test]
fn arguments_reach_the_builder() {
    let main = text_of(
        Purpose::Main,
        "worker_threads = 3, name = \"a\"",
        "async fn main() {}",
    );
    assert!(
        main.contains(
            "<::blitz_io::runtime::Builder>::new_multi_thread().worker_threads(3usize).name(\"a\").enable_all().build()"
        ),
        "{main}"
    );
    let test = text_of(
        Purpose::Test,
        "START_PAUSED = true, unhandled_panic = \"shutdown_runtime\", crate = \"a::b\"",
        "async fn some_test() {}",
    );
    assert!(
        test.contains(
            "<a::b::runtime::Builder>::new_current_thread().start_paused(true).unhandled_panic(a::b::runtime::UnhandledPanic::ShutdownRuntime).enable_all().build()"
        ),
        "{test}"
    );
    let local = text_of(Purpose::Main, "flavor = \"local\"", "async fn main() {}");
    assert!(
        local.contains("new_current_thread().enable_all().build_local("),
        "{local}"
    );
}

#[test]
fn everything_around_the_body_stays() {
    let text = text_of(
        Purpose::Main,
        "",
        "#[inline] pub(crate) async unsafe fn run<'a, T: Copy>(value: &'a T) -> Option<T> where T: Send { #![allow(unused)] let _x = 1; Some(*value) }",
    );
    assert!(
        text.starts_with(
            "#[inline]#[allow(unused)]pub(crate)unsafefnrun<'a,T:Copy>(value:&'aT)->Option<T>whereT:Send{letbody=async{let_x=1;Some(*value)};"
        ),
        "{text}"
    );
}

#[test]
fn a_type_that_cannot_be_named_is_not_looked_at() {
    for output in [
        "!",
        "impl Sized",
        "Result<impl Sized, ()>",
        "(u8, impl Sized)",
    ] {
        let function = format!("async fn run() -> {output} {{ todo!() }}");
        let text = text_of(Purpose::Main, "", &function);
        assert!(!text.contains("dyn::core::future::Future"), "{text}");
    }
    let text = text_of(Purpose::Main, "", "async fn run() -> Vec<u8> { todo!() }");
    assert!(
        text.contains("&dyn::core::future::Future<Output=Vec<u8>>"),
        "{text}"
    );
}
