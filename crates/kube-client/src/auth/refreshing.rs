//! A credential that is fetched from its source when it is due, once for all waiting requests.

use std::sync::Arc;

use http::HeaderValue;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::AuthError;
use super::cache::{CredentialCache, FetchedCredential};
use super::exec::ExecPlugin;
use super::gcp::Gcp;
#[cfg(feature = "oidc")]
use super::oidc::Oidc;
use super::token_file::TokenFile;
use crate::chain::ErrorChain;
use crate::config::ClientIdentityPem;
use crate::metrics::plugin_called;
use crate::tls::IdentityProvider;

/// Where a credential is fetched from.
#[derive(Debug)]
pub(super) enum Source {
    File(TokenFile),
    Exec(Box<ExecPlugin>),
    Gcp(Box<Gcp>),
    #[cfg(feature = "oidc")]
    Oidc(Box<Oidc>),
}

impl Source {
    async fn fetch(&self) -> Result<FetchedCredential, AuthError> {
        match self {
            Self::File(file) => file.fetch().await,
            Self::Exec(plugin) => {
                let result = plugin.run().await;
                count_plugin_call(&result);
                result
            }
            Self::Gcp(gcp) => gcp.fetch().await,
            #[cfg(feature = "oidc")]
            Self::Oidc(oidc) => oidc.fetch().await,
        }
    }
}

/// A credential that is refreshed when it is due, shared by all requests.
#[derive(Debug)]
pub(crate) struct RefreshingCredential {
    source: Source,
    state: Mutex<CredentialState>,
    /// Locked while the source is asked. Other requests wait for the lock, then use the result.
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct CredentialState {
    cache: CredentialCache,
    /// The last failed fetch: when it began, and why it failed.
    last_failure: Option<(Instant, String)>,
    /// Whether the log says that the old credential is kept.
    keeps_old: bool,
}

impl RefreshingCredential {
    pub(super) fn new(source: Source) -> Self {
        Self { source, state: Mutex::default(), fetching: tokio::sync::Mutex::default() }
    }

    /// The header without waiting; `None` if a fetch is due.
    pub(crate) fn ready(&self) -> Option<Option<HeaderValue>> {
        self.state().cache.fresh(Instant::now()).map(|credential| credential.header.clone())
    }

    /// The header, fetched from the source if due.
    ///
    /// The fetch runs in its own task, so that it completes for later callers when this future is dropped.
    pub(crate) async fn header(self: Arc<Self>) -> Result<Option<HeaderValue>, AuthError> {
        if let Some(header) = self.ready() {
            return Ok(header);
        }
        let started_at = Instant::now();
        let fetching = tokio::spawn(async move { self.refresh(started_at).await });
        fetching.await.unwrap_or_else(|err| {
            Err(AuthError::AuthExec(format!("the task that fetches the credentials failed: {err}")))
        })
    }

    /// The server refused `header`. True if a retry may succeed.
    pub(crate) fn refused(&self, header: Option<&HeaderValue>) -> bool {
        self.state().cache.refused(header, Instant::now())
    }

    async fn refresh(&self, started_at: Instant) -> Result<Option<HeaderValue>, AuthError> {
        let _fetching = self.fetching.lock().await;
        if let Some(header) = self.ready() {
            return Ok(header);
        }
        // One that began earlier says nothing: the user may have logged in since.
        if let Some((began_at, cause)) = &self.state().last_failure
            && *began_at > started_at
        {
            return Err(AuthError::AuthExec(cause.clone()));
        }
        let began_at = Instant::now();
        let result = self.source.fetch().await;
        let now = Instant::now();
        let mut state = self.state();
        match result {
            Ok(credential) => {
                let header = credential.header.clone();
                state.last_failure = None;
                if std::mem::take(&mut state.keeps_old) {
                    tracing::info!("credentials are refreshed again");
                }
                state.cache.update(credential, now);
                Ok(header)
            }
            Err(err) => {
                let cause = ErrorChain(&err).to_string();
                if let Some(old) = state.cache.on_source_failure(now) {
                    tracing::warn!(error = %cause, "credentials cannot be refreshed, keeping the old ones");
                    let header = old.header.clone();
                    state.keeps_old = true;
                    return Ok(header);
                }
                state.last_failure = Some((began_at, cause));
                Err(err)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, CredentialState> {
        self.state.lock()
    }
}

/// Counts the run of an exec plugin, with client-go's `call_status`.
fn count_plugin_call<T>(result: &Result<T, AuthError>) {
    match result {
        Ok(_) => plugin_called(0, "no_error"),
        // A plugin that was ended by a signal has no exit code.
        Err(AuthError::AuthExecRun { out, .. }) => {
            plugin_called(out.status.code().unwrap_or(1), "plugin_execution_error");
        }
        Err(AuthError::AuthExecStart(err)) if err.kind() == std::io::ErrorKind::NotFound => {
            plugin_called(1, "plugin_not_found_error");
        }
        Err(_) => plugin_called(1, "client_internal_error"),
    }
}

impl IdentityProvider for RefreshingCredential {
    /// The client certificate of the last credential. Never fetches: each request has done so before it opens a connection.
    fn identity(&self) -> Option<Arc<ClientIdentityPem>> {
        self.state().cache.last()?.identity.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &std::path::Path) -> Arc<RefreshingCredential> {
        Arc::new(RefreshingCredential::new(Source::File(TokenFile::new(path.to_owned(), None))))
    }

    async fn header(refreshing: &Arc<RefreshingCredential>) -> Result<String, AuthError> {
        let header = Arc::clone(refreshing).header().await?.unwrap();
        Ok(header.to_str().unwrap().to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_changed_token_file_is_read_and_a_removed_one_keeps_the_old_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let refreshing = file(&path);
        assert!(matches!(header(&refreshing).await, Err(AuthError::ReadTokenFile(_, _))));
        std::fs::write(&path, "one").unwrap();
        assert_eq!(header(&refreshing).await.unwrap(), "Bearer one");
        std::fs::write(&path, "two").unwrap();
        assert_eq!(header(&refreshing).await.unwrap(), "Bearer one");
        tokio::time::advance(std::time::Duration::from_secs(11)).await;
        assert_eq!(header(&refreshing).await.unwrap(), "Bearer two");
        std::fs::remove_file(&path).unwrap();
        tokio::time::advance(std::time::Duration::from_secs(11)).await;
        assert_eq!(header(&refreshing).await.unwrap(), "Bearer two");
    }

    /// Replaces the file by a FIFO: opening it blocks until this is dropped, as on a volume whose server is down.
    #[cfg(target_os = "linux")]
    struct BlockedFile(std::path::PathBuf);

    #[cfg(target_os = "linux")]
    impl BlockedFile {
        fn replacing(path: &std::path::Path) -> Self {
            std::fs::remove_file(path).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
            Self(path.to_owned())
        }
    }

    #[cfg(target_os = "linux")]
    impl Drop for BlockedFile {
        fn drop(&mut self) {
            // Opening both ends does not block, and unblocks those that wait.
            let pipe = std::fs::File::options().read(true).write(true).open(&self.0).unwrap();
            std::fs::remove_file(&self.0).unwrap();
            drop(pipe);
        }
    }

    /// Fetches the header while advancing the paused clock, which blocking reads stop. Returns the time it took.
    #[cfg(target_os = "linux")]
    async fn timed(
        refreshing: &Arc<RefreshingCredential>,
    ) -> (Result<String, AuthError>, std::time::Duration) {
        let started = Instant::now();
        let mut fetching = std::pin::pin!(header(refreshing));
        loop {
            for _ in 0..10 {
                if let std::task::Poll::Ready(result) = futures::poll!(&mut fetching) {
                    return (result, started.elapsed());
                }
                tokio::task::yield_now().await;
            }
            tokio::time::advance(std::time::Duration::from_millis(100)).await;
            assert!(started.elapsed().as_secs() < 60, "the header is still pending");
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(start_paused = true)]
    async fn a_blocked_token_file_delays_requests_once_and_keeps_the_old_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "one").unwrap();
        let refreshing = file(&path);
        assert_eq!(header(&refreshing).await.unwrap(), "Bearer one");
        let blocked = BlockedFile::replacing(&path);
        for round in 0..5 {
            tokio::time::advance(std::time::Duration::from_secs(11)).await;
            let (result, took) = timed(&refreshing).await;
            assert_eq!(result.unwrap(), "Bearer one");
            assert!(took.as_millis() <= if round == 0 { 5100 } else { 100 }, "round {round}: {took:?}");
        }
        let (without, took) = timed(&file(&path)).await;
        assert!(without.unwrap_err().to_string().contains(path.to_str().unwrap()));
        assert!(took.as_millis() <= 5100, "{took:?}");
        drop(blocked);
        std::fs::write(&path, "two").unwrap();
        while header(&refreshing).await.unwrap() != "Bearer two" {
            tokio::time::advance(std::time::Duration::from_secs(11)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_reads_the_token_file_again() {
        let file_on_disk = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file_on_disk.path(), "one").unwrap();
        let refreshing = file(file_on_disk.path());
        header(&refreshing).await.unwrap();
        std::fs::write(file_on_disk.path(), "two").unwrap();
        tokio::time::advance(std::time::Duration::from_secs(6)).await;
        assert!(refreshing.refused(Some(&HeaderValue::from_static("Bearer one"))));
        assert_eq!(header(&refreshing).await.unwrap(), "Bearer two");
    }
}
