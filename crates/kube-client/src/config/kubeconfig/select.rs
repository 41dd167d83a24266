//! Selects one context of a kubeconfig.

use super::{AuthInfo, Cluster, ExecAuthCluster, Kubeconfig};
use crate::config::KubeconfigError;

/// Selects a context, cluster and user of a kubeconfig. The default is the current context.
#[derive(Clone, Default, Debug)]
pub struct KubeConfigOptions {
    /// Context to use instead of the current one.
    pub context: Option<String>,
    /// Cluster to use instead of the context's.
    pub cluster: Option<String>,
    /// User to use instead of the context's.
    pub user: Option<String>,
}

/// The cluster, the user and the namespace of a context.
pub(in crate::config) struct Selection {
    pub(in crate::config) cluster: Cluster,
    pub(in crate::config) auth_info: AuthInfo,
    pub(in crate::config) namespace: Option<String>,
    pub(in crate::config) names: SelectedNames,
}

/// The names of the selected cluster and user.
#[derive(Clone)]
pub(in crate::config) struct SelectedNames {
    pub(in crate::config) cluster: String,
    pub(in crate::config) user: Option<String>,
}

impl Selection {
    /// Selects by `options`, and by the current context for what they do not set.
    pub(in crate::config) fn new(
        config: &Kubeconfig,
        options: &KubeConfigOptions,
    ) -> Result<Self, KubeconfigError> {
        let is_set = |name: &&String| !name.is_empty();
        let name = options.context.as_ref().or(config.current_context.as_ref()).filter(is_set);
        let context = match name {
            Some(name) => {
                let found = config.contexts.iter().find(|named| named.name == *name);
                let context = found.and_then(|named| named.context.clone());
                let known = config.contexts.iter().map(|named| named.name.as_str());
                Some(context.ok_or_else(|| {
                    KubeconfigError::LoadContext(format!("no context named {name:?} {}", existing(known)))
                })?)
            }
            // Options with both cluster and user need no context.
            None if options.cluster.is_some() && options.user.is_some() => None,
            None => return Err(KubeconfigError::CurrentContextNotSet),
        };
        let (context_cluster, context_user, namespace) = match context {
            Some(context) => (Some(context.cluster), context.user, context.namespace),
            None => (None, None, None),
        };
        let cluster_name = options.cluster.clone().or(context_cluster).unwrap_or_default();
        let cluster = find_cluster(config, &cluster_name)?;
        let user_name = options.user.clone().or(context_user).filter(|name| !name.is_empty());
        let auth_info = match &user_name {
            Some(user) => find_user(config, user, &cluster)?,
            None => AuthInfo::default(),
        };
        let names = SelectedNames { cluster: cluster_name, user: user_name };
        Ok(Self { cluster, auth_info, namespace: namespace.filter(|name| !name.is_empty()), names })
    }
}

fn find_cluster(config: &Kubeconfig, name: &str) -> Result<Cluster, KubeconfigError> {
    let found = config.clusters.iter().find(|named| named.name == name);
    found.and_then(|named| named.cluster.clone()).ok_or_else(|| {
        let known = config.clusters.iter().map(|named| named.name.as_str());
        KubeconfigError::LoadClusterOfContext(format!("no cluster named {name:?} {}", existing(known)))
    })
}

/// An unknown user is reported as `LoadContext`: the public error has no variant of its own for it.
fn find_user(config: &Kubeconfig, name: &str, cluster: &Cluster) -> Result<AuthInfo, KubeconfigError> {
    let found = config.auth_infos.iter().find(|named| named.name == name);
    let Some(mut auth_info) = found.map(|named| named.auth_info.clone().unwrap_or_default()) else {
        let known = config.auth_infos.iter().map(|named| named.name.as_str());
        let message =
            format!("the context refers to user {name:?}, which does not exist {}", existing(known));
        return Err(KubeconfigError::LoadContext(message));
    };
    if let Some(exec) = auth_info.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
        exec.cluster = Some(ExecAuthCluster::try_from(cluster)?);
    }
    Ok(auth_info)
}

/// The names that exist, for the message about one that does not.
fn existing<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.map(|name| format!("{name:?}")).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!("(the kubeconfig has {names})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Kubeconfig {
        Kubeconfig::from_yaml(
            r"
clusters: [{name: c1, cluster: {server: https://one}}, {name: c2, cluster: {server: https://two}}]
users: [{name: u1, user: {username: one}}, {name: u2}]
contexts:
- {name: first, context: {cluster: c1, user: u1, namespace: ns}}
- {name: broken, context: {cluster: absent, user: u1}}
- {name: stale, context: {cluster: c1, user: missing}}
- {name: anonymous, context: {cluster: c2, user: ''}}
current-context: first
",
        )
        .unwrap()
    }

    fn select(context: &str, cluster: &str, user: &str) -> Result<Selection, KubeconfigError> {
        let set = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let options = KubeConfigOptions { context: set(context), cluster: set(cluster), user: set(user) };
        Selection::new(&config(), &options)
    }

    #[test]
    fn the_current_context_is_the_default() {
        let selection = select("", "", "").unwrap();
        assert_eq!(selection.cluster.server.as_deref(), Some("https://one"));
        assert_eq!(selection.auth_info.username.as_deref(), Some("one"));
        assert_eq!(selection.namespace.as_deref(), Some("ns"));
    }

    #[test]
    fn options_override_the_context_and_a_user_may_have_no_credentials() {
        let selection = select("", "c2", "u2").unwrap();
        assert_eq!(selection.cluster.server.as_deref(), Some("https://two"));
        assert_eq!(selection.auth_info.username, None);
        assert!(select("anonymous", "", "").is_ok());
    }

    #[test]
    fn errors_list_the_names_that_exist() {
        let text = |result: Result<Selection, KubeconfigError>| result.err().unwrap().to_string();
        assert_eq!(
            text(select("prod", "", "")),
            "no context named \"prod\" (the kubeconfig has \"first\", \"broken\", \"stale\", \"anonymous\")"
        );
        assert_eq!(
            text(select("broken", "", "")),
            "no cluster named \"absent\" (the kubeconfig has \"c1\", \"c2\")"
        );
        assert!(
            text(select("stale", "", ""))
                .contains("user \"missing\", which does not exist (the kubeconfig has \"u1\", \"u2\")")
        );
    }

    #[test]
    fn cluster_and_user_need_no_current_context() {
        let mut config = config();
        config.current_context = Some(String::new());
        let none = Selection::new(&config, &KubeConfigOptions::default());
        assert!(matches!(none, Err(KubeconfigError::CurrentContextNotSet)));
        let both = KubeConfigOptions { context: None, cluster: Some("c1".into()), user: Some("u1".into()) };
        assert!(Selection::new(&config, &both).is_ok());
    }
}
