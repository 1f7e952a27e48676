//! Values are added to an array of a manifest, and removed from it. The rest then looks as if they had never been there: the
//! spaces, the lines, and the comments of the other values stay.

use toml_edit::{Array, RawString, Value};

/// Adds a text at the end, in a line of its own if the last value has one.
pub fn add_text(array: &mut Array, added: &str) {
    let mut value = Value::from(added);
    let trailing = text(Some(array.trailing()));
    let Some(last) = array.len().checked_sub(1).and_then(|at| array.get_mut(at)) else {
        value.decor_mut().set_prefix("");
        array.push_formatted(value);
        return;
    };
    let [before, after] = [last.decor().prefix(), last.decor().suffix()].map(text);
    // What follows the last value, up to the bracket: spaces, or a comment and lines.
    let end = after + &trailing;
    last.decor_mut().set_suffix("");
    let Some((comments, rest)) = end.rsplit_once('\n') else {
        value.decor_mut().set_prefix(" ");
        array.push_formatted(value);
        array.set_trailing(end);
        return;
    };
    let indent = before
        .rsplit_once('\n')
        .map_or("    ", |(_, indent)| indent);
    value
        .decor_mut()
        .set_prefix(format!("{comments}\n{indent}"));
    let rest = format!("\n{rest}");
    array.push_formatted(value);
    array.set_trailing(rest);
}

/// Removes the texts that are unwanted, and returns them.
pub fn remove_texts(array: &mut Array, is_unwanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut removed = Vec::new();
    let mut at = 0;
    while let Some(value) = array.get(at) {
        match value.as_str().filter(|text| is_unwanted(text)) {
            Some(text) => {
                removed.push(text.to_owned());
                remove(array, at);
            }
            None => at += 1,
        }
    }
    removed
}

/// Removes a value, the comments above it, and the comment in its line.
fn remove(array: &mut Array, at: usize) {
    let removed = array.remove(at);
    let [before, after] = [removed.decor().prefix(), removed.decor().suffix()].map(text);
    if let Some(next) = array.get_mut(at) {
        let own = text(next.decor().prefix());
        next.decor_mut().set_prefix(joined(&before, &own, &before));
        return;
    }
    let end = after + &text(Some(array.trailing()));
    let end = joined(&before, &end, &end);
    if array.is_empty() && !end.contains('#') {
        array.set_trailing("");
        array.set_trailing_comma(false);
    } else {
        array.set_trailing(end);
    }
}

/// Joins the texts before and after a removed value. A comment in the line of a value begins the text after it. So the first
/// line of `before` belongs to the previous value, and the first line of `after` to the removed value.
/// `same_line`: the result if all of `after` is in one line.
fn joined(before: &str, after: &str, same_line: &str) -> String {
    let Some(end) = after.find('\n') else {
        return same_line.to_owned();
    };
    let first = before.split_once('\n').map_or("", |(first, _)| first);
    format!("{first}{}", &after[end..])
}

fn text(raw: Option<&RawString>) -> String {
    let text = raw.and_then(RawString::as_str);
    text.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_added_as_the_others_are() {
        for (old, new) in [
            ("[]", r#"["x"]"#),
            (r#"["a"]"#, r#"["a", "x"]"#),
            (r#"[ "a" ]"#, r#"[ "a", "x" ]"#),
            ("[\n  \"a\",\n]", "[\n  \"a\",\n  \"x\",\n]"),
            ("[\n\t\"a\"\n]", "[\n\t\"a\",\n\t\"x\"\n]"),
            ("[\n  \"a\", # of a\n]", "[\n  \"a\", # of a\n  \"x\",\n]"),
            ("[\n  \"a\" # of a\n]", "[\n  \"a\", # of a\n  \"x\"\n]"),
        ] {
            let value: Value = old.parse().expect("it is TOML");
            let Value::Array(mut array) = value else {
                panic!("{old} is no array");
            };
            add_text(&mut array, "x");
            assert_eq!(array.to_string().trim(), new, "{old}");
        }
    }

    #[test]
    fn the_rest_looks_as_if_the_values_had_never_been_there() {
        for (old, new) in [
            (r#"["x", "a"]"#, r#"["a"]"#),
            (r#"["a", "x"]"#, r#"["a"]"#),
            (r#"["a", "x", "b"]"#, r#"["a", "b"]"#),
            (r#"["x", "x", "a", "x"]"#, r#"["a"]"#),
            (r#"[ "x", "a" ]"#, r#"[ "a" ]"#),
            (r#"[ "a", "x" ]"#, r#"[ "a" ]"#),
            (r#"["a", "x", ]"#, r#"["a", ]"#),
            (r#"["x"]"#, "[]"),
            (r#"[ "x", ]"#, "[]"),
            ("[\n  \"x\",\n]", "[]"),
            ("[\n  \"x\",\n  \"a\",\n]", "[\n  \"a\",\n]"),
            ("[\n  \"a\",\n  \"x\",\n]", "[\n  \"a\",\n]"),
            ("[\n  \"a\",\n  \"x\"\n]", "[\n  \"a\"\n]"),
            (
                "[\n  \"x\", \"a\",\n  \"b\",\n]",
                "[\n  \"a\",\n  \"b\",\n]",
            ),
            // A comment stays with its value.
            (
                "[\n  \"a\", # of a\n  \"x\", # of x\n  \"b\", # of b\n]",
                "[\n  \"a\", # of a\n  \"b\", # of b\n]",
            ),
            (
                "[\n  # of a\n  \"a\",\n  # of x\n  \"x\", # too\n]",
                "[\n  # of a\n  \"a\",\n]",
            ),
            (
                "[\n  # of x\n  \"x\",\n  # of a\n  \"a\"\n]",
                "[\n  # of a\n  \"a\"\n]",
            ),
            ("[\n  \"x\",\n  # more later\n]", "[\n  # more later\n]"),
        ] {
            let value: Value = old.parse().expect("it is TOML");
            let Value::Array(mut array) = value else {
                panic!("{old} is no array");
            };
            let removed = remove_texts(&mut array, |text| text == "x");
            assert_eq!(array.to_string().trim(), new, "{old}");
            assert_eq!(removed.len(), old.matches("\"x\"").count(), "{old}");
            let again: Value = array.to_string().trim().parse().expect("it is TOML");
            assert_eq!(again.as_array().map(|again| again.len()), Some(array.len()));
        }
    }
}
