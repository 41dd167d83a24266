//! Admission handlers: from a review to the typed handler and back.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use kube_core::{
    Resource,
    admission::{AdmissionRequest, AdmissionResponse, META_API_VERSION_V1, META_KIND, Operation},
    gvk::GroupVersionKind,
    response::{Status, reason},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use kube_core::panic::panic_message;
use kube_serve::log_limit::LogLimit;

use super::{
    metrics,
    outcome::{Allowed, Denial, Identity, Mutated},
    patch,
};

/// Of old objects that do not decode: whoever reaches the port can send them.
static UNDECODABLE: LogLimit = LogLimit::new();

/// A kind that admission handlers receive. Implemented for every kind that fits, and for
/// [`DynamicObject`](kube_core::DynamicObject); an alias of the bounds.
pub trait AdmittedObject:
    Resource<DynamicType: 'static> + DeserializeOwned + Serialize + Send + 'static
{
}

impl<K: Resource<DynamicType: 'static> + DeserializeOwned + Serialize + Send + 'static> AdmittedObject for K {}

/// A validating handler. Implemented for `async fn(AdmissionRequest<K>) -> Result<A, E>`, where `A` is `()` or [`Allowed`], and `E` a
/// text or [`Denial`]. Use a closure, or implement it for a type of your own, to share a client or a cache between requests.
///
/// ```
/// use std::collections::BTreeSet;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::admission::AdmissionRequest;
/// use kube_operator::webhook::{Allowed, Denial, Validate, Webhooks};
///
/// struct Reserved(BTreeSet<String>);
///
/// impl Validate<ConfigMap> for Reserved {
///     async fn validate(&self, request: AdmissionRequest<ConfigMap>) -> Result<Allowed, Denial> {
///         if self.0.contains(&request.name) { Err("this name is reserved".into()) } else { Ok(().into()) }
///     }
/// }
/// let webhooks = Webhooks::new().validate(Reserved(BTreeSet::from(["default".to_owned()])));
/// ```
pub trait Validate<K: AdmittedObject>: Send + Sync + 'static {
    /// Decides about one operation. The future is dropped when the API server gives up, or at the time limit.
    fn validate(&self, request: AdmissionRequest<K>) -> impl Future<Output = Result<Allowed, Denial>> + Send;

    /// Decides about an operation on an existing object that `K` cannot decode, such as one from before a change of the type:
    /// `request.old_object` is `None`, and `old` has the object as it is.
    ///
    /// Calls [`validate`](Self::validate) unless it is overridden, so that the object can be repaired and deleted.
    fn validate_undecodable(
        &self,
        request: AdmissionRequest<K>,
        old: UndecodableObject,
    ) -> impl Future<Output = Result<Allowed, Denial>> + Send {
        let _ = old;
        self.validate(request)
    }
}

/// An existing object that the type of a handler cannot decode.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UndecodableObject {
    /// The object.
    pub json: Value,
    /// The first field that does not decode, and the reason.
    pub error: String,
}

impl<K, F, Fut, A, E> Validate<K> for F
where
    K: AdmittedObject,
    F: Fn(AdmissionRequest<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<A, E>> + Send + 'static,
    A: Into<Allowed>,
    E: Into<Denial>,
{
    fn validate(&self, request: AdmissionRequest<K>) -> impl Future<Output = Result<Allowed, Denial>> + Send {
        self(request).map(|result| result.map(Into::into).map_err(Into::into))
    }
}

/// A mutating handler. Implemented for `async fn(K, AdmissionRequest<K>) -> Result<M, E>`, where `M` is `K` or [`Mutated<K>`], and `E` a
/// text or [`Denial`].
///
/// Fields that `K` does not have stay as they are. Items of lists are found again by the keys of the list, by their content, or, if they
/// have only gained fields, at their place. Where it is not certain which item has become which, and one of them has a field that `K` does
/// not have, the request is denied with code 500 and a message that names the field.
pub trait Mutate<K: AdmittedObject>: Send + Sync + 'static {
    /// Returns the object, changed or not. It was taken out of the request, whose `object` is `None`; so is `old_object` if it does not
    /// decode. The future is dropped when the API server gives up, or at the time limit.
    fn mutate(
        &self,
        object: K,
        request: AdmissionRequest<K>,
    ) -> impl Future<Output = Result<Mutated<K>, Denial>> + Send;
}

impl<K, F, Fut, M, E> Mutate<K> for F
where
    K: AdmittedObject,
    F: Fn(K, AdmissionRequest<K>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<M, E>> + Send + 'static,
    M: Into<Mutated<K>>,
    E: Into<Denial>,
{
    fn mutate(
        &self,
        object: K,
        request: AdmissionRequest<K>,
    ) -> impl Future<Output = Result<Mutated<K>, Denial>> + Send {
        self(object, request).map(|result| result.map(Into::into).map_err(Into::into))
    }
}

/// A review with its objects still as JSON.
pub(super) struct Received {
    /// The request without its objects.
    head: Value,
    object: Value,
    old_object: Value,
}

/// A review with its objects decoded.
struct Typed<K: Resource> {
    request: AdmissionRequest<K>,
    /// The old object if it does not decode.
    undecodable: Option<UndecodableObject>,
    /// The new object as it came.
    object: Value,
}

/// What a handler decided.
#[derive(Default)]
pub(super) struct Decision {
    patch: Option<json_patch::Patch>,
    warnings: Vec<String>,
}

/// A handler without its type.
pub(super) type Handler = Arc<dyn Fn(Received) -> BoxFuture<'static, Result<Decision, Denial>> + Send + Sync>;

pub(super) fn validating<K: AdmittedObject>(handler: impl Validate<K>) -> Handler {
    let handler = Arc::new(handler);
    Arc::new(move |received| {
        let handler = handler.clone();
        async move {
            let Typed { request, undecodable, .. } = typed::<K>(received)?;
            let allowed = match undecodable {
                None => handler.validate(request).await?,
                Some(old) => handler.validate_undecodable(request, old).await?,
            };
            Ok(Decision { patch: None, warnings: allowed.warnings })
        }
        .boxed()
    })
}

pub(super) fn mutating<K: AdmittedObject>(handler: impl Mutate<K>) -> Handler {
    let handler = Arc::new(handler);
    Arc::new(move |received| {
        let handler = handler.clone();
        async move {
            let subject = received.subject();
            let Typed { mut request, object: json, .. } = typed::<K>(received)?;
            let Some(object) = request.object.take() else {
                // A deletion: there is nothing to change.
                return Ok(Decision::default());
            };
            let before = encoded(&object)?;
            let Mutated { object, warnings } = handler.mutate(object, request).await?;
            let patch = patch::changes(&json, &before, &encoded(&object)?).map_err(|error| {
                tracing::warn!(object = subject, %error, "the change of an admission handler is denied");
                Denial::internal(format!("{subject}: {error}"))
            })?;
            Ok(Decision { patch: Some(patch).filter(|patch| !patch.is_empty()), warnings })
        }
        .boxed()
    })
}

/// The kind that a static type has; `None` for a dynamic one.
pub(super) fn static_kind<K: AdmittedObject>() -> Option<GroupVersionKind> {
    let dynamic: &K::DynamicType = (&() as &dyn Any).downcast_ref()?;
    Some(GroupVersionKind::gvk(&K::group(dynamic), &K::version(dynamic), &K::kind(dynamic)))
}

/// Decodes the body of a review, calls the handler and encodes its decision. The error says why the body is no review.
pub(super) async fn review(handler: &Handler, body: &[u8]) -> Result<Vec<u8>, String> {
    let mut review: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&review["apiVersion"]), text(&review["kind"]));
    if (api_version.as_str(), kind.as_str()) != (META_API_VERSION_V1, META_KIND) {
        return Err(format!(
            "expected {META_KIND} of {META_API_VERSION_V1}, found {kind:?} of {api_version:?}"
        ));
    }
    let mut head = review["request"].take();
    if !head.is_object() {
        return Err(format!("the {META_KIND} holds no request"));
    }
    let (object, old_object) = (head["object"].take(), head["oldObject"].take());
    let mut response = AdmissionResponse::invalid("");
    response.uid = text(&head["uid"]);
    if response.uid.is_empty() {
        return Err("request.uid: expected the uid of the request".into());
    }
    let received = Received { head, object, old_object };
    let (subject, identity) = (received.subject(), received.identity());
    // The call of the handler may panic too, so it is part of the future.
    let decided = AssertUnwindSafe(async { handler(received).await }).catch_unwind().await;
    match decided.unwrap_or_else(|payload| Err(panicked(&subject, panic_message(&*payload)))) {
        Ok(Decision { patch, warnings }) => {
            response.allowed = true;
            response.result = Status::default();
            response.warnings = Some(warnings).filter(|warnings| !warnings.is_empty());
            if let Some(patch) = patch {
                response = response.with_patch(patch).map_err(|error| error.to_string())?;
            }
        }
        Err(denial) => {
            let Denial { status, warnings } = denial.about(identity);
            tracing::debug!(object = subject, reason = status.message, "admission denied");
            response.result = *status;
            response.warnings = Some(warnings).filter(|warnings| !warnings.is_empty());
        }
    }
    serde_json::to_vec(&response.into_review()).map_err(|error| error.to_string())
}

/// Decodes the objects. An old one that does not decode is no reason to deny: it could be neither repaired nor deleted.
fn typed<K: AdmittedObject>(received: Received) -> Result<Typed<K>, Denial> {
    let subject = received.subject();
    let Received { head, object, old_object } = received;
    let mut request: AdmissionRequest<K> = decode(&head)
        .map_err(|(path, why)| bad_request(format!("AdmissionReview: request.{path}: {why}")))?;
    if let Some(expected) = static_kind::<K>().filter(|expected| *expected != request.kind) {
        let GroupVersionKind { group, version, kind } = &request.kind;
        return Err(bad_request(format!(
            "this webhook is for {} of {}, not for {kind} of {}: check the rules of the webhook configuration",
            expected.kind,
            expected.api_version(),
            GroupVersionKind::gvk(group, version, kind).api_version(),
        )));
    }
    let read = |json: &Value| if json.is_null() { Ok(None) } else { decode(json).map(Some) };
    request.object = read(&object).map_err(|(path, why)| {
        bad_request(format!("{subject}: cannot decode the object at {path}: {why}"))
    })?;
    let mut undecodable = None;
    match read(&old_object) {
        Ok(old) => request.old_object = old,
        Err((path, why)) => {
            let error = format!("{path}: {why}");
            if let Some(left_out) = UNDECODABLE.permit() {
                tracing::warn!(
                    object = subject,
                    error,
                    left_out,
                    "the old object of an admission request does not decode"
                );
            }
            undecodable = Some(UndecodableObject { json: old_object, error });
        }
    }
    if request.object.is_none() && request.operation != Operation::Delete {
        return Err(bad_request(format!("{subject}: the request holds no object")));
    }
    Ok(Typed { request, undecodable, object })
}

/// The error has the path of the field.
fn decode<'a, T: Deserialize<'a>>(json: &'a Value) -> Result<T, (String, serde_json::Error)> {
    serde_path_to_error::deserialize(json).map_err(|error| (error.path().to_string(), error.into_inner()))
}

fn encoded<K: AdmittedObject>(object: &K) -> Result<Value, Denial> {
    serde_json::to_value(object)
        .map_err(|error| Denial::internal(format!("cannot encode the object: {error}")))
}

fn bad_request(message: String) -> Denial {
    Denial::with_status(Status::failure(&message, reason::BAD_REQUEST).with_code(400))
}

fn panicked(subject: &str, panic: &str) -> Denial {
    tracing::error!(object = subject, panic, "an admission handler panicked");
    metrics::admission_panicked();
    Denial::internal(format!("{subject}: the admission handler panicked"))
}

impl Received {
    /// Kind and name for messages: `Page "web/home"`.
    fn subject(&self) -> String {
        let Identity { kind, name, .. } = self.identity();
        match self.of_request("namespace") {
            Some(namespace) => format!("{kind} \"{namespace}/{name}\""),
            None => format!("{kind} {name:?}"),
        }
    }

    fn identity(&self) -> Identity {
        let in_object = |object: &Value| {
            let metadata = &object["metadata"];
            metadata["name"].as_str().or(metadata["generateName"].as_str()).map(str::to_owned)
        };
        let name = self.of_request("name").map(str::to_owned);
        let name = name.or_else(|| in_object(&self.object)).or_else(|| in_object(&self.old_object));
        let of_kind = |field: &str| self.head["kind"][field].as_str().unwrap_or_default().to_owned();
        Identity { group: of_kind("group"), kind: of_kind("kind"), name: name.unwrap_or_default() }
    }

    fn of_request(&self, field: &str) -> Option<&str> {
        self.head[field].as_str().filter(|text| !text.is_empty())
    }
}
