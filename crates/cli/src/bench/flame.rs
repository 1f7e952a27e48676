//! A flame graph: stacks that were counted, drawn as one SVG.
//!
//! A box is a function. It is as wide as the share of the samples that have it at this place of the stack. The
//! idea is Brendan Gregg's.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A function, and those that it calls, by their names.
#[derive(Debug, Default)]
pub struct Frame {
    samples: u64,
    callees: BTreeMap<String, Frame>,
}

impl Frame {
    /// Returns the root of the samples that `perf script -F comm,ip,sym` prints.
    pub fn parse(script: &str) -> Frame {
        let mut root = Frame::default();
        // The innermost function comes first.
        let mut stack: Vec<&str> = Vec::new();
        for line in script.lines().chain([""]) {
            match line.trim() {
                "" if stack.is_empty() => {}
                "" => root.add(stack.drain(..).rev()),
                // A sample begins with the thread's name, without indentation.
                _ if !line.starts_with(char::is_whitespace) => root.add(stack.drain(..).rev()),
                frame => stack.push(symbol(frame)),
            }
        }
        root
    }

    fn add<'a>(&mut self, stack: impl Iterator<Item = &'a str>) {
        let mut stack = stack.peekable();
        if stack.peek().is_none() {
            return;
        }
        self.samples += 1;
        let mut frame = self;
        for name in stack {
            frame = frame.callees.entry(name.to_owned()).or_default();
            frame.samples += 1;
        }
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    fn depth(&self) -> usize {
        let deepest = self.callees.values().map(|frame| 1 + frame.depth()).max();
        deepest.unwrap_or(0)
    }

    /// Draws the graph.
    pub fn svg(&self, title: &str) -> String {
        let height = (self.depth() + 2) as f64 * HEIGHT;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"monospace\" font-size=\"11\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"4\" y=\"14\">{}</text>\n",
            escaped(title)
        );
        let per_sample = WIDTH / self.samples.max(1) as f64;
        self.draw_callees(&mut svg, self.samples, per_sample, 0.0, height - HEIGHT);
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_callees(&self, svg: &mut String, all: u64, per_sample: f64, x: f64, y: f64) {
        let mut x = x;
        for (name, frame) in &self.callees {
            let width = frame.samples as f64 * per_sample;
            if width >= NARROWEST {
                frame.draw(svg, name, all, width, x, y);
                frame.draw_callees(svg, all, per_sample, x, y - HEIGHT);
            }
            x += width;
        }
    }

    fn draw(&self, svg: &mut String, name: &str, all: u64, width: f64, x: f64, y: f64) {
        let percent = 100.0 * self.samples as f64 / all as f64;
        let shown: String = name.chars().take((width / CHARACTER) as usize).collect();
        let _ = writeln!(
            svg,
            "<g><title>{}: {} samples, {percent:.1} %</title>\
             <rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\" fill=\"{}\"/>\
             <text x=\"{:.2}\" y=\"{}\">{}</text></g>",
            escaped(name),
            self.samples,
            HEIGHT - 1.0,
            colour(name),
            x + 2.0,
            y + 12.0,
            escaped(&shown),
        );
    }
}

const WIDTH: f64 = 1200.0;
/// The height of a box.
const HEIGHT: f64 = 16.0;
/// The width of a character, with some room.
const CHARACTER: f64 = 7.0;
/// Narrower boxes are left out, with all above them.
const NARROWEST: f64 = 0.3;

/// Returns the name in a line such as `5581a2 blitz_io::run`. Names have spaces.
fn symbol(frame: &str) -> &str {
    frame.split_once(' ').map_or(frame, |(_, name)| name)
}

/// Returns a warm colour, the same for each box of a name.
fn colour(name: &str) -> String {
    let hash = name.bytes().fold(0x811C_9DC5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("hsl({} 85% {}%)", hash % 50, 62 + hash / 50 % 14)
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
blitz 
\t    5581 inner<T>
\t    5582 middle
\t    5583 main

blitz-worker 
\t    5581 inner<T>
\t    5583 main

blitz 

";

    #[test]
    fn stacks_are_counted_from_their_outermost_function() {
        let root = Frame::parse(SCRIPT);
        assert_eq!((root.samples(), root.depth()), (2, 3));
        let main = &root.callees["main"];
        assert_eq!(main.samples, 2);
        assert_eq!(main.callees["inner<T>"].samples, 1);
        assert_eq!(main.callees["middle"].callees["inner<T>"].samples, 1);
    }

    #[test]
    fn a_box_is_as_wide_as_its_share_and_its_name_is_escaped() {
        let svg = Frame::parse(SCRIPT).svg("row <1>");
        assert!(svg.contains("row &lt;1&gt;"), "{svg}");
        assert!(
            svg.contains("main: 2 samples, 100.0 %</title><rect x=\"0.00\""),
            "{svg}"
        );
        assert!(svg.contains("inner&lt;T&gt;: 1 samples, 50.0 %"), "{svg}");
        assert_eq!(svg.matches("width=\"600.00\"").count(), 3, "{svg}");
        assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());
    }

    #[test]
    fn no_sample_is_an_empty_graph() {
        let root = Frame::parse("");
        assert_eq!(root.samples(), 0);
        assert!(!root.svg("empty").contains("<g>"));
    }
}
