//! Tips for flags of other programs: gzip, sha256sum, ps, top, ipcs.

use std::ffi::OsString;

/// Flags of a command that is not ours, and the tip for them.
struct Known {
    /// The commands of `blitz` to which people give them.
    commands: &'static [&'static str],
    flags: &'static [&'static str],
    /// `{}` is the value of the flag.
    tip: &'static str,
    /// The text for a value that is missing.
    value: &'static str,
}

/// Makes an entry whose tip has no value.
const fn known(
    commands: &'static [&'static str],
    flags: &'static [&'static str],
    tip: &'static str,
) -> Known {
    with(commands, flags, tip, "")
}

/// Makes an entry whose tip has the value of the flag.
const fn with(
    commands: &'static [&'static str],
    flags: &'static [&'static str],
    tip: &'static str,
    value: &'static str,
) -> Known {
    Known {
        commands,
        flags,
        tip,
        value,
    }
}

const COMPRESS: &[&str] = &["blitz pipe gzip", "blitz pipe bgzip"];
const GUNZIP: &[&str] = &["blitz pipe gunzip"];
const ALL_GZIP: &[&str] = &["blitz pipe gzip", "blitz pipe bgzip", "blitz pipe gunzip"];
const PIPE: &[&str] = &[
    "blitz pipe gzip",
    "blitz pipe bgzip",
    "blitz pipe gunzip",
    "blitz pipe sha256",
];
const SHA256: &[&str] = &["blitz pipe sha256"];
const PS: &[&str] = &["blitz ps"];
const TOP: &[&str] = &["blitz top"];
const IPC_LS: &[&str] = &["blitz ipc ls", "blitz ipc top"];
const IPC_CLEAN: &[&str] = &["blitz ipc clean"];
const IPC_TAIL: &[&str] = &["blitz ipc tail"];
const SIM: &[&str] = &["blitz sim run", "blitz sim check"];
const BENCH: &[&str] = &["blitz bench"];

/// The first entry that fits counts.
const KNOWN: &[Known] = &[
    known(
        COMPRESS,
        &["-d", "--decompress", "--uncompress"],
        "`blitz pipe gunzip` decompresses",
    ),
    known(
        GUNZIP,
        &["-d", "--decompress", "--uncompress"],
        "it decompresses without a flag",
    ),
    known(COMPRESS, &["--fast"], "the fastest level is -1"),
    known(
        COMPRESS,
        &["--best", "--ultra"],
        "the smallest output is that of --level 12",
    ),
    known(
        ALL_GZIP,
        &["-k", "--keep"],
        "leave it out: input files stay as they are",
    ),
    known(
        ALL_GZIP,
        &["-c", "--stdout", "--to-stdout"],
        "leave it out: without --output, it writes to standard output",
    ),
    known(
        ALL_GZIP,
        &["-f", "--force"],
        "leave it out: --output takes the place of a file with that name",
    ),
    known(
        ALL_GZIP,
        &["-r", "--recursive"],
        "pack a folder first: tar c FOLDER | blitz pipe gzip > FILE",
    ),
    known(
        GUNZIP,
        &["--test"],
        "to test a file: blitz pipe gunzip FILE > /dev/null",
    ),
    with(
        PIPE,
        &["-T", "-p", "-@", "--processes"],
        "the number of threads is --threads {}; without it, one for each processor",
        "NUMBER",
    ),
    known(
        SHA256,
        &["-c", "--check"],
        "`sha256sum -c` checks: it reads what this command prints",
    ),
    known(
        SHA256,
        &["-b", "--binary", "--text"],
        "leave it out: each file is read byte for byte",
    ),
    known(
        PS,
        &[
            "-e", "-A", "-f", "-a", "-u", "-x", "aux", "ax", "ef", "--all",
        ],
        "leave it out: it lists all processes that answer; root sees those of all users",
    ),
    known(
        PS,
        &["-p", "--pid"],
        "it lists all processes that answer; `blitz top PID` shows what one of them does",
    ),
    with(
        &["blitz why"],
        &["-p", "--pid", "--attach"],
        "give the process without an option: blitz why {}",
        "PID",
    ),
    with(
        TOP,
        &["-p", "--pid"],
        "give the process without an option: blitz top {}",
        "PID",
    ),
    with(
        &["blitz trace"],
        &["-p", "--pid", "--attach"],
        "give the process without an option: blitz trace {}",
        "PID",
    ),
    with(
        TOP,
        &["-d", "--delay"],
        "the time between two looks is --every {}s",
        "5",
    ),
    known(
        TOP,
        &["-n", "-b", "--batch", "--iterations"],
        "--once prints one page and ends",
    ),
    known(
        TOP,
        &["-H"],
        "--scheduler shows the threads of the scheduler",
    ),
    known(
        IPC_LS,
        &["-a", "--all", "-m", "-q", "-s", "-l", "-p", "--long"],
        "leave it out: it lists segments of all kinds, with all that is known of them",
    ),
    known(
        IPC_CLEAN,
        &[
            "-m", "-q", "-s", "-M", "-Q", "-S", "-a", "--all", "-f", "--force",
        ],
        "leave it out: it removes segments without a live participant, all or those that you name",
    ),
    known(IPC_CLEAN, &["-n"], "--dry-run prints what would be removed"),
    with(
        IPC_TAIL,
        &["-n", "--lines"],
        "--count {} ends after as many messages",
        "NUMBER",
    ),
    known(
        IPC_TAIL,
        &["-f", "-F", "--follow"],
        "leave it out: it prints messages as they are sent",
    ),
    with(
        SIM,
        &["-n", "--iterations", "--runs"],
        "the number of orders is --seeds {}",
        "NUMBER",
    ),
    with(
        SIM,
        &["-j"],
        "the number of tests at the same time is --jobs {}",
        "NUMBER",
    ),
    with(
        &["blitz migrate"],
        &["--manifest-path"],
        "give the folder without an option: blitz migrate {}",
        "FOLDER",
    ),
    known(
        &["blitz migrate"],
        &["-n"],
        "--dry-run prints what would change",
    ),
    known(
        BENCH,
        &["--save-baseline"],
        "--json prints a run to keep in a file, and --compare FILE compares with it",
    ),
    known(
        BENCH,
        &["--baseline"],
        "--compare FILE compares with a run that --json has printed",
    ),
    with(
        BENCH,
        &["-n", "--runs"],
        "the number of measurements is --iterations {}",
        "NUMBER",
    ),
];

/// Returns the tip for a flag that this command does not have, if it is one of another program that does the same.
pub fn tip(command: &str, flag: &str, line: &[OsString]) -> Option<String> {
    let name = flag.split('=').next().unwrap_or(flag);
    let is_it = |known: &&Known| known.commands.contains(&command) && known.flags.contains(&name);
    let known = KNOWN.iter().find(is_it)?;
    let value = value(name, line).unwrap_or_else(|| known.value.to_owned());
    Some(known.tip.replace("{}", &value))
}

/// Returns each flag with its command.
#[cfg(test)]
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let pairs = |known: &'static Known| {
        let commands = known.commands.iter();
        commands.flat_map(|command| known.flags.iter().map(|flag| (*command, *flag)))
    };
    KNOWN.iter().flat_map(pairs)
}

/// Returns the value of a flag: the rest of its word, or the next word.
fn value(flag: &str, line: &[OsString]) -> Option<String> {
    let words = || line.iter().filter_map(|word| word.to_str());
    let at = words().position(|word| word.starts_with(flag))?;
    let rest = words().nth(at)?.strip_prefix(flag)?;
    let value = match rest.strip_prefix('=').unwrap_or(rest) {
        "" => words().nth(at + 1)?,
        rest => rest,
    };
    // Others have 0 for the default.
    let is_value = !value.starts_with('-') && value != "0";
    is_value.then(|| crate::shell::line([value]))
}
