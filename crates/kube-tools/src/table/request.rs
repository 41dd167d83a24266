//! Requests for objects as a table.

use futures::Stream;
use http::header::{ACCEPT, HeaderValue};
use jiff::Timestamp;
use kube_client::client::{BuiltRequest, Client, with_verb};
use kube_client::{Api, Error, Result};
use kube_core::object::ObjectList;
use kube_core::params::{GetParams, ListParams, WatchParams};
use kube_core::{PartialObjectMeta, Request, Resource, TypeMeta, WatchEvent};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::types::Table;

/// Objects are the second choice, for servers without tables.
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

pub(crate) async fn of_list<K: Resource>(api: Api<K>, lp: &ListParams) -> Result<Table> {
    let request = urls(&api).list(lp);
    request_table(api, "table", request).await
}

pub(crate) async fn of_object<K: Resource>(api: Api<K>, name: &str) -> Result<Table> {
    let request = urls(&api).get(name, &GetParams::default());
    request_table(api, "get_table", request).await
}

pub(crate) async fn watch<K: Resource>(
    api: Api<K>,
    wp: &WatchParams,
    version: &str,
) -> Result<impl Stream<Item = Result<WatchEvent<Table>>> + Send + use<K>> {
    let request = as_table("watch_table", urls(&api).watch(wp, version))?;
    Client::from(api).request_events(request).await
}

fn urls<K: Resource>(api: &Api<K>) -> Request {
    Request::new(api.resource_url())
}

async fn request_table<K: Resource>(api: Api<K>, verb: &'static str, request: BuiltRequest) -> Result<Table> {
    let request = as_table(verb, request)?;
    let text = Client::from(api).request_text(request).await?;
    decode(&text, kube_client::time::now()).map_err(Error::SerdeError)
}

fn as_table(verb: &'static str, request: BuiltRequest) -> Result<http::Request<Vec<u8>>> {
    let mut request = with_verb(verb, request)?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(TABLE));
    Ok(request)
}

/// A table, or a table made of a list or an object.
fn decode(text: &str, now: Timestamp) -> serde_json::Result<Table> {
    #[derive(Deserialize)]
    struct Response {
        #[serde(default)]
        kind: String,
        items: Option<IgnoredAny>,
    }
    let Response { kind, items } = serde_json::from_str(text)?;
    if kind == "Table" {
        return serde_json::from_str(text);
    }
    let list: ObjectList<PartialObjectMeta> = match items.is_some() && kind.ends_with("List") {
        true => serde_json::from_str(text)?,
        false => {
            let object: PartialObjectMeta = serde_json::from_str(text)?;
            ObjectList { types: TypeMeta::default(), metadata: Default::default(), items: vec![object] }
        }
    };
    Ok(Table::of_metadata(list, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(text: &str) -> String {
        decode(text, "2026-01-01T00:05:00Z".parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn lists_and_objects_of_servers_without_tables_become_one() {
        let table = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[{"name":"Name"}],"rows":[{"cells":["a"]}]}"#;
        assert_eq!(print(table), "NAME\na");
        let object = r#"{"kind":"Thing","apiVersion":"a/v1","metadata":{"name":"a","creationTimestamp":"2026-01-01T00:00:00Z"}}"#;
        assert_eq!(print(object), "NAME   AGE\na      5m");
        assert_eq!(
            print(&format!(
                r#"{{"kind":"ThingList","apiVersion":"a/v1","metadata":{{}},"items":[{object}]}}"#
            )),
            "NAME   AGE\na      5m"
        );
        let allow_list = r#"{"kind":"AllowList","apiVersion":"a/v1","metadata":{"name":"a"},"spec":{}}"#;
        assert_eq!(print(allow_list), "NAME   AGE\na      <unknown>");
        assert!(decode("[]", Timestamp::now()).is_err());
    }
}
