//! The objects of [`table`](crate::table), without a server: what serde writes it reads again.

use std::path::Path;

use kube_core::cel::Validator;
use serde_json::Value;

use crate::table::{Row, rows};

/// Where `KUBE_SCHEMA_TABLE` names a directory, every definition and object is written there too, for `kubectl create -f`.
#[test]
fn objects_survive_rust() {
    let dir = std::env::var_os("KUBE_SCHEMA_TABLE");
    for (n, row) in rows().iter().enumerate() {
        if let Some(dir) = &dir {
            write(Path::new(dir), n, row);
        }
        for object in &row.objects {
            assert!(!breaks_a_rule(row, object), "{}: {object}", row.name);
            let again =
                (row.again)(object.clone()).unwrap_or_else(|error| panic!("{}: {error}: {object}", row.name));
            assert_eq!(&again, object, "{}", row.name);
        }
        for wrong in &row.refused {
            assert!(!row.objects.contains(&wrong.object), "{}: {} is a sample", row.name, wrong.change);
            assert_eq!(breaks_a_rule(row, &wrong.object), wrong.by_rule, "{}: {}", row.name, wrong.change);
        }
    }
}

/// Servers that evaluate no rules cannot tell: the evaluator of this side does.
fn breaks_a_rule(row: &Row, object: &Value) -> bool {
    let schema =
        row.crd.spec.versions[0].schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
    let schema = serde_json::to_value(schema).expect("a schema is writable");
    Validator::new().validate(&schema, object, None).is_err()
}

fn write(dir: &Path, n: usize, row: &Row) {
    std::fs::create_dir_all(dir).expect("the folder can be made");
    std::fs::write(
        dir.join(format!("{n:02}-crd.json")),
        serde_json::to_string(&row.crd).expect("a definition is writable"),
    )
    .expect("the folder is writable");
    for (m, object) in row.objects.iter().enumerate() {
        std::fs::write(dir.join(format!("{n:02}-object-{m}.json")), object.to_string())
            .expect("the folder is writable");
    }
}
