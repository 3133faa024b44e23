//! What was said, and what wins.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::options::OF_ANY_POLICY;
use crate::{Options, PolicyChoice};

/// A command that takes the options of the table, and nothing else.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new("run").no_binary_name(true))
}

/// The options under a heading, for a person: `--a, --b and --c`.
pub fn names_under(heading: &str) -> String {
    let command = command();
    let options = command.get_arguments().filter(|option| option.get_help_heading() == Some(heading));
    let names: Vec<_> =
        options.filter_map(|option| option.get_long()).map(|name| format!("--{name}")).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => names.concat(),
    }
}

/// Whether `word` is an option that takes its value by `=` alone.
pub fn takes_value_by_equals(word: &str) -> bool {
    let is_it = |name: &str| word.strip_prefix("--") == Some(name);
    command()
        .get_arguments()
        .any(|option| option.is_require_equals_set() && option.get_long().is_some_and(is_it))
}

/// The options that somebody has said. On a command line it takes the place of [`Options`], which would not tell what was said from
/// what is so by default.
#[derive(Clone, Debug, PartialEq)]
pub struct Said(ArgMatches);

impl FromArgMatches for Said {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut said = Self(matches.clone());
        said.retain(|option| {
            matches.value_source(option.get_id().as_str()) != Some(ValueSource::DefaultValue)
        });
        Ok(said)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Said {
    fn augment_args(command: Command) -> Command {
        Options::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Options::augment_args_for_update(command)
    }
}

impl Said {
    /// By these words of a command line.
    ///
    /// # Errors
    /// When one of them is no option, or its value makes no sense.
    pub fn by<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Result<Self, clap::Error> {
        let matches = command().try_get_matches_from(words.into_iter().map(Into::into))?;
        Self::from_arg_matches(&matches)
    }

    /// Forgets the options that are not `kept`.
    fn retain(&mut self, kept: impl Fn(&Arg) -> bool) {
        for option in command().get_arguments().filter(|option| !kept(option)) {
            // The matches have all of the table's.
            let _ = self.0.try_clear_id(option.get_id().as_str());
        }
    }

    /// The options that were said, in the order of the table.
    fn options(&self) -> Vec<Arg> {
        let is_said = |option: &&Arg| self.0.contains_id(option.get_id().as_str());
        command().get_arguments().filter(is_said).cloned().collect()
    }
}

/// The options of a run, and who said what.
#[derive(Clone, Debug)]
pub struct Given {
    /// What is in force.
    pub options: Options,
    line: Said,
    file: Said,
}

impl Default for Options {
    fn default() -> Self {
        Self::from_arg_matches(&command().get_matches_from([""; 0])).unwrap_or_else(|error| error.exit())
    }
}

impl Given {
    /// What `line`, the command line, leaves open is taken from `file`, then from the defaults. What the file says of the policy
    /// `idletime` alone is left aside under another.
    ///
    /// # Errors
    /// None is known: what was said has been accepted already.
    pub fn new(line: Said, mut file: Said) -> Result<Self, clap::Error> {
        let layers = |file: &Said| {
            let mut options = Options::default();
            options.update_from_arg_matches(&file.0)?;
            options.update_from_arg_matches(&line.0).map(|()| options)
        };
        let mut options: Options = layers(&file)?;
        if options.protection.policy != PolicyChoice::Idletime {
            file.retain(is_of_any_policy);
            options = layers(&file)?;
        }
        Ok(Self { options, line, file })
    }

    /// Whether any option under this heading was said.
    pub fn has(&self, heading: &str) -> bool {
        let mut said = self.line.options().into_iter().chain(self.file.options());
        said.any(|option| option.get_help_heading() == Some(heading))
    }

    /// An option on the command line that means something to the policy `idletime` alone.
    pub fn of_idletime(&self) -> Option<String> {
        let option = self.line.options().into_iter().find(|option| !is_of_any_policy(option))?;
        option.get_long().map(str::to_owned)
    }
}

fn is_of_any_policy(option: &Arg) -> bool {
    option.get_long().is_some_and(|name| OF_ANY_POLICY.contains(&name))
}

#[cfg(test)]
mod tests;
