//! The body of a list, decoded item by item as it arrives: the whole body and the whole list are never in memory together.

use http_body_util::BodyExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_core::DeserializeGuard;
use kube_core::object::{DefaultTypes, ObjectList};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};

use super::array_lengths::ArrayLengths;
use super::catch_panic::catch_panic;
use super::heap_room::HeapRoom;
use super::invalid::invalid_object;
use super::items::{Item, ItemSplitter, NotAList};
use super::known::KnownObjects;
use super::prune::Prune;
use super::reader::read;
use crate::body::Body;
use crate::error::Error;

/// A list that is read on demand.
#[derive(Debug)]
pub(crate) struct ListBody {
    body: Body,
    /// The body has been read to its end.
    ended: bool,
    splitter: ItemSplitter,
    prune: Prune,
}

impl ListBody {
    pub(crate) fn new(body: Body, prune: Prune) -> Self {
        Self { body, ended: false, splitter: ItemSplitter::default(), prune }
    }

    /// The metadata before the first item. Reads no further.
    pub(crate) async fn head(&mut self) -> Result<ListMeta, Error> {
        while !self.splitter.reach_items() && self.read_chunk().await? {}
        Ok(self.parse_head()?.metadata)
    }

    /// Decodes the items. The first undecodable item is an error that names it.
    pub(crate) async fn decode<K>(mut self) -> Result<ObjectList<K>, Error>
    where
        K: Clone + DeserializeOwned,
    {
        let ((defaults, kind), prune) = (self.defaults().await?, self.prune.clone());
        let (mut items, mut room) = (Vec::new(), HeapRoom::default());
        while let Some(item) = self.next_item().await? {
            room.before(item.json.len());
            items.push(decode(item.json, item.lengths, &defaults, &prune).map_err(|err| {
                let (at, invalid) = (items.len(), invalid_object(item.json, &err, kind.as_deref()));
                Error::SerdeError(serde_json::Error::custom(format!("item {at} of the list: {invalid}")))
            })?);
        }
        self.finish(items)
    }

    /// Decodes the items, except those that are known. Each may be invalid on its own.
    pub(crate) async fn decode_guarded<K>(
        mut self,
        known: &KnownObjects<K>,
    ) -> Result<ObjectList<DeserializeGuard<K>>, Error>
    where
        K: Clone + DeserializeOwned,
    {
        let ((defaults, kind), prune) = (self.defaults().await?, self.prune.clone());
        let (mut items, mut room) = (Vec::new(), HeapRoom::default());
        while let Some(item) = self.next_item().await? {
            if let Some(object) = known.find(item.json) {
                items.push(DeserializeGuard(Ok(object)));
                continue;
            }
            room.before(item.json.len());
            let decoded = catch_panic(|| decode(item.json, item.lengths, &defaults, &prune));
            let invalid = |err| invalid_object(item.json, &err, kind.as_deref());
            items.push(DeserializeGuard(decoded.map_err(invalid)));
        }
        self.finish(items)
    }

    async fn next_item(&mut self) -> Result<Option<Item<'_>>, Error> {
        while !self.splitter.find().map_err(not_a_list)? {
            if !self.read_chunk().await? {
                return Ok(None);
            }
        }
        Ok(self.splitter.item())
    }

    /// Reads the next chunk; false at the end of the body.
    async fn read_chunk(&mut self) -> Result<bool, Error> {
        while !self.ended {
            match self.body.frame().await.transpose()?.map(http_body::Frame::into_data) {
                Some(Ok(data)) => {
                    self.splitter.push(data);
                    return Ok(true);
                }
                Some(Err(_trailers)) => {}
                None => self.ended = true,
            }
        }
        Ok(false)
    }

    /// The fields of the list before its items; all fields if it has no array of items.
    fn parse_head(&self) -> Result<ObjectList<IgnoredAny>, Error> {
        let envelope = self.splitter.envelope();
        let head = if self.splitter.envelope_is_open() {
            serde_json::from_slice(envelope)
        } else {
            serde_json::from_slice(&[envelope, b"]}"].concat())
        };
        head.map_err(|err| Error::SerdeError(serde_json::Error::custom(format!("not a list: {err}"))))
    }

    /// The type that the list implies for its items, and their kind.
    async fn defaults(&mut self) -> Result<(DefaultTypes, Option<String>), Error> {
        self.head().await?;
        let types = self.parse_head()?.types;
        let kind = types.kind.strip_suffix("List").filter(|kind| !kind.is_empty()).map(str::to_owned);
        Ok((DefaultTypes::of_list(&types), kind))
    }

    fn finish<T: Clone>(self, items: Vec<T>) -> Result<ObjectList<T>, Error> {
        let envelope: ObjectList<IgnoredAny> =
            serde_json::from_slice(self.splitter.envelope()).map_err(Error::SerdeError)?;
        Ok(ObjectList { types: envelope.types, metadata: envelope.metadata, items })
    }
}

fn decode<K: DeserializeOwned>(
    json: &[u8],
    lengths: &ArrayLengths,
    defaults: &DefaultTypes,
    prune: &Prune,
) -> Result<K, serde_json::Error> {
    read(json, lengths, prune, defaults.seed())
}

fn not_a_list(NotAList: NotAList) -> Error {
    Error::SerdeError(serde_json::Error::custom("`items` of the list: expected one array of objects"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::StreamExt;
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

    fn list_body(body: Body) -> ListBody {
        ListBody::new(body, Prune::default())
    }

    #[tokio::test]
    async fn items_have_the_type_that_the_list_implies() {
        let list = list_body(body(LIST)).decode::<DynamicObject>().await.unwrap();
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
    async fn an_undecodable_item_is_one_error_that_names_it() {
        let err = list_body(body(LIST)).decode::<ConfigMap>().await.unwrap_err();
        let Error::SerdeError(cause) = err else { panic!("{err:?}") };
        assert!(
            cause
                .to_string()
                .starts_with("item 1 of the list: cannot decode object ns/b: ConfigMap.data: invalid type"),
            "{cause}"
        );
        let list = list_body(body(LIST)).decode_guarded::<ConfigMap>(&KnownObjects::default()).await.unwrap();
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
    async fn known_items_are_not_decoded() {
        let known = KnownObjects::new(|json| {
            // `b` cannot be decoded.
            let json = std::str::from_utf8(json).unwrap();
            json.contains("\"b\"").then(|| ConfigMap { immutable: Some(true), ..ConfigMap::default() })
        });
        let list = list_body(body(LIST)).decode_guarded::<ConfigMap>(&known).await.unwrap();
        let known: Vec<_> = list
            .into_iter()
            .map(|item| item.0.expect("all can be decoded, or are known").immutable)
            .collect();
        assert_eq!(known, [None, Some(true), None]);
    }

    #[tokio::test]
    async fn the_head_is_returned_before_the_items_arrive() {
        // Reading further would wait for ever.
        let beginning = body(LIST).into_data_stream().take(17).map(|data| data.map(Frame::data));
        let beginning = beginning.chain(futures::stream::pending());
        let head = list_body(Body::wrap(StreamBody::new(beginning))).head().await.unwrap();
        assert_eq!(head.continue_.as_deref(), Some("c"));
        for text in [r#"{"items":[],"metadata":{"continue":"c"}}"#, r#"{"items":null}"#] {
            assert_eq!(list_body(body(text)).head().await.unwrap(), ListMeta::default(), "{text}");
        }
    }

    #[tokio::test]
    async fn the_head_of_a_body_that_is_not_a_list_is_an_error() {
        for text in [
            "",
            "<html>",
            "[]",
            r#"{"metadata":5,"items":[]}"#,
            r#"{"metadata":{"continue":"c"},"items":"#,
            r#"{"kind":"ConfigMap","metadata":{"name":"a"}}"#,
        ] {
            let err = list_body(body(text)).head().await.unwrap_err();
            assert!(matches!(err, Error::SerdeError(_)), "{text}: {err:?}");
            assert!(err.to_string().contains("not a list"), "{text}: {err}");
        }
    }

    #[tokio::test]
    async fn a_list_is_the_same_after_its_head_was_read() {
        let mut seen = list_body(body(LIST));
        seen.head().await.unwrap();
        let list = seen.decode_guarded::<ConfigMap>(&KnownObjects::default()).await.unwrap();
        assert_eq!(list.metadata.resource_version.as_deref(), Some("9"));
        let good: Vec<_> = list.items.iter().map(|item| item.0.is_ok()).collect();
        assert_eq!(good, [true, false, true]);
    }

    #[tokio::test]
    async fn a_body_that_is_not_a_list_is_an_error() {
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
            assert!(list_body(body(text)).decode::<ConfigMap>().await.is_err(), "{text}");
            assert!(
                list_body(body(text)).decode_guarded::<ConfigMap>(&KnownObjects::default()).await.is_err(),
                "{text}"
            );
        }
        for text in [r#"{"items":null}"#, r#"{"items":[],"metadata":null}"#] {
            assert!(list_body(body(text)).decode::<ConfigMap>().await.unwrap().items.is_empty(), "{text}");
        }
    }

    #[tokio::test]
    async fn excessive_nesting_is_an_error_of_one_item() {
        let deep = format!("{{\"items\":[{}{},{{}}]}}", "[".repeat(10_000), "]".repeat(10_000));
        let list = list_body(body(&deep))
            .decode_guarded::<serde_json::Value>(&KnownObjects::default())
            .await
            .unwrap();
        assert!(list.items[0].0.is_err() && list.items[1].0.is_ok());
        let deep = format!("{{\"metadata\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(list_body(body(&deep)).decode::<serde_json::Value>().await.is_err());
    }

    #[tokio::test]
    async fn an_incomplete_body_is_an_error() {
        let frames = [Ok(Frame::data(Bytes::from_static(br#"{"items":[{},"#))), Err(BoxError::from("cut"))];
        let body = Body::wrap(StreamBody::new(futures::stream::iter(frames)));
        assert!(matches!(list_body(body).decode::<ConfigMap>().await, Err(Error::Service(_))));
    }
}
