//! Settings in an order that is the same for equal settings, for the key under which credentials are shared.

use std::collections::{BTreeMap, HashMap};

pub(super) fn sorted(entries: &HashMap<String, String>) -> BTreeMap<&str, &str> {
    // Not `collect`, which compiles a sort.
    let mut sorted = BTreeMap::new();
    for (name, value) in entries {
        sorted.insert(name.as_str(), value.as_str());
    }
    sorted
}
