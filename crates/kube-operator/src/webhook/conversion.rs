//! Conversion between the versions of a kind.

use std::{
    fmt,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
};

use kube_core::{
    Resource,
    conversion::{ConversionRequest, ConversionResponse, ConversionReview},
    response::{Status, reason},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::metrics;
use kube_core::panic::panic_message;

/// Why an object cannot be converted: any error, or a text.
pub type ConversionError = Box<dyn std::error::Error + Send + Sync>;

/// Converts the objects of one kind between its versions. [`Versions`] implements it from typed conversions.
///
/// Conversion is a pure function: it runs outside of the async runtime, for each object of each list and watch in another version than
/// the stored one.
pub trait Convert: Send + Sync + 'static {
    /// The API group, such as `example.com`.
    fn group(&self) -> String;

    /// The kind, such as `Page`.
    fn kind(&self) -> String;

    /// Converts an object to the version `api_version`, such as `example.com/v2`. Objects that have it already are not passed here.
    ///
    /// Name, namespace and uid must stay; labels and annotations may change. The API server ignores other changes of metadata.
    ///
    /// # Errors
    /// Why this object cannot be converted. The whole review fails then, with a message that names the object and both versions.
    fn convert(&self, object: Value, api_version: &str) -> Result<Value, ConversionError>;
}

/// Conversions between any number of versions by way of one of them, the hub: each other version is converted to the hub and back.
///
/// ```
/// # use k8s_openapi::api::{autoscaling::{v1, v2}};
/// use kube_operator::webhook::{Convert, Versions, Webhooks};
///
/// // The hub is autoscaling/v2 here; the other version needs conversions in both directions.
/// let versions = Versions::<v2::HorizontalPodAutoscaler>::new().version_with(
///     |old: v1::HorizontalPodAutoscaler| {
///         let metadata = old.metadata; // metadata must be kept
///         Ok::<_, String>(v2::HorizontalPodAutoscaler { metadata, ..Default::default() })
///     },
///     |new: v2::HorizontalPodAutoscaler| {
///         Ok::<_, String>(v1::HorizontalPodAutoscaler { metadata: new.metadata, ..Default::default() })
///     },
/// );
/// let object = serde_json::json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}});
/// let converted = versions.convert(object, "autoscaling/v2")?;
/// assert_eq!((&converted["apiVersion"], &converted["metadata"]["name"]), (&"autoscaling/v2".into(), &"a".into()));
/// let _ = Webhooks::new().convert(versions);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct Versions<Hub> {
    versions: Vec<Version<Hub>>,
}

struct Version<Hub> {
    api_version: String,
    to_hub: Box<dyn Fn(Value) -> Result<Hub, ConversionError> + Send + Sync>,
    from_hub: Box<dyn Fn(Hub) -> Result<Value, ConversionError> + Send + Sync>,
}

/// One version of a kind as a type. Implemented for every kind that fits; an alias of the bounds.
pub trait ConvertedObject: Resource<DynamicType = ()> + DeserializeOwned + Serialize + 'static {}

impl<K: Resource<DynamicType = ()> + DeserializeOwned + Serialize + 'static> ConvertedObject for K {}

impl<Hub: ConvertedObject> Default for Versions<Hub> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Hub: ConvertedObject> Versions<Hub> {
    /// Only the hub.
    pub fn new() -> Self {
        let hub = Version {
            api_version: Hub::api_version(&()).into_owned(),
            to_hub: Box::new(decode::<Hub>),
            from_hub: Box::new(encode::<Hub>),
        };
        Self { versions: vec![hub] }
    }

    /// Adds a version by its implementations of `TryFrom` (or `From`) in both directions.
    #[must_use]
    pub fn version<V>(self) -> Self
    where
        V: ConvertedObject + TryFrom<Hub, Error: fmt::Display>,
        Hub: TryFrom<V, Error: fmt::Display>,
    {
        self.version_with(
            |object: V| Hub::try_from(object).map_err(|error| error.to_string()),
            |hub: Hub| V::try_from(hub).map_err(|error| error.to_string()),
        )
    }

    /// Adds a version by two functions: to the hub, and from it. Of two versions with one `apiVersion`, the first is used.
    #[must_use]
    pub fn version_with<V, E, F>(
        mut self,
        to_hub: impl Fn(V) -> Result<Hub, E> + Send + Sync + 'static,
        from_hub: impl Fn(Hub) -> Result<V, F> + Send + Sync + 'static,
    ) -> Self
    where
        V: ConvertedObject,
        E: Into<ConversionError>,
        F: Into<ConversionError>,
    {
        self.versions.push(Version {
            api_version: V::api_version(&()).into_owned(),
            to_hub: Box::new(move |object| to_hub(decode(object)?).map_err(Into::into)),
            from_hub: Box::new(move |hub| encode(from_hub(hub).map_err(Into::into)?)),
        });
        self
    }

    fn find(&self, api_version: &str) -> Result<&Version<Hub>, ConversionError> {
        let found = self.versions.iter().find(|version| version.api_version == api_version);
        found.ok_or_else(|| {
            let known: Vec<_> = self.versions.iter().map(|version| version.api_version.as_str()).collect();
            format!("unknown version {api_version:?}, expected one of {}", known.join(", ")).into()
        })
    }
}

impl<Hub: ConvertedObject> Convert for Versions<Hub> {
    fn group(&self) -> String {
        Hub::group(&()).into_owned()
    }

    fn kind(&self) -> String {
        Hub::kind(&()).into_owned()
    }

    fn convert(&self, object: Value, api_version: &str) -> Result<Value, ConversionError> {
        let to = self.find(api_version)?;
        let from = self.find(object["apiVersion"].as_str().unwrap_or_default())?;
        let mut converted = (to.from_hub)((from.to_hub)(object)?)?;
        converted["apiVersion"] = api_version.into();
        converted["kind"] = self.kind().into();
        Ok(converted)
    }
}

impl<Hub> fmt::Debug for Versions<Hub> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = self.versions.iter().map(|version| &version.api_version);
        f.debug_tuple("Versions").field(&versions.collect::<Vec<_>>()).field(&PhantomData::<Hub>).finish()
    }
}

fn decode<K: DeserializeOwned>(object: Value) -> Result<K, ConversionError> {
    serde_path_to_error::deserialize(object)
        .map_err(|error| format!("{}: {}", error.path(), error.inner()).into())
}

fn encode<K: Serialize>(object: K) -> Result<Value, ConversionError> {
    serde_json::to_value(object).map_err(Into::into)
}

/// Decodes the body of a review, converts its objects and encodes the response. The error says why the body is no review.
/// Blocks until all are converted, or until `cancelled`.
pub(super) fn review(
    converters: &[Box<dyn Convert>],
    body: &[u8],
    cancelled: impl Fn() -> bool,
) -> Result<Vec<u8>, String> {
    let review: ConversionReview =
        serde_json::from_slice(body).map_err(|error| format!("the body is no ConversionReview: {error}"))?;
    let types = (review.types.api_version.as_str(), review.types.kind.as_str());
    if types != ("apiextensions.k8s.io/v1", "ConversionReview") {
        let (found, kind) = types;
        return Err(format!(
            "expected ConversionReview of apiextensions.k8s.io/v1, found {kind:?} of {found:?}"
        ));
    }
    let mut request = ConversionRequest::from_review(review).map_err(|error| error.to_string())?;
    let objects = std::mem::take(&mut request.objects);
    let to = request.desired_api_version.clone();
    let response = ConversionResponse::for_request(request);
    let converted = objects.into_iter().map(|object| match cancelled() {
        true => Err("the time limit of the request has passed".to_owned()),
        false => one(converters, object, &to),
    });
    let response = match converted.collect::<Result<Vec<_>, _>>() {
        Ok(converted) => response.success(converted),
        Err(message) => {
            tracing::warn!(reason = message, "conversion failed");
            response.failure(Status::failure(&message, reason::INVALID).with_code(422))
        }
    };
    serde_json::to_vec(&response.into_review()).map_err(|error| error.to_string())
}

fn one(converters: &[Box<dyn Convert>], object: Value, to: &str) -> Result<Value, String> {
    let identity = Identity::of(&object);
    if identity.api_version == to {
        return Ok(object);
    }
    let failed = |why: &dyn fmt::Display| {
        let Identity { api_version, kind, namespace, name, .. } = &identity;
        let name = if namespace.is_empty() { name.clone() } else { format!("{namespace}/{name}") };
        format!("cannot convert {kind} {name:?} from {api_version} to {to}: {why}")
    };
    let group = to.split_once('/').map_or("", |(group, _)| group);
    let Some(converter) =
        converters.iter().find(|converter| converter.group() == group && converter.kind() == identity.kind)
    else {
        let known: Vec<_> =
            converters.iter().map(|known| format!("{}.{}", known.kind(), known.group())).collect();
        return Err(failed(&format!("this webhook converts only {}", known.join(", "))));
    };
    let converted = catch_unwind(AssertUnwindSafe(|| converter.convert(object, to)));
    let converted = match converted {
        Ok(converted) => converted.map_err(|why| failed(&why))?,
        Err(payload) => {
            let (kind, name) = (&identity.kind, &identity.name);
            tracing::error!(%kind, %name, panic = panic_message(&*payload), "a conversion panicked");
            metrics::conversion_panicked();
            return Err(failed(&"the conversion panicked"));
        }
    };
    let after = Identity::of(&converted);
    let expected = Identity { api_version: to.to_owned(), ..identity.clone() };
    match expected.differs(&after) {
        None => Ok(converted),
        Some((field, expected, found)) => {
            Err(failed(&format!("the result must have {field} {expected:?}, but has {found:?}")))
        }
    }
}

/// What the API server compares before and after a conversion.
#[derive(Clone)]
struct Identity {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
    uid: String,
}

impl Identity {
    fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let metadata = &object["metadata"];
        Self {
            api_version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
        }
    }

    /// The first field that differs, with both values.
    fn differs<'a>(&'a self, other: &'a Self) -> Option<(&'static str, &'a str, &'a str)> {
        let both = [
            ("apiVersion", &self.api_version, &other.api_version),
            ("kind", &self.kind, &other.kind),
            ("metadata.namespace", &self.namespace, &other.namespace),
            ("metadata.name", &self.name, &other.name),
            ("metadata.uid", &self.uid, &other.uid),
        ];
        both.into_iter()
            .find(|(_, ours, theirs)| ours != theirs)
            .map(|(field, a, b)| (field, a.as_str(), b.as_str()))
    }
}

#[cfg(test)]
#[path = "conversion_tests.rs"]
mod tests;
