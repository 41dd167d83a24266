//! The body of a list, decoded item by item as it arrives: body and decoded list are never here together.

use http_body_util::BodyExt;
use kube_core::object::{DefaultTypes, ObjectList};
use kube_core::{DeserializeGuard, TypeMeta};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};

use super::invalid::invalid_object;
use super::prune::Prune;
use super::reader::read;
use super::split::{Item, ItemSplitter, NotAList};
use crate::body::Body;
use crate::error::Error;

/// Decodes a list. The first item that does not decode is the error, and it is named.
pub(crate) async fn list_from_body<K>(body: Body, prune: Prune) -> Result<ObjectList<K>, Error>
where
    K: Clone + DeserializeOwned,
{
    items(body, |at, item, defaults| {
        decode(item, defaults, prune).map_err(|err| {
            let invalid = invalid_object(item.json, &err);
            Error::SerdeError(serde_json::Error::custom(format!("item {at} of the list: {invalid}")))
        })
    })
    .await
}

/// Decodes a list whose items may be invalid one by one.
pub(crate) async fn guarded_list_from_body<K>(
    body: Body,
    prune: Prune,
) -> Result<ObjectList<DeserializeGuard<K>>, Error>
where
    K: Clone + DeserializeOwned,
{
    items(body, |_, item, defaults| {
        Ok(DeserializeGuard(decode(item, defaults, prune).map_err(|err| invalid_object(item.json, &err))))
    })
    .await
}

fn decode<K: DeserializeOwned>(
    item: &Item<'_>,
    defaults: &DefaultTypes,
    prune: Prune,
) -> Result<K, serde_json::Error> {
    read(item.json, item.lengths, prune, || defaults.seed())
}

async fn items<T: Clone>(
    mut body: Body,
    decode: impl Fn(usize, &Item<'_>, &DefaultTypes) -> Result<T, Error>,
) -> Result<ObjectList<T>, Error> {
    let mut splitter = ItemSplitter::default();
    let mut defaults = None;
    let mut items = Vec::new();
    while let Some(frame) = body.frame().await.transpose()? {
        let Ok(data) = frame.into_data() else { continue };
        splitter.push(data);
        while let Some(item) = splitter.next_item().map_err(not_a_list)? {
            let defaults = defaults.get_or_insert_with(|| DefaultTypes::of_list(&types(item.envelope)));
            items.push(decode(items.len(), &item, defaults)?);
        }
    }
    let envelope: ObjectList<IgnoredAny> =
        serde_json::from_slice(splitter.envelope()).map_err(Error::SerdeError)?;
    Ok(ObjectList { types: envelope.types, metadata: envelope.metadata, items })
}

/// What the list says of its type before its first item.
fn types(envelope: &[u8]) -> TypeMeta {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Types {
        api_version: String,
        kind: String,
    }
    let closed = [envelope, b"]}"].concat();
    let Types { api_version, kind } = serde_json::from_slice(&closed).unwrap_or_default();
    TypeMeta { api_version, kind }
}

fn not_a_list(NotAList: NotAList) -> Error {
    Error::SerdeError(serde_json::Error::custom("`items` of the list: expected one array of objects"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_core::DynamicObject;
    use tower::BoxError;

    use super::*;

    const LIST: &str = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"c"},
        "items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b","namespace":"ns"},"data":5},{"metadata":{"name":"c"}}]}"#;

    fn body(text: &str) -> Body {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        let frames: Vec<_> = (0..text.len())
            .step_by(7)
            .map(|at| Ok::<_, BoxError>(Frame::data(bytes.slice(at..text.len().min(at + 7)))))
            .collect();
        Body::wrap(StreamBody::new(futures::stream::iter(frames)))
    }

    #[tokio::test]
    async fn items_have_the_type_that_the_list_implies() {
        let list = list_from_body::<DynamicObject>(body(LIST), Prune::default()).await.unwrap();
        assert_eq!(
            (list.types.kind.as_str(), list.metadata.continue_.as_deref()),
            ("ConfigMapList", Some("c"))
        );
        assert_eq!(list.items.len(), 3);
        assert!(
            list.items.iter().all(|item| item.types.as_ref().is_some_and(|types| types.kind == "ConfigMap"))
        );
    }

    #[tokio::test]
    async fn one_bad_item_is_one_error_that_names_it() {
        let err = list_from_body::<ConfigMap>(body(LIST), Prune::default()).await.unwrap_err();
        let Error::SerdeError(cause) = err else { panic!("{err:?}") };
        assert!(cause.to_string().starts_with("item 1 of the list: cannot decode object ns/b: "), "{cause}");
        let list = guarded_list_from_body::<ConfigMap>(body(LIST), Prune::default()).await.unwrap();
        assert_eq!(list.metadata.resource_version.as_deref(), Some("9"));
        let decoded: Vec<_> = list
            .into_iter()
            .map(|item| (item.0.is_ok(), item.0))
            .map(|(ok, item)| {
                (ok, item.map_or_else(|invalid| invalid.metadata.name, |object| object.metadata.name))
            })
            .collect();
        assert_eq!(decoded, [(true, Some("a".into())), (false, Some("b".into())), (true, Some("c".into()))]);
    }

    #[tokio::test]
    async fn what_is_no_list_is_an_error() {
        for text in [
            "",
            "{",
            "{}",
            "<html>",
            "[]",
            r#"{"items":5}"#,
            r#"{"items":[{}"#,
            r#"{"items":[{}]"#,
            r#"{"items":[{},]}"#,
            r#"{"items":[{}]}x"#,
            r#"{"items":[{}],"metadata":7}"#,
        ] {
            assert!(list_from_body::<ConfigMap>(body(text), Prune::default()).await.is_err(), "{text}");
            assert!(
                guarded_list_from_body::<ConfigMap>(body(text), Prune::default()).await.is_err(),
                "{text}"
            );
        }
        for text in [r#"{"items":null}"#, r#"{"items":[],"metadata":null}"#] {
            assert!(
                list_from_body::<ConfigMap>(body(text), Prune::default()).await.unwrap().items.is_empty(),
                "{text}"
            );
        }
    }

    #[tokio::test]
    async fn depth_without_end_is_an_error_of_its_item() {
        let deep = format!("{{\"items\":[{}{},{{}}]}}", "[".repeat(10_000), "]".repeat(10_000));
        let list = guarded_list_from_body::<serde_json::Value>(body(&deep), Prune::default()).await.unwrap();
        assert!(list.items[0].0.is_err() && list.items[1].0.is_ok());
        let deep = format!("{{\"metadata\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(list_from_body::<serde_json::Value>(body(&deep), Prune::default()).await.is_err());
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_an_error() {
        let frames = [Ok(Frame::data(Bytes::from_static(br#"{"items":[{},"#))), Err(BoxError::from("cut"))];
        let body = Body::wrap(StreamBody::new(futures::stream::iter(frames)));
        assert!(matches!(list_from_body::<ConfigMap>(body, Prune::default()).await, Err(Error::Service(_))));
    }
}
