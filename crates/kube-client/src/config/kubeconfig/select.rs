//! Selects one context of a kubeconfig.

use super::named::names;
use super::read::check_header;
use super::{AuthInfo, Cluster, Context, ExecAuthCluster, ExecConfig, Kubeconfig};
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
    pub(in crate::config) entries: SelectedEntries,
}

/// The position and the name of the selected cluster and user in the lists of the kubeconfig.
pub(in crate::config) struct SelectedEntries {
    /// `None` if the options had both cluster and user, and there was no context.
    pub(in crate::config) context: Option<String>,
    pub(in crate::config) cluster: (usize, String),
    pub(in crate::config) user: Option<(usize, String)>,
}

impl Selection {
    /// Selects by `options`, and by the current context for what they do not set. Takes what it selects out of the kubeconfig.
    pub(in crate::config) fn new(
        config: &mut Kubeconfig,
        options: &KubeConfigOptions,
    ) -> Result<Self, KubeconfigError> {
        check_header(config)?;
        let (context_name, context) = select_context(config, options)?.unzip();
        let context = context.unwrap_or_default();
        let cluster_name = options.cluster.clone().unwrap_or(context.cluster);
        let (index, cluster) = take_cluster(config, &cluster_name)?;
        let cluster_entry = (index, cluster_name);
        let user_name = options.user.clone().or(context.user).filter(|name| !name.is_empty());
        let (auth_info, user_entry) = match user_name {
            Some(name) => {
                let (index, auth_info) = take_user(config, &name, &cluster)?;
                (auth_info, Some((index, name)))
            }
            None => (AuthInfo::default(), None),
        };
        let namespace = context.namespace.filter(|name| !name.is_empty());
        let entries = SelectedEntries { context: context_name, cluster: cluster_entry, user: user_entry };
        Ok(Self { cluster, auth_info, namespace, entries })
    }
}

impl SelectedEntries {
    /// Selects the same entries again, whatever the current context and its cluster and user are then.
    pub(in crate::config) fn options(&self) -> KubeConfigOptions {
        let user = self.user.as_ref().map(|(_, name)| name.clone());
        KubeConfigOptions {
            context: self.context.clone(),
            cluster: Some(self.cluster.1.clone()),
            // An empty name is no user.
            user: Some(user.unwrap_or_default()),
        }
    }
}

/// `None` if the options have both cluster and user, and there is no context.
fn select_context(
    config: &mut Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<Option<(String, Context)>, KubeconfigError> {
    let name = options.context.as_deref().or(config.current_context.as_deref());
    let Some(name) = name.filter(|name| !name.is_empty()).map(ToOwned::to_owned) else {
        let needs_context = options.cluster.is_none() || options.user.is_none();
        return if needs_context { Err(KubeconfigError::CurrentContextNotSet) } else { Ok(None) };
    };
    let found = config.contexts.iter_mut().find(|named| named.name == name);
    match found.and_then(|named| named.context.take()) {
        Some(context) => Ok(Some((name, context))),
        None => {
            let known = existing(&names(&config.contexts));
            Err(KubeconfigError::LoadContext(format!("no context named {name:?} {known}")))
        }
    }
}

fn take_cluster(config: &mut Kubeconfig, name: &str) -> Result<(usize, Cluster), KubeconfigError> {
    let mut entries = config.clusters.iter_mut().enumerate();
    let found = entries.find(|(_, named)| named.name == name);
    match found.and_then(|(index, named)| Some((index, named.cluster.take()?))) {
        Some(found) => Ok(found),
        None => {
            let known = existing(&names(&config.clusters));
            Err(KubeconfigError::LoadClusterOfContext(format!("no cluster named {name:?} {known}")))
        }
    }
}

/// An unknown user is reported as `LoadContext`: the public error has no variant of its own for it.
fn take_user(
    config: &mut Kubeconfig,
    name: &str,
    cluster: &Cluster,
) -> Result<(usize, AuthInfo), KubeconfigError> {
    let mut entries = config.auth_infos.iter_mut().enumerate();
    let Some((index, named)) = entries.find(|(_, named)| named.name == name) else {
        let known = existing(&names(&config.auth_infos));
        let message = format!("the context refers to user {name:?}, which does not exist {known}");
        return Err(KubeconfigError::LoadContext(message));
    };
    let mut auth_info = named.auth_info.take().unwrap_or_default();
    if let Some(exec) = &auth_info.exec {
        check_exec(name, exec)?;
    }
    if let Some(exec) = auth_info.exec.as_mut().filter(|exec| exec.provide_cluster_info) {
        exec.cluster = Some(ExecAuthCluster::try_from(cluster)?);
    }
    Ok((index, auth_info))
}

/// What the document may have and a plugin cannot: checked for the selected user only.
fn check_exec(user: &str, exec: &ExecConfig) -> Result<(), KubeconfigError> {
    let refused = |text: String| Err(KubeconfigError::LoadContext(format!("user {user:?} has {text}")));
    if let Some(mode) = exec.unknown_interactive_mode() {
        return refused(format!(
            "`exec.interactiveMode` {mode:?}: expected \"Never\", \"IfAvailable\" or \"Always\""
        ));
    }
    let mut variables = exec.env.iter().flatten();
    match variables.position(|variable| variable.get("name").is_none_or(String::is_empty)) {
        Some(index) => {
            refused(format!("`exec.env[{index}]` without a name: expected a `name` and a `value`"))
        }
        None => Ok(()),
    }
}

/// The names that exist, for the message about one that does not.
fn existing(names: &[&str]) -> String {
    if names.is_empty() {
        return "(the kubeconfig has none)".to_owned();
    }
    let mut list = String::new();
    for name in names {
        let separator = if list.is_empty() { "" } else { ", " };
        list += &format!("{separator}{name:?}");
    }
    format!("(the kubeconfig has {list})")
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
        Selection::new(&mut config(), &options)
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
        let none = Selection::new(&mut config, &KubeConfigOptions::default());
        assert!(matches!(none, Err(KubeconfigError::CurrentContextNotSet)));
        let both = KubeConfigOptions { context: None, cluster: Some("c1".into()), user: Some("u1".into()) };
        assert!(Selection::new(&mut config, &both).is_ok());
    }
}
