//! Reads a command line as the flag libraries of Go do: `--name=value`, `--name value`, and switches without a value.

use std::ffi::OsString;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `--name=value` or `--name value`.
    Value,
    /// `--name`, or `--name=true`.
    Switch,
}

/// Names without their dashes, and values, in order. `kind` knows every flag.
pub(crate) fn read(
    args: impl Iterator<Item = OsString>,
    kind: impl Fn(&str) -> Option<Kind>,
) -> Result<Vec<(String, String)>, String> {
    let mut args = args.map(|arg| arg.to_string_lossy().into_owned());
    let mut flags = Vec::new();
    while let Some(arg) = args.next() {
        let dashes = arg.len() - arg.trim_start_matches('-').len();
        if !matches!(dashes, 1 | 2) {
            return Err(format!("unexpected argument {arg:?}"));
        }
        let (name, inline) = match arg[dashes..].split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (arg[dashes..].to_owned(), None),
        };
        let value = match (kind(&name).ok_or_else(|| format!("unknown flag --{name}"))?, inline) {
            (_, Some(value)) => value,
            (Kind::Switch, None) => "true".to_owned(),
            (Kind::Value, None) => args.next().ok_or_else(|| format!("--{name} needs a value"))?,
        };
        flags.push((name, value));
    }
    Ok(flags)
}

/// The value of a switch, in the spellings of Go.
pub(crate) fn switch(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("--{name}: expected true or false, got {value:?}")),
    }
}

/// The lines of `--help` about flags without effect.
pub(crate) fn help(ignored: &str) -> String {
    ignored.split(' ').map(|name| format!("\n  --{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_as_in_go() {
        let kind = |name: &str| match name {
            "port" | "v" => Some(Kind::Value),
            "on" => Some(Kind::Switch),
            _ => None,
        };
        let read = |line: &str| read(line.split(' ').map(OsString::from), kind);
        let pairs = |pairs: &[(&str, &str)]| {
            Ok(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        let expected =
            [("port", "1"), ("port", "2"), ("on", "true"), ("on", "0"), ("v", "3"), ("port", "a=b")];
        assert_eq!(read("--port=1 --port 2 --on --on=0 -v=3 -port=a=b"), pairs(&expected));
        for (line, problem) in [
            ("--ports=1", "unknown flag --ports"),
            ("--port", "--port needs a value"),
            ("--on off", "unexpected argument \"off\""),
            ("---on", "unexpected argument \"---on\""),
        ] {
            assert_eq!(read(line), Err(problem.to_owned()));
        }
        assert_eq!((switch("on", "T"), switch("on", "0")), (Ok(true), Ok(false)));
        assert_eq!(switch("on", "yes"), Err("--on: expected true or false, got \"yes\"".to_owned()));
    }
}
