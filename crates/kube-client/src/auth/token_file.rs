//! A token in a file, such as the service account token that the kubelet rotates.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;

use super::AuthError;
use super::cache::{FetchedCredential, Usable};
use super::header::bearer;
use crate::blocking_read::BlockingRead;

/// How long a token is used before the file is read again. The kubelet replaces a token long before it expires, so a delay of seconds is
/// harmless.
const READ_INTERVAL: Duration = Duration::from_secs(10);

/// The token in a file.
#[derive(Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
    /// The user's `token`, used until the file has been read once.
    fallback: parking_lot::Mutex<Option<HeaderValue>>,
    reads: BlockingRead<io::Result<String>>,
}

impl TokenFile {
    pub(super) fn new(path: PathBuf, fallback: Option<HeaderValue>) -> Self {
        Self { path, fallback: fallback.into(), reads: BlockingRead::default() }
    }

    /// The token in the file, or else the user's other one as long as the file has never been readable.
    pub(super) async fn fetch(&self) -> Result<FetchedCredential, AuthError> {
        let read = self.read().await;
        let fallback = match &read {
            Ok(_) => self.fallback.lock().take().and(None),
            Err(_) => self.fallback.lock().clone(),
        };
        let (Err(err), Some(fallback)) = (&read, fallback) else { return read };
        tracing::debug!(%err, "the token file cannot be read, using the user's `token`");
        let refresh_at = Some(Instant::now() + READ_INTERVAL);
        Ok(FetchedCredential { refresh_at, ..FetchedCredential::until_refused(Some(fallback)) })
    }

    async fn read(&self) -> Result<FetchedCredential, AuthError> {
        let path = self.path.clone();
        let read = self.reads.read(move || std::fs::read_to_string(path)).await;
        let text = read.and_then(|text| text).map_err(|err| self.failed(err))?;
        let header = self.parse(&text)?;
        let refresh_at = Some(Instant::now() + READ_INTERVAL);
        Ok(FetchedCredential {
            refresh_at,
            usable: Usable::Always,
            ..FetchedCredential::until_refused(Some(header))
        })
    }

    fn parse(&self, text: &str) -> Result<HeaderValue, AuthError> {
        let token = text.trim();
        if token.is_empty() {
            let empty = io::Error::new(io::ErrorKind::InvalidData, "the file is empty: expected a token");
            return Err(self.failed(empty));
        }
        bearer(token)
    }

    fn failed(&self, err: io::Error) -> AuthError {
        AuthError::ReadTokenFile(err, self.path.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_token_is_trimmed_and_the_error_of_an_empty_file_contains_its_path() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let token = TokenFile::new(file.path().to_owned(), None);
        let empty = token.read().await.unwrap_err();
        assert!(empty.to_string().contains(file.path().to_str().unwrap()), "{empty}");
        std::fs::write(file.path(), "  abc\n").unwrap();
        assert_eq!(token.read().await.unwrap().header.unwrap(), "Bearer abc");
        let missing = TokenFile::new("/no/such/token".into(), None);
        assert!(matches!(missing.read().await, Err(AuthError::ReadTokenFile(_, _))));
    }

    /// As by kubectl.
    #[tokio::test]
    async fn the_users_token_is_used_until_the_file_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let token = TokenFile::new(path.clone(), Some(HeaderValue::from_static("Bearer other")));
        for _ in 0..2 {
            let fetched = token.fetch().await.unwrap();
            assert_eq!(fetched.header.unwrap(), "Bearer other");
            assert!(fetched.refresh_at.is_some(), "the file may appear");
        }
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(token.fetch().await.unwrap().header.unwrap(), "Bearer abc");
        std::fs::remove_file(&path).unwrap();
        assert!(token.fetch().await.is_err(), "the other token may be an old one");
    }
}
