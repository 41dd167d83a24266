//! Standard output.

use std::fmt::Arguments;
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
