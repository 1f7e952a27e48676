//! The graph of waits as a picture, and a page with it and the report.

use blitz_io_inspect::{Answer, dot_of_findings, report};
use layout::backends::svg::SVGWriter;
use layout::gv::{DotParser, GraphBuilder};

/// Returns the graph as SVG.
pub fn svg(answer: &Answer) -> Result<String, String> {
    if answer.snapshot.waits.is_empty() {
        return Ok(EMPTY.into());
    }
    let text = dot_of_findings(&answer.snapshot, &answer.findings);
    let graph = DotParser::new(&text).process()?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut writer = SVGWriter::new();
    builder.get().do_it(false, false, false, &mut writer);
    Ok(writer.finalize())
}

/// The layout has no picture of a graph without nodes.
const EMPTY: &str = "<svg width=\"200\" height=\"40\" xmlns=\"http://www.w3.org/2000/svg\">\
                     <text x=\"10\" y=\"25\">no waits</text></svg>";

/// Style of the page. In dark mode the picture's colours are inverted, but keep their hues: a certain finding is red.
/// On a phone, the picture scrolls apart from the page.
pub const STYLE: &str = ":root { color-scheme: light dark } \
    body { font-family: sans-serif; margin: 1em } \
    .picture { overflow-x: auto } svg { height: auto } \
    pre { white-space: pre-wrap; overflow-wrap: anywhere } \
    @media (min-width: 60em) { svg { max-width: 100% } } \
    @media (prefers-color-scheme: dark) { svg { filter: invert(1) hue-rotate(180deg) } }";

/// Turned, the orange of a probable finding is nearly as dark as the page.
const OWN: &str = "@media (prefers-color-scheme: dark) { svg { filter: invert(1) hue-rotate(180deg) brightness(1.8) } }";

/// Returns a page without links to other files. The findings come first: on a phone, the picture shows a corner of
/// itself only.
pub fn html(name: &str, answer: &Answer) -> Result<String, String> {
    let picture = svg(answer)?;
    // The XML declaration is not for a picture within a page.
    let picture = picture.find("<svg").map_or("", |at| &picture[at..]);
    let title = escaped(&format!("{name} ({})", answer.snapshot.pid));
    let report = escaped(&report(&answer.snapshot, &answer.findings));
    let (findings, waits) = report.split_once("\n\n").unwrap_or((&report, ""));
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE} {OWN}</style>\n\
         </head>\n<body>\n<h1>{title}</h1>\n<pre>{findings}</pre>\n<div class=\"picture\">{picture}</div>\n\
         <pre>{waits}</pre>\n</body>\n</html>\n"
    ))
}

/// Returns the text with its markup escaped, for HTML and XML.
pub fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
