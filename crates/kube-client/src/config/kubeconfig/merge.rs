//! Merges several kubeconfigs by the rules of kubectl.

use std::path::PathBuf;

use super::Kubeconfig;
use super::named::append_new;
use crate::config::KubeconfigError;

impl Kubeconfig {
    /// Merges `next` into `self`: clusters, users, contexts and extensions by name. `self` wins, for whole entries and for single
    /// values.
    ///
    /// ```
    /// use kube_client::config::Kubeconfig;
    ///
    /// let first = Kubeconfig::from_yaml("current-context: dev")?;
    /// let second = Kubeconfig::from_yaml("current-context: stage\ncontexts: [{name: dev, context: {cluster: here}}]")?;
    /// let merged = first.merge(second)?;
    /// assert_eq!(merged.current_context.as_deref(), Some("dev"), "the first one wins");
    /// assert_eq!(merged.contexts.len(), 1);
    /// # Ok::<(), kube_client::config::KubeconfigError>(())
    /// ```
    ///
    /// # Errors
    /// [`KubeconfigError::KindMismatch`] or [`KubeconfigError::ApiVersionMismatch`] if both have one and they differ.
    pub fn merge(mut self, next: Kubeconfig) -> Result<Self, KubeconfigError> {
        self.add(next)?;
        Ok(self)
    }

    pub(super) fn add(&mut self, next: Kubeconfig) -> Result<(), KubeconfigError> {
        if differ(&self.kind, &next.kind) {
            return Err(KubeconfigError::KindMismatch);
        }
        if differ(&self.api_version, &next.api_version) {
            return Err(KubeconfigError::ApiVersionMismatch);
        }
        // kubectl writes `current-context: ""` for "none".
        self.current_context.take_if(|name| name.is_empty());
        keep_first(&mut self.kind, next.kind);
        keep_first(&mut self.api_version, next.api_version);
        keep_first(&mut self.current_context, next.current_context);
        keep_first(&mut self.preferences, next.preferences);

        append_new(&mut self.clusters, next.clusters);
        append_new(&mut self.auth_infos, next.auth_infos);
        append_new(&mut self.contexts, next.contexts);
        if let Some(extensions) = next.extensions {
            append_new(self.extensions.get_or_insert_default(), extensions);
        }
        for (key, value) in next.other {
            self.other.entry(key).or_insert(value);
        }
        Ok(())
    }
}

/// A file of a merged kubeconfig, and how many clusters and users come from it and the files before it: the first ones of each list.
pub(in crate::config) struct MergedFile {
    pub(in crate::config) path: PathBuf,
    pub(in crate::config) clusters: usize,
    pub(in crate::config) users: usize,
}

/// The file that has a user, and the user's name in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UserOrigin {
    pub(in crate::config) path: PathBuf,
    pub(in crate::config) user: String,
}

pub(in crate::config) fn merge_files(
    files: Vec<(PathBuf, Kubeconfig)>,
) -> Result<(Kubeconfig, Vec<MergedFile>), KubeconfigError> {
    let (mut merged, mut origins) = (Kubeconfig::default(), Vec::new());
    for (path, config) in files {
        merged.add(config)?;
        origins.push(MergedFile { path, clusters: merged.clusters.len(), users: merged.auth_infos.len() });
    }
    Ok((merged, origins))
}

/// An empty text is none.
fn differ(first: &Option<String>, second: &Option<String>) -> bool {
    let is_set = |text: &&str| !text.is_empty();
    let (first, second) = (first.as_deref().filter(is_set), second.as_deref().filter(is_set));
    matches!((first, second), (Some(first), Some(second)) if first != second)
}

fn keep_first<T>(first: &mut Option<T>, second: Option<T>) {
    if first.is_none() {
        *first = second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Kubeconfig {
        Kubeconfig::from_yaml(text).unwrap()
    }

    #[test]
    fn first_entry_of_a_name_wins_and_new_names_are_added() {
        let first =
            parse("clusters: [{name: a, cluster: {server: https://first}}]\ncurrent-context: one\nx: 1\n");
        let second = parse(
            "clusters: [{name: a, cluster: {server: https://second}}, {name: b, cluster: {server: https://b}}]\n\
             current-context: two\nx: 2\ny: 3\n",
        );
        let merged = first.merge(second).unwrap();
        let servers: Vec<_> =
            merged.clusters.iter().map(|c| c.cluster.as_ref().unwrap().server.as_deref().unwrap()).collect();
        assert_eq!(servers, ["https://first", "https://b"]);
        assert_eq!(merged.current_context.as_deref(), Some("one"));
        assert_eq!(merged.other["x"], 1);
        assert_eq!(merged.other["y"], 3);
    }

    #[test]
    fn an_empty_current_context_is_replaced() {
        let merged = parse("current-context: ''").merge(parse("current-context: two")).unwrap();
        assert_eq!(merged.current_context.as_deref(), Some("two"));
    }

    #[test]
    fn different_kinds_or_api_versions_are_an_error() {
        assert!(matches!(
            parse("kind: Config").merge(parse("kind: Other")),
            Err(KubeconfigError::KindMismatch)
        ));
        assert!(matches!(
            parse("apiVersion: v1").merge(parse("apiVersion: v2")),
            Err(KubeconfigError::ApiVersionMismatch)
        ));
        assert!(parse("{kind: '', apiVersion: ''}").merge(parse("{kind: Config, apiVersion: v1}")).is_ok());
        assert_eq!(parse("{}").merge(parse("kind: Config")).unwrap().kind.as_deref(), Some("Config"));
    }

    #[test]
    fn extensions_are_merged_by_name() {
        let merged = parse("extensions: [{name: a, extension: 1}]")
            .merge(parse("extensions: [{name: a, extension: 2}, {name: b, extension: 3}]"))
            .unwrap();
        let extensions = merged.extensions.unwrap();
        assert_eq!(extensions.len(), 2);
        assert_eq!(extensions[0].extension, 1);
    }
}
