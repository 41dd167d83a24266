//! Client certificates: a source whose server serves only clients that have one, such as API servers that are configured so.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use kube_serve::listener::TlsSettings;

use super::source::{CertificateError, CertificateNeeds, CertificateSource, Serving};

const INTERVAL: Duration = Duration::from_secs(10);

/// A source whose server serves only clients with a certificate of some authorities: webhooks then answer the API server and nobody else on
/// the network. For [`SelfSigned`](super::SelfSigned), [`CertificateFiles`](super::CertificateFiles) and any other source.
///
/// API servers present a certificate to admission webhooks only if they are told to: by the `kubeConfigFile` of the plugins
/// `ValidatingAdmissionWebhook` and `MutatingAdmissionWebhook` in the file of `--admission-control-config-file` ("Authenticate API servers"
/// in the Kubernetes documentation of admission webhooks). For conversions they present none, whatever the configuration (tried with v1.37,
/// also with `--proxy-client-cert-file`): serve those by another server. Every client of the authorities is accepted, so use a CA for this
/// purpose alone.
///
/// The file is read every 10 s, and a new content holds for new connections. A start fails if it cannot be read or holds no certificate; a
/// later content that cannot be used is logged as a warning, and the last one stays in use.
///
/// ```
/// use kube_operator::webhook::certificates::{CertificateFiles, WithClientCa};
///
/// let certificates = CertificateFiles::new("/tmp/k8s-webhook-server/serving-certs");
/// let certificates = WithClientCa::new(certificates, "/etc/api-server-ca/ca.crt");
/// ```
#[derive(Clone, Debug)]
pub struct WithClientCa<S> {
    source: S,
    file: PathBuf,
    interval: Duration,
}

impl<S> WithClientCa<S> {
    /// The certificates of `source`, and a file with the certificates of the authorities, as PEM.
    pub fn new(source: S, file: impl Into<PathBuf>) -> Self {
        Self { source, file: file.into(), interval: INTERVAL }
    }

    /// The time between two reads of the file; 10 s by default, at least 1 ms.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval.max(Duration::from_millis(1));
        self
    }
}

impl<S: CertificateSource> CertificateSource for WithClientCa<S> {
    fn start(self) -> BoxFuture<'static, Result<Serving, CertificateError>> {
        async move {
            let Self { source, file, interval } = self;
            let authorities = read(&file).await?;
            let Serving { tls, keeper } = source.start().await?;
            require(&tls, &authorities, &file)?;
            let watching = watch(file, interval, tls.clone(), authorities);
            Ok(Serving { tls, keeper: futures::future::join(keeper, watching).map(drop).boxed() })
        }
        .boxed()
    }

    fn needs(&self) -> CertificateNeeds {
        self.source.needs()
    }
}

async fn read(file: &Path) -> Result<Vec<u8>, CertificateError> {
    tokio::fs::read(file).await.map_err(|error| CertificateError::new(file.display(), error))
}

fn require(tls: &TlsSettings, authorities: &[u8], file: &Path) -> Result<(), CertificateError> {
    tls.require_clients(authorities).map_err(|error| CertificateError::new(file.display(), error))
}

/// Reads the file for ever. Each content, and each reason why there is none, is logged once.
async fn watch(file: PathBuf, interval: Duration, tls: TlsSettings, authorities: Vec<u8>) {
    let mut last = Ok(authorities);
    loop {
        tokio::time::sleep(interval).await;
        let now = read(&file).await.map_err(|error| error.to_string());
        if now == last {
            continue;
        }
        let used = match &now {
            Ok(authorities) => require(&tls, authorities, &file).map_err(|error| error.to_string()),
            Err(error) => Err(error.clone()),
        };
        match used {
            Ok(()) => tracing::info!(file = %file.display(), "client CA reloaded"),
            Err(error) => tracing::warn!(error, "client CA not reloaded, the old one stays in use"),
        }
        last = now;
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use http::Request;
    use kube_client::client::Body;
    use kube_serve::listener::Listener;
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

    use super::*;
    use crate::webhook::{certificates::CertificateFiles, server::tests::client_with};

    type Ca = CertifiedIssuer<'static, KeyPair>;

    fn ca() -> Ca {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    /// A file with the certificate and the key of a client.
    fn identity(ca: &Ca, file: PathBuf) -> PathBuf {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["api-server".to_owned()]).unwrap();
        std::fs::write(&file, params.signed_by(&key, ca).unwrap().pem() + &key.serialize_pem()).unwrap();
        file
    }

    #[tokio::test]
    async fn only_clients_with_a_certificate_of_the_current_ca_are_served() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let made = rcgen::generate_simple_self_signed(["x.test".to_owned()]).unwrap();
        std::fs::write(path("tls.crt"), made.cert.pem()).unwrap();
        std::fs::write(path("tls.key"), made.signing_key.serialize_pem()).unwrap();
        let source = || {
            let certificate = CertificateFiles::new(folder.path());
            WithClientCa::new(certificate, path("ca.crt")).interval(Duration::from_millis(1))
        };
        let error = source().start().await.unwrap_err().to_string();
        assert!(error.contains("ca.crt: "), "{error}");
        std::fs::write(path("ca.crt"), "no PEM").unwrap();
        let error = source().start().await.unwrap_err().to_string();
        assert!(error.contains("ca.crt: ") && error.contains("PEM"), "{error}");

        let (old, new) = (ca(), ca());
        std::fs::write(path("ca.crt"), old.pem()).unwrap();
        let Serving { tls, keeper } = source().start().await.unwrap();
        let served = async |identity: Option<&Path>| {
            let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap().tls(tls.clone());
            let client = client_with(listener.local_addr(), &made.cert.pem(), "x.test", identity);
            let serving = listener.serve(Router::new(), std::future::pending());
            tokio::select! {
                _ = serving => unreachable!(),
                response = client.send(Request::get("/").body(Body::empty()).unwrap()) => response.is_ok(),
            }
        };
        let (of_old, of_new) = (identity(&old, path("old.pem")), identity(&new, path("new.pem")));
        assert!(served(Some(&of_old)).await);
        assert!(!served(None).await, "a certificate is required");
        assert!(!served(Some(&of_new)).await);
        // A new certificate of the server keeps the requirement.
        tls.reload(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).unwrap();
        assert!(!served(None).await && served(Some(&of_old)).await);

        std::fs::write(path("ca.crt"), new.pem()).unwrap();
        let rotated = async {
            while !served(Some(&of_new)).await {
                tokio::task::yield_now().await;
            }
            assert!(!served(Some(&of_old)).await && !served(None).await);
        };
        let rotated = tokio::time::timeout(Duration::from_secs(20), rotated);
        tokio::select! { () = keeper => unreachable!(), rotated = rotated => rotated.unwrap() }
    }
}
