//! One JSON value per body.

use std::borrow::Cow;
use std::marker::PhantomData;

use either::Either;
use kube_core::Status;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _};

use super::invalid::invalid_object;
use super::prune::Prune;
use super::reader::read;
use crate::body::Body;
use crate::error::Error;

/// Reads the body and decodes it in one pass over its bytes.
pub(crate) async fn from_body<T: DeserializeOwned>(body: Body, prune: Prune) -> Result<T, Error> {
    whole(&body.collect_bytes().await?, prune)
}

/// Deletions are answered with the object if it is still there (finalizers), else with a `Status`.
pub(crate) async fn object_or_status<T: DeserializeOwned>(body: Body) -> Result<Either<T, Status>, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Probe<'a> {
        #[serde(borrow, default)]
        kind: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        api_version: Option<Cow<'a, str>>,
    }

    let bytes = body.collect_bytes().await?;
    let probe: Probe<'_> = serde_json::from_slice(&bytes).map_err(Error::SerdeError)?;
    // Custom kinds may be called Status too, but not in the core group.
    let is_status = probe.kind.as_deref() == Some("Status")
        && probe.api_version.as_deref().is_none_or(|version| version == "v1");
    if is_status {
        serde_json::from_slice(&bytes).map(Either::Right).map_err(Error::SerdeError)
    } else {
        whole(&bytes, Prune::default()).map(Either::Left)
    }
}

fn whole<T: DeserializeOwned>(json: &[u8], prune: Prune) -> Result<T, Error> {
    read(json, &[], prune, PhantomData).map_err(|err| Error::SerdeError(explain::<T>(json, err)))
}

/// Names the object and the field that do not fit `T`. Broken JSON stays the error that it is.
fn explain<T: DeserializeOwned>(json: &[u8], err: serde_json::Error) -> serde_json::Error {
    if !err.is_data() {
        return err;
    }
    let invalid = invalid_object::<T>(json, &err, None);
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
    async fn an_object_that_does_not_fit_is_named_with_its_field() {
        let told = async |text| match from_body::<ConfigMap>(body(text), Prune::default()).await {
            Err(Error::SerdeError(err)) => err.to_string(),
            other => panic!("{other:?}"),
        };
        let odd =
            told(r#"{"kind":"ConfigMap","metadata":{"name":"b","namespace":"ns"},"data":{"key":5}}"#).await;
        assert!(
            odd.starts_with("cannot decode object ns/b: ConfigMap.data.key: invalid type: integer `5`"),
            "{odd}"
        );
        let unnamed = told(r#"{"data":[]}"#).await;
        assert!(unnamed.starts_with("data: invalid type: sequence"), "{unnamed}");
        assert!(told("{").await.starts_with("EOF"));
    }

    #[tokio::test]
    async fn depth_without_end_and_broken_text_are_errors() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(matches!(
            from_body::<serde_json::Value>(body(&deep), Prune::default()).await,
            Err(Error::SerdeError(_))
        ));
        assert!(matches!(
            from_body::<serde_json::Value>(body("{"), Prune::default()).await,
            Err(Error::SerdeError(_))
        ));
        assert!(matches!(
            from_body::<serde_json::Value>(Body::empty(), Prune::default()).await,
            Err(Error::SerdeError(_))
        ));
    }
}
