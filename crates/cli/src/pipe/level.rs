//! The level of a compression: `--level 9`, or `-9`, as gzip, zstd and xz have it.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// The names of the short forms.
const SHORT: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
const NAME: &str = "level";

/// The level of a compression.
pub struct Level(pub u32);

impl Args for Level {
    fn augment_args(command: Command) -> Command {
        let level = Arg::new(NAME)
            .short('l')
            .long(NAME)
            .value_name("LEVEL")
            .default_value("6")
            .value_parser(clap::value_parser!(u32).range(0..=12))
            .help(
                "The level, from 0 (stored) and 1 (fast) to 12 (small). -0 to -9 are short for it",
            );
        SHORT.into_iter().fold(command.arg(level), |command, name| {
            let others = SHORT.into_iter().filter(|other| *other != name);
            let short = Arg::new(name)
                .short(name.chars().next())
                .action(ArgAction::SetTrue)
                .hide(true)
                .conflicts_with(NAME)
                .conflicts_with_all(others);
            command.arg(short)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Level {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let short = (0..).zip(SHORT).find(|(_, name)| matches.get_flag(name));
        let level = || matches.get_one(NAME).copied().unwrap_or_default();
        Ok(Self(short.map_or_else(level, |(level, _)| level)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the level of a command line.
    fn level(line: &str) -> Result<u32, Error> {
        let command = Level::augment_args(Command::new("gzip"));
        let matches = command.try_get_matches_from(line.split(' '))?;
        Level::from_arg_matches(&matches).map(|level| level.0)
    }

    #[test]
    fn a_level_has_a_long_and_a_short_form() {
        for (line, expected) in [
            ("gzip", 6),
            ("gzip -0", 0),
            ("gzip -9", 9),
            ("gzip -l 12", 12),
            ("gzip --level=1", 1),
        ] {
            assert_eq!(level(line).unwrap(), expected, "{line}");
        }
        // Two levels, of which neither is the last word.
        for line in ["gzip -19", "gzip -1 -9", "gzip -9 --level 6", "gzip -l 13"] {
            assert!(level(line).is_err(), "{line}");
        }
    }
}
