//! `Lines`: a text whose lines fit a terminal.

/// A text, and the width of the terminal that it is for.
pub(crate) struct Lines {
    pub(crate) text: String,
    columns: usize,
}

impl Lines {
    /// Creates an empty text. `columns`: a longer line is broken; `usize::MAX` breaks none.
    pub(crate) const fn new(columns: usize) -> Self {
        Self {
            text: String::new(),
            columns,
        }
    }

    /// Adds an empty line.
    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Adds a line with an indentation, broken between words.
    pub(crate) fn line(&mut self, indent: &str, line: &str) {
        let mut width = indent.len();
        self.text.push_str(indent);
        for word in line.split_whitespace() {
            let length = word.chars().count();
            if width > indent.len() {
                if width + 1 + length > self.columns {
                    self.text.push('\n');
                    self.text.push_str(indent);
                    self.text.push_str("  ");
                    width = indent.len() + 2;
                } else {
                    self.text.push(' ');
                    width += 1;
                }
            }
            self.text.push_str(word);
            width += length;
        }
        self.text.push('\n');
    }

    /// Returns the end of a name or path that fits beside this many columns. It tells more than the beginning.
    pub(crate) fn end_of(&self, name: &str, beside: usize) -> String {
        let room = self.columns.saturating_sub(beside).max(1);
        match name.chars().count() {
            length if length <= room => name.into(),
            length => {
                let end: String = name.chars().skip(length - room + 1).collect();
                format!("…{end}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_for_a_terminal_only() {
        let text = |columns| {
            let mut lines = Lines::new(columns);
            lines.line("  ", "one two three");
            lines.blank();
            lines.text
        };
        assert_eq!(text(usize::MAX), "  one two three\n\n");
        assert_eq!(text(9), "  one two\n    three\n\n");
        // A word is never broken, as in a window of no width.
        assert_eq!(text(0), "  one\n    two\n    three\n\n");
    }

    #[test]
    fn long_names_keep_their_end_on_a_terminal() {
        let name = "crates/runtime/src/lib.rs:7";
        assert_eq!(Lines::new(usize::MAX).end_of(name, 7), name);
        assert_eq!(Lines::new(16).end_of(name, 7), "…lib.rs:7");
        assert_eq!(Lines::new(0).end_of(name, 7), "…");
    }
}
