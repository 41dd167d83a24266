//! [`ErrorChain`]: an error with its causes in one line.

use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_core::panic::panic_message;

/// Prints an error and all its causes in one line: for logs, and for the error that ends a program.
///
/// The `{}` of this crate's errors has the causes already; that of other crates' errors often has not, and programs wrap both. This prints
/// each cause once in either case. Line breaks become spaces. If the `Display` of a cause panics, the line says so in its place.
///
/// ```
/// use kube_client::error::ErrorChain;
///
/// #[derive(Debug)]
/// struct Broken(std::io::Error);
/// impl std::error::Error for Broken {
///     fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
///         Some(&self.0)
///     }
/// }
/// impl std::fmt::Display for Broken {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("cannot read the settings")
///     }
/// }
///
/// let err = Broken(std::io::Error::other("disk full"));
/// assert_eq!(ErrorChain(&err).to_string(), "cannot read the settings: disk full");
/// // A boxed error is dereferenced.
/// let err: Box<dyn std::error::Error + Send + Sync> = Box::new(err);
/// assert_eq!(ErrorChain(&*err).to_string(), "cannot read the settings: disk full");
/// ```
///
/// # Cost
/// A cause is left out if the line contains its text already: quadratic in the length of the chain. Meant for errors, not for events.
#[derive(Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut line, mut next) = link(self.0);
        while let Some(cause) = next {
            let (text, source) = link(cause);
            if !line.contains(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
            next = source;
        }
        f.write_str(&line)
    }
}

impl fmt::Debug for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

/// The text of one error, and its cause. Both are code of its author, which may panic: a log line must not end a program.
fn link<'a>(err: &'a (dyn Error + 'static)) -> (String, Option<&'a (dyn Error + 'static)>) {
    let read = catch_unwind(AssertUnwindSafe(|| (one_line(&err.to_string()), err.source())));
    read.unwrap_or_else(|panic| {
        (format!("an error whose message cannot be printed: {}", panic_message(&*panic)), None)
    })
}

/// The text with spaces for line breaks.
pub(crate) fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// The likely cause of a connection error whose message does not have it.
#[cfg(feature = "client")]
pub(crate) fn hint(err: &(dyn Error + 'static)) -> &'static str {
    // The messages of rustls and OpenSSL for a response that is not TLS.
    const NOT_TLS: [&str; 3] = ["InvalidContentType", "wrong version number", "packet length too long"];
    let text = ErrorChain(err).to_string();
    if NOT_TLS.iter().any(|message| text.contains(message)) {
        " (the server does not speak TLS on this port: is its URL http:// rather than https://?)"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        #[source]
        cause: Option<Box<Link>>,
    }

    fn chain(texts: &[&'static str]) -> String {
        let link = texts.iter().rev().fold(None, |cause, text| Some(Box::new(Link { text, cause })));
        ErrorChain(&*link.unwrap()).to_string()
    }

    #[test]
    fn each_cause_is_printed_once() {
        assert_eq!(chain(&["a"]), "a");
        assert_eq!(chain(&["no list", "no connection", "refused"]), "no list: no connection: refused");
        assert_eq!(
            chain(&["no list: no connection", "no connection", "refused"]),
            "no list: no connection: refused"
        );
        assert_eq!(chain(&["no list: refused (hint)", "refused", "refused"]), "no list: refused (hint)");
        assert_eq!(chain(&["a", "", "b"]), "a: b");
    }

    #[derive(Debug)]
    struct Unprintable;

    impl Error for Unprintable {}

    impl fmt::Display for Unprintable {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("no message");
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("no list")]
    struct Caused(#[source] Unprintable);

    #[test]
    fn a_message_that_panics_is_replaced() {
        let replaced = "an error whose message cannot be printed: no message";
        assert_eq!(ErrorChain(&Unprintable).to_string(), replaced);
        assert_eq!(ErrorChain(&Caused(Unprintable)).to_string(), format!("no list: {replaced}"));
    }

    #[test]
    fn line_breaks_become_spaces() {
        assert_eq!(chain(&["a\n  b\r\n", "c\n\nd"]), "a b: c d");
    }
}
