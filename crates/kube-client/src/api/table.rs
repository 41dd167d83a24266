//! Reading objects as a table.

use futures::Stream;
use http::header::{ACCEPT, HeaderValue};
use jiff::Timestamp;
use kube_core::object::ObjectList;
use kube_core::params::{GetParams, ListParams, WatchParams};
use kube_core::{PartialObjectMeta, TypeMeta, WatchEvent};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Api;
use crate::Result;
use crate::client::{BuiltRequest, with_verb};
use crate::error::Error;
use crate::table::Table;

/// Objects are the second choice, for servers without tables.
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

impl<K> Api<K> {
    /// The objects that `lp` selects as the server prints them for `kubectl get`. With a limit, one page of them, as for [`Api::list`].
    ///
    /// Of a server without tables, such as some aggregated ones, the table has name and age of each object, as kubectl prints them.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::ListParams;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::all(client);
    /// let table = maps.table(&ListParams::default()).await?;
    /// println!("{}", table.printer().with_namespace().wide());
    /// let object = table.rows[0].object.as_ref().ok_or("the server sends the metadata of each object")?;
    /// assert_eq!(object.metadata.namespace.as_deref(), Some("default"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// The response has the cells and the metadata of each object, and is in memory as a whole.
    ///
    /// # Errors
    /// As [`Api::list`].
    pub async fn table(&self, lp: &ListParams) -> Result<Table> {
        self.request_table("table", self.request.list(lp)).await
    }

    /// The object `name` as the server prints it for `kubectl get`: a table with one row.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn get_table(&self, name: &str) -> Result<Table> {
        self.request_table("get_table", self.request.get(name, &GetParams::default())).await
    }

    /// Watches the objects that `wp` selects, as [`Api::watch`]: each event has a table with the row of its object.
    ///
    /// Only the table of the first event has columns.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::api::{WatchEvent, WatchParams};
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let maps: Api<ConfigMap> = Api::default_namespaced(client);
    /// let mut events = Box::pin(maps.watch_table(&WatchParams::default(), "0").await?);
    /// if let Some(WatchEvent::Added(table)) = events.try_next().await? {
    ///     assert_eq!(table.rows[0].cells[0], "settings");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::watch`]. An event without a table, of a server that has none, is an error.
    pub async fn watch_table(
        &self,
        wp: &WatchParams,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<Table>>> + use<K>> {
        let mut request = with_verb("watch_table", self.request.watch(wp, version))?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(TABLE));
        self.client.events(request).await
    }

    async fn request_table(&self, verb: &'static str, request: BuiltRequest) -> Result<Table> {
        let mut request = with_verb(verb, request)?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(TABLE));
        let text = self.client.request_text(request).await?;
        decode(&text, Timestamp::now()).map_err(Error::SerdeError)
    }
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
