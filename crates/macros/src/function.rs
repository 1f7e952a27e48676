//! The function an attribute stands on. Its body is taken as it is, token by token: what
//! is wrong in there the compiler finds by itself, in its own words and at the right place.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{AttrStyle, Attribute, Path, PathArguments, Result, Signature, Visibility};

pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    /// In its own braces.
    pub(crate) body: Group,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature = input.parse()?;
        let braces: Group = input.parse()?;
        if braces.delimiter() != Delimiter::Brace {
            return Err(syn::Error::new(braces.span(), "expected curly braces"));
        }
        let inside = |input: ParseStream<'_>| {
            let inner = Attribute::parse_inner(input)?;
            Ok((inner, input.parse::<TokenStream>()?))
        };
        let (inner, tokens) = inside.parse2(braces.stream())?;
        // The body becomes an `async` block, which cannot have attributes inside.
        attributes.extend(inner.into_iter().map(|attribute| Attribute {
            style: AttrStyle::Outer,
            ..attribute
        }));
        let mut body = Group::new(Delimiter::Brace, tokens);
        body.set_span(braces.span());
        Ok(Self {
            attributes,
            visibility,
            signature,
            body,
        })
    }
}

impl Function {
    /// An attribute that makes a test of the function already.
    pub(crate) fn test_attribute(&self) -> Option<&Attribute> {
        self.attributes
            .iter()
            .find(|attribute| match attribute.meta {
                syn::Meta::Path(ref path) => is_test(path),
                _ => false,
            })
    }

    /// The first and the last token of the last statement. When types do not match, the
    /// compiler points to code that we generate; this is where the user looks for it.
    pub(crate) fn last_statement(&self) -> (Span, Span) {
        let mut first: Option<Span> = None;
        let mut last = None;
        let mut between = true;
        for token in self.body.stream() {
            if between {
                first = Some(token.span());
            }
            between = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ';');
            last = Some(token.span());
        }
        let first = first.unwrap_or_else(Span::call_site);
        (first, last.unwrap_or(first))
    }
}

/// `test`, or its full name in the standard library's preludes: the four that Tokio knows.
fn is_test(path: &Path) -> bool {
    if path
        .segments
        .iter()
        .any(|segment| !matches!(segment.arguments, PathArguments::None))
    {
        return false;
    }
    let names: Vec<_> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => path.leading_colon.is_none(),
        [library, "prelude", _, "test"] => matches!(library, "core" | "std"),
        _ => false,
    }
}
