//! The definitions of [`table`](crate::table), as far as they can be judged without a server: structural, and complete for what serde writes.

use serde_json::Value;

use crate::table::rows;

#[test]
fn objects_survive_rust() {
    for row in rows() {
        for object in &row.objects {
            let again =
                (row.again)(object.clone()).unwrap_or_else(|error| panic!("{}: {error}: {object}", row.name));
            assert_eq!(&again, object, "{}", row.name);
        }
    }
}

/// Writes the table for `kubectl`, where a directory is named: a file per definition and per object.
#[test]
fn dump() {
    let Some(dir) = std::env::var_os("KUBE_SCHEMA_TABLE") else { return };
    let dir = std::path::Path::new(&dir);
    std::fs::create_dir_all(dir).unwrap();
    for (n, row) in rows().into_iter().enumerate() {
        let write = |name: String, value: Value| std::fs::write(dir.join(name), value.to_string()).unwrap();
        write(format!("{n:02}-crd.json"), serde_json::to_value(&row.crd).unwrap());
        for (m, object) in row.objects.into_iter().enumerate() {
            write(format!("{n:02}-object-{m}.json"), object);
        }
    }
}
