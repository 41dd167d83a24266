//! The objects of [`table`](crate::table) round-trip through serde and satisfy their rules, without a server.

use std::path::Path;

use kube_core::cel::Validator;
use serde_json::Value;

use crate::table::{Row, rows};

/// If `KUBE_SCHEMA_TABLE` is a directory, every definition and object is also written there, for `kubectl create -f`.
#[test]
fn objects_round_trip_and_satisfy_their_rules() {
    let dir = std::env::var_os("KUBE_SCHEMA_TABLE");
    for (n, row) in rows().iter().enumerate() {
        if let Some(dir) = &dir {
            write(Path::new(dir), n, row);
        }
        for object in &row.objects {
            assert!(!violates_a_rule(row, object), "{}: {object}", row.name);
            let decoded = (row.round_trip)(object.clone())
                .unwrap_or_else(|error| panic!("{}: {error}: {object}", row.name));
            assert_eq!(&decoded, object, "{}", row.name);
        }
        for rejected in &row.rejected {
            assert!(!row.objects.contains(&rejected.object), "{}: {} is a sample", row.name, rejected.change);
            assert_eq!(
                violates_a_rule(row, &rejected.object),
                rejected.by_rule,
                "{}: {}",
                row.name,
                rejected.change
            );
        }
    }
}

/// Evaluates the rules on the client, because old servers do not.
fn violates_a_rule(row: &Row, object: &Value) -> bool {
    let schema =
        row.crd.spec.versions[0].schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
    let schema = serde_json::to_value(schema).expect("a schema serializes");
    Validator::new().validate(&schema, object, None).is_err()
}

fn write(dir: &Path, n: usize, row: &Row) {
    std::fs::create_dir_all(dir).expect("the directory can be created");
    std::fs::write(
        dir.join(format!("{n:02}-crd.json")),
        serde_json::to_string(&row.crd).expect("a definition serializes"),
    )
    .expect("the directory is writable");
    for (m, object) in row.objects.iter().enumerate() {
        std::fs::write(dir.join(format!("{n:02}-object-{m}.json")), object.to_string())
            .expect("the directory is writable");
    }
}
