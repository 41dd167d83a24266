//! The body of a list, decoded item by item as it arrives: the whole body and the whole list are never in memory together.

use http_body_util::BodyExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_core::DeserializeGuard;
use kube_core::object::{DefaultTypes, ListHead, ObjectList};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};

use super::item::ItemDecoder;
use super::object_too_large::ObjectTooLarge;
use super::read::{Prune, read_plain};
use super::split::{Item, ItemSplitter, NotAList, RawItem};
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

    /// The metadata, if they precede the first item. Reads no further.
    pub(crate) async fn head(&mut self) -> Result<Option<ListMeta>, Error> {
        while !self.splitter.reach_items() && self.read_chunk().await? {
            self.check_size()?;
        }
        let metadata = self.parse_head()?.metadata;
        // Without an array of items, all of the list has been read.
        let are_known = self.splitter.envelope_is_open() || self.has_metadata();
        Ok(are_known.then_some(metadata))
    }

    /// Whether the fields before the items have the metadata.
    fn has_metadata(&self) -> bool {
        #[derive(Deserialize)]
        struct Head {
            metadata: Option<IgnoredAny>,
        }
        let head = read_plain::<Head>(&[self.splitter.envelope(), b"]}"].concat());
        head.is_ok_and(|head| head.metadata.is_some())
    }

    /// Decodes the items. The first undecodable item is an error that names it.
    pub(crate) async fn decode<K>(mut self) -> Result<ObjectList<K>, Error>
    where
        K: Clone + DeserializeOwned,
    {
        let (mut decoder, mut items) = (self.decoder().await?, Vec::new());
        while let Some(item) = self.next_item().await? {
            items.push(decoder.decode(item.json, item.lengths).map_err(|invalid| {
                let at = items.len();
                Error::SerdeError(serde_json::Error::custom(format!("item {at} of the list: {invalid}")))
            })?);
        }
        self.finish(items)
    }

    /// Decodes the items. Each may be invalid on its own.
    pub(crate) async fn decode_guarded<K>(mut self) -> Result<ObjectList<DeserializeGuard<K>>, Error>
    where
        K: Clone + DeserializeOwned,
    {
        let (mut decoder, mut items) = (self.decoder().await?, Vec::new());
        while let Some(item) = self.next_item().await? {
            items.push(decoder.decode_guarded(item.json, item.lengths));
        }
        self.finish(items)
    }

    /// Reads the whole list, and decodes none of its items.
    pub(crate) async fn skip_items(mut self) -> Result<ListMeta, Error> {
        while self.next_item().await?.is_some() {}
        self.metadata()
    }

    /// The most bytes of one object.
    pub(super) fn limit(&self) -> usize {
        self.body.collect_limit()
    }

    /// The next item, to be decoded elsewhere.
    pub(super) async fn next_raw(&mut self) -> Result<Option<RawItem>, Error> {
        Ok(if self.find_item().await? { self.splitter.take_item() } else { None })
    }

    /// The metadata, once all items have been read.
    pub(super) fn metadata(&self) -> Result<ListMeta, Error> {
        Ok(self.envelope()?.metadata)
    }

    async fn next_item(&mut self) -> Result<Option<Item<'_>>, Error> {
        Ok(if self.find_item().await? { self.splitter.item() } else { None })
    }

    /// Whether there is another item.
    async fn find_item(&mut self) -> Result<bool, Error> {
        while !self.splitter.find().map_err(not_a_list)? {
            self.check_size()?;
            if !self.read_chunk().await? {
                return Ok(false);
            }
        }
        self.check_size()?;
        Ok(true)
    }

    /// An item that never ends, or the text around the items, must not fill the memory.
    fn check_size(&self) -> Result<(), Error> {
        let limit = self.limit();
        if self.splitter.held_bytes() <= limit {
            return Ok(());
        }
        let object = match self.splitter.item_name() {
            Some(name) => format!("the object {name} of the list"),
            None => "an object of the list".to_owned(),
        };
        Err(Error::Service(ObjectTooLarge { object, limit }.into()))
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
    fn parse_head(&self) -> Result<ListHead, Error> {
        let envelope = self.splitter.envelope();
        let head = if self.splitter.envelope_is_open() {
            read_plain(envelope)
        } else {
            read_plain(&[envelope, b"]}"].concat())
        };
        head.map_err(|err| {
            let text = match envelope.starts_with(GZIP) {
                true => "not a list: it is compressed, and its Content-Encoding does not say so".to_owned(),
                false => format!("not a list: {err}"),
            };
            Error::SerdeError(serde_json::Error::custom(text))
        })
    }

    /// For the items, which have the type that the list implies.
    pub(super) async fn decoder(&mut self) -> Result<ItemDecoder, Error> {
        self.head().await?;
        let types = self.parse_head()?.types;
        let kind = types.kind.strip_suffix("List").filter(|kind| !kind.is_empty()).map(str::to_owned);
        Ok(ItemDecoder::new(DefaultTypes::of_list(&types), kind, self.prune.clone()))
    }

    fn finish<T: Clone>(self, items: Vec<T>) -> Result<ObjectList<T>, Error> {
        let ListHead { types, metadata } = self.envelope()?;
        Ok(ObjectList { types, metadata, items })
    }

    /// The list without its items, once all of them have been read.
    fn envelope(&self) -> Result<ListHead, Error> {
        read_plain(self.splitter.envelope()).map_err(Error::SerdeError)
    }
}

/// How gzip begins.
const GZIP: &[u8] = &[0x1F, 0x8B];

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
        let list = list_body(body(LIST)).decode_guarded::<ConfigMap>().await.unwrap();
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
    async fn the_head_is_returned_before_the_items_arrive() {
        // Reading further would wait for ever.
        let beginning = body(LIST).into_data_stream().take(17).map(|data| data.map(Frame::data));
        let beginning = beginning.chain(futures::stream::pending());
        let head = list_body(Body::wrap(StreamBody::new(beginning))).head().await.unwrap().unwrap();
        assert_eq!(head.continue_.as_deref(), Some("c"));
        let without_items = list_body(body(r#"{"items":null}"#)).head().await.unwrap();
        assert_eq!(without_items, Some(ListMeta::default()));
    }

    /// As servers send the lists of custom resources.
    #[tokio::test]
    async fn metadata_after_the_items_are_not_known_before_these_are_read() {
        for text in [
            r#"{"apiVersion":"a/v1","items":[{"metadata":{"name":"a"}}],"kind":"AList","metadata":{"continue":"c"}}"#,
            r#"{"items":[],"metadata":{"continue":"c"}}"#,
        ] {
            let mut list = list_body(body(text));
            assert_eq!(list.head().await.unwrap(), None, "{text}");
            let read = list.decode_guarded::<ConfigMap>().await.unwrap();
            assert_eq!(read.metadata.continue_.as_deref(), Some("c"), "{text}");
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
        let list = seen.decode_guarded::<ConfigMap>().await.unwrap();
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
            assert!(list_body(body(text)).decode_guarded::<ConfigMap>().await.is_err(), "{text}");
        }
        for text in [r#"{"items":null}"#, r#"{"items":[],"metadata":null}"#] {
            assert!(list_body(body(text)).decode::<ConfigMap>().await.unwrap().items.is_empty(), "{text}");
        }
    }

    #[tokio::test]
    async fn excessive_nesting_is_an_error_of_one_item() {
        let deep = format!("{{\"items\":[{}{},{{}}]}}", "[".repeat(10_000), "]".repeat(10_000));
        let list = list_body(body(&deep)).decode_guarded::<serde_json::Value>().await.unwrap();
        assert!(list.items[0].0.is_err() && list.items[1].0.is_ok());
        let deep = format!("{{\"metadata\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(list_body(body(&deep)).decode::<serde_json::Value>().await.is_err());
    }

    #[tokio::test]
    async fn an_item_that_is_larger_than_one_object_may_be_is_an_error_that_names_it() {
        let large = format!(
            r#"{{"kind":"ConfigMapList","metadata":{{}},"items":[{{"metadata":{{"name":"a"}}}},
                {{"metadata":{{"namespace":"ns","name":"b","resourceVersion":"1"}},"data":{{"x":"{}"}}}}]}}"#,
            "x".repeat(1000)
        );
        // The chunks are of 7 bytes, or one.
        let whole = || Body::wrap(http_body_util::Full::new(Bytes::from(large.clone())));
        for text in [body(&large), whole()] {
            let err = list_body(text.with_collect_limit(500)).decode::<ConfigMap>().await.unwrap_err();
            let expected = "the object ns/b of the list has more than 500 bytes";
            assert!(err.to_string().contains(expected), "{err}");
        }
        for text in [body(&large), whole()] {
            let list = list_body(text.with_collect_limit(2000)).decode::<ConfigMap>().await.unwrap();
            assert_eq!(list.items.len(), 2);
        }
    }

    #[tokio::test]
    async fn text_around_the_items_is_limited_as_an_object_is() {
        let large = format!(r#"{{"x":"{}","items":[]}}"#, "x".repeat(1000));
        let err = list_body(body(&large).with_collect_limit(500)).head().await.unwrap_err();
        assert!(err.to_string().contains("more than 500 bytes"), "{err}");
    }

    #[tokio::test]
    async fn an_incomplete_body_is_an_error() {
        let frames = [Ok(Frame::data(Bytes::from_static(br#"{"items":[{},"#))), Err(BoxError::from("cut"))];
        let body = Body::wrap(StreamBody::new(futures::stream::iter(frames)));
        assert!(matches!(list_body(body).decode::<ConfigMap>().await, Err(Error::Service(_))));
    }
}
