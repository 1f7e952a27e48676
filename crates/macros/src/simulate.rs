//! The code that the attribute `sim` generates from a function.
//!
//! ```text
//! #[blitz_io::sim(seeds = 200)]                #[test]
//! async fn name() -> Output {                  fn name() {
//!     …                                   ⇒        blitz_io::sim::Builder::new().seeds(200).from_env()
//! }                                                    .run_on_new_threads(|| Box::pin(async move { … }));
//!                                              }
//! ```
//!
//! The body is in a closure, because each run needs a future of its own. With `threads = "all"`, the last line is
//! `.run_threads(NAME, || …)`, with the name of the test in its program, and it is in a macro that says which feature is missing. The options of Cargo that select this test's program and
//! its features, such as `--features tokio/sim --test app`, are in a `.cargo_options(…)` before it: for the command that
//! repeats a failure.

use proc_macro2::{Group, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Meta, Path, Result, ReturnType, Token};

use crate::expand::beside;
use crate::function::Function;
use crate::text;

/// The arguments that are methods of `sim::Builder`, and the kind of their values.
const METHODS: [(&str, Value); 10] = [
    ("seed", Value::Number),
    ("seeds", Value::Number),
    ("max_steps", Value::Number),
    ("max_time", Value::Time),
    ("allow_leaks", Value::Bool),
    ("allow_panics", Value::Bool),
    ("early_timers", Value::Bool),
    ("check_determinism", Value::Bool),
    ("check_sometimes", Value::Bool),
    ("shrink", Value::Bool),
];

/// The arguments that do nothing with `threads`.
const OF_TASKS: [&str; 6] = [
    "max_time",
    "allow_panics",
    "early_timers",
    "check_determinism",
    "check_sometimes",
    "shrink",
];

/// The schedules without a number.
const SCHEDULES: [&str; 7] = [
    "portfolio",
    "random",
    "round-robin",
    "pos",
    "surw",
    "guided",
    "exhaustive",
];

#[derive(Clone, Copy, PartialEq)]
enum Value {
    Number,
    Bool,
    /// A text such as `10s`.
    Time,
}

/// The arguments as written.
#[derive(Default)]
struct Arguments {
    /// Calls of the builder's methods.
    calls: TokenStream,
    given: Vec<String>,
    schedule: Option<LitStr>,
    /// The number of milliseconds.
    time: Option<u64>,
    max_time: Option<u64>,
    /// The test runs on real threads.
    threads: bool,
    crate_path: Option<Path>,
}

/// What the code around a test decides.
#[derive(Clone, Copy)]
pub(crate) struct Around {
    /// Returns the path of the library.
    pub(crate) path: fn(Span) -> TokenStream,
    /// Returns the options of Cargo for a test that needs this feature.
    pub(crate) options: fn(&str) -> String,
}

/// Expands the attribute.
pub(crate) fn attribute(around: Around, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function: Function = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return beside(item, error),
    };
    match understand(arguments, &function) {
        Ok(arguments) => expand(around, arguments, function),
        Err(error) => beside(expand(around, Arguments::default(), function), error),
    }
}

/// Returns the error of the attribute without the feature `sim`.
pub(crate) fn no_feature() -> TokenStream {
    Error::new(Span::call_site(), text::NO_SIM).into_compile_error()
}

fn understand(tokens: TokenStream, function: &Function) -> Result<Arguments> {
    if let Some(second) = function.test_attribute() {
        return Err(Error::new_spanned(second, text::SECOND_TEST));
    }
    let signature = &function.signature;
    if signature.asyncness.is_none() {
        return Err(Error::new_spanned(signature.fn_token, text::NOT_ASYNC));
    }
    if !signature.inputs.is_empty() {
        return Err(Error::new_spanned(
            &signature.inputs,
            text::SIM_WITH_ARGUMENTS,
        ));
    }
    let mut arguments = Arguments::default();
    for meta in Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)? {
        arguments.add(&meta)?;
    }
    let is_of_tasks = |given: &&String| OF_TASKS.contains(&given.as_str());
    match arguments.given.iter().find(is_of_tasks) {
        Some(given) if arguments.threads => {
            Err(Error::new(Span::call_site(), text::of_tasks(given)))
        }
        _ => Ok(arguments),
    }
}

impl Arguments {
    /// Returns the calls of the builder's methods. A function of the library reads the schedule, in the compiler: a constant that
    /// panics is an error of the compilation.
    fn calls(&self, krate: &TokenStream) -> TokenStream {
        let mut calls = self.calls.clone();
        if let Some(text) = &self.schedule {
            calls.extend(quote_spanned! {text.span()=> .schedule({
                const SCHEDULE: #krate::sim::Schedule = #krate::sim::Schedule::literal(#text);
                SCHEDULE
            })});
        }
        // The time alone is the limit, if there is no number of runs. A search of all orders has none.
        let is_limited = self.given.iter().any(|argument| argument == "seeds");
        if !is_limited && (self.time.is_some() || self.tries_all()) {
            calls.extend(quote!(.seeds(::core::primitive::u64::MAX)));
        }
        if let Some(time) = self.time {
            // A search that may take long learns from its runs. With threads, none does.
            if self.schedule.is_none() && !self.threads {
                calls.extend(quote!(.schedule(#krate::sim::Schedule::Guided)));
            }
            calls.extend(quote!(.time_limit(::core::time::Duration::from_millis(#time))));
        }
        if let Some(time) = self.max_time {
            calls.extend(quote!(.max_time(::core::time::Duration::from_millis(#time))));
        }
        calls
    }

    /// Returns `true` if the test runs in all orders of its tasks. Threads have too many.
    fn tries_all(&self) -> bool {
        let schedule = self.schedule.as_ref().map(LitStr::value);
        !self.threads && schedule.is_some_and(|schedule| schedule.starts_with("exhaustive"))
    }

    fn add(&mut self, meta: &Meta) -> Result<()> {
        let Meta::NameValue(pair) = meta else {
            return Err(Error::new_spanned(meta, text::NOT_AN_ARGUMENT));
        };
        let Some(name) = pair.path.get_ident() else {
            return Err(Error::new_spanned(meta, text::NOT_AN_IDENT));
        };
        let Expr::Lit(ExprLit { lit, .. }) = &pair.value else {
            return Err(Error::new_spanned(&pair.value, text::NOT_A_LITERAL));
        };
        let argument = name.to_string();
        if self.given.contains(&argument) {
            return Err(Error::new_spanned(meta, text::twice(&argument)));
        }
        let method = METHODS.iter().find(|(method, _)| *method == argument);
        match (argument.as_str(), method, lit) {
            (_, Some((_, Value::Number)), Lit::Int(number)) => {
                match number.base10_parse::<u64>() {
                    Ok(0) if argument == "seeds" => {
                        return Err(Error::new_spanned(lit, text::NO_SEEDS));
                    }
                    Ok(_) => {}
                    Err(why) => {
                        let message = text::not_an_integer(&argument, &why);
                        return Err(Error::new_spanned(lit, message));
                    }
                }
                self.calls.extend(quote!(.#name(#number)));
            }
            (_, Some((_, Value::Bool)), Lit::Bool(value)) => {
                self.calls.extend(quote!(.#name(#value)));
            }
            ("schedule", _, Lit::Str(text)) if is_schedule(&text.value()) => {
                self.schedule = Some(text.clone());
            }
            ("schedule", _, Lit::Str(_)) => {
                return Err(Error::new_spanned(lit, text::NOT_A_SCHEDULE));
            }
            ("time", _, Lit::Str(text)) => self.time = Some(millis("time", text)?),
            ("max_time", _, Lit::Str(text)) => self.max_time = Some(millis("max_time", text)?),
            ("threads", _, Lit::Str(text)) if text.value() == "all" => self.threads = true,
            ("threads", ..) => return Err(Error::new_spanned(lit, text::NOT_ALL)),
            ("crate", _, Lit::Str(path)) => self.crate_path = Some(path.parse()?),
            (_, Some((_, Value::Number)), _) => {
                return Err(Error::new_spanned(lit, text::not_a("integer", &argument)));
            }
            (_, Some((_, Value::Bool)), _) => {
                return Err(Error::new_spanned(lit, text::not_a("bool", &argument)));
            }
            ("time" | "max_time", ..) => return Err(not_a_time(&argument, lit)),
            ("schedule" | "crate", ..) => {
                return Err(Error::new_spanned(lit, text::not_a("string", &argument)));
            }
            _ => return Err(Error::new_spanned(name, text::unknown_of_sim(&argument))),
        }
        self.given.push(argument);
        Ok(())
    }
}

/// Returns `true` if a text has the form of a schedule. The library reads it: it knows the largest numbers.
fn is_schedule(text: &str) -> bool {
    let is_number = |number: &str| number.parse::<u64>().is_ok();
    match text.split_once(':') {
        Some(("pct" | "exhaustive", number)) => is_number(number),
        Some(_) => false,
        None => SCHEDULES.contains(&text),
    }
}

/// The ends of times, and the milliseconds of each unit. The library reads the same ones from the environment.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Returns the milliseconds that the text of an argument means.
fn millis(argument: &str, text: &LitStr) -> Result<u64> {
    let value = text.value();
    let of_unit = |(end, millis): &(&str, u64)| Some((value.strip_suffix(end)?, *millis));
    let (count, millis) = UNITS.iter().find_map(of_unit).unwrap_or((&value, 1_000));
    let count = count
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then_some(count);
    let count = count.and_then(|count| count.parse::<u64>().ok());
    count
        .and_then(|count| count.checked_mul(millis))
        .ok_or_else(|| not_a_time(argument, text))
}

/// Returns the error about a value that is no time.
fn not_a_time(argument: &str, value: &impl ToTokens) -> Error {
    let source = value.to_token_stream().to_string();
    Error::new_spanned(value, text::not_a_time(argument, &source))
}

fn expand(around: Around, arguments: Arguments, mut function: Function) -> TokenStream {
    let (first, last) = function.last_statement();
    let krate = arguments.crate_path.as_ref().map_or_else(
        || (around.path)(Span::call_site().located_at(first)),
        ToTokens::to_token_stream,
    );
    let output = match std::mem::replace(&mut function.signature.output, ReturnType::Default) {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, output) => output.to_token_stream(),
    };
    function.signature.asyncness = None;
    let Function {
        attributes,
        visibility,
        signature,
        body,
    } = function;
    let calls = arguments.calls(&krate);
    let run = if arguments.threads {
        // The harness names a test without its crate.
        let name = signature.ident.to_string();
        quote! {.run_threads(
            {
                const NAME: &::core::primitive::str =
                    ::core::concat!(::core::module_path!(), "::", #name);
                #krate::sim::without_crate(NAME)
            },
            test,
        )}
    } else {
        quote!(.run_on_new_threads(test))
    };
    let needed = if arguments.threads {
        "sim-threads"
    } else {
        "sim"
    };
    let options = match (around.options)(needed) {
        none if none.is_empty() => quote!(),
        options => quote!(.cargo_options(#options)),
    };
    let future = quote!(dyn ::core::future::Future<Output = #output>);
    let mut call =
        quote_spanned!(last=> #krate::sim::Builder::new()#calls.from_env()#options #run;);
    if arguments.threads {
        // Without the feature, this macro is an error that names it.
        call = quote_spanned!(last=> #krate::sim::with_threads! { #call });
    }
    let run = quote_spanned! {last=>
        let test = || -> ::core::pin::Pin<::std::boxed::Box<#future>> {
            ::std::boxed::Box::pin(async move #body)
        };
        #call
    };
    let mut inside = Group::new(proc_macro2::Delimiter::Brace, run);
    inside.set_span(body.span());
    quote!(#(#attributes)* #[::core::prelude::v1::test] #visibility #signature #inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(arguments: &str, function: &str) -> String {
        let parse = |source: &str| -> TokenStream { source.parse().unwrap() };
        let around = Around {
            path: |_| quote!(::blitz_io),
            options: |_| String::new(),
        };
        let tokens = attribute(around, parse(arguments), parse(function));
        tokens.to_string().replace(' ', "")
    }

    #[test]
    fn arguments_are_methods_of_the_builder() {
        let text = expanded(
            "seed = 7, schedule = \"pct:3\", seeds = 200, allow_leaks = true",
            "async fn some() -> Result<(), String> { Ok(()) }",
        );
        let calls =
            "::blitz_io::sim::Builder::new().seed(7).seeds(200).allow_leaks(true).schedule({";
        assert!(text.contains(calls), "{text}");
        let schedule = "constSCHEDULE:::blitz_io::sim::Schedule=::blitz_io::sim::Schedule::literal(\"pct:3\");";
        assert!(text.contains(schedule), "{text}");
        assert!(
            text.contains("SCHEDULE}).from_env().run_on_new_threads(test);"),
            "{text}"
        );
        assert!(text.contains("Future<Output=Result<(),String>>"), "{text}");
        assert!(
            text.starts_with("#[::core::prelude::v1::test]fnsome(){"),
            "{text}"
        );
    }

    #[test]
    fn a_time_takes_the_place_of_the_number_of_runs() {
        let text = expanded("time = \"10m\"", "async fn some() {}");
        let limit = ".time_limit(::core::time::Duration::from_millis(600000u64))";
        assert!(text.contains(limit), "{text}");
        assert!(
            text.contains(
                ".seeds(::core::primitive::u64::MAX).schedule(::blitz_io::sim::Schedule::Guided)"
            ),
            "{text}"
        );
        let text = expanded(
            "time = \"10m\", seeds = 9, schedule = \"pos\"",
            "async fn some() {}",
        );
        assert!(
            text.contains(limit) && !text.contains("MAX") && !text.contains("Guided"),
            "{text}"
        );
    }

    #[test]
    fn all_orders_have_no_limit() {
        let has_limit = |arguments: &str| {
            let text = expanded(arguments, "async fn some() {}");
            !text.contains(".seeds(::core::primitive::u64::MAX)")
        };
        assert!(!has_limit("schedule = \"exhaustive\""));
        assert!(!has_limit("schedule = \"exhaustive:2\""));
        assert!(has_limit("schedule = \"exhaustive\", seeds = 9"));
        assert!(has_limit("schedule = \"exhaustive\", threads = \"all\""));
        assert!(has_limit("schedule = \"pos\""));
    }

    #[test]
    fn simulated_time_may_be_limited() {
        let text = expanded(
            "max_time = \"10s\", shrink = false, check_sometimes = true",
            "async fn some() {}",
        );
        let limit = ".shrink(false).check_sometimes(true)\
            .max_time(::core::time::Duration::from_millis(10000u64))";
        assert!(text.contains(limit), "{text}");
        // Unlike `time`, this is no limit of the search.
        assert!(!text.contains("MAX") && !text.contains("Guided"), "{text}");
    }

    #[test]
    fn units_are_from_milliseconds_to_hours() {
        let of = |text: &str| millis("time", &LitStr::new(text, Span::call_site())).ok();
        let times = [
            ("7", 7_000),
            ("7s", 7_000),
            ("250ms", 250),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("0s", 0),
        ];
        for (text, millis) in times {
            assert_eq!(of(text), Some(millis), "{text}");
        }
        let wrong = [
            "",
            "s",
            "m",
            "-1s",
            "+1s",
            "1.5s",
            "1 s",
            "1d",
            "10ss",
            "6000000000000h",
        ];
        for text in wrong {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn threads_need_the_name_of_the_test() {
        let text = expanded(
            "threads = \"all\", time = \"10m\", allow_leaks = true",
            "async fn some() {}",
        );
        assert!(text.contains(".allow_leaks(true)"), "{text}");
        assert!(text.contains("module_path!(),\"::\",\"some\")"), "{text}");
        assert!(text.contains(".from_env().run_threads({"), "{text}");
        assert!(!text.contains("Guided"), "{text}");
        let macro_call = "::blitz_io::sim::with_threads!{::blitz_io::sim::Builder::new()";
        assert!(text.contains(macro_call), "{text}");
    }

    #[test]
    fn the_command_of_a_failure_has_the_options_of_cargo() {
        let around = Around {
            path: |_| quote!(::tokio),
            options: |feature| format!("--features tokio/{feature} "),
        };
        for (arguments, call) in [
            (
                quote!(),
                ".cargo_options(\"--features tokio/sim \").run_on_new_threads(",
            ),
            (
                quote!(threads = "all"),
                ".cargo_options(\"--features tokio/sim-threads \").run_threads(",
            ),
        ] {
            let text = attribute(
                around,
                arguments,
                quote!(
                    async fn some() {}
                ),
            )
            .to_string();
            let (text, call) = (text.replace(' ', ""), call.replace(' ', ""));
            assert!(text.contains(&call), "{text}");
        }
    }

    #[test]
    fn the_crate_may_have_another_path() {
        let text = expanded("crate = \"other::path\"", "async fn some() {}");
        assert!(
            text.contains("other::path::sim::Builder::new().from_env()"),
            "{text}"
        );
    }

    #[test]
    fn each_schedule_is_known() {
        for schedule in ["pct:3", "exhaustive:2"].iter().chain(&SCHEDULES) {
            let text = expanded(&format!("schedule = {schedule:?}"), "async fn some() {}");
            assert!(!text.contains("compile_error"), "{text}");
        }
    }

    #[test]
    fn a_missing_feature_is_named() {
        let text = no_feature().to_string();
        assert!(text.contains("compile_error"), "{text}");
        assert!(text.contains("cargo test --features sim"), "{text}");
    }

    #[test]
    fn misuse_is_reported() {
        let wrong = [
            ("seed = \"7\"", "asinteger"),
            ("seeds = -1", "asinteger"),
            ("seeds = 0", "maynotbe0"),
            ("allow_leaks = 1", "asbool"),
            ("schedule = 3", "asstring"),
            ("schedule = \"foo\"", "Theschedulesare"),
            ("schedule = \"pct\"", "Theschedulesare"),
            ("schedule = \"pct:x\"", "Theschedulesare"),
            ("schedule = \"pos:3\"", "Theschedulesare"),
            (
                "time = 10",
                "valueof`time`asatime:10.Atimeisatextwithanumberofseconds",
            ),
            ("max_time = true", "valueof`max_time`asatime:true."),
            ("time = \"10x\"", "valueof`time`asatime:\\\"10x\\\""),
            ("max_time = \"\"", "valueof`max_time`asatime:\\\"\\\""),
            ("threads = \"all\", max_time = \"10s\"", "max_time"),
            ("threads = \"one\"", "onlyvalue"),
            ("threads = 3", "onlyvalue"),
            ("threads = \"all\", allow_panics = true", "allow_panics"),
            (
                "check_determinism = true, threads = \"all\"",
                "check_determinism",
            ),
            ("seed = 1, seed = 2", "multipletimes"),
            ("flavor = \"local\"", "Unknownattributeflavor"),
            ("seed", "Unknownattributeinside"),
        ];
        for (arguments, message) in wrong {
            let text = expanded(arguments, "async fn some() {}");
            assert!(text.contains("compile_error"), "{arguments}: {text}");
            assert!(text.contains(message), "{arguments}: {text}");
        }
        let functions = [
            ("fn some() {}", "async"),
            ("async fn some(x: u8) {}", "argument"),
            ("#[test] async fn some() {}", "secondtest"),
        ];
        for (function, message) in functions {
            let text = expanded("", function);
            assert!(
                text.contains("compile_error") && text.contains(message),
                "{text}"
            );
        }
    }
}
