//! What a run prints. Whoever reads it may be slower than jobs end, and may have put the pipe in non-blocking mode, where `println!`
//! panics as soon as the pipe is full. Here a full pipe is waited for, and a reader that has gone does not end the run.

use std::io::{ErrorKind, Result, Write};
use std::time::Duration;

/// How long a full pipe is left alone.
const PAUSE: Duration = Duration::from_millis(10);

/// Prints the text and a line's end.
pub(crate) fn line(text: &str) {
    // The exit code says how the run ended, with or without a reader.
    let _ = write(&mut std::io::stdout().lock(), format!("{text}\n").as_bytes());
}

/// Prints the text and a line's end to standard error.
pub(crate) fn error(text: &str) {
    let _ = write(&mut std::io::stderr().lock(), format!("{text}\n").as_bytes());
}

fn write(out: &mut impl Write, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) => wait(error)?,
        }
    }
    while let Err(error) = out.flush() {
        wait(error)?;
    }
    Ok(())
}

/// Until it can be tried again; the error where it cannot.
fn wait(error: std::io::Error) -> Result<()> {
    match error.kind() {
        ErrorKind::Interrupted => Ok(()),
        ErrorKind::WouldBlock => {
            std::thread::sleep(PAUSE);
            Ok(())
        }
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{LineWriter, Read as _};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// More than a socket or a pipe holds.
    fn long() -> Vec<u8> {
        (0..200_000).flat_map(|line| format!("line {line}\n").into_bytes()).collect()
    }

    #[test]
    fn a_full_pipe_in_non_blocking_mode_is_waited_for() {
        let (mut reader, writer) = UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        let refused = LineWriter::new(&writer).write_all(&long()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WouldBlock, "what println! panics on");

        let (mut reader_of_all, writer) = UnixStream::pair().unwrap();
        writer.set_nonblocking(true).unwrap();
        let all = std::thread::spawn(move || {
            let mut text = Vec::new();
            reader_of_all.read_to_end(&mut text).map(|_| text)
        });
        write(&mut LineWriter::new(&writer), &long()).unwrap();
        drop(writer);
        assert!(all.join().unwrap().unwrap() == long());
        let _ = reader.read(&mut [0]).unwrap();
    }

    #[test]
    fn a_reader_that_has_gone_is_an_error() {
        let (reader, writer) = UnixStream::pair().unwrap();
        drop(reader);
        assert_eq!(write(&mut LineWriter::new(writer), b"text\n").unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
