//! Human-readable report of the findings; the JSON has the rest.

use std::fmt::Write;

use super::{Findings, Probe};

/// Renders the whole report.
pub fn render(found: &Findings) -> String {
    let mut report = Report(String::new());
    report.program(found);
    report.machine(found);
    report.system(found);
    report.list("What blitz-io uses", &found.uses);
    if found.advice.is_empty() {
        report.heading("What you could change");
        report
            .0
            .push_str("  Nothing: all that blitz-io can use is there.\n");
    } else {
        report.list("What you could change", &found.advice);
    }
    report.0
}

struct Report(String);

impl Report {
    fn heading(&mut self, title: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(title);
        self.0.push('\n');
    }

    fn line(&mut self, what: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "  {what:<22} {value}");
    }

    fn list(&mut self, title: &str, lines: &[String]) {
        self.heading(title);
        for line in lines {
            let _ = writeln!(self.0, "  - {line}");
        }
    }

    fn program(&mut self, found: &Findings) {
        self.heading("Program");
        self.line("version", found.version);
        // As many digits as git shows: all of them are longer than a narrow terminal.
        let revision = found.revision.unwrap_or("not known");
        self.line("revision", revision.get(..12).unwrap_or(revision));
        self.line("target", found.target);
    }

    fn machine(&mut self, found: &Findings) {
        let (machine, processors) = (&found.machine, &found.processors);
        self.heading("Machine");
        self.line("processor", &machine.cpu);
        let quota = match processors.quota {
            Some(quota) => format!(", control group: time of {quota:.2}"),
            None => String::new(),
        };
        self.line(
            "cores",
            format_args!(
                "{} online, {} allowed{quota}",
                processors.online, processors.allowed
            ),
        );
        self.line("system", format_args!("{} {}", machine.os, machine.kernel));
    }

    fn system(&mut self, found: &Findings) {
        self.heading("What the system offers");
        let futex = &found.futex;
        self.line("futex", futex.backend);
        self.line("  in shared memory", yes_no(futex.shared_memory));
        self.probe("futex_waitv", found.futex_waitv.as_ref());
        self.probe("membarrier", found.membarrier.as_ref());
        self.probe("io_uring", found.io_uring.as_ref().map(|ring| &ring.setup));
    }

    fn probe(&mut self, what: &str, probe: Option<&Probe>) {
        if let Some(probe) = probe {
            self.line(
                what,
                format_args!("{}: {}", yes_no(probe.works), probe.detail),
            );
        }
    }
}

fn yes_no(works: bool) -> &'static str {
    if works { "yes" } else { "no" }
}
