//! Printer columns of CRDs.

use serde_json::Value;

/// A printer column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrinterColumn {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
    pub(crate) path: String,
}

/// The declared columns, or the age.
pub(crate) fn declared(version: &Value) -> Vec<PrinterColumn> {
    let declared = version["additionalPrinterColumns"].as_array().map_or(&[][..], Vec::as_slice);
    if declared.is_empty() {
        return vec![PrinterColumn {
            name: "Age".into(),
            kind: "date".into(),
            format: String::new(),
            description: "When the object was created.".into(),
            priority: 0,
            path: ".metadata.creationTimestamp".into(),
        }];
    }
    let column = |column: &Value| {
        let text = |name: &str| column[name].as_str().unwrap_or_default();
        let path = text("jsonPath");
        PrinterColumn {
            name: text("name").into(),
            kind: text("type").into(),
            format: text("format").into(),
            description: match text("description") {
                "" => format!("Custom resource definition column (in JSONPath format): {path}"),
                provided => provided.into(),
            },
            priority: column["priority"].as_i64().unwrap_or(0),
            path: path.into(),
        }
    };
    declared.iter().map(column).collect()
}
