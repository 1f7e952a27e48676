//! The report as one page without links to other files.

use std::fmt::Write as _;

use blitz_io_inspect::trace::{Category, Contended, Node, Report, Split, Tasks, time};

use crate::why::picture::escaped;

/// Number of requests that the page has as trees.
pub(super) const REQUESTS: usize = 100;
/// The height of the highest bar, in pixels.
const HEIGHT: u64 = 120;
/// The width of a bar with its gap, in pixels.
const WIDTH: usize = 24;
/// The width of the text below a bar, in pixels: the last bar may have one.
const LABEL: usize = 70;

const STYLE: &str = ":root { color-scheme: light dark } \
    body { font-family: sans-serif; margin: 1em; max-width: 70em } \
    table { border-collapse: collapse } td, th { padding: .2em .8em; text-align: right } \
    td.text { text-align: left } .wide { overflow-x: auto } h1, summary { overflow-wrap: anywhere } \
    .bar { fill: #4a7ebb } a:hover .bar { fill: #d9822b } text { fill: currentColor; font-size: 10px } \
    details { margin-left: 1.2em } .share { display: inline-block; height: .7em; background: #4a7ebb } \
    .at { opacity: .7 } :target { outline: 2px solid #d9822b }";

/// Returns the page.
pub(super) fn html(report: &Report) -> String {
    let title = escaped(&report.command);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    _ = writeln!(
        page,
        "<p>{} in {}, {} unfinished; {} events, {} lost</p>",
        requests(report.all.count),
        time(report.nanos),
        report.unfinished,
        report.events,
        report.lost
    );
    for one in &report.requests {
        _ = writeln!(
            page,
            "<h2>{}</h2>\n<p>{}; p50 {}, p90 {}, p99 {}, max {}</p>",
            escaped(&one.name),
            requests(one.count),
            time(one.p50),
            time(one.p90),
            time(one.p99),
            time(one.max)
        );
        let link = |bucket| {
            let mut nodes = report.paths.iter().enumerate();
            let name = format!("{} (request ", one.name);
            let is_it =
                |node: &Node| node.what.starts_with(&name) && bucket_of(node.nanos) == bucket;
            nodes.find(|(_, node)| is_it(node)).map(|(at, _)| at)
        };
        bars(&mut page, &one.histogram, link);
    }
    if report.all.count != 0 {
        split(&mut page, "All requests", &report.all);
        split(&mut page, "The slowest percentile", &report.slowest);
        if let Some(line) = report.longest_poll_text() {
            _ = writeln!(page, "<p>{}</p>", escaped(&line));
        }
    }
    tasks(&mut page, &report.tasks);
    objects(&mut page, report);
    if !report.paths.is_empty() {
        page.push_str("<h2>The slowest requests</h2>\n");
    }
    for (at, node) in report.paths.iter().enumerate() {
        _ = writeln!(page, "<div id=\"request-{at}\">");
        tree(&mut page, node, node.nanos, "in");
        page.push_str("</div>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn requests(count: usize) -> String {
    format!("{count} request{}", if count == 1 { "" } else { "s" })
}

/// Returns the range of a latency in a histogram of the report.
fn bucket_of(nanos: u64) -> usize {
    (u64::BITS - (nanos / 1_000).leading_zeros()) as usize
}

/// Draws a histogram. A bar leads to a request of its range, if the page has one.
fn bars(page: &mut String, counts: &[u64], link: impl Fn(usize) -> Option<usize>) {
    let used = |at: &usize| counts[*at] != 0;
    let Some(first) = (0..counts.len()).find(used) else {
        return;
    };
    let last = (0..counts.len()).rev().find(used).unwrap_or(first);
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let width = (last - first) * WIDTH + LABEL;
    _ = writeln!(
        page,
        "<div class=\"wide\"><svg width=\"{width}\" height=\"{}\" role=\"img\" aria-label=\"latencies\">",
        HEIGHT + 30
    );
    for (at, &count) in counts.iter().enumerate().take(last + 1).skip(first) {
        let x = (at - first) * WIDTH;
        let height = (count * HEIGHT).div_ceil(most);
        let below = time(1_000 << at);
        let bar = format!(
            "<rect class=\"bar\" x=\"{x}\" y=\"{}\" width=\"{}\" height=\"{height}\"><title>{count} below {below}</title></rect>",
            HEIGHT - height,
            WIDTH - 4
        );
        match link(at) {
            Some(request) => _ = writeln!(page, "<a href=\"#request-{request}\">{bar}</a>"),
            None => _ = writeln!(page, "{bar}"),
        }
        if (at - first) % 3 == 0 {
            _ = writeln!(
                page,
                "<text x=\"{x}\" y=\"{}\">&lt; {below}</text>",
                HEIGHT + 14
            );
        }
    }
    page.push_str("</svg></div>\n");
}

fn percent(part: u64, of: u64) -> f64 {
    part as f64 * 100.0 / of.max(1) as f64
}

fn split(page: &mut String, title: &str, split: &Split) {
    _ = writeln!(
        page,
        "<h2>{title}</h2>\n<p>{}, from {}</p>\n<div class=\"wide\"><table>",
        requests(split.count),
        time(split.from)
    );
    for share in &split.causes {
        let part = percent(share.nanos, split.nanos);
        if part < 0.1 {
            continue;
        }
        let behind = match &share.behind {
            Some(behind) => format!(", behind {}", escaped(behind)),
            None => String::new(),
        };
        _ = writeln!(
            page,
            "<tr><td>{part:.1} %</td><td>{}</td><td class=\"text\"><span class=\"share\" style=\"width:{part:.1}px\"></span> \
             {} {} <span class=\"at\">{}{behind}</span></td></tr>",
            time(share.nanos),
            share.category.name(),
            escaped(&share.what),
            escaped(&share.at)
        );
    }
    page.push_str("</table></div>\n");
}

/// Writes the time of tasks, in a report without requests.
fn tasks(page: &mut String, lines: &[Tasks]) {
    if lines.is_empty() {
        return;
    }
    page.push_str(
        "<h2>Tasks, by the line that spawned them</h2>\n<div class=\"wide\"><table>\n<tr><th>number</th>\
         <th>running</th><th>runnable</th><th>longest poll</th><th>it ran for</th><th></th></tr>\n",
    );
    for line in lines {
        _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{} <span class=\"at\">{}</span></td></tr>",
            line.count,
            time(line.nanos(Category::Running)),
            time(line.nanos(Category::Runnable)),
            time(line.longest_poll),
            time(line.longest_poll_running),
            line.what,
            escaped(&line.at)
        );
    }
    page.push_str("</table></div>\n");
    for line in lines {
        let title = format!("What {} {} waited for", line.what, line.at);
        contended(page, &title, &line.waits);
    }
}

fn objects(page: &mut String, report: &Report) {
    let title = if report.tasks.is_empty() {
        "What cost all requests most"
    } else {
        "What tasks and threads waited for, because others used it"
    };
    contended(page, title, &report.objects);
}

fn contended(page: &mut String, title: &str, objects: &[Contended]) {
    if objects.is_empty() {
        return;
    }
    _ = writeln!(
        page,
        "<h2>{}</h2>\n<div class=\"wide\"><table>\n\
         <tr><th>time</th><th>waits</th><th>p50</th><th>p99</th><th>max</th><th></th></tr>",
        escaped(title)
    );
    for object in objects {
        let cause = &object.cause;
        _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td class=\"text\">{} {} <span class=\"at\">{}</span></td></tr>",
            time(cause.nanos),
            cause.count,
            time(object.p50),
            time(object.p99),
            time(object.max),
            cause.category.name(),
            escaped(&cause.what),
            escaped(&cause.at)
        );
    }
    page.push_str("</table></div>\n");
}

/// Writes a node of a tree. `whole`: the time of the request. `relation`: that to the thread or task beside it.
fn tree(page: &mut String, node: &Node, whole: u64, relation: &str) {
    let part = percent(node.nanos, whole);
    let mut line = format!(
        "<span class=\"share\" style=\"width:{part:.0}px\"></span> {} {}",
        time(node.nanos),
        escaped(&node.what)
    );
    if node.count > 1 {
        _ = write!(line, ", {} times", node.count);
    }
    if !node.at.is_empty() {
        _ = write!(line, " <span class=\"at\">at {}</span>", escaped(&node.at));
    }
    if let Some(by) = &node.behind {
        _ = write!(
            line,
            " <span class=\"at\">{relation} {}</span>",
            escaped(by)
        );
    }
    if node.parts.is_empty() {
        _ = writeln!(page, "<details><summary>{line}</summary></details>");
        return;
    }
    _ = writeln!(page, "<details open><summary>{line}</summary>");
    for part in &node.parts {
        tree(page, part, whole, "behind");
    }
    page.push_str("</details>\n");
}
