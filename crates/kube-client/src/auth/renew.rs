//! The shell around the cache: asks a credential's source, once for everyone who waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::HeaderValue;
use tokio::time::Instant;

use super::AuthError;
use super::cache::{CredentialCache, Renewed};
use super::exec::ExecPlugin;
use super::file::TokenFile;
use super::gcp::Gcp;
#[cfg(feature = "oidc")]
use super::oidc::Oidc;
use crate::chain::ErrorChain;
use crate::config::ClientIdentityPem;
use crate::measure::plugin_called;
use crate::tls::GivesIdentity;

/// Where a credential comes from that does not stay the same.
#[derive(Debug)]
pub(super) enum Source {
    File(TokenFile),
    Exec(Box<ExecPlugin>),
    Gcp(Box<Gcp>),
    #[cfg(feature = "oidc")]
    Oidc(Box<Oidc>),
}

impl Source {
    async fn fetch(&self) -> Result<Renewed, AuthError> {
        match self {
            Self::File(file) => file.read().await,
            Self::Exec(plugin) => {
                let result = plugin.run().await;
                note(&result);
                result
            }
            Self::Gcp(gcp) => gcp.fetch().await,
            #[cfg(feature = "oidc")]
            Self::Oidc(oidc) => oidc.fetch().await,
        }
    }
}

/// A credential that is renewed when it is due, and shared by all requests.
#[derive(Debug)]
pub(crate) struct Renewing {
    source: Source,
    state: Mutex<State>,
    /// Held by whoever asks the source; the others wait for it and then find the result.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    cache: CredentialCache,
    last_failure: Option<(Instant, String)>,
}

impl Renewing {
    pub(super) fn new(source: Source) -> Self {
        Self { source, state: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// The header to send now, without waiting; `None` if the source has to be asked first.
    pub(crate) fn ready(&self) -> Option<Option<HeaderValue>> {
        self.state().cache.fresh(Instant::now()).map(|credential| credential.header.clone())
    }

    /// The header to send, from the source if need be.
    ///
    /// The source is asked in a task of its own: callers may give up waiting, and what they started still serves the next.
    pub(crate) async fn header(self: Arc<Self>) -> Result<Option<HeaderValue>, AuthError> {
        if let Some(header) = self.ready() {
            return Ok(header);
        }
        let asked_at = Instant::now();
        let asking = tokio::spawn(async move { self.renew(asked_at).await });
        asking
            .await
            .map_err(|err| AuthError::AuthExec(format!("obtaining the credentials stopped: {err}")))?
    }

    /// Tells that the server refused `header`. True if another try may fare better.
    pub(crate) fn refused(&self, header: Option<&HeaderValue>) -> bool {
        self.state().cache.refused(header, Instant::now())
    }

    async fn renew(&self, asked_at: Instant) -> Result<Option<HeaderValue>, AuthError> {
        let _turn = self.turn.lock().await;
        if let Some(header) = self.ready() {
            return Ok(header);
        }
        if let Some((at, cause)) = &self.state().last_failure
            && *at > asked_at
        {
            return Err(AuthError::AuthExec(cause.clone()));
        }
        let result = self.source.fetch().await;
        let now = Instant::now();
        let mut state = self.state();
        match result {
            Ok(credential) => {
                let header = credential.header.clone();
                state.last_failure = None;
                state.cache.renewed(credential, now);
                Ok(header)
            }
            Err(err) => {
                let cause = ErrorChain(&err).to_string();
                if let Some(old) = state.cache.source_failed(now) {
                    tracing::warn!(error = %cause, "credentials cannot be renewed, using the old ones on");
                    return Ok(old.header.clone());
                }
                state.last_failure = Some((now, cause));
                Err(err)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole after each statement, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts the run of a program, in the words of client-go.
fn note<T>(result: &Result<T, AuthError>) {
    match result {
        Ok(_) => plugin_called(0, "no_error"),
        // Ended by a signal, it has no code.
        Err(AuthError::AuthExecRun { out, .. }) => {
            plugin_called(out.status.code().unwrap_or(1), "plugin_execution_error");
        }
        Err(AuthError::AuthExecStart(err)) if err.kind() == std::io::ErrorKind::NotFound => {
            plugin_called(1, "plugin_not_found_error");
        }
        Err(_) => plugin_called(1, "client_internal_error"),
    }
}

impl GivesIdentity for Renewing {
    /// The client certificate that came with the last credential. Never asks the source: every request has done so before
    /// a connection is made for it.
    fn identity(&self) -> Option<Arc<ClientIdentityPem>> {
        self.state().cache.last()?.identity.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &std::path::Path) -> Arc<Renewing> {
        Arc::new(Renewing::new(Source::File(TokenFile::new(path.to_owned()))))
    }

    async fn header(renewing: &Arc<Renewing>) -> Result<String, AuthError> {
        let header = Arc::clone(renewing).header().await?.unwrap();
        Ok(header.to_str().unwrap().to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_changed_file_is_noticed_and_a_missing_one_survived() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let renewing = file(&path);
        assert!(matches!(header(&renewing).await, Err(AuthError::ReadTokenFile(_, _))));
        std::fs::write(&path, "one").unwrap();
        assert_eq!(header(&renewing).await.unwrap(), "Bearer one");
        std::fs::write(&path, "two").unwrap();
        assert_eq!(header(&renewing).await.unwrap(), "Bearer one");
        tokio::time::advance(std::time::Duration::from_secs(11)).await;
        assert_eq!(header(&renewing).await.unwrap(), "Bearer two");
        std::fs::remove_file(&path).unwrap();
        tokio::time::advance(std::time::Duration::from_secs(11)).await;
        assert_eq!(header(&renewing).await.unwrap(), "Bearer two");
    }

    /// As on a volume whose server is gone: whoever opens the file waits until this is dropped.
    #[cfg(target_os = "linux")]
    struct Hung(std::path::PathBuf);

    #[cfg(target_os = "linux")]
    impl Hung {
        fn instead_of(path: &std::path::Path) -> Self {
            std::fs::remove_file(path).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
            Self(path.to_owned())
        }
    }

    #[cfg(target_os = "linux")]
    impl Drop for Hung {
        fn drop(&mut self) {
            // Open in both directions: that waits for nobody, and lets go whoever waits.
            let pipe = std::fs::File::options().read(true).write(true).open(&self.0).unwrap();
            std::fs::remove_file(&self.0).unwrap();
            drop(pipe);
        }
    }

    /// Asks, and lets time go on, which does not do so by itself while a file is read. With the time that it took.
    #[cfg(target_os = "linux")]
    async fn timed(renewing: &Arc<Renewing>) -> (Result<String, AuthError>, std::time::Duration) {
        let started = Instant::now();
        let mut asked = std::pin::pin!(header(renewing));
        loop {
            for _ in 0..10 {
                if let std::task::Poll::Ready(asked) = futures::poll!(&mut asked) {
                    return (asked, started.elapsed());
                }
                tokio::task::yield_now().await;
            }
            tokio::time::advance(std::time::Duration::from_millis(100)).await;
            assert!(started.elapsed().as_secs() < 60, "it should not wait for ever");
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(start_paused = true)]
    async fn a_token_file_that_hangs_delays_requests_once_and_leaves_the_old_token_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "one").unwrap();
        let renewing = file(&path);
        assert_eq!(header(&renewing).await.unwrap(), "Bearer one");
        let hung = Hung::instead_of(&path);
        for round in 0..5 {
            tokio::time::advance(std::time::Duration::from_secs(11)).await;
            let (asked, took) = timed(&renewing).await;
            assert_eq!(asked.unwrap(), "Bearer one");
            assert!(took.as_millis() <= if round == 0 { 5100 } else { 100 }, "round {round}: {took:?}");
        }
        let (without, took) = timed(&file(&path)).await;
        assert!(without.unwrap_err().to_string().contains(path.to_str().unwrap()));
        assert!(took.as_millis() <= 5100, "{took:?}");
        drop(hung);
        std::fs::write(&path, "two").unwrap();
        while header(&renewing).await.unwrap() != "Bearer two" {
            tokio::time::advance(std::time::Duration::from_secs(11)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_has_the_file_read_at_once() {
        let file_on_disk = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file_on_disk.path(), "one").unwrap();
        let renewing = file(file_on_disk.path());
        header(&renewing).await.unwrap();
        std::fs::write(file_on_disk.path(), "two").unwrap();
        tokio::time::advance(std::time::Duration::from_secs(6)).await;
        assert!(renewing.refused(Some(&HeaderValue::from_static("Bearer one"))));
        assert_eq!(header(&renewing).await.unwrap(), "Bearer two");
    }
}
