//! The graph of waits in the language of Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write;

use blitz_io_observe::collections::HashMap;

use crate::alike::excerpt;
use crate::graph::Graph as Waits;
use crate::names::{
    HELD, of_segment, of_target, of_time, of_waiter, role_of_reader, short, within_process,
};
use crate::objects::holder_alone;
use crate::snapshot::{
    Certainty, Finding, ProcessState, Snapshot, Wait, Waiter, process_and_number,
};

/// Writes the graph: boxes for threads and tasks, rounded ones for objects, a line from each waiter
/// to its target, and a dashed one from there to each holder. Nodes and lines of certain findings are
/// red, and those of probable ones orange. With several processes, the threads, tasks and objects of
/// each are in a cluster of its own, and shared memory is outside of them.
///
/// # Examples
///
/// ```
/// assert!(blitz_io_inspect::dot(&Default::default(), &[]).starts_with("digraph"));
/// ```
#[must_use]
pub fn dot(snapshot: &Snapshot, findings: &[Finding]) -> String {
    draw(snapshot, findings, Graph::default())
}

/// Writes the part of the graph that a person wants to see: the waits of the findings and their neighbours, or without
/// findings all of them. Of threads and tasks that look alike there is one, with the number of the others. Long labels have
/// several lines.
///
/// # Examples
///
/// ```
/// assert!(blitz_io_inspect::dot_of_findings(&Default::default(), &[]).starts_with("digraph"));
/// ```
#[must_use]
pub fn dot_of_findings(snapshot: &Snapshot, findings: &[Finding]) -> String {
    let (waits, more) = excerpt(snapshot, findings);
    let part = Snapshot {
        waits,
        objects: None,
        ..snapshot.clone()
    };
    let graph = Graph {
        more,
        columns: Some(COLUMNS),
        ..Graph::default()
    };
    draw(&part, findings, graph)
}

/// The width of a label, in letters, above which it is broken at a space.
const COLUMNS: usize = 24;

/// Fills the graph, and returns its text.
fn draw(snapshot: &Snapshot, findings: &[Finding], graph: Graph) -> String {
    let mut graph = Graph {
        has_clusters: snapshot.processes.len() > 1,
        ..graph
    };
    let waits = Waits::new(snapshot);
    for wait in &snapshot.waits {
        let color = color(findings, |finding| {
            finding.waits.iter().any(|w| w.id == wait.id)
        });
        let from = graph.waiter(snapshot, findings, wait.waiter);
        let label = format!("{}\n{}", of_time(wait), short(&wait.location));
        if let Some(task) = wait.task {
            let to = graph.waiter(snapshot, findings, Waiter::Task(task));
            graph.edge(from, to, label.trim_end(), color, "solid");
            continue;
        }
        let to = graph.target(snapshot, wait, color);
        graph.edge(from, to, label.trim_end(), color, "solid");
        if waits.end(wait).is_some() {
            for waiter in waits.enders(wait).waiters {
                // A process all of whose threads wait is these threads.
                let threads = match waiter {
                    Waiter::Process(_) => waits.waits(waiter),
                    _ => &[],
                };
                let none = threads.is_empty().then_some(waiter);
                for ender in threads.iter().map(|wait| wait.waiter).chain(none) {
                    let ender = graph.waiter(snapshot, findings, ender);
                    graph.edge(to, ender, "ended by", color, "dashed");
                }
            }
            continue;
        }
        let Some(object) = &wait.object else { continue };
        let holder = holder_alone(object)
            .into_iter()
            .map(|waiter| (HELD, waiter));
        let role = match role_of_reader(wait) {
            "read by" => HELD,
            member => member,
        };
        let readers = object.readers.iter().map(|&waiter| (role, waiter));
        for (role, waiter) in holder.chain(readers) {
            let waiter = graph.waiter(snapshot, findings, waiter);
            graph.edge(to, waiter, role, color, "dashed");
        }
    }
    graph.text(snapshot)
}

/// Returns the colour of a node or line, by the findings that name it.
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
    has_clusters: bool,
    /// The number of waiters that look the same, for some waiters.
    more: HashMap<Waiter, usize>,
    /// The width of labels.
    columns: Option<usize>,
    /// The numbers of the nodes that exist.
    numbers: BTreeMap<Node, usize>,
    /// The text of each process's nodes, by the index of the process.
    nodes: BTreeMap<usize, String>,
    /// The text of the nodes outside of all processes.
    shared: String,
    edges: Vec<String>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Waiter(Waiter),
    Object(u64),
    Segment(u64),
    /// The target of a wait without an object.
    Wait(u64),
}

impl Graph {
    fn waiter(&mut self, snapshot: &Snapshot, findings: &[Finding], waiter: Waiter) -> usize {
        let color = color(findings, |finding| {
            let mut waits = finding.waits.iter();
            finding.waiters.contains(&waiter) || waits.any(|wait| wait.waiter == waiter)
        });
        let process = match waiter {
            Waiter::Thread(id) | Waiter::Task(id) => process_and_number(id).0,
            Waiter::Process(pid) => {
                let mut processes = snapshot.processes.iter();
                processes
                    .position(|process| process.pid == pid)
                    .unwrap_or(0)
            }
        };
        // A cluster has the name of its process, but not all pictures have clusters.
        let mut label = match (self.has_clusters, process) {
            (true, 0) => within_process(snapshot, waiter),
            _ => of_waiter(snapshot, waiter),
        };
        let task = waiter.task().map(|id| snapshot.task(id));
        // The name of a root has its location.
        if let Some(task) = task.filter(|task| task.is_none_or(|task| !task.is_root)) {
            _ = write!(
                label,
                "\n{}",
                task.map_or("has ended", |task| short(&task.location))
            );
        }
        if let Some(more) = self.more.get(&waiter) {
            _ = write!(label, "\nand {more} more like this");
        }
        self.node(Node::Waiter(waiter), &label, color, "", Some(process))
    }

    fn target(&mut self, snapshot: &Snapshot, wait: &Wait, color: &str) -> usize {
        if let Some(end) = snapshot.end(wait) {
            let node = Node::Segment(end.segment);
            return self.node(node, &of_segment(end), color, ", style=rounded", None);
        }
        let process = process_and_number(wait.thread).0;
        let object = wait.object.as_ref();
        let node = object.map_or(Node::Wait(wait.id), |object| Node::Object(object.id));
        let label = of_target(snapshot, wait);
        self.node(node, &label, color, ", style=rounded", Some(process))
    }

    /// `process`: the index of the process to which the node belongs.
    fn node(
        &mut self,
        node: Node,
        label: &str,
        color: &str,
        style: &str,
        process: Option<usize>,
    ) -> usize {
        let next = self.numbers.len();
        let columns = self.columns;
        *self.numbers.entry(node).or_insert_with(|| {
            let label = match columns {
                Some(columns) => escaped(&wrapped(label, columns)),
                None => escaped(label),
            };
            let nodes = match process {
                Some(process) => self.nodes.entry(process).or_default(),
                None => &mut self.shared,
            };
            _ = writeln!(
                nodes,
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

    fn text(self, snapshot: &Snapshot) -> String {
        let mut nodes = self.shared;
        for (index, own) in self.nodes {
            match snapshot.processes.get(index).filter(|_| self.has_clusters) {
                Some(process) => {
                    let mut label = of_waiter(snapshot, Waiter::Process(process.pid));
                    if process.state == ProcessState::Stopped {
                        label.push_str(", stopped");
                    }
                    let label = escaped(&label);
                    _ = write!(
                        nodes,
                        "  subgraph cluster_{index} {{\n  label=\"{label}\";\n{own}  }}\n"
                    );
                }
                None => nodes.push_str(&own),
            }
        }
        format!("digraph waits {{\n{nodes}{}}}\n", self.edges.concat())
    }
}

/// Returns the text with lines of so many letters, broken at spaces. A longer word has a line of its own.
fn wrapped(text: &str, columns: usize) -> String {
    let mut wrapped = String::new();
    for line in text.lines() {
        let mut length = 0;
        for word in line.split(' ') {
            let letters = word.chars().count();
            if length + 1 + letters > columns || length == 0 {
                wrapped.push('\n');
                length = letters;
            } else {
                wrapped.push(' ');
                length += 1 + letters;
            }
            wrapped.push_str(word);
        }
    }
    wrapped.trim_start_matches('\n').to_owned()
}

/// Returns a text within quotation marks.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n").replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_labels_are_broken_at_spaces() {
        let label = "socket (read from 127.0.0.1:4075)\nsrc/a_file_with_a_long_name.rs:7";
        let expected = "socket (read from\n127.0.0.1:4075)\nsrc/a_file_with_a_long_name.rs:7";
        assert_eq!(wrapped(label, 24), expected);
        assert_eq!(wrapped("task 4 \"transfer\"", 24), "task 4 \"transfer\"");
        assert_eq!(wrapped("", 24), "");
    }
}
