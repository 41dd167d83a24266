//! The objects of [`table`](crate::table), without a server: what serde writes it reads again.

use std::path::Path;

use crate::table::{Row, rows};

/// Where `KUBE_SCHEMA_TABLE` names a directory, every definition and object is written there too, for `kubectl create -f`.
#[test]
fn objects_survive_rust() {
    let dir = std::env::var_os("KUBE_SCHEMA_TABLE");
    for (n, row) in rows().iter().enumerate() {
        for object in &row.objects {
            let again =
                (row.again)(object.clone()).unwrap_or_else(|error| panic!("{}: {error}: {object}", row.name));
            assert_eq!(&again, object, "{}", row.name);
        }
        for wrong in &row.refused {
            assert!(!row.objects.contains(&wrong.object), "{}: {} is a sample", row.name, wrong.change);
        }
        if let Some(dir) = &dir {
            write(Path::new(dir), n, row);
        }
    }
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
