//! The arguments of the attributes: `flavor = "…", worker_threads = 4, …`.
//!
//! Each may be given once. Combinations are checked after all of them have been read, so
//! their order does not matter.

use proc_macro2::{Span, TokenStream};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Lit, Meta, Path, Result, Token};

use crate::purpose::{Flavor, Purpose};
use crate::text;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum UnhandledPanic {
    Ignore,
    ShutdownRuntime,
}

/// A value and its position in the source.
struct Given<T> {
    value: T,
    span: Span,
}

/// The arguments as written.
#[derive(Default)]
struct Written {
    flavor: Option<Given<Flavor>>,
    worker_threads: Option<Given<usize>>,
    start_paused: Option<Given<bool>>,
    unhandled_panic: Option<Given<UnhandledPanic>>,
    crate_path: Option<Given<Path>>,
    name: Option<Given<String>>,
    deadlock: Option<Given<()>>,
}

/// The runtime to build.
pub(crate) struct Arguments {
    pub(crate) flavor: Flavor,
    pub(crate) worker_threads: Option<usize>,
    pub(crate) start_paused: Option<bool>,
    pub(crate) unhandled_panic: Option<UnhandledPanic>,
    pub(crate) crate_path: Option<Path>,
    pub(crate) name: Option<String>,
    /// A deadlock is a panic.
    pub(crate) deadlock_panics: bool,
}

impl Arguments {
    /// Returns the arguments for a function whose real ones are wrong. It is expanded
    /// anyway, so that editors can analyse its body.
    pub(crate) fn after_an_error() -> Self {
        Self {
            flavor: Flavor::CurrentThread,
            worker_threads: None,
            start_paused: None,
            unhandled_panic: None,
            crate_path: None,
            name: None,
            deadlock_panics: false,
        }
    }

    pub(crate) fn parse(purpose: Purpose, tokens: TokenStream) -> Result<Self> {
        let mut written = Written::default();
        for meta in Punctuated::<Meta, Token![,]>::parse_terminated.parse2(tokens)? {
            written.add(purpose, &meta)?;
        }
        written.check(purpose)
    }
}

impl Written {
    fn add(&mut self, purpose: Purpose, meta: &Meta) -> Result<()> {
        let Meta::NameValue(pair) = meta else {
            return Err(without_value(purpose, meta));
        };
        let argument = argument_name(&pair.path, meta)?;
        let Expr::Lit(ExprLit { lit, .. }) = &pair.value else {
            return Err(Error::new_spanned(&pair.value, text::NOT_A_LITERAL));
        };
        match argument.as_str() {
            "flavor" => set(&mut self.flavor, &argument, lit, flavor),
            "worker_threads" => set(&mut self.worker_threads, &argument, lit, worker_threads),
            "start_paused" => set(&mut self.start_paused, &argument, lit, boolean),
            "unhandled_panic" => set(&mut self.unhandled_panic, &argument, lit, panic_policy),
            "crate" => set(&mut self.crate_path, &argument, lit, path),
            "name" => set(&mut self.name, &argument, lit, string),
            "deadlock" => set(&mut self.deadlock, &argument, lit, deadlock_policy),
            "core_threads" => Err(Error::new_spanned(meta, text::CORE_THREADS)),
            unknown => Err(Error::new_spanned(meta, text::unknown(unknown))),
        }
    }

    /// Checks that the arguments can be combined.
    fn check(self, purpose: Purpose) -> Result<Arguments> {
        let flavor = self
            .flavor
            .map_or(purpose.default_flavor(), |given| given.value);
        let only = |argument, needed, span: Option<Span>| match span {
            Some(span) => Err(Error::new(
                span,
                text::other_flavor(argument, needed, purpose),
            )),
            None => Ok(()),
        };
        if flavor == Flavor::MultiThread {
            let one = Flavor::CurrentThread;
            only("start_paused", one, span_of(&self.start_paused))?;
            only("unhandled_panic", one, span_of(&self.unhandled_panic))?;
        } else {
            let many = Flavor::MultiThread;
            only("worker_threads", many, span_of(&self.worker_threads))?;
        }
        Ok(Arguments {
            flavor,
            worker_threads: self.worker_threads.map(|given| given.value),
            start_paused: self.start_paused.map(|given| given.value),
            unhandled_panic: self.unhandled_panic.map(|given| given.value),
            crate_path: self.crate_path.map(|given| given.value),
            name: self.name.map(|given| given.value),
            deadlock_panics: self.deadlock.is_some(),
        })
    }
}

fn span_of<T>(given: &Option<Given<T>>) -> Option<Span> {
    given.as_ref().map(|given| given.span)
}

/// Returns the name of an argument. Case does not matter, as with Tokio.
fn argument_name(path: &Path, whole: &Meta) -> Result<String> {
    path.get_ident()
        .map(|ident| ident.to_string().to_lowercase())
        .ok_or_else(|| Error::new_spanned(whole, text::NOT_AN_IDENT))
}

/// Returns the error for anything but `argument = value`.
fn without_value(purpose: Purpose, meta: &Meta) -> Error {
    let Meta::Path(path) = meta else {
        return Error::new_spanned(meta, text::NOT_AN_ARGUMENT);
    };
    let argument = match argument_name(path, meta) {
        Ok(argument) => argument,
        Err(error) => return error,
    };
    let message = match argument.as_str() {
        "threaded_scheduler" | "multi_thread" => text::bare_flavor(purpose, "multi_thread"),
        "basic_scheduler" | "current_thread" | "single_threaded" => {
            text::bare_flavor(purpose, "current_thread")
        }
        "flavor" | "worker_threads" | "start_paused" | "crate" | "unhandled_panic" | "name"
        | "deadlock" => text::without_value(&argument),
        unknown => text::unknown(unknown),
    };
    Error::new_spanned(path, message)
}

/// Reads a value from the literal and the argument's name; fails with a message.
type Reader<T> = fn(&Lit, &str) -> std::result::Result<T, String>;

fn set<T>(place: &mut Option<Given<T>>, argument: &str, lit: &Lit, read: Reader<T>) -> Result<()> {
    let span = lit.span();
    if place.is_some() {
        return Err(Error::new(span, text::twice(argument)));
    }
    let value = read(lit, argument).map_err(|message| Error::new(span, message))?;
    *place = Some(Given { value, span });
    Ok(())
}

fn string(lit: &Lit, argument: &str) -> std::result::Result<String, String> {
    match lit {
        Lit::Str(string) => Ok(string.value()),
        Lit::Verbatim(tokens) => Ok(tokens.to_string()),
        _ => Err(text::not_a("string", argument)),
    }
}

fn flavor(lit: &Lit, argument: &str) -> std::result::Result<Flavor, String> {
    let name = string(lit, argument)?;
    Flavor::named(&name).ok_or_else(|| text::unknown_flavor(&name))
}

fn worker_threads(lit: &Lit, argument: &str) -> std::result::Result<usize, String> {
    let Lit::Int(number) = lit else {
        return Err(text::not_a("integer", argument));
    };
    match number.base10_parse() {
        Ok(0) => Err(text::NO_WORKERS.into()),
        Ok(workers) => Ok(workers),
        Err(why) => Err(text::not_an_integer(argument, &why)),
    }
}

fn boolean(lit: &Lit, argument: &str) -> std::result::Result<bool, String> {
    match lit {
        Lit::Bool(boolean) => Ok(boolean.value),
        _ => Err(text::not_a("bool", argument)),
    }
}

fn panic_policy(lit: &Lit, argument: &str) -> std::result::Result<UnhandledPanic, String> {
    match string(lit, argument)?.as_str() {
        "ignore" => Ok(UnhandledPanic::Ignore),
        "shutdown_runtime" => Ok(UnhandledPanic::ShutdownRuntime),
        unknown => Err(text::unknown_panic_policy(unknown)),
    }
}

fn deadlock_policy(lit: &Lit, argument: &str) -> std::result::Result<(), String> {
    match string(lit, argument)?.as_str() {
        "panic" => Ok(()),
        unknown => Err(text::unknown_deadlock_policy(unknown)),
    }
}

fn path(lit: &Lit, argument: &str) -> std::result::Result<Path, String> {
    let Lit::Str(string) = lit else {
        return Err(text::not_a("path", argument));
    };
    string
        .parse()
        .map_err(|_| text::not_a_path(argument, &string.value()))
}
