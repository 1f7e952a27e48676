//! Templates: a file holds the layout of a report, code computes its figures.

use minijinja::{Environment, UndefinedBehavior, Value};

/// Fills the template with `values`. Text in a template whose name ends in `.html` or `.svg`
/// is escaped.
pub(super) fn render(name: &str, source: &str, values: Value) -> String {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| match name.rsplit('.').next() {
        Some("html" | "svg") => minijinja::AutoEscape::Html,
        _ => minijinja::AutoEscape::None,
    });
    let page = environment.render_named_str(name, source, values);
    page.unwrap_or_else(|error| panic!("the template {name} does not fit its values: {error}"))
}
