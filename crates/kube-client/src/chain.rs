//! [`ErrorChain`]: an error with its causes in one line.

use std::error::Error;
use std::fmt;

/// Prints an error and all its causes in one line: for logs, and for the error that ends a program.
///
/// The `{}` of this crate's errors has the causes already; that of other crates' errors often has not, and programs wrap both. This prints
/// each cause once in either case. Line breaks become spaces.
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
        let mut line = one_line(&self.0.to_string());
        let mut next = self.0.source();
        while let Some(cause) = next {
            let text = one_line(&cause.to_string());
            if !line.contains(&text) {
                line.push_str(": ");
                line.push_str(&text);
            }
            next = cause.source();
        }
        f.write_str(&line)
    }
}

impl fmt::Debug for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
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

    #[test]
    fn line_breaks_become_spaces() {
        assert_eq!(chain(&["a\n  b\r\n", "c\n\nd"]), "a b: c d");
    }
}
