//! From many contexts to the one that is used.

use super::{AuthInfo, Cluster, ExecAuthCluster, Kubeconfig};
use crate::config::KubeconfigError;

/// Which part of a kubeconfig to use. The default is its current context as it stands.
#[derive(Clone, Default, Debug)]
pub struct KubeConfigOptions {
    /// Context to use instead of the current one.
    pub context: Option<String>,
    /// Cluster to use instead of the context's.
    pub cluster: Option<String>,
    /// User to use instead of the context's.
    pub user: Option<String>,
}

/// One cluster, one user and a namespace: what a context stands for.
pub(in crate::config) struct Selection {
    pub(in crate::config) cluster: Cluster,
    pub(in crate::config) auth_info: AuthInfo,
    pub(in crate::config) namespace: Option<String>,
    pub(in crate::config) names: Selected,
}

/// The names under which the parts of a selection stand in the kubeconfig.
#[derive(Clone)]
pub(in crate::config) struct Selected {
    pub(in crate::config) cluster: String,
    pub(in crate::config) user: Option<String>,
}

impl Selection {
    /// Follows the context that is asked for, or else the current one.
    pub(in crate::config) fn of(
        config: &Kubeconfig,
        options: &KubeConfigOptions,
    ) -> Result<Self, KubeconfigError> {
        let given = |name: &&String| !name.is_empty();
        let name = options.context.as_ref().or(config.current_context.as_ref()).filter(given);
        let context = match name {
            Some(name) => {
                let found = config.contexts.iter().find(|named| named.name == *name);
                let context = found.and_then(|named| named.context.clone());
                let known = config.contexts.iter().map(|named| named.name.as_str());
                Some(context.ok_or_else(|| {
                    KubeconfigError::LoadContext(format!("no context named {}", absent(name, known)))
                })?)
            }
            // With cluster and user both asked for, no context is needed.
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
        let names = Selected { cluster: cluster_name, user: user_name };
        Ok(Self { cluster, auth_info, namespace: namespace.filter(|name| !name.is_empty()), names })
    }
}

fn find_cluster(config: &Kubeconfig, name: &str) -> Result<Cluster, KubeconfigError> {
    let found = config.clusters.iter().find(|named| named.name == name);
    found.and_then(|named| named.cluster.clone()).ok_or_else(|| {
        let known = config.clusters.iter().map(|named| named.name.as_str());
        KubeconfigError::LoadClusterOfContext(format!("no cluster named {}", absent(name, known)))
    })
}

/// The surface has no error for an unknown user, so it is reported as the part of the context that it is.
fn find_user(config: &Kubeconfig, name: &str, cluster: &Cluster) -> Result<AuthInfo, KubeconfigError> {
    let found = config.auth_infos.iter().find(|named| named.name == name);
    let Some(mut auth_info) = found.map(|named| named.auth_info.clone().unwrap_or_default()) else {
        let known = config.auth_infos.iter().map(|named| named.name.as_str());
        let wanted = format!("the context refers to a user that does not exist: {}", absent(name, known));
        return Err(KubeconfigError::LoadContext(wanted));
    };
    if let Some(exec) = auth_info.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
        exec.cluster = Some(ExecAuthCluster::try_from(cluster)?);
    }
    Ok(auth_info)
}

fn absent<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<_> = known.map(|name| format!("{name:?}")).collect();
    if known.is_empty() {
        format!("{name:?} (the kubeconfig has none)")
    } else {
        format!("{name:?} (the kubeconfig has {})", known.join(", "))
    }
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
- {name: lost, context: {cluster: nowhere, user: u1}}
- {name: stranger, context: {cluster: c1, user: nobody}}
- {name: anonymous, context: {cluster: c2, user: ''}}
current-context: first
",
        )
        .unwrap()
    }

    fn select(context: &str, cluster: &str, user: &str) -> Result<Selection, KubeconfigError> {
        let given = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let options =
            KubeConfigOptions { context: given(context), cluster: given(cluster), user: given(user) };
        Selection::of(&config(), &options)
    }

    #[test]
    fn the_current_context_is_the_default() {
        let selection = select("", "", "").unwrap();
        assert_eq!(selection.cluster.server.as_deref(), Some("https://one"));
        assert_eq!(selection.auth_info.username.as_deref(), Some("one"));
        assert_eq!(selection.namespace.as_deref(), Some("ns"));
    }

    #[test]
    fn parts_can_be_replaced_and_a_user_without_credentials_is_anonymous() {
        let selection = select("", "c2", "u2").unwrap();
        assert_eq!(selection.cluster.server.as_deref(), Some("https://two"));
        assert_eq!(selection.auth_info.username, None);
        assert!(select("anonymous", "", "").is_ok());
    }

    #[test]
    fn errors_name_what_was_asked_for_and_what_there_is() {
        let text = |result: Result<Selection, KubeconfigError>| result.err().unwrap().to_string();
        assert_eq!(
            text(select("prod", "", "")),
            "no context named \"prod\" (the kubeconfig has \"first\", \"lost\", \"stranger\", \"anonymous\")"
        );
        assert_eq!(
            text(select("lost", "", "")),
            "no cluster named \"nowhere\" (the kubeconfig has \"c1\", \"c2\")"
        );
        assert!(
            text(select("stranger", "", ""))
                .contains("does not exist: \"nobody\" (the kubeconfig has \"u1\", \"u2\")")
        );
    }

    #[test]
    fn without_a_current_context_cluster_and_user_suffice() {
        let mut config = config();
        config.current_context = Some(String::new());
        let none = Selection::of(&config, &KubeConfigOptions::default());
        assert!(matches!(none, Err(KubeconfigError::CurrentContextNotSet)));
        let both = KubeConfigOptions { context: None, cluster: Some("c1".into()), user: Some("u1".into()) };
        assert!(Selection::of(&config, &both).is_ok());
    }
}
