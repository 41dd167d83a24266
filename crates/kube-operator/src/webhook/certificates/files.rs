//! A certificate in files, as cert-manager and mounted Secrets provide it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use kube_serve::listener::TlsSettings;
use metrics::{counter, describe_counter};

use super::{
    expiry::{Expiry, now},
    source::{CertificateError, CertificateNeeds, CertificateSource, Serving},
};

const INTERVAL: Duration = Duration::from_secs(10);
const READS: &str = "certwatcher_read_certificate_total";
const READ_ERRORS: &str = "certwatcher_read_certificate_errors_total";

/// `tls.crt` and `tls.key` in a folder, as in a mounted Secret of type `kubernetes.io/tls`.
///
/// The files are read every 10 s. A new certificate is used for new connections, without a restart. Files that cannot be used, such as a
/// certificate whose key has not been written yet, are logged as warnings, once per content; the old certificate stays in use. Counted by
/// `certwatcher_read_certificate_total` and `certwatcher_read_certificate_errors_total`, as in controller-runtime.
///
/// A certificate that ends within a day is logged as a warning and one that has expired as an error, once each; it stays in use, because
/// there is no other. `kube_operator_certificate_expiration_timestamp_seconds{certificate}` says when it expires.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kube_operator::webhook::certificates::{CertificateFiles, CertificateSource};
///
/// let error = CertificateFiles::new("/no/such/folder").start().await.expect_err("there are no files");
/// assert!(error.to_string().starts_with("/no/such/folder/tls.crt: "), "{error}");
/// # })
/// ```
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
    interval: Duration,
}

impl CertificateFiles {
    /// `tls.crt` and `tls.key` in a folder.
    pub fn new(folder: impl AsRef<Path>) -> Self {
        let folder = folder.as_ref();
        Self::of(folder.join("tls.crt"), folder.join("tls.key"))
    }

    /// A chain, leaf first, and its private key: two PEM files.
    pub fn of(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { certificate: certificate.into(), key: key.into(), interval: INTERVAL }
    }

    /// The time between two reads; 10 s by default, at least 1 ms.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval.max(Duration::from_millis(1));
        self
    }

    async fn read(&self) -> Result<Pair, CertificateError> {
        let read = async |path: &Path| {
            tokio::fs::read(path).await.map_err(|error| CertificateError::new(path.display(), error))
        };
        let pair = Pair { certificate: read(&self.certificate).await?, key: read(&self.key).await? };
        Ok(pair)
    }

    fn unusable(&self, error: kube_serve::listener::TlsError) -> CertificateError {
        CertificateError::new(format!("{}, {}", self.certificate.display(), self.key.display()), error)
    }

    /// Reads the files for ever.
    async fn watch(self, tls: TlsSettings, mut last: Result<Pair, String>) {
        let chain = last.as_ref().map(|pair| pair.certificate.clone()).unwrap_or_default();
        let mut expiry = Expiry::of(self.certificate.display().to_string(), &chain);
        loop {
            expiry.check(now());
            tokio::time::sleep(self.interval).await;
            counter!(READS).increment(1);
            let read = self.read().await;
            let key = read.as_ref().map_err(ToString::to_string);
            if key == last.as_ref().map_err(Clone::clone) {
                if read.is_err() {
                    counter!(READ_ERRORS).increment(1);
                }
                continue;
            }
            last = key.cloned();
            let reloaded = read.and_then(|pair| {
                tls.reload(&pair.certificate, &pair.key).map_err(|error| self.unusable(error))?;
                expiry.replace(&pair.certificate);
                Ok(())
            });
            match reloaded {
                Ok(()) => tracing::info!(certificate = %self.certificate.display(), "certificate reloaded"),
                Err(error) => {
                    counter!(READ_ERRORS).increment(1);
                    tracing::warn!(%error, "certificate not reloaded, the old one stays in use");
                }
            }
        }
    }
}

#[derive(Clone, PartialEq, Eq)]
struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl CertificateSource for CertificateFiles {
    fn start(self) -> BoxFuture<'static, Result<Serving, CertificateError>> {
        async move {
            describe_counter!(READS, "Total number of certificate reads");
            describe_counter!(READ_ERRORS, "Total number of certificate read errors");
            counter!(READS).increment(1);
            counter!(READ_ERRORS).increment(0);
            let pair = self.read().await?;
            let tls =
                TlsSettings::from_pem(&pair.certificate, &pair.key).map_err(|error| self.unusable(error))?;
            let keeper = self.watch(tls.clone(), Ok(pair)).boxed();
            Ok(Serving { tls, keeper })
        }
        .boxed()
    }

    fn needs(&self) -> CertificateNeeds {
        CertificateNeeds::Files { certificate: self.certificate.clone(), key: self.key.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str) -> (String, String) {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    /// Whether a client that trusts this certificate connects.
    async fn serves(tls: &TlsSettings, certificate: &str) -> bool {
        crate::webhook::server::tests::connects(tls, certificate, "x.test").await
    }

    #[tokio::test]
    async fn new_files_are_used_and_unusable_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let (old, old_key) = pair("x.test");
        write("tls.crt", &old);
        write("tls.key", &old_key);
        let files = CertificateFiles::new(folder.path()).interval(Duration::from_millis(1));
        let Serving { tls, keeper } = files.start().await.unwrap();
        assert!(serves(&tls, &old).await);

        let (new, new_key) = pair("x.test");
        let recorder = metrics_util::debugging::DebuggingRecorder::new();
        let snapshot = recorder.snapshotter();
        let errors = || {
            let all = snapshot.snapshot().into_vec();
            let found = all.into_iter().find(|(key, ..)| key.key().name() == READ_ERRORS);
            found.is_some_and(|(.., value)| value != metrics_util::debugging::DebugValue::Counter(0))
        };
        let _guard = metrics::set_default_local_recorder(&recorder);
        let mut keeper = keeper;
        // Half written: the new certificate with the old key.
        write("tls.crt", &new);
        tokio::select! {
            biased;
            () = &mut keeper => unreachable!(),
            () = async { while !errors() { tokio::task::yield_now().await } } => {}
        }
        assert!(serves(&tls, &old).await, "the old certificate stays");
        write("tls.key", &new_key);
        tokio::select! {
            biased;
            () = &mut keeper => unreachable!(),
            () = async { while !serves(&tls, &new).await {} } => {}
        }
        assert!(!serves(&tls, &old).await);
    }

    #[tokio::test]
    async fn files_that_are_no_certificate_are_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tls.crt"), "zzz").unwrap();
        let error = CertificateFiles::new(folder.path()).start().await.unwrap_err().to_string();
        assert!(error.contains("tls.key: No such file"), "{error}");
        std::fs::write(folder.path().join("tls.key"), "zzz").unwrap();
        let error = CertificateFiles::new(folder.path()).start().await.unwrap_err().to_string();
        assert!(error.contains("tls.crt, ") && error.contains("certificate chain must be PEM"), "{error}");
    }
}
