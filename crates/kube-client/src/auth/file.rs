//! A token in a file that others replace.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::HeaderValue;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::AuthError;
use super::cache::Renewed;
use super::header::bearer;

/// How long what was read is used before the file is looked at again. The kubelet replaces a pod's token long before the old
/// one expires, so a few seconds do not matter; a read costs microseconds, so neither does it.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// How long a read may take. A volume whose server is gone answers never.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The token in a file.
#[derive(Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
    /// A read that took too long, and still goes on: nothing can end it, so no other one is begun beside it.
    overdue: Mutex<Option<JoinHandle<Result<HeaderValue, AuthError>>>>,
}

impl TokenFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, overdue: Mutex::default() }
    }

    /// Reads the token, off the async threads: the file may be on a slow volume.
    ///
    /// A read that takes longer than [`READ_TIMEOUT`] is an error, and so is each later call, at once, until that read has ended.
    pub(super) async fn read(&self) -> Result<Renewed, AuthError> {
        let mut overdue = self.overdue.lock().await;
        let limit = if overdue.is_some() { Duration::ZERO } else { READ_TIMEOUT };
        let reading = overdue.get_or_insert_with(|| {
            let path = self.path.clone();
            tokio::task::spawn_blocking(move || read(&path))
        });
        let Ok(read) = timeout(limit, reading).await else {
            let text = format!("the file could not be read within {READ_TIMEOUT:?}: is its volume there?");
            let err = io::Error::new(io::ErrorKind::TimedOut, text);
            return Err(AuthError::ReadTokenFile(err, self.path.clone()));
        };
        *overdue = None;
        let header =
            read.map_err(|err| AuthError::AuthExec(format!("reading the token stopped: {err}")))??;
        let renew_at = Some(Instant::now() + LOOK_AGAIN_AFTER);
        Ok(Renewed { renew_at, outlives_failure: true, ..Renewed::once(Some(header)) })
    }
}

fn read(path: &Path) -> Result<HeaderValue, AuthError> {
    let text = std::fs::read_to_string(path).map_err(|err| AuthError::ReadTokenFile(err, path.to_owned()))?;
    parse(&text, path)
}

fn parse(text: &str, path: &Path) -> Result<HeaderValue, AuthError> {
    let token = text.trim();
    if token.is_empty() {
        let empty = io::Error::new(io::ErrorKind::InvalidData, "the file is empty: expected a token");
        return Err(AuthError::ReadTokenFile(empty, path.to_owned()));
    }
    bearer(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_token_is_trimmed_and_an_empty_file_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let token = TokenFile::new(file.path().to_owned());
        let empty = token.read().await.unwrap_err();
        assert!(empty.to_string().contains(file.path().to_str().unwrap()), "{empty}");
        std::fs::write(file.path(), "  abc\n").unwrap();
        assert_eq!(token.read().await.unwrap().header.unwrap(), "Bearer abc");
        let missing = TokenFile::new("/no/such/token".into());
        assert!(matches!(missing.read().await, Err(AuthError::ReadTokenFile(_, _))));
    }
}
