//! A conversion review: decodes it, converts its objects, and checks the results as the API server does.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

use kube_core::{
    conversion::{ConversionRequest, ConversionResponse, ConversionReview},
    panic::panic_message,
    response::{Status, reason},
};
use kube_serve::log_limit::LogLimit;
use serde_json::Value;

use super::{super::metrics, convert::Convert};

/// Of conversions that fail: whoever reaches the port can send such objects.
static FAILED: LogLimit = LogLimit::new();

/// Decodes the body of a review, converts its objects and encodes the response. The error says why the body is no review.
/// Blocks until all are converted, or until `cancelled`.
pub(in crate::webhook) fn review(
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
            if let Some(left_out) = FAILED.permit() {
                tracing::warn!(reason = message, left_out, "conversion failed");
            }
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
#[path = "review_tests.rs"]
mod tests;
