//! A writer of SVG that knows where the picture is.
//!
//! The writer of the layout takes a text for as high as it is wide, and the upper left corner for zero, however far from it the
//! picture begins. Both leave blank areas.

use layout::backends::svg::SVGWriter;
use layout::core::format::{ClipHandle, RenderBackend};
use layout::core::geometry::Point;
use layout::core::style::StyleAttr;

/// The blank margin, in pixels.
const MARGIN: f64 = 8.0;
/// The width of a letter, as a part of its height: that of a wide one.
const LETTER: f64 = 0.55;

/// The writer, and the corners of what it has drawn.
pub struct Measured {
    writer: SVGWriter,
    from: Point,
    to: Point,
}

impl Measured {
    pub fn new() -> Self {
        Self {
            writer: SVGWriter::new(),
            from: Point::new(f64::INFINITY, f64::INFINITY),
            to: Point::new(f64::NEG_INFINITY, f64::NEG_INFINITY),
        }
    }

    fn add(&mut self, point: Point) {
        self.from = Point::new(self.from.x.min(point.x), self.from.y.min(point.y));
        self.to = Point::new(self.to.x.max(point.x), self.to.y.max(point.y));
    }

    /// Adds what is around a point.
    fn add_around(&mut self, middle: Point, width: f64, height: f64) {
        for sign in [-0.5, 0.5] {
            self.add(Point::new(
                middle.x + sign * width,
                middle.y + sign * height,
            ));
        }
    }

    /// Returns the picture, and its width in pixels.
    pub fn finish(&self) -> (String, u32) {
        let text = self.writer.finalize();
        let part = text.split_once("<svg").and_then(|(before, rest)| {
            let (_, rest) = rest.split_once('>')?;
            Some((before, rest))
        });
        let (width, height) = (self.to.x - self.from.x, self.to.y - self.from.y);
        let Some((before, rest)) = part.filter(|_| width.is_finite() && height.is_finite()) else {
            return (text, 0);
        };
        let [x, y] = [self.from.x - MARGIN, self.from.y - MARGIN].map(f64::floor);
        let [width, height] = [width + 2.0 * MARGIN, height + 2.0 * MARGIN].map(f64::ceil);
        let text = format!(
            "{before}<svg width=\"{width}\" height=\"{height}\" viewBox=\"{x} {y} {width} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\">{rest}"
        );
        (text, width as u32)
    }
}

impl RenderBackend for Measured {
    fn draw_rect(
        &mut self,
        xy: Point,
        size: Point,
        look: &StyleAttr,
        properties: Option<String>,
        clip: Option<ClipHandle>,
    ) {
        self.add(xy);
        self.add(Point::new(xy.x + size.x, xy.y + size.y));
        self.writer.draw_rect(xy, size, look, properties, clip);
    }

    fn draw_line(
        &mut self,
        start: Point,
        stop: Point,
        look: &StyleAttr,
        properties: Option<String>,
    ) {
        self.add(start);
        self.add(stop);
        self.writer.draw_line(start, stop, look, properties);
    }

    fn draw_circle(
        &mut self,
        xy: Point,
        size: Point,
        look: &StyleAttr,
        properties: Option<String>,
    ) {
        self.add_around(xy, size.x, size.y);
        self.writer.draw_circle(xy, size, look, properties);
    }

    fn draw_text(&mut self, xy: Point, text: &str, look: &StyleAttr) {
        let letters = text.lines().map(|line| line.chars().count()).max();
        let (letters, lines) = (letters.unwrap_or(0) as f64, text.lines().count() as f64);
        let size = look.font_size as f64;
        self.add_around(xy, letters * size * LETTER, lines * size);
        self.writer.draw_text(xy, text, look);
    }

    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        dashed: bool,
        head: (bool, bool),
        look: &StyleAttr,
        properties: Option<String>,
        text: &str,
    ) {
        for (one, other) in path {
            self.add(*one);
            self.add(*other);
        }
        self.writer
            .draw_arrow(path, dashed, head, look, properties, text);
    }

    fn create_clip(&mut self, xy: Point, size: Point, rounded_px: usize) -> ClipHandle {
        self.writer.create_clip(xy, size, rounded_px)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_no_blank_areas_around_it() {
        let mut measured = Measured::new();
        let look = StyleAttr::simple();
        measured.draw_rect(
            Point::new(100.0, 50.0),
            Point::new(200.0, 30.0),
            &look,
            None,
            None,
        );
        measured.draw_text(Point::new(200.0, 65.0), "two\nlines", &look);
        let (text, width) = measured.finish();
        assert_eq!(width, 216);
        assert!(
            text.contains("width=\"216\" height=\"46\" viewBox=\"92 42 216 46\""),
            "{text}"
        );
        // A text may be further to the right than the last box.
        measured.draw_text(Point::new(300.0, 65.0), "ten letter", &look);
        let (_, wider) = measured.finish();
        assert!((250..350).contains(&wider), "{wider}");
    }

    #[test]
    fn nothing_is_a_picture_too() {
        let (text, width) = Measured::new().finish();
        assert!(text.contains("<svg") && width == 0, "{text}");
    }
}
