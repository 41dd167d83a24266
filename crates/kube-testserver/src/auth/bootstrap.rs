use serde_json::Value;

static TABLE: &str = include_str!("../../data/rbac.jsonl");

/// The roles and bindings that every cluster with RBAC has.
pub(crate) fn objects() -> Vec<Value> {
    let line = |line| {
        serde_json::from_str(line)
            .expect("invariant: every line of the RBAC table is an object, checked by a test")
    };
    TABLE.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_table_is_readable() {
        let kinds: Vec<String> =
            super::objects().iter().map(|object| object["kind"].as_str().unwrap().to_string()).collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "ClusterRole").count(), 10);
        assert_eq!(kinds.iter().filter(|kind| *kind == "ClusterRoleBinding").count(), 4);
    }
}
