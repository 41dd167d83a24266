//! A token in a file that others replace.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::AuthError;
use super::cache::Renewed;
use super::header::bearer;

/// How long what was read is used before the file is looked at again. The kubelet replaces a pod's token long before the old
/// one expires, so a few seconds do not matter; a read costs microseconds, so neither does it.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// Reads the token in `path`, off the async threads: the file may be on a slow volume.
pub(super) async fn read_token(path: PathBuf) -> Result<Renewed, AuthError> {
    let reading = tokio::task::spawn_blocking(move || {
        let read = std::fs::read_to_string(&path);
        read.map_err(|err| AuthError::ReadTokenFile(err, path.clone())).and_then(|text| parse(&text, &path))
    });
    let header =
        reading.await.map_err(|err| AuthError::AuthExec(format!("reading the token stopped: {err}")))??;
    let renew_at = Some(Instant::now() + LOOK_AGAIN_AFTER);
    Ok(Renewed { renew_at, outlives_failure: true, ..Renewed::once(Some(header)) })
}

fn parse(text: &str, path: &Path) -> Result<http::HeaderValue, AuthError> {
    let token = text.trim();
    if token.is_empty() {
        let empty =
            std::io::Error::new(std::io::ErrorKind::InvalidData, "the file is empty: expected a token");
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
        let empty = read_token(file.path().to_owned()).await.unwrap_err();
        assert!(empty.to_string().contains(file.path().to_str().unwrap()), "{empty}");
        std::fs::write(file.path(), "  abc\n").unwrap();
        let token = read_token(file.path().to_owned()).await.unwrap();
        assert_eq!(token.header.unwrap(), "Bearer abc");
        assert!(matches!(read_token("/no/such/token".into()).await, Err(AuthError::ReadTokenFile(_, _))));
    }
}
