//! The served resources, found by path, kind or table.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use kube_core::Version;
use parking_lot::Mutex;

use super::{Endpoint, Resource, RuntimeConfig, TableId, builtin};

/// All served resources, by path, kind and table.
#[derive(Debug, Default)]
pub(crate) struct Scheme {
    /// Sorted by group, version and plural.
    endpoints: Vec<Endpoint>,
    tables: BTreeMap<TableId, Arc<Resource>>,
    /// The hashes of OpenAPI documents by group and version, until a resource of the group changes.
    document_hashes: Mutex<BTreeMap<(String, String), String>>,
}

impl Scheme {
    /// A scheme of the built-in kinds in their stable versions.
    #[cfg(test)]
    pub(crate) fn with_built_in() -> Self {
        Self::serving(&RuntimeConfig::default())
    }

    /// A scheme of the built-in kinds that are switched on. Each has its own table, except storage equivalents, which share the table of
    /// the stored kind. The tables are numbered from 0. All servers of a process with the default configuration share these resources.
    pub(crate) fn serving(runtime_config: &RuntimeConfig) -> Self {
        static STABLE: LazyLock<Scheme> = LazyLock::new(|| Scheme::built_in(&RuntimeConfig::default()));
        if *runtime_config != RuntimeConfig::default() {
            return Self::built_in(runtime_config);
        }
        let (endpoints, tables) = (STABLE.endpoints.clone(), STABLE.tables.clone());
        Self { endpoints, tables, document_hashes: Mutex::default() }
    }

    fn built_in(runtime_config: &RuntimeConfig) -> Self {
        let mut scheme = Self::default();
        let (equivalents, originals): (Vec<_>, Vec<_>) = builtin::kinds()
            .iter()
            .filter(|kind| runtime_config.serves(kind))
            .map(Resource::built_in)
            .partition(|resource| resource.equivalent.is_some());
        for (at, resource) in originals.into_iter().enumerate() {
            scheme.insert(Arc::new(Resource { table: TableId(at), ..resource }));
        }
        for resource in equivalents {
            let stored = resource.equivalent.map(|equivalent| equivalent.stored_kind);
            let stored = stored.and_then(|kind| scheme.find(kind.group, kind.version, kind.plural));
            let table = stored
                .expect("invariant: a stored kind is served and has no storage equivalent of its own")
                .resource
                .table;
            scheme.insert_paths(&Arc::new(Resource { table, ..resource }));
        }
        scheme
    }

    /// The hash of the OpenAPI document of a group version, computed if it is not known.
    pub(super) fn document_hash(
        &self,
        group: &str,
        version: &str,
        compute: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let key = (group.to_owned(), version.to_owned());
        if let Some(hash) = self.document_hashes.lock().get(&key) {
            return Some(hash.clone());
        }
        let hash = compute()?;
        self.document_hashes.lock().insert(key, hash.clone());
        Some(hash)
    }

    fn forget_hashes(&self, group: &str) {
        self.document_hashes.lock().retain(|(of, _), _| of != group);
    }

    /// Adds a resource, or replaces the one with the same table.
    pub(crate) fn insert(&mut self, resource: Arc<Resource>) {
        self.remove(resource.table);
        self.forget_hashes(&resource.group);
        self.insert_paths(&resource);
        self.tables.insert(resource.table, resource);
    }

    fn insert_paths(&mut self, resource: &Arc<Resource>) {
        for endpoint in resource.all_versions().filter(|endpoint| endpoint.version().served) {
            match self.position(endpoint.path()) {
                Ok(at) => self.endpoints[at] = endpoint,
                Err(at) => self.endpoints.insert(at, endpoint),
            }
        }
    }

    /// Where the endpoint of a path is, or where it belongs.
    fn position(&self, path: (&str, &str, &str)) -> Result<usize, usize> {
        self.endpoints.binary_search_by(|endpoint| endpoint.path().cmp(&path))
    }

    pub(crate) fn remove(&mut self, table: TableId) {
        if let Some(resource) = self.tables.remove(&table) {
            self.forget_hashes(&resource.group);
            self.endpoints.retain(|endpoint| endpoint.resource.table != table);
        }
    }

    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Endpoint> {
        self.position((group, version, plural)).ok().map(|at| &self.endpoints[at])
    }

    /// The resource of a kind in a served version, as owner references name it.
    pub(crate) fn by_kind<'a>(
        &'a self,
        group: &'a str,
        version: &'a str,
        kind: &str,
    ) -> Option<&'a Endpoint> {
        self.version(group, version).find(|endpoint| endpoint.kind() == kind)
    }

    /// The storage version if it is served, else any other.
    pub(crate) fn by_plural<'a>(&'a self, group: &'a str, plural: &'a str) -> Option<&'a Endpoint> {
        let of_plural = || self.group(group).filter(|endpoint| endpoint.plural() == plural);
        of_plural().find(|endpoint| endpoint.version().storage).or_else(|| of_plural().next())
    }

    /// The resource of a table; for storage equivalents the stored kind.
    pub(crate) fn by_table(&self, table: TableId) -> Option<&Arc<Resource>> {
        self.tables.get(&table)
    }

    /// The resource of a table in each served version, storage equivalents included.
    pub(crate) fn endpoints_of(&self, table: TableId) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.iter().filter(move |endpoint| endpoint.resource.table == table)
    }

    pub(crate) fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.tables.values()
    }

    /// All endpoints of one group version, by plural.
    pub(crate) fn version<'a>(
        &'a self,
        group: &'a str,
        version: &'a str,
    ) -> impl Iterator<Item = &'a Endpoint> {
        self.group(group).filter(move |endpoint| endpoint.version().name == version)
    }

    /// All groups with their versions, preferred version first. The core group is named "" and comes first.
    pub(crate) fn groups(&self) -> Vec<(&str, Vec<&str>)> {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for endpoint in &self.endpoints {
            let (versions, version) =
                (groups.entry(endpoint.group()).or_default(), &*endpoint.version().name);
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by_key(|version| Reverse(Version::parse(version).priority()));
        }
        groups.into_iter().collect()
    }

    pub(crate) fn group<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Endpoint> {
        let first = self.endpoints.partition_point(|endpoint| endpoint.group() < group);
        self.endpoints[first..].iter().take_while(move |endpoint| endpoint.group() == group)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn built_in_resources_are_found_by_path_and_by_kind() {
        let scheme = Scheme::with_built_in();
        let pods = scheme.find("", "v1", "pods").unwrap();
        assert!(
            pods.allows("watch")
                && pods.has_status()
                && pods.selects("spec.nodeName")
                && !pods.selects("spec.x")
        );
        assert_eq!(scheme.by_kind("apps", "v1", "Deployment").unwrap().plural(), "deployments");
        assert!(
            scheme.find("", "v2", "pods").is_none() && scheme.by_kind("apps", "v9", "Deployment").is_none()
        );
        let groups = scheme.groups();
        assert_eq!(groups[0], ("", vec!["v1"]));
        assert_eq!(groups.iter().find(|(g, _)| *g == "autoscaling").unwrap().1, ["v2", "v1"]);
        for plural in ["resourceclaims", "horizontalpodautoscalers", "mutatingadmissionpolicies", "events"] {
            let of_plural = |endpoint: &&Endpoint| endpoint.plural() == plural;
            let tables: HashSet<_> =
                scheme.endpoints.iter().filter(of_plural).map(|e| e.resource.table).collect();
            assert_eq!(tables.len(), 1, "{plural}");
        }
        assert_eq!(scheme.by_plural("autoscaling", "horizontalpodautoscalers").unwrap().version().name, "v2");
    }
}
