//! The function that has the attribute. Its body is kept as tokens, so that the compiler
//! reports mistakes in it as in any function.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{AttrStyle, Attribute, Path, PathArguments, Result, Signature, Visibility};

pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) signature: Signature,
    /// The body with its braces.
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
    /// Returns an attribute that already makes the function a test.
    pub(crate) fn test_attribute(&self) -> Option<&Attribute> {
        self.attributes
            .iter()
            .find(|attribute| match attribute.meta {
                syn::Meta::Path(ref path) => is_test(path),
                _ => false,
            })
    }

    /// Returns the first and the last token of the last statement. If types do not match, the
    /// compiler points to generated code; with these spans it shows that statement.
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

/// Returns whether the path is `test`, or one of its full names in the standard library's
/// preludes.
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
