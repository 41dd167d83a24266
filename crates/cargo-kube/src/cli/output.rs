//! What is printed: standard output, errors, numbers.

use std::fmt::{Arguments, Display};
use std::io::{self, ErrorKind, Write as _};

/// Prints a line.
pub(super) fn line(text: Arguments<'_>) -> io::Result<()> {
    print(&format!("{text}\n"))
}

/// Prints a text. It is no error that nobody reads any more, as after `| head`: `println!` would panic.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(err) if err.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// An error with its causes, each once: the texts of many errors have those of their causes already. As
/// [`ErrorChain`](kube_client::error::ErrorChain), but with the lines of each text: some are lines of a file.
pub(super) fn causes(err: &anyhow::Error) -> String {
    err.chain().map(|cause| cause.to_string().trim().to_owned()).fold(String::new(), |text, cause| match text
        .is_empty()
    {
        true => cause,
        false if text.contains(&cause) => text,
        false => format!("{text}: {cause}"),
    })
}

/// `1 object`, `2 objects`.
pub(super) fn count<N: Display + From<u8> + PartialEq>(number: N, what: &str) -> String {
    let end = if number == N::from(1) { "" } else { "s" };
    format!("{number} {what}{end}")
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use anyhow::{Context as _, anyhow};

    use super::*;

    #[test]
    fn each_cause_is_told_once_and_keeps_its_lines() {
        let missing = || Error::from(ErrorKind::NotFound);
        let err = anyhow::Error::new(missing()).context(format!("old/: {}", missing())).context("no project");
        assert_eq!(causes(&err), "no project: old/: entity not found");
        assert_eq!(causes(&anyhow!("add this:\n    a\n    b\n")), "add this:\n    a\n    b");
        let err = Err::<(), _>(missing()).context("a").context("a").unwrap_err();
        assert_eq!(causes(&err), "a: entity not found");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0_u64, 1, 2].map(|number| count(number, "plan")), ["0 plans", "1 plan", "2 plans"]);
    }
}
