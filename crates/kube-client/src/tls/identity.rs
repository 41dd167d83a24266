//! The client certificate: given once, in files that may change, or handed over with other credentials.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::time::Instant;

use super::stamp::{Stamp, stamp_of};
use crate::config::{AuthInfo, ClientIdentityPem, KubeconfigError};

/// Whoever may hand over a client certificate along with other credentials.
pub(crate) trait GivesIdentity: fmt::Debug + Send + Sync {
    /// The latest one. The same certificate stays the same `Arc`.
    fn identity(&self) -> Option<Arc<ClientIdentityPem>>;
}

/// Where a user's client certificate comes from.
#[derive(Clone, Debug)]
pub(super) enum IdentityOrigin {
    /// It stays as it is.
    Fixed(Arc<ClientIdentityPem>),
    /// Certificate and key lie in files; the first of them loaded already, from files that looked like `stamps` before.
    Files {
        first: Arc<ClientIdentityPem>,
        user: Box<AuthInfo>,
        paths: Vec<PathBuf>,
        stamps: Vec<Option<Stamp>>,
    },
    /// It comes with the credentials.
    Given(Arc<dyn GivesIdentity>),
}

impl IdentityOrigin {
    /// The user's own certificate, or else what `giver` hands over.
    pub(super) fn of(
        user: &AuthInfo,
        giver: Option<Arc<dyn GivesIdentity>>,
    ) -> Result<Option<Self>, KubeconfigError> {
        let paths = identity_files(user);
        // The stamps first: files that change while they are read are then read again.
        let stamps = stamps_of(&paths);
        let Some(first) = user.load_client_identity()?.map(Arc::new) else {
            return Ok(giver.map(Self::Given));
        };
        Ok(Some(match paths.is_empty() {
            true => Self::Fixed(first),
            false => Self::Files { first, user: Box::new(user.clone()), paths, stamps },
        }))
    }

    /// Whether another certificate may take its place.
    pub(super) fn may_change(&self) -> bool {
        !matches!(self, Self::Fixed(_))
    }
}

/// The client certificate of the moment, in whatever form `T` a TLS library wants it.
///
/// It is looked up for each connection; connections that are open keep the one they were made with.
pub(super) struct CurrentIdentity<T> {
    origin: IdentityOrigin,
    parse: Parse<T>,
    current: Mutex<Current<T>>,
}

type Cause = Box<dyn Error + Send + Sync>;
type Parse<T> = Box<dyn Fn(&ClientIdentityPem) -> Result<T, Cause> + Send + Sync>;

struct Current<T> {
    parsed: Option<Arc<T>>,
    stamps: Vec<Option<Stamp>>,
    pem: Option<Arc<ClientIdentityPem>>,
}

impl<T> CurrentIdentity<T> {
    /// An identity that is there already has to be good.
    pub(super) fn new<E: Error + Send + Sync + 'static>(
        origin: IdentityOrigin,
        parse: impl Fn(&ClientIdentityPem) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<Self, E> {
        let (parsed, stamps) = match &origin {
            IdentityOrigin::Fixed(pem) => (Some(parse(pem)?), Vec::new()),
            IdentityOrigin::Files { first, stamps, .. } => (Some(parse(first)?), stamps.clone()),
            IdentityOrigin::Given(_) => (None, Vec::new()),
        };
        let current = Mutex::new(Current { parsed: parsed.map(Arc::new), stamps, pem: None });
        let parse: Parse<T> = Box::new(move |pem| parse(pem).map_err(Into::into));
        Ok(Self { origin, parse, current })
    }

    /// What to show now.
    pub(super) fn current(&self) -> Option<Arc<T>> {
        // Every statement leaves the whole usable, so a panic elsewhere does too.
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.origin {
            IdentityOrigin::Fixed(_) => {}
            IdentityOrigin::Files { user, paths, .. } => {
                let stamps = stamps_of(paths);
                if stamps != current.stamps && stamps.iter().all(Option::is_some) {
                    self.reload(&mut current, stamps, user);
                }
            }
            IdentityOrigin::Given(giver) => {
                let pem = giver.identity();
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

    /// Certificate and key are replaced one after the other: what does not fit together is tried again the next time.
    fn reload(&self, current: &mut Current<T>, stamps: Vec<Option<Stamp>>, user: &AuthInfo) {
        let loaded = match user.load_client_identity() {
            Ok(Some(identity)) => (self.parse)(&identity),
            Ok(None) => return,
            Err(err) => return warn(&err),
        };
        match loaded {
            Ok(parsed) => {
                tracing::debug!("the client certificate has changed");
                current.parsed = Some(Arc::new(parsed));
                current.stamps = stamps;
            }
            Err(err) => warn(&err),
        }
    }
}

impl<T> fmt::Debug for CurrentIdentity<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentIdentity").field("origin", &self.origin).finish_non_exhaustive()
    }
}

fn warn(err: &dyn fmt::Display) {
    tracing::warn!(error = %err, "the changed client certificate cannot be used, showing the old one on");
}

fn same(one: Option<&Arc<ClientIdentityPem>>, other: Option<&Arc<ClientIdentityPem>>) -> bool {
    one.map(Arc::as_ptr) == other.map(Arc::as_ptr)
}

/// Counts the client certificates that there have been: a connection of an older one is not to be used for new requests, since
/// the server would judge them by a certificate that may have expired.
#[derive(Clone, Debug)]
pub(crate) struct IdentityEpoch(Option<Arc<(IdentityOrigin, Mutex<Seen>)>>);

#[derive(Debug, Default)]
struct Seen {
    epoch: u64,
    stamps: Vec<Option<Stamp>>,
    looked_at: Option<Instant>,
    pem: Option<Arc<ClientIdentityPem>>,
}

/// Files are looked at this often at most.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(10);

impl IdentityEpoch {
    /// For the same arguments as [`IdentityOrigin::of`].
    pub(crate) fn of(
        user: &AuthInfo,
        giver: Option<Arc<dyn GivesIdentity>>,
    ) -> Result<Self, KubeconfigError> {
        let origin = IdentityOrigin::of(user, giver)?.filter(IdentityOrigin::may_change);
        Ok(Self(origin.map(|origin| {
            let mut seen = Seen::default();
            if let IdentityOrigin::Files { stamps, .. } = &origin {
                seen.stamps.clone_from(stamps);
            }
            Arc::new((origin, Mutex::new(seen)))
        })))
    }

    /// For those who show no certificate.
    #[cfg(feature = "openssl-tls")]
    pub(super) fn constant() -> Self {
        Self(None)
    }

    /// The number of the one that holds at `now`.
    pub(crate) fn current(&self, now: Instant) -> u64 {
        let Some(shared) = &self.0 else { return 0 };
        let (origin, seen) = &**shared;
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        match origin {
            IdentityOrigin::Fixed(_) => {}
            IdentityOrigin::Files { paths, .. } => {
                if seen.looked_at.is_none_or(|at| now.saturating_duration_since(at) >= LOOK_AGAIN_AFTER) {
                    seen.looked_at = Some(now);
                    let stamps = stamps_of(paths);
                    if stamps != seen.stamps {
                        seen.stamps = stamps;
                        seen.epoch += 1;
                    }
                }
            }
            IdentityOrigin::Given(giver) => {
                let pem = giver.identity();
                if !same(pem.as_ref(), seen.pem.as_ref()) {
                    seen.pem = pem;
                    seen.epoch += 1;
                }
            }
        }
        seen.epoch
    }
}

/// The files that a user's identity lies in; text in place wins over a file.
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

fn stamps_of(paths: &[PathBuf]) -> Vec<Option<Stamp>> {
    paths.iter().map(|path| stamp_of(path)).collect()
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
    fn changed_files_are_shown_once_they_fit_together() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, "crt", "a");
        write(&folder, "key", "a");
        let origin = IdentityOrigin::of(&user(&folder), None).unwrap().unwrap();
        let fitting = |pem: &ClientIdentityPem| {
            let certificate = String::from_utf8(pem.certificate.clone()).unwrap();
            if certificate == pem.key.expose_secret() { Ok(certificate) } else { Err(fmt::Error) }
        };
        let identity = CurrentIdentity::new(origin, fitting).unwrap();
        assert_eq!(*identity.current().unwrap(), "a");
        // Another length makes a change visible whatever the file system's clock.
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
        let origin = IdentityOrigin::of(&user(&folder), None).unwrap().unwrap();
        write(&folder, "crt", "bb");
        write(&folder, "key", "bb");
        let identity = CurrentIdentity::new(origin, |pem| Ok::<_, Infallible>(pem.certificate.clone()));
        assert_eq!(*identity.unwrap().current().unwrap(), b"bb");
    }

    #[derive(Debug, Default)]
    struct Giver(Mutex<Option<Arc<ClientIdentityPem>>>);

    impl GivesIdentity for Giver {
        fn identity(&self) -> Option<Arc<ClientIdentityPem>> {
            self.0.lock().unwrap().clone()
        }
    }

    impl Giver {
        fn hand_over(&self, certificate: &str) {
            let pem = ClientIdentityPem { certificate: certificate.into(), key: String::new().into() };
            *self.0.lock().unwrap() = Some(Arc::new(pem));
        }
    }

    #[test]
    fn what_comes_with_the_credentials_is_shown_and_counted() {
        let giver = Arc::new(Giver::default());
        let handed = || Some(Arc::clone(&giver) as Arc<dyn GivesIdentity>);
        let user = AuthInfo::default();
        let origin = IdentityOrigin::of(&user, handed()).unwrap().unwrap();
        let identity =
            CurrentIdentity::new(origin, |pem| Ok::<_, Infallible>(pem.certificate.clone())).unwrap();
        let epoch = IdentityEpoch::of(&user, handed()).unwrap();
        let now = Instant::now();
        assert!(identity.current().is_none());
        let before = epoch.current(now);
        giver.hand_over("one");
        assert_eq!(*identity.current().unwrap(), b"one");
        let first = epoch.current(now);
        assert!(first > before);
        assert_eq!(epoch.current(now), first);
        giver.hand_over("two");
        assert_eq!(*identity.current().unwrap(), b"two");
        assert!(epoch.current(now) > first);
    }

    #[test]
    fn files_are_looked_at_now_and_then_and_what_cannot_change_is_not() {
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
        let nobody = IdentityEpoch::of(&AuthInfo::default(), None).unwrap();
        assert_eq!(nobody.current(start), 0);
    }
}
