//! [`Table`]: columns and rows, as a server sends them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_core::object::ObjectList;
use kube_core::{PartialObjectMeta, ResourceExt};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::age::age;

/// Objects as a table: `Table` of `meta.k8s.io/v1`.
///
/// `{}` prints it as `kubectl get`, without a line break at the end; without rows it prints nothing. [`printer`](Self::printer) has the
/// options.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::api::ListParams;
/// use kube_client::{Api, Client};
/// use kube_tools::ApiExt;
#[doc = include_str!("../doc/config_map.txt")]
///
/// let maps: Api<ConfigMap> = Api::default_namespaced(client);
/// let table = maps.table(&ListParams::default()).await?;
/// assert_eq!(table.to_string(), "NAME       DATA   AGE\nsettings   1      0s");
/// let data = table.column("data").ok_or("no column")?;
/// assert_eq!(table.rows[0].cells[data], 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Table {
    /// The metadata of the list: its version, and the continue token of the next page. Of one object, its version.
    #[serde(default)]
    pub metadata: ListMeta,
    /// The columns, in their order.
    #[serde(default, rename = "columnDefinitions", deserialize_with = "null_as_empty")]
    pub columns: Vec<TableColumn>,
    /// The rows, one for each object, in the order of the list.
    #[serde(deserialize_with = "null_as_empty")]
    pub rows: Vec<TableRow>,
}

/// A column of a [`Table`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableColumn {
    /// The heading, such as `Name`.
    pub name: String,
    /// The type in terms of OpenAPI, such as `string`, `integer` or `date`.
    #[serde(default, rename = "type")]
    pub type_: String,
    /// The format in terms of OpenAPI; `name` marks the column with the name of the object.
    #[serde(default)]
    pub format: String,
    /// What the column says, for people.
    #[serde(default)]
    pub description: String,
    /// 0: always printed. More: only with `-o wide`.
    #[serde(default)]
    pub priority: i32,
}

/// A row of a [`Table`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TableRow {
    /// A cell for each column: a text, number or boolean, or null for no value. Ages are texts, counted from the time of the response.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub cells: Vec<Value>,
    /// The metadata of the object; `None` if the server left it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<PartialObjectMeta>,
}

impl Table {
    /// The position of the column of this name, regardless of case.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// What kubectl prints of objects whose server has no tables: name and age.
    pub(crate) fn of_metadata(list: ObjectList<PartialObjectMeta>, now: Timestamp) -> Self {
        let text = |name: &str, format: &str| TableColumn {
            name: name.to_owned(),
            type_: "string".to_owned(),
            format: format.to_owned(),
            ..TableColumn::default()
        };
        let row = |object: PartialObjectMeta| {
            let cells = vec![object.name_any().into(), age(object.creation_timestamp().as_ref(), now).into()];
            TableRow { cells, object: Some(object) }
        };
        Self {
            metadata: list.metadata,
            columns: vec![text("Name", "name"), text("Age", "")],
            rows: list.items.into_iter().map(row).collect(),
        }
    }
}

/// Servers in Go send an empty list as null.
fn null_as_empty<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_leaves_out_is_empty() {
        let table: Table = serde_json::from_str(
            r#"{"kind":"Table","metadata":{},"columnDefinitions":null,"rows":[{"cells":null,"object":null},{"cells":[1,null],"object":{"metadata":{}}}]}"#,
        )
        .unwrap();
        assert!(table.columns.is_empty() && table.rows[0].cells.is_empty());
        assert_eq!(table.rows[1].cells, [Value::from(1), Value::Null]);
        assert!(serde_json::from_str::<Table>(r#"{"rows":null}"#).unwrap().rows.is_empty());
    }

    #[test]
    fn objects_without_a_table_have_name_and_age() {
        let list = serde_json::from_str(
            r#"{"metadata":{"continue":"c"},"items":[{"metadata":{"name":"a","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{}},
                {"metadata":{"name":"b"}}]}"#,
        )
        .unwrap();
        let table = Table::of_metadata(list, "2026-01-01T00:05:00Z".parse().unwrap());
        let cells: Vec<_> = table.rows.iter().map(|row| row.cells.clone()).collect();
        assert_eq!(cells, [["a", "5m"], ["b", "<unknown>"]]);
        assert_eq!((table.metadata.continue_.as_deref(), table.column("AGE")), (Some("c"), Some(1)));
    }
}
