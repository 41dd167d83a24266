//! A self-signed certificate that replicas share in a Secret, injected where API servers look for it.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use futures::{FutureExt, Stream, StreamExt, future::BoxFuture};
use k8s_openapi::{
    ByteString,
    api::{
        admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
        core::v1::Secret,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    jiff,
};
use kube_client::{
    Api, Client, Error,
    api::{Patch, PatchParams, PostParams},
    error::ErrorClass,
};
use kube_core::{ApiResource, DynamicObject, ObjectMeta, PartialObjectMeta};
use kube_runtime::{WatchStreamExt, watcher};
use kube_serve::listener::TlsSettings;
use serde_json::Value;

use super::{
    expiry::{self, Expiry},
    generation::{Timestamp, issue},
    inject::{self, Callee},
    rotation::{Injected, Step, Stored, issued, names_for, next_step},
    source::{CertificateError, CertificateNeeds, CertificateSource, Serving},
};

const VALIDITY: Duration = Duration::from_secs(90 * 24 * 3600);
const INTERVAL: Duration = Duration::from_secs(60);
/// Between two reads after changes.
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// The key in the Secret with the shared state; the others are copies for mounts.
const STATE: &str = "generations.json";
/// More steps than any state needs: a start ends also if the state changes all the time.
const MAX_STEPS: usize = 20;

type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A certificate for the DNS names of a Service, signed by a CA of its own, for clusters without cert-manager.
///
/// The first replica that starts creates it in a Secret, the others read it from there. Its CA is written to the `caBundle` of the named
/// webhook configurations and CRDs: to each `clientConfig` with this Service, or with a URL that has one of the names as its host. The key
/// of the CA is not kept.
///
/// After two thirds of its validity the certificate is replaced by one of a new CA: the new CA is injected beside the old one, a minute
/// later every replica serves the new certificate, and the old CA stays injected until the old certificate has expired. Any replica may do
/// each step: writes that meet fail with a conflict, and the state is read again.
///
/// The Secret and the named objects are read once per [`interval`](Self::interval), a minute by default. The named objects are watched,
/// too, so that one that is created, or loses its CA, has it within about a second. One that cannot be read or written is logged as a
/// warning, and the others are served; a rotation waits for it until half of the remaining validity is over. If the Secret is deleted, a
/// new certificate is issued at once, and the CAs that were injected before stay so for an hour: other replicas serve the old
/// certificate until they have read the new one. `kube_operator_certificate_expiration_timestamp_seconds{certificate}` says when the
/// certificate expires.
///
/// The role needs `get`, `list`, `watch` and `patch` on the named objects (without `list` and `watch`, they are read once per interval
/// only), `get` and `update` on the Secret, and `create` on Secrets in its namespace.
///
/// ```no_run
/// # async fn serve(client: kube_client::Client, webhooks: kube_operator::webhook::Webhooks, stop: impl Future<Output = ()>)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// use kube_operator::webhook::{WebhookServer, certificates::SelfSigned};
///
/// let certificate = SelfSigned::new(client, "my-namespace", "my-operator-webhooks")
///     .validating("my-operator")
///     .mutating("my-operator")
///     .crd("pages.example.com");
/// WebhookServer::bind(([0, 0, 0, 0], 9443).into(), webhooks, certificate).await?.serve(stop).await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SelfSigned {
    client: Client,
    callee: Callee,
    secret: String,
    targets: Vec<Target>,
    validity: Duration,
    interval: Duration,
    /// Whether changes of targets are noticed before the interval is over.
    watches: bool,
    clock: Clock,
}

/// An object with a `caBundle`.
#[derive(Clone, Debug)]
struct Target {
    resource: ApiResource,
    name: String,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource.kind, self.name)
    }
}

impl SelfSigned {
    /// For the names of a Service, kept in the Secret `SERVICE-certificate` of its namespace.
    pub fn new(client: Client, namespace: impl Into<String>, service: impl Into<String>) -> Self {
        let (namespace, service) = (namespace.into(), service.into());
        let names = vec![
            format!("{service}.{namespace}.svc"),
            format!("{service}.{namespace}.svc.cluster.local"),
            format!("{service}.{namespace}"),
            service.clone(),
        ];
        Self {
            client,
            secret: format!("{service}-certificate"),
            callee: Callee { namespace, service, names },
            targets: Vec::new(),
            validity: VALIDITY,
            interval: INTERVAL,
            watches: true,
            clock: Arc::new(expiry::now),
        }
    }

    /// The name of the Secret.
    #[must_use]
    pub fn secret(mut self, name: impl Into<String>) -> Self {
        self.secret = name.into();
        self
    }

    /// Another DNS name or IP address in the certificate, for a `clientConfig` with a URL. A renewed certificate keeps the names of the
    /// one before, so that replicas with other names agree; delete the Secret to drop a name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.callee.names.push(name.into());
        self
    }

    /// A ValidatingWebhookConfiguration to inject the CA into. One that does not exist yet is injected later.
    #[must_use]
    pub fn validating(mut self, name: impl Into<String>) -> Self {
        let resource = ApiResource::erase::<ValidatingWebhookConfiguration>(&());
        self.targets.push(Target { resource, name: name.into() });
        self
    }

    /// A MutatingWebhookConfiguration to inject the CA into. One that does not exist yet is injected later.
    #[must_use]
    pub fn mutating(mut self, name: impl Into<String>) -> Self {
        let resource = ApiResource::erase::<MutatingWebhookConfiguration>(&());
        self.targets.push(Target { resource, name: name.into() });
        self
    }

    /// A CRD with a conversion webhook to inject the CA into. One that does not exist yet is injected later.
    #[must_use]
    pub fn crd(mut self, name: impl Into<String>) -> Self {
        let resource = ApiResource::erase::<CustomResourceDefinition>(&());
        self.targets.push(Target { resource, name: name.into() });
        self
    }

    /// How long a certificate is valid: 90 days by default, at least an hour. It is renewed after two thirds of that time.
    #[must_use]
    pub fn validity(mut self, validity: Duration) -> Self {
        self.validity = validity.clamp(Duration::from_secs(3600), Duration::from_secs(100 * 365 * 24 * 3600));
        self
    }

    /// The time between two reads of the Secret and the targets: one minute by default, at least a second. It should be far below the
    /// validity: a replica notices a renewed certificate after this time.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval.max(Duration::from_secs(1));
        self
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.callee.namespace)
    }

    fn subject(&self) -> String {
        format!("Secret {}/{}", self.callee.namespace, self.secret)
    }

    /// Performs steps until there is nothing to do; returns the state then.
    async fn settle(&self) -> Result<Stored, CertificateError> {
        let mut last = None;
        let mut failed = BTreeMap::new();
        for _ in 0..MAX_STEPS {
            // The targets come first: if one is newer than the Secret that is read after it, the write fails with a conflict.
            let (targets, unread) = self.read_targets().await;
            failed.extend(unread);
            let secret = self.secrets().get_opt(&self.secret).await;
            let secret = secret.map_err(|error| CertificateError::new(self.subject(), error))?;
            let stored = secret.as_ref().map(|secret| self.stored(secret)).transpose()?.flatten();
            let reached = targets.iter().filter(|(target, _)| !failed.contains_key(&target.to_string()));
            let bundles = reached.flat_map(|(_, object)| inject::found(object, &self.callee)).collect();
            let injected = Injected { bundles, incomplete: !failed.is_empty() };
            let now = (self.clock)();
            let step = next_step(stored.as_ref(), &injected, &self.callee.names, now);
            last.clone_from(&stored);
            match step {
                Step::Wait => break,
                Step::Inject(bundle) => failed.extend(self.inject(&targets, &bundle).await),
                Step::Store(new) => self.store(secret, &new).await?,
                Step::Issue | Step::Stage => {
                    let names = names_for(&step, stored.as_ref(), &self.callee.names);
                    let generation = issue(&names, self.validity, now).map_err(|error| {
                        CertificateError::new(format!("certificate for {}", names.join(", ")), error)
                    })?;
                    let expires = i64::try_from(generation.expires).map(jiff::Timestamp::from_second);
                    let expires = expires.ok().and_then(Result::ok).map(tracing::field::display);
                    tracing::info!(secret = self.subject(), expires, "certificate issued");
                    self.store(secret, &issued(stored, &step, generation, &injected, now)).await?;
                }
            }
        }
        for error in failed.values() {
            tracing::warn!(%error, "no CA could be injected here, the others are kept current");
        }
        last.ok_or_else(|| CertificateError::new(self.subject(), "it is deleted or changed all the time"))
    }

    /// `None`: a Secret without data, as a chart may create it.
    fn stored(&self, secret: &Secret) -> Result<Option<Stored>, CertificateError> {
        let data = secret.data.iter().flatten().filter(|(_, ByteString(value))| !value.is_empty());
        let data: BTreeMap<_, _> = data.collect();
        if data.is_empty() {
            return Ok(None);
        }
        let Some(ByteString(state)) = data.get(&STATE.to_owned()) else {
            let keys: Vec<_> = data.keys().map(|key| key.as_str()).collect();
            let reason =
                format!("expected an empty Secret or one with the key {STATE}, found {}", keys.join(", "));
            return Err(CertificateError::new(self.subject(), reason));
        };
        let stored = serde_json::from_slice(state);
        stored
            .map(Some)
            .map_err(|error| CertificateError::new(format!("{}, key {STATE}", self.subject()), error))
    }

    /// Creates or replaces the Secret. A conflict is no error: another replica was first.
    async fn store(&self, secret: Option<Secret>, stored: &Stored) -> Result<(), CertificateError> {
        let failed = |error: Error| CertificateError::new(self.subject(), error);
        let state =
            serde_json::to_vec(stored).map_err(|error| CertificateError::new(self.subject(), error))?;
        let text = |text: &str| ByteString(text.as_bytes().to_vec());
        let exists = secret.is_some();
        let mut secret = secret.unwrap_or_else(|| Secret {
            metadata: ObjectMeta {
                name: Some(self.secret.clone()),
                namespace: Some(self.callee.namespace.clone()),
                ..ObjectMeta::default()
            },
            type_: Some("kubernetes.io/tls".into()),
            ..Secret::default()
        });
        secret.data.get_or_insert_default().extend([
            (STATE.to_owned(), ByteString(state)),
            ("tls.crt".to_owned(), text(&stored.serving.certificate)),
            ("tls.key".to_owned(), text(&stored.serving.key.0)),
            ("ca.crt".to_owned(), text(&stored.bundle())),
        ]);
        let params = PostParams::default();
        let written = if exists {
            self.secrets().replace(&self.secret, &params, &secret).await
        } else {
            self.secrets().create(&params, &secret).await
        };
        match written {
            // The namespace of a new Secret does not exist.
            Err(error) if !exists && is_code(&error, 404) => Err(failed(error)),
            written => unless_raced(written.map(drop)).map_err(failed),
        }
    }

    /// The targets that exist, and by their names those that cannot be read.
    async fn read_targets(&self) -> (Vec<(&Target, Value)>, BTreeMap<String, CertificateError>) {
        let (mut found, mut failed) = (Vec::new(), BTreeMap::new());
        for target in &self.targets {
            match self.read_target(target).await {
                Ok(None) => tracing::debug!(%target, "does not exist, so no CA is injected"),
                Ok(Some(object)) => {
                    if inject::found(&object, &self.callee).is_empty() {
                        let Callee { namespace, service, .. } = &self.callee;
                        tracing::warn!(%target, "has no webhook with the Service {namespace}/{service}");
                    }
                    found.push((target, object));
                }
                Err(error) => drop(failed.insert(target.to_string(), error)),
            }
        }
        (found, failed)
    }

    async fn read_target(&self, target: &Target) -> Result<Option<Value>, CertificateError> {
        let object = ErrorClass::absent_as_none(self.api(target).get(&target.name).await);
        let object = object.map_err(|error| CertificateError::new(target, error))?;
        object.map(serde_json::to_value).transpose().map_err(|error| CertificateError::new(target, error))
    }

    /// Injects the bundle where it differs. Returns the targets that cannot be written.
    async fn inject(&self, targets: &[(&Target, Value)], bundle: &str) -> BTreeMap<String, CertificateError> {
        let mut failed = BTreeMap::new();
        for (target, object) in targets {
            match self.inject_into(target, object, bundle).await {
                Ok(false) => {}
                Ok(true) => tracing::info!(%target, "CA injected"),
                Err(error) => drop(failed.insert(target.to_string(), error)),
            }
        }
        failed
    }

    async fn inject_into(
        &self,
        target: &Target,
        object: &Value,
        bundle: &str,
    ) -> Result<bool, CertificateError> {
        let Some(patch) = inject::patch(object, &self.callee, bundle) else { return Ok(false) };
        let patch: json_patch::Patch =
            serde_json::from_value(patch).map_err(|error| CertificateError::new(target, error))?;
        let api = self.api(target);
        let patched = api.patch(&target.name, &PatchParams::default(), &Patch::Json::<()>(patch)).await;
        unless_raced(patched.map(drop)).map_err(|error| CertificateError::new(target, error))?;
        Ok(true)
    }

    /// An item for each change of a target, also of one that does not exist yet.
    fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        let watches = self.targets.iter().filter(|_| self.watches).map(|target| {
            let config = watcher::Config::default().fields(&format!("metadata.name={}", target.name));
            let api =
                Api::<PartialObjectMeta<DynamicObject>>::all_with(self.client.clone(), &target.resource);
            let events = watcher(api, config).default_backoff();
            let target = target.to_string();
            let changes = events.filter_map(move |event| {
                let change = match event {
                    Ok(watcher::Event::Apply(_) | watcher::Event::InitApply(_)) => Some(()),
                    Ok(_) => None,
                    Err(error) => {
                        tracing::debug!(target, %error, "not watched, but read once per interval");
                        None
                    }
                };
                std::future::ready(change)
            });
            changes.boxed()
        });
        futures::stream::select_all(watches)
    }

    fn api(&self, target: &Target) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &target.resource)
    }

    fn unusable(&self, error: kube_serve::listener::TlsError) -> CertificateError {
        CertificateError::new(self.subject(), error)
    }

    /// Keeps the certificate current for ever.
    async fn keep(self, tls: TlsSettings, mut serving: String) {
        let mut expiry = Expiry::of(self.subject(), serving.as_bytes());
        let mut changes = self.changes();
        let mut failing = false;
        loop {
            // Without targets there are no changes.
            let changed = async {
                if changes.next().await.is_none() {
                    std::future::pending().await
                }
            };
            // Another program that changes a target again and again must not make this one busy.
            let pause = async { tokio::join!(changed, tokio::time::sleep(MIN_PAUSE)) };
            tokio::time::timeout(self.interval, pause).await.ok();
            expiry.check((self.clock)());
            let settled = self.settle().await.and_then(|stored| {
                let certificate = stored.serving.certificate;
                if certificate != serving {
                    let reloaded = tls.reload(certificate.as_bytes(), stored.serving.key.0.as_bytes());
                    reloaded.map_err(|error| self.unusable(error))?;
                    tracing::info!(secret = self.subject(), "certificate reloaded");
                    expiry.replace(certificate.as_bytes());
                    serving = certificate;
                }
                Ok(())
            });
            match &settled {
                Err(error) => tracing::warn!(%error, "the certificate was not checked"),
                Ok(()) if failing => {
                    tracing::info!(secret = self.subject(), "the certificate is checked again")
                }
                Ok(()) => {}
            }
            failing = settled.is_err();
        }
    }
}

/// Conflicts, and objects that were created or deleted meanwhile, are no errors: the state is read again.
fn unless_raced(result: Result<(), Error>) -> Result<(), Error> {
    result.or_else(|error| if is_code(&error, 404) || is_code(&error, 409) { Ok(()) } else { Err(error) })
}

fn is_code(error: &Error, code: u16) -> bool {
    matches!(error, Error::Api(status) if status.code == code)
}

impl CertificateSource for SelfSigned {
    fn start(self) -> BoxFuture<'static, Result<Serving, CertificateError>> {
        async move {
            let Stored { serving, .. } = self.settle().await?;
            let tls = TlsSettings::from_pem(serving.certificate.as_bytes(), serving.key.0.as_bytes())
                .map_err(|error| self.unusable(error))?;
            let keeper = self.keep(tls.clone(), serving.certificate).boxed();
            Ok(Serving { tls, keeper })
        }
        .boxed()
    }

    fn needs(&self) -> CertificateNeeds {
        let target = |target: &Target| (target.resource.clone(), target.name.clone());
        CertificateNeeds::SelfSigned {
            namespace: self.callee.namespace.clone(),
            service: self.callee.service.clone(),
            secret: self.secret.clone(),
            targets: self.targets.iter().map(target).collect(),
        }
    }
}

impl fmt::Debug for SelfSigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelfSigned")
            .field("callee", &self.callee)
            .field("secret", &self.secret)
            .field("targets", &self.targets)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "self_signed_tests.rs"]
mod tests;
