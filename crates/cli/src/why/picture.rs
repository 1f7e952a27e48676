//! The graph of waits as a picture, and a page with it and the report.

use blitz_io_inspect::{Answer, dot_of_findings, report_within};
use layout::gv::{DotParser, GraphBuilder};

use super::measured::Measured;

/// Returns the graph as SVG.
pub fn svg(answer: &Answer) -> Result<String, String> {
    drawn(answer).map(|(picture, _)| picture)
}

/// Returns the picture, and its width in pixels.
fn drawn(answer: &Answer) -> Result<(String, u32), String> {
    if answer.snapshot.waits.is_empty() {
        return Ok((EMPTY.into(), 200));
    }
    let text = dot_of_findings(&answer.snapshot, &answer.findings);
    let graph = DotParser::new(&text).process()?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut writer = Measured::new();
    builder.get().do_it(false, false, false, &mut writer);
    Ok(writer.finish())
}

/// The layout has no picture of a graph without nodes.
const EMPTY: &str = "<svg width=\"200\" height=\"40\" xmlns=\"http://www.w3.org/2000/svg\">\
                     <text x=\"10\" y=\"25\">no waits</text></svg>";

/// Style of pages with a picture. On a phone, the picture scrolls apart from the page.
pub const STYLE: &str = ":root { color-scheme: light dark } \
    body { font-family: sans-serif; margin: 1em } \
    .picture { overflow-x: auto } svg { height: auto } \
    pre { white-space: pre-wrap; overflow-wrap: anywhere } \
    @media (min-width: 60em) { svg { max-width: 100% } }";

/// The style of this page alone.
///
/// 1. A line of the report has up to 60 letters, and fits on a phone.
/// 2. A picture is as wide as there is room, but not so small that its text cannot be read.
/// 3. On a wide window, the report stands beside a narrow picture, and in two columns above a wide one.
/// 4. In dark mode each colour of the picture has another one. Inverted, red would be nearly white.
const OWN: &str = "h1 { overflow-wrap: anywhere; font-size: 1.4em } \
    pre { margin: 0; font-size: clamp(9px, 2.45vw, 13px) } .picture svg { max-width: 100% } \
    main { display: grid; gap: 1.5em; grid-template: \"findings\" \"picture\" \"waits\" / minmax(0, 1fr) } \
    .findings { grid-area: findings } .picture { grid-area: picture } .waits { grid-area: waits } \
    @media (min-width: 60em) { \
    main { grid-template: \"findings waits\" \"picture picture\" / max-content minmax(0, 1fr) } \
    } @media (min-width: 75em) { \
    main.narrow { grid-template: \"findings picture\" \"waits picture\" 1fr / max-content minmax(0, 1fr) } } \
    @media (prefers-color-scheme: dark) { svg text { fill: #eee } svg rect { fill: #222 } \
    [stroke=\"#000000ff\"] { stroke: #ddd } [stroke=\"#ff0000ff\"] { stroke: #f66 } [stroke=\"#ffa500ff\"] { stroke: #fb4 } }";

/// The columns of the report beside a picture.
const COLUMNS: usize = 60;
/// The width up to which a picture stands beside the report, in pixels.
const NARROW: u32 = 900;

/// Returns a page without links to other files. The findings come first: on a phone, a wide picture shows a part of itself
/// only.
pub fn html(name: &str, answer: &Answer) -> Result<String, String> {
    let (picture, width) = drawn(answer)?;
    // The XML declaration is not for a picture within a page.
    let picture = picture.find("<svg").map_or("", |at| &picture[at..]);
    // Its text has 14 pixels, and at least nine.
    let picture = picture.replacen(
        "<svg",
        &format!("<svg style=\"min-width: {}px\"", width * 9 / 14),
        1,
    );
    let title = escaped(&format!("{name} ({})", answer.snapshot.pid));
    let report = escaped(&report_within(&answer.snapshot, &answer.findings, COLUMNS));
    let (findings, waits) = report.split_once("\n\n").unwrap_or((&report, ""));
    let class = if width <= NARROW { "narrow" } else { "wide" };
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE} {OWN}</style>\n\
         </head>\n<body>\n<h1>{title}</h1>\n<main class=\"{class}\">\n<pre class=\"findings\">{findings}</pre>\n\
         <div class=\"picture\">{picture}</div>\n<pre class=\"waits\">{waits}</pre>\n</main>\n</body>\n</html>\n"
    ))
}

/// Returns the text with its markup escaped, for HTML and XML.
pub fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
