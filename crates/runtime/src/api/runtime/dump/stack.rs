//! Stacks of captures, and their printing.

use std::ffi::c_void;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::ptr;

use super::capture::TraceMeta;

/// An address that is not to be dereferenced.
#[derive(Clone, Copy, Debug)]
struct Address(*mut c_void);

// SAFETY: no code of this file dereferences it.
unsafe impl Send for Address {}
// SAFETY: no code of this file dereferences it.
unsafe impl Sync for Address {}

/// A function of a stack, and the location in it.
#[derive(Clone, Debug)]
pub struct BacktraceSymbol {
    raw: Option<Box<[u8]>>,
    name: Option<Box<str>>,
    address: Option<Address>,
    file: Option<PathBuf>,
    line: Option<u32>,
    column: Option<u32>,
}

impl BacktraceSymbol {
    /// Returns the name as the compiler has written it.
    #[must_use]
    pub fn name_raw(&self) -> Option<&[u8]> {
        self.raw.as_deref()
    }

    /// Returns the name for people.
    #[must_use]
    pub fn name_demangled(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the address of the function.
    #[must_use]
    pub fn addr(&self) -> Option<*mut c_void> {
        self.address.map(|address| address.0)
    }

    /// Returns the source file, if there is debug information.
    #[must_use]
    pub fn filename(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the line, if there is debug information.
    #[must_use]
    pub fn lineno(&self) -> Option<u32> {
        self.line
    }

    /// Returns the column, if there is debug information.
    #[must_use]
    pub fn colno(&self) -> Option<u32> {
        self.column
    }

    fn describe(&self) -> String {
        let name = self.name_demangled().unwrap_or("?");
        // Without the hash at its end.
        let (start, hash) = name.rsplit_once("::h").unwrap_or((name, ""));
        let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut text = if is_hash { start } else { name }.to_owned();
        if let Some(file) = self.filename() {
            _ = write!(text, " at {}", file.display());
            for number in [self.line, self.column].into_iter().flatten() {
                _ = write!(text, ":{number}");
            }
        }
        text
    }
}

/// A frame of a stack.
#[derive(Clone, Debug)]
pub struct BacktraceFrame {
    ip: Address,
    symbol_address: Address,
    symbols: Box<[BacktraceSymbol]>,
}

impl BacktraceFrame {
    /// Returns the instruction pointer; null in a frame that comes from a record.
    #[must_use]
    pub fn ip(&self) -> *mut c_void {
        self.ip.0
    }

    /// Returns the address of the function; null in a frame that comes from a record.
    #[must_use]
    pub fn symbol_address(&self) -> *mut c_void {
        self.symbol_address.0
    }

    /// Returns an iterator over the functions of the frame, of which there are several if the
    /// compiler has inlined some. The innermost one is first.
    pub fn symbols(&self) -> impl Iterator<Item = &BacktraceSymbol> {
        self.symbols.iter()
    }
}

/// A stack.
#[derive(Clone, Debug)]
pub struct Backtrace {
    frames: Box<[BacktraceFrame]>,
}

impl Backtrace {
    /// Returns an iterator over the frames. The innermost one is first.
    pub fn frames(&self) -> impl Iterator<Item = &BacktraceFrame> {
        self.frames.iter()
    }

    /// Returns the location of a record, of the form `file:line`.
    pub(super) fn of_location(kind: &str, location: &str) -> Self {
        let (file, line) = location.rsplit_once(':').unwrap_or((location, ""));
        let symbol = BacktraceSymbol {
            raw: None,
            name: Some(kind.into()),
            address: None,
            file: (!file.is_empty()).then(|| file.into()),
            line: line.parse().ok(),
            column: None,
        };
        let frame = BacktraceFrame {
            ip: Address(ptr::null_mut()),
            symbol_address: Address(ptr::null_mut()),
            symbols: Box::new([symbol]),
        };
        Self {
            frames: Box::new([frame]),
        }
    }
}

/// A stack whose debug information has not been read.
#[derive(Debug)]
pub(super) struct Captured(Vec<backtrace::BacktraceFrame>);

impl Captured {
    /// Captures this thread's stack within the bounds.
    pub(super) fn new(meta: &TraceMeta) -> Self {
        let mut frames: Vec<backtrace::BacktraceFrame> = Vec::new();
        let mut is_above_leaf = false;
        backtrace::trace(|frame| {
            let address = frame.symbol_address().cast_const();
            if meta.root_addr == Some(address) {
                return false;
            }
            if is_above_leaf {
                frames.push(frame.clone().into());
            }
            is_above_leaf |= ptr::eq(address, meta.trace_leaf_addr);
            true
        });
        Self(frames)
    }

    pub(super) fn resolve(&self) -> Backtrace {
        let mut stack = backtrace::Backtrace::from(self.0.clone());
        stack.resolve();
        let symbol = |symbol: &backtrace::BacktraceSymbol| BacktraceSymbol {
            raw: symbol.name().map(|name| name.as_bytes().into()),
            name: symbol.name().map(|name| name.to_string().into()),
            address: symbol.addr().map(Address),
            file: symbol.filename().map(Into::into),
            line: symbol.lineno(),
            column: symbol.colno(),
        };
        let frame = |frame: &backtrace::BacktraceFrame| BacktraceFrame {
            ip: Address(frame.ip()),
            symbol_address: Address(frame.symbol_address()),
            symbols: frame.symbols().iter().map(symbol).collect(),
        };
        Backtrace {
            frames: stack.frames().iter().map(frame).collect(),
        }
    }
}

/// A function, and those that it has called. The last ones of the stacks are the leaves.
#[derive(Default)]
struct Node {
    calls: Vec<(String, Node)>,
}

/// Writes stacks as a tree, with the outermost function first. Stacks share their common part.
pub(super) fn tree(stacks: &[Backtrace]) -> String {
    let mut root = Node::default();
    for stack in stacks {
        let mut node = &mut root;
        for frame in stack.frames.iter().rev() {
            for symbol in frame.symbols.iter().rev() {
                let name = symbol.describe();
                let known = node.calls.iter().position(|(known, _)| *known == name);
                let at = known.unwrap_or_else(|| {
                    node.calls.push((name, Node::default()));
                    node.calls.len() - 1
                });
                node = &mut node.calls[at].1;
            }
        }
    }
    let mut text = String::new();
    write(&mut text, &root, "", true);
    text.truncate(text.trim_end().len());
    text
}

fn write(text: &mut String, node: &Node, prefix: &str, is_root: bool) {
    for (i, (name, called)) in node.calls.iter().enumerate() {
        let is_last = i + 1 == node.calls.len();
        let (branch, below) = match (is_root, is_last) {
            (true, _) => ("╼ ", ""),
            (false, true) => ("└╼ ", "   "),
            (false, false) => ("├╼ ", "│  "),
        };
        _ = writeln!(text, "{prefix}{branch}{name}");
        write(text, called, &format!("{prefix}{below}"), false);
    }
}
