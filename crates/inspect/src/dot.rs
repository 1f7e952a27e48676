//! The graph of waits in the language of Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::findings::{Certainty, Finding};
use crate::names::{of_target, of_waiter};
use crate::snapshot::{Snapshot, Wait, Waiter};

/// Writes the graph: boxes for threads and tasks, rounded ones for objects, a line from each waiter
/// to its target, and a dashed one from there to each holder. Nodes and lines of certain findings are
/// red, and those of probable ones orange.
///
/// # Examples
///
/// ```
/// assert!(blitz_io_inspect::dot(&Default::default(), &[]).starts_with("digraph"));
/// ```
#[must_use]
pub fn dot(snapshot: &Snapshot, findings: &[Finding]) -> String {
    let mut graph = Graph::default();
    for wait in &snapshot.waits {
        let color = color(findings, |finding| {
            finding.waits.iter().any(|w| w.id == wait.id)
        });
        let from = graph.waiter(snapshot, findings, wait.waiter);
        let label = format!("{:.1} s\n{}", wait.waiting_ms as f64 / 1e3, wait.location);
        if let Some(task) = wait.task {
            let to = graph.waiter(snapshot, findings, Waiter::Task(task));
            graph.edge(from, to, label.trim_end(), color, "solid");
            continue;
        }
        let to = graph.target(snapshot, wait, color);
        graph.edge(from, to, label.trim_end(), color, "solid");
        let Some(object) = &wait.object else { continue };
        for &waiter in object.holder.iter().chain(&object.readers) {
            let holder = graph.waiter(snapshot, findings, waiter);
            graph.edge(to, holder, "held by", color, "dashed");
        }
    }
    graph.text()
}

/// The colour of a node or line, by the findings that name it.
fn color(findings: &[Finding], names: impl Fn(&Finding) -> bool) -> &'static str {
    match findings
        .iter()
        .filter(|f| names(f))
        .map(|f| f.certainty)
        .min()
    {
        Some(Certainty::Certain) => "red",
        Some(Certainty::Probable) => "orange",
        None => "black",
    }
}

#[derive(Default)]
struct Graph {
    /// The numbers of the nodes that exist.
    numbers: BTreeMap<Node, usize>,
    nodes: String,
    edges: Vec<String>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Waiter(Waiter),
    Object(u64),
    /// The target of a wait without an object.
    Wait(u64),
}

impl Graph {
    fn waiter(&mut self, snapshot: &Snapshot, findings: &[Finding], waiter: Waiter) -> usize {
        let color = color(findings, |finding| finding.waiters.contains(&waiter));
        let mut label = of_waiter(snapshot, waiter);
        let task = waiter.task().map(|id| snapshot.task(id));
        // The name of a root has its location.
        if let Some(task) = task.filter(|task| task.is_none_or(|task| !task.is_root)) {
            _ = write!(
                label,
                "\n{}",
                task.map_or("has ended", |task| task.location.as_str())
            );
        }
        self.node(Node::Waiter(waiter), &label, color, "")
    }

    fn target(&mut self, snapshot: &Snapshot, wait: &Wait, color: &str) -> usize {
        let object = wait.object.as_ref();
        let node = object.map_or(Node::Wait(wait.id), |object| Node::Object(object.id));
        self.node(node, &of_target(snapshot, wait), color, ", style=rounded")
    }

    fn node(&mut self, node: Node, label: &str, color: &str, style: &str) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(node).or_insert_with(|| {
            let label = escaped(label);
            _ = writeln!(
                self.nodes,
                "  n{next} [shape=box, label=\"{label}\", color={color}{style}];"
            );
            next
        })
    }

    fn edge(&mut self, from: usize, to: usize, label: &str, color: &str, style: &str) {
        let label = escaped(label);
        let edge =
            format!("  n{from} -> n{to} [label=\"{label}\", color={color}, style={style}];\n");
        // Several waiters have the same holder.
        if !self.edges.contains(&edge) {
            self.edges.push(edge);
        }
    }

    fn text(self) -> String {
        format!(
            "digraph waits {{\n{}{}}}\n",
            self.nodes,
            self.edges.concat()
        )
    }
}

/// A text within quotation marks.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n").replace(char::is_control, " ")
}
