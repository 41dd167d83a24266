//! The client certificate: fixed, in files that may change, or from an exec plugin.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use secrecy::ExposeSecret;
use tokio::time::Instant;
use tower::BoxError;

use crate::config::{AuthInfo, ClientIdentityPem, KubeconfigError};
use crate::file_version::FileVersion;

/// A source of client certificates at run time: an exec plugin that returns them.
pub(crate) trait IdentityProvider: fmt::Debug + Send + Sync {
    /// The latest certificate. An unchanged certificate is the same `Arc`.
    fn identity(&self) -> Option<Arc<ClientIdentityPem>>;
}

/// Where a user's client certificate comes from.
#[derive(Clone, Debug)]
pub(super) enum IdentitySource {
    /// In the configuration itself.
    Fixed(Arc<ClientIdentityPem>),
    /// In files, with the content `first` as of `versions`.
    Files {
        first: Arc<ClientIdentityPem>,
        user: Box<AuthInfo>,
        paths: Vec<PathBuf>,
        versions: Vec<Option<FileVersion>>,
    },
    Provided(Arc<dyn IdentityProvider>),
}

impl IdentitySource {
    /// The user's own certificate, or else that of `identity_provider`.
    pub(super) fn of(
        user: &AuthInfo,
        identity_provider: Option<Arc<dyn IdentityProvider>>,
    ) -> Result<Option<Self>, KubeconfigError> {
        let paths = identity_files(user);
        // The versions are read first, so that files that change while they are read are read again.
        let versions = FileVersion::of_all(&paths);
        let Some(first) = user.load_client_identity()?.map(Arc::new) else {
            return Ok(identity_provider.map(Self::Provided));
        };
        Ok(Some(match paths.is_empty() {
            true => Self::Fixed(first),
            false => Self::Files { first, user: Box::new(user.only_identity()), paths, versions },
        }))
    }

    /// Whether the certificate may change at run time.
    pub(super) fn may_change(&self) -> bool {
        !matches!(self, Self::Fixed(_))
    }
}

/// The current client certificate, converted by a TLS library to `T`.
///
/// Each new connection reads it; open connections keep theirs.
pub(super) struct CurrentIdentity<T> {
    source: IdentitySource,
    parse: Parse<T>,
    current: Mutex<Current<T>>,
}

type Parse<T> = Box<dyn Fn(&ClientIdentityPem) -> Result<T, BoxError> + Send + Sync>;

struct Current<T> {
    parsed: Option<Arc<T>>,
    versions: Vec<Option<FileVersion>>,
    pem: Option<Arc<ClientIdentityPem>>,
}

impl<T> CurrentIdentity<T> {
    /// A certificate that is available now must be valid.
    pub(super) fn new<E: Error + Send + Sync + 'static>(
        source: IdentitySource,
        parse: impl Fn(&ClientIdentityPem) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<Self, E> {
        let (parsed, versions) = match &source {
            IdentitySource::Fixed(pem) => (Some(parse(pem)?), Vec::new()),
            IdentitySource::Files { first, versions, .. } => (Some(parse(first)?), versions.clone()),
            IdentitySource::Provided(_) => (None, Vec::new()),
        };
        let current = Mutex::new(Current { parsed: parsed.map(Arc::new), versions, pem: None });
        let parse: Parse<T> = Box::new(move |pem| parse(pem).map_err(Into::into));
        Ok(Self { source, parse, current })
    }

    /// The certificate to present now.
    pub(super) fn current(&self) -> Option<Arc<T>> {
        let mut current = self.current.lock();
        match &self.source {
            IdentitySource::Fixed(_) => {}
            IdentitySource::Files { user, paths, .. } => {
                let versions = FileVersion::of_all(paths);
                if versions != current.versions && versions.iter().all(Option::is_some) {
                    self.reload(&mut current, versions, user);
                }
            }
            IdentitySource::Provided(identity_provider) => {
                let pem = identity_provider.identity();
                if !same(pem.as_ref(), current.pem.as_ref()) {
                    match pem.as_ref().map(|pem| (self.parse)(pem)).transpose() {
                        Ok(parsed) => current.parsed = parsed.map(Arc::new),
                        Err(err) => warn(&err),
                    }
                    current.pem = pem;
                }
            }
        }
        current.parsed.clone()
    }

    /// Certificate and key files are replaced one after the other: a pair that does not match is read again the next time.
    fn reload(&self, current: &mut Current<T>, versions: Vec<Option<FileVersion>>, user: &AuthInfo) {
        let loaded = match user.load_client_identity() {
            Ok(Some(identity)) => (self.parse)(&identity),
            Ok(None) => return,
            Err(err) => return warn(&err),
        };
        match loaded {
            Ok(parsed) => {
                tracing::info!("client certificate reloaded");
                current.parsed = Some(Arc::new(parsed));
                current.versions = versions;
            }
            Err(err) => warn(&err),
        }
    }
}

impl<T> fmt::Debug for CurrentIdentity<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentIdentity").field("source", &self.source).finish_non_exhaustive()
    }
}

fn warn(err: &dyn fmt::Display) {
    tracing::warn!(error = %err, "the changed client certificate cannot be used, keeping the previous one");
}

fn same(one: Option<&Arc<ClientIdentityPem>>, other: Option<&Arc<ClientIdentityPem>>) -> bool {
    one.map(Arc::as_ptr) == other.map(Arc::as_ptr)
}

/// Counts the changes of the client certificate. New requests must not use a connection of an earlier epoch: the server would
/// authenticate them by a certificate that may have expired.
#[derive(Clone, Debug)]
pub(crate) struct IdentityEpoch(Option<Arc<(IdentitySource, Mutex<EpochState>)>>);

#[derive(Debug, Default)]
struct EpochState {
    epoch: u64,
    versions: Vec<Option<FileVersion>>,
    checked_at: Option<Instant>,
    pem: Option<Arc<ClientIdentityPem>>,
}

/// The least time between two checks of the files.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(10);

impl IdentityEpoch {
    /// Takes the same arguments as [`IdentitySource::of`].
    pub(crate) fn of(
        user: &AuthInfo,
        identity_provider: Option<Arc<dyn IdentityProvider>>,
    ) -> Result<Self, KubeconfigError> {
        let source = IdentitySource::of(user, identity_provider)?.filter(IdentitySource::may_change);
        Ok(Self(source.map(|source| {
            let mut state = EpochState::default();
            if let IdentitySource::Files { versions, .. } = &source {
                state.versions.clone_from(versions);
            }
            Arc::new((source, Mutex::new(state)))
        })))
    }

    /// Without a client certificate.
    #[cfg(feature = "openssl-tls")]
    pub(super) fn constant() -> Self {
        Self(None)
    }

    /// The epoch at `now`.
    pub(crate) fn current(&self, now: Instant) -> u64 {
        let Some(shared) = &self.0 else { return 0 };
        let (source, state) = &**shared;
        let mut state = state.lock();
        match source {
            IdentitySource::Fixed(_) => {}
            IdentitySource::Files { paths, .. } => {
                if state.checked_at.is_none_or(|at| now.saturating_duration_since(at) >= CHECK_INTERVAL) {
                    state.checked_at = Some(now);
                    let versions = FileVersion::of_all(paths);
                    if versions != state.versions {
                        state.versions = versions;
                        state.epoch += 1;
                    }
                }
            }
            IdentitySource::Provided(identity_provider) => {
                let pem = identity_provider.identity();
                if !same(pem.as_ref(), state.pem.as_ref()) {
                    state.pem = pem;
                    state.epoch += 1;
                }
            }
        }
        state.epoch
    }
}

/// The files of a user's identity. Inline data takes precedence over a file.
fn identity_files(user: &AuthInfo) -> Vec<PathBuf> {
    let file = |has_data: bool, path: &Option<String>| {
        path.as_deref().filter(|path| !has_data && !path.is_empty()).map(|path| Path::new(path).to_owned())
    };
    let certificate_in_place = user.client_certificate_data.as_deref().is_some_and(|data| !data.is_empty());
    let key_in_place = user.client_key_data.as_ref().is_some_and(|data| !data.expose_secret().is_empty());
    file(certificate_in_place, &user.client_certificate)
        .into_iter()
        .chain(file(key_in_place, &user.client_key))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn user(folder: &tempfile::TempDir) -> AuthInfo {
        let path = |name: &str| Some(folder.path().join(name).to_str().unwrap().to_owned());
        AuthInfo { client_certificate: path("crt"), client_key: path("key"), ..AuthInfo::default() }
    }

    fn write(folder: &tempfile::TempDir, name: &str, text: &str) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }

    #[test]
    fn changed_files_are_used_once_certificate_and_key_match() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, "crt", "a");
        write(&folder, "key", "a");
        let source = IdentitySource::of(&user(&folder), None).unwrap().unwrap();
        let fitting = |pem: &ClientIdentityPem| {
            let certificate = String::from_utf8(pem.certificate.clone()).unwrap();
            if certificate == pem.key.expose_secret() { Ok(certificate) } else { Err(fmt::Error) }
        };
        let identity = CurrentIdentity::new(source, fitting).unwrap();
        assert_eq!(*identity.current().unwrap(), "a");
        // A different length is a change whatever the resolution of the file system's clock.
        write(&folder, "crt", "bb");
        assert_eq!(*identity.current().unwrap(), "a");
        write(&folder, "key", "bb");
        assert_eq!(*identity.current().unwrap(), "bb");
        std::fs::remove_file(folder.path().join("key")).unwrap();
        assert_eq!(*identity.current().unwrap(), "bb");
    }

    #[test]
    fn files_that_change_right_after_they_were_read_are_read_again() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, "crt", "a");
        write(&folder, "key", "a");
        let source = IdentitySource::of(&user(&folder), None).unwrap().unwrap();
        write(&folder, "crt", "bb");
        write(&folder, "key", "bb");
        let identity = CurrentIdentity::new(source, |pem| Ok::<_, Infallible>(pem.certificate.clone()));
        assert_eq!(*identity.unwrap().current().unwrap(), b"bb");
    }

    #[derive(Debug, Default)]
    struct TestProvider(Mutex<Option<Arc<ClientIdentityPem>>>);

    impl IdentityProvider for TestProvider {
        fn identity(&self) -> Option<Arc<ClientIdentityPem>> {
            self.0.lock().clone()
        }
    }

    impl TestProvider {
        fn set(&self, certificate: &str) {
            let pem = ClientIdentityPem { certificate: certificate.into(), key: String::new().into() };
            *self.0.lock() = Some(Arc::new(pem));
        }
    }

    #[test]
    fn a_provided_certificate_is_used_and_starts_a_new_epoch() {
        let identity_provider = Arc::new(TestProvider::default());
        let provider = || Some(Arc::clone(&identity_provider) as Arc<dyn IdentityProvider>);
        let user = AuthInfo::default();
        let source = IdentitySource::of(&user, provider()).unwrap().unwrap();
        let identity =
            CurrentIdentity::new(source, |pem| Ok::<_, Infallible>(pem.certificate.clone())).unwrap();
        let epoch = IdentityEpoch::of(&user, provider()).unwrap();
        let now = Instant::now();
        assert!(identity.current().is_none());
        let before = epoch.current(now);
        identity_provider.set("one");
        assert_eq!(*identity.current().unwrap(), b"one");
        let first = epoch.current(now);
        assert!(first > before);
        assert_eq!(epoch.current(now), first);
        identity_provider.set("two");
        assert_eq!(*identity.current().unwrap(), b"two");
        assert!(epoch.current(now) > first);
    }

    #[test]
    fn the_epoch_checks_files_every_ten_seconds_and_is_constant_without_a_certificate() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, "crt", "a");
        write(&folder, "key", "a");
        let epoch = IdentityEpoch::of(&user(&folder), None).unwrap();
        let start = Instant::now();
        assert_eq!(epoch.current(start), 0);
        write(&folder, "crt", "longer");
        assert_eq!(epoch.current(start + Duration::from_secs(9)), 0);
        assert_eq!(epoch.current(start + Duration::from_secs(10)), 1);
        assert_eq!(epoch.current(start + Duration::from_secs(30)), 1);
        let without_certificate = IdentityEpoch::of(&AuthInfo::default(), None).unwrap();
        assert_eq!(without_certificate.current(start), 0);
    }
}
