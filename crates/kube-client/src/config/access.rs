//! The part of a configuration that says where and as whom requests are sent.

use http::Uri;
use http::header::{AUTHORIZATION, COOKIE};
use serde_json::Value;

use super::{AuthInfo, Config, without_credentials};

impl Config {
    /// This configuration with the access of `other`: address, CA certificates, proxy and credentials.
    pub(crate) fn with_access_of(&self, other: Self) -> Self {
        Self {
            cluster_url: other.cluster_url,
            root_cert: other.root_cert,
            root_cert_file: other.root_cert_file,
            accept_invalid_certs: other.accept_invalid_certs,
            auth_info: other.auth_info,
            exec_timeout: other.exec_timeout,
            proxy_url: other.proxy_url,
            tls_server_name: other.tls_server_name,
            user_origin: other.user_origin,
            ..self.clone()
        }
    }

    /// This configuration, which was read from where `before` came from, with what the program has changed in `before` to get `program`.
    pub(crate) fn with_changes(mut self, before: &Self, program: &Self) -> Self {
        keep(&before.cluster_url, &program.cluster_url, &mut self.cluster_url);
        keep(&before.root_cert, &program.root_cert, &mut self.root_cert);
        keep(&before.root_cert_file, &program.root_cert_file, &mut self.root_cert_file);
        keep(&before.accept_invalid_certs, &program.accept_invalid_certs, &mut self.accept_invalid_certs);
        keep(&before.exec_timeout, &program.exec_timeout, &mut self.exec_timeout);
        keep(&before.proxy_url, &program.proxy_url, &mut self.proxy_url);
        keep(&before.tls_server_name, &program.tls_server_name, &mut self.tls_server_name);
        let read = self.auth_info.clone();
        let (before, changed, new) = (&before.auth_info, &program.auth_info, &mut self.auth_info);
        if !same_credentials(before, changed) {
            *new = changed.clone();
            (new.impersonate, new.impersonate_uid) = (read.impersonate, read.impersonate_uid);
            (new.impersonate_groups, new.impersonate_user_extra) =
                (read.impersonate_groups, read.impersonate_user_extra);
            self.user_origin.clone_from(&program.user_origin);
        }
        keep(&before.impersonate, &changed.impersonate, &mut new.impersonate);
        keep(&before.impersonate_uid, &changed.impersonate_uid, &mut new.impersonate_uid);
        keep(&before.impersonate_groups, &changed.impersonate_groups, &mut new.impersonate_groups);
        keep(
            &before.impersonate_user_extra,
            &changed.impersonate_user_extra,
            &mut new.impersonate_user_extra,
        );
        self
    }

    /// Whether both send requests to the same place as the same user.
    #[doc(hidden)]
    pub fn has_access_of(&self, other: &Self) -> bool {
        let user = |user: &AuthInfo| {
            let AuthInfo { impersonate, impersonate_uid, impersonate_groups, impersonate_user_extra, .. } =
                user.clone();
            (impersonate, impersonate_uid, impersonate_groups, impersonate_user_extra)
        };
        self.has_server_of(other)
            && self.exec_timeout == other.exec_timeout
            && user(&self.auth_info) == user(&other.auth_info)
            && same_credentials(&self.auth_info, &other.auth_info)
    }

    /// Whether both reach and verify the server in the same way.
    pub(crate) fn has_server_of(&self, other: &Self) -> bool {
        self.cluster_url == other.cluster_url
            && self.root_cert == other.root_cert
            && self.root_cert_file == other.root_cert_file
            && self.accept_invalid_certs == other.accept_invalid_certs
            && self.proxy_url == other.proxy_url
            && self.tls_server_name == other.tls_server_name
    }

    /// Whether the program sends credentials of its own, which were not in what was read.
    pub(crate) fn has_own_credentials(&self, as_read: &Self) -> bool {
        let mut headers = self.headers.iter();
        !same_credentials(&as_read.auth_info, &self.auth_info)
            || headers.any(|(name, _)| [AUTHORIZATION, COOKIE].contains(name))
    }

    /// Whether both lead to the same place: many clusters have one address behind several proxies, or behind one that looks at the name.
    pub(crate) fn has_place_of(&self, other: &Self) -> bool {
        self.address() == other.address()
            && self.proxy_url == other.proxy_url
            && self.tls_server_name == other.tls_server_name
    }

    /// The address of the server.
    pub(crate) fn address(&self) -> Uri {
        without_credentials(&self.cluster_url)
    }
}

fn keep<T: PartialEq + Clone>(before: &T, changed: &T, new: &mut T) {
    if before != changed {
        new.clone_from(changed);
    }
}

/// Without regard to impersonation.
fn same_credentials(one: &AuthInfo, other: &AuthInfo) -> bool {
    match (credentials(one), credentials(other)) {
        (Some(one), Some(other)) => one == other,
        // What cannot be compared may have changed.
        _ => false,
    }
}

/// The credentials as data that can be compared. What a kubeconfig cannot contain is not in the serialized form.
fn credentials(user: &AuthInfo) -> Option<(Value, Option<Value>, Option<Vec<String>>)> {
    let user = AuthInfo {
        impersonate: None,
        impersonate_uid: None,
        impersonate_groups: None,
        impersonate_user_extra: None,
        ..user.clone()
    };
    let exec = user.exec.as_ref();
    let cluster = exec.and_then(|exec| exec.cluster.as_ref()).map(serde_json::to_value).transpose().ok()?;
    let drop_env = exec.and_then(|exec| exec.drop_env.clone());
    Some((serde_json::to_value(&user).ok()?, cluster, drop_env))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ExecAuthCluster, ExecConfig, Kubeconfig};

    fn read(cluster: &str, user: &str) -> Config {
        let text = format!(
            "clusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
        );
        Config::try_from(Kubeconfig::from_yaml(&text).unwrap()).unwrap()
    }

    const SERVER: &str = "server: 'https://a:1'";

    #[test]
    fn each_part_of_the_access_is_a_change() {
        let base = || read(SERVER, "token: t, as: jane, exec: {command: login, args: [a]}");
        assert!(base().has_access_of(&base()));
        let changes: [fn(&mut Config); 16] = [
            |config| config.cluster_url = "https://b:1".parse().unwrap(),
            |config| config.cluster_url = "https://me:pw@a:1".parse().unwrap(),
            |config| config.root_cert = Some(vec![]),
            |config| config.root_cert_file = Some("/ca".into()),
            |config| config.accept_invalid_certs = true,
            |config| config.exec_timeout = None,
            |config| config.proxy_url = Some("http://p:1".parse().unwrap()),
            |config| config.tls_server_name = Some("n".into()),
            |config| config.auth_info.token = Some("other".to_owned().into()),
            |config| config.auth_info.password = Some("other".to_owned().into()),
            |config| config.auth_info.client_key_data = Some("other".to_owned().into()),
            |config| config.auth_info.impersonate = None,
            |config| config.auth_info.impersonate_groups = Some(vec!["g".into()]),
            |config| config.auth_info.exec.as_mut().unwrap().args = Some(vec!["b".into()]),
            |config| config.auth_info.exec.as_mut().unwrap().drop_env = Some(vec!["b".into()]),
            |config| config.auth_info.exec.as_mut().unwrap().cluster = Some(ExecAuthCluster::default()),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut changed = base();
            change(&mut changed);
            assert!(!changed.has_access_of(&base()), "{number}");
            assert!(base().with_access_of(changed.clone()).has_access_of(&changed), "{number}");
            // A program that has made this change keeps it, whatever the source says later.
            let later = read("server: 'https://z:9'", "token: later, as: later");
            let kept = later.clone().with_changes(&base(), &changed);
            assert!(!kept.has_access_of(&later), "{number}");
            assert!(
                kept.with_changes(&base(), &base()).has_access_of(&later.with_changes(&base(), &changed))
            );
        }
    }

    #[test]
    fn what_the_program_has_changed_stays_and_the_rest_follows() {
        let before = read(SERVER, "token: one");
        let mut program = before.clone();
        program.auth_info.impersonate = Some("jane".into());
        program.connect_timeout = None;
        let new = read("server: 'https://b:2'", "token: two, as: root, as-groups: [g]")
            .with_changes(&before, &program);
        assert_eq!(new.cluster_url, "https://b:2/");
        assert_eq!(new.auth_info.impersonate.as_deref(), Some("jane"), "or it would act as another user");
        let token = |config: &Config| serde_json::to_value(&config.auth_info).unwrap()["token"].clone();
        assert_eq!(token(&new), "two");
        let used = program.with_access_of(new);
        assert_eq!((used.connect_timeout, token(&used)), (None, "two".into()));

        program.auth_info.exec = Some(ExecConfig::default());
        let new = read(SERVER, "token: two, as: root").with_changes(&before, &program);
        assert_eq!(token(&new), "one", "credentials are changed as a whole");
        assert_eq!(new.auth_info.impersonate.as_deref(), Some("jane"));
    }
}
