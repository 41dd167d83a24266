//! `Widget`, the custom resource of the scenarios.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "e2e.example.com",
    version = "v1",
    kind = "Widget",
    namespaced,
    status = "WidgetStatus",
    derive = "PartialEq"
)]
#[kube(shortname = "wd", printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"))]
pub struct WidgetSpec {
    pub size: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct WidgetStatus {
    pub phase: String,
}

/// A widget with this size and no optional fields.
pub fn widget(name: &str, size: i64) -> Widget {
    Widget::new(name, WidgetSpec { size, ..WidgetSpec::default() })
}
