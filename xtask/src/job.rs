//! A job: its name, what it checks, whether every run includes it, and its arguments.

use anyhow::{Result, bail};

use crate::context::Context;

/// A check with a name.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) when: When,
    /// One line for `cargo xtask ci --list`.
    pub(crate) summary: &'static str,
    /// Its arguments, for the same list.
    pub(crate) usage: &'static str,
    pub(crate) run: fn(&Context, &[String]) -> Result<()>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// In every run.
    Always,
    /// In every run, where genuine API servers are at hand.
    Genuine,
    /// Only where its name is given: it takes minutes, or needs what few machines have.
    ByName,
    /// Only where its name is given, and genuine API servers are at hand.
    GenuineByName,
}

impl When {
    pub(crate) fn in_every_run(self) -> bool {
        matches!(self, Self::Always | Self::Genuine)
    }

    pub(crate) fn is_genuine(self) -> bool {
        matches!(self, Self::Genuine | Self::GenuineByName)
    }
}

/// Ends a job that takes no arguments but was given some.
pub(crate) fn no_arguments(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("unexpected arguments: {}", args.join(" "));
    }
    Ok(())
}

/// Whether the one argument that a job takes, such as `--update`, is given.
pub(crate) fn flag(args: &[String], name: &str) -> Result<bool> {
    match args {
        [] => Ok(false),
        [arg] if arg == name => Ok(true),
        _ => bail!("expected nothing or {name}, got {}", args.join(" ")),
    }
}

/// The arguments, each of which has to be one of `known`; without arguments `default`.
pub(crate) fn choices<'a>(args: &'a [String], known: &[&str], default: &[&'a str]) -> Result<Vec<&'a str>> {
    if let Some(unknown) = args.iter().find(|arg| !known.contains(&arg.as_str())) {
        bail!("unknown argument {unknown}: expected {}", known.join(", "));
    }
    Ok(if args.is_empty() { default.to_vec() } else { args.iter().map(String::as_str).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_choices_are_errors_and_none_means_the_default() {
        let args = ["store".to_owned()];
        assert_eq!(choices(&args, &["queue", "store"], &["queue"]).unwrap(), ["store"]);
        assert_eq!(choices(&[], &["queue", "store"], &["queue"]).unwrap(), ["queue"]);
        assert!(choices(&args, &["queue"], &["queue"]).is_err());
    }
}
