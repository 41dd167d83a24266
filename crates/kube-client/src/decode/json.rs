//! Bodies of one JSON value.

use std::marker::PhantomData;

use either::Either;
use kube_core::Status;
use serde::de::{DeserializeOwned, Error as _};

use super::explain::{invalid_object, text_field};
use super::read::{Prune, read, read_plain, utf8};
use crate::body::Body;
use crate::error::Error;

/// Collects the body and decodes it in one pass.
pub(crate) async fn from_body<T: DeserializeOwned>(body: Body, prune: &Prune) -> Result<T, Error> {
    decode(&body.collect_bytes().await?, prune)
}

/// The response to a deletion: the object if it still exists (finalizers), else a `Status`.
pub(crate) async fn object_or_status<T: DeserializeOwned>(body: Body) -> Result<Either<T, Status>, Error> {
    let bytes = body.collect_bytes().await?;
    if is_status(&bytes) {
        read_plain(&bytes).map(Either::Right).map_err(Error::SerdeError)
    } else {
        decode(&bytes, &Prune::default()).map(Either::Left)
    }
}

/// A custom resource may have the kind Status as well, but not in the core group.
fn is_status(json: &[u8]) -> bool {
    let json = utf8(json).unwrap_or_default();
    text_field(json, "kind").as_deref() == Some("Status")
        && text_field(json, "apiVersion").is_none_or(|version| version == "v1")
}

fn decode<T: DeserializeOwned>(json: &[u8], prune: &Prune) -> Result<T, Error> {
    let value =
        if *prune == Prune::default() { read_plain(json) } else { read(json, &[], prune, PhantomData) };
    value.map_err(|err| Error::SerdeError(explain(json, err)))
}

/// Adds the object and the field to an error. Syntax errors stay as they are.
fn explain(json: &[u8], err: serde_json::Error) -> serde_json::Error {
    if !err.is_data() {
        return err;
    }
    let invalid = invalid_object(json, &err, None);
    match invalid.metadata.name {
        Some(_) => serde_json::Error::custom(invalid),
        None => serde_json::Error::custom(invalid.error),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn body(text: &str) -> Body {
        Body::from(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn the_kind_decides_between_object_and_status() {
        let status = body(r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#);
        assert!(object_or_status::<ConfigMap>(status).await.unwrap().right().unwrap().is_success());
        let object = body(r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}"#);
        let object = object_or_status::<ConfigMap>(object).await.unwrap().left().unwrap();
        assert_eq!(object.metadata.name.as_deref(), Some("a"));
        let custom = body(r#"{"kind":"Status","apiVersion":"example.org/v1"}"#);
        assert!(object_or_status::<serde_json::Value>(custom).await.unwrap().is_left());
    }

    #[tokio::test]
    async fn the_error_of_an_undecodable_object_contains_its_name_and_field() {
        let error = async |text| match from_body::<ConfigMap>(body(text), &Prune::default()).await {
            Err(Error::SerdeError(err)) => err.to_string(),
            other => panic!("{other:?}"),
        };
        let odd =
            error(r#"{"kind":"ConfigMap","metadata":{"name":"b","namespace":"ns"},"data":{"key":5}}"#).await;
        assert!(
            odd.starts_with("cannot decode object ns/b: ConfigMap.data.key: invalid type: integer `5`"),
            "{odd}"
        );
        let unnamed = error(r#"{"data":[]}"#).await;
        assert!(unnamed.starts_with("data: invalid type: sequence"), "{unnamed}");
        assert!(error("{").await.starts_with("EOF"));
    }

    #[tokio::test]
    async fn excessive_nesting_and_incomplete_json_are_errors() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(matches!(
            from_body::<serde_json::Value>(body(&deep), &Prune::default()).await,
            Err(Error::SerdeError(_))
        ));
        assert!(matches!(
            from_body::<serde_json::Value>(body("{"), &Prune::default()).await,
            Err(Error::SerdeError(_))
        ));
        assert!(matches!(
            from_body::<serde_json::Value>(Body::empty(), &Prune::default()).await,
            Err(Error::SerdeError(_))
        ));
    }
}
