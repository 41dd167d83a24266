//! Adds to an error the kubeconfig file, the cluster or user, and the value that cannot be used.

use std::io;
use std::path::PathBuf;

use super::kubeconfig::SelectedNames;
use super::redact::Redacted;
use super::{Cluster, Kubeconfig, KubeconfigError};
use crate::chain::ErrorChain;

/// Kubeconfig files and their content, in the order in which they are merged.
type Files = [(PathBuf, Kubeconfig)];

/// A value of a cluster or user that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{location}: {}", ErrorChain(.cause))]
struct LocatedError {
    location: String,
    #[source]
    cause: KubeconfigError,
}

/// Adds the files in which a context, user or cluster was not found.
pub(super) fn with_paths(err: KubeconfigError, files: &Files) -> KubeconfigError {
    let paths: Vec<_> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    let add = |text: String| format!("{text} in {}", paths.join(", "));
    match err {
        KubeconfigError::LoadContext(text) => KubeconfigError::LoadContext(add(text)),
        KubeconfigError::LoadClusterOfContext(text) => KubeconfigError::LoadClusterOfContext(add(text)),
        err => err,
    }
}

/// Adds the file, the cluster or user, and the value, if the error concerns one.
pub(super) fn with_location(cause: KubeconfigError, names: &SelectedNames, files: &Files) -> KubeconfigError {
    let (path, location) = match &cause {
        KubeconfigError::LoadClientCertificate(_) | KubeconfigError::LoadClientKey(_) => {
            let Some(name) = &names.user else { return cause };
            let path =
                files.iter().find(|(_, config)| config.auth_infos.iter().any(|user| user.name == *name));
            (path.map(|(path, _)| path), format!("user {name:?}"))
        }
        KubeconfigError::MissingClusterUrl
        | KubeconfigError::ParseClusterUrl(_)
        | KubeconfigError::ParseProxyUrl(_)
        | KubeconfigError::LoadCertificateAuthority(_)
        | KubeconfigError::ParseCertificates(_) => {
            let name = &names.cluster;
            let found = files.iter().find_map(|(path, config)| {
                let cluster = config.clusters.iter().find(|cluster| cluster.name == *name)?;
                Some((path, cluster.cluster.as_ref()))
            });
            let value = found.and_then(|(_, cluster)| value(cluster?, &cause));
            if value.is_none() && matches!(cause, KubeconfigError::ParseProxyUrl(_)) {
                return cause; // the URL came from the environment
            }
            (found.map(|(path, _)| path), format!("cluster {name:?}{}", value.unwrap_or_default()))
        }
        _ => return cause,
    };
    match path {
        Some(path) => {
            let located = io::Error::new(io::ErrorKind::InvalidData, LocatedError { location, cause });
            KubeconfigError::ReadConfig(located, path.clone())
        }
        None => cause,
    }
}

fn value(cluster: &Cluster, err: &KubeconfigError) -> Option<String> {
    let (field, value) = match err {
        KubeconfigError::ParseClusterUrl(_) => ("server", &cluster.server),
        KubeconfigError::ParseProxyUrl(_) => ("proxy-url", &cluster.proxy_url),
        KubeconfigError::ParseCertificates(_) => ("certificate-authority", &cluster.certificate_authority),
        _ => return None,
    };
    value.as_deref().map(|value| format!(", `{field}` {:?}", Redacted::Text(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LoadDataError;

    fn files() -> Vec<(PathBuf, Kubeconfig)> {
        let other =
            Kubeconfig::from_yaml("clusters: [{name: dev, cluster: {server: 'https://dev'}}]").unwrap();
        let text = "clusters: [{name: prod, cluster: {server: 'https://me:hush@a b', proxy-url: 'x y'}}]\nusers: [{name: jane}]";
        vec![("/other".into(), other), ("/home/x/config".into(), Kubeconfig::from_yaml(text).unwrap())]
    }

    fn message(cause: KubeconfigError) -> String {
        let names = SelectedNames { cluster: "prod".into(), user: Some("jane".into()) };
        with_location(cause, &names, &files()).to_string()
    }

    #[test]
    fn errors_have_the_file_the_name_and_the_value() {
        let bad_url = || "a b".parse::<http::Uri>().unwrap_err();
        assert_eq!(
            message(KubeconfigError::ParseClusterUrl(bad_url())),
            "the kubeconfig /home/x/config cannot be used: cluster \"prod\", `server` \"https://a b\": the cluster's `server` is not a \
             URL: expected one such as https://host:6443: invalid uri character"
        );
        assert!(
            message(KubeconfigError::ParseProxyUrl(bad_url()))
                .contains("cluster \"prod\", `proxy-url` \"x y\": ")
        );
        assert!(
            message(KubeconfigError::MissingClusterUrl)
                .contains("/home/x/config cannot be used: cluster \"prod\": ")
        );
        let key = KubeconfigError::LoadClientKey(LoadDataError::NoBase64DataOrFile);
        assert!(
            message(key).contains(
                "/home/x/config cannot be used: user \"jane\": cannot load the user's `client-key`: "
            )
        );
        let absent =
            with_paths(KubeconfigError::LoadContext("no context named \"x\"".into()), &files()).to_string();
        assert_eq!(absent, "no context named \"x\" in /other, /home/x/config");
        // An error that concerns no value of a file is unchanged.
        assert!(matches!(
            with_paths(KubeconfigError::CurrentContextNotSet, &files()),
            KubeconfigError::CurrentContextNotSet
        ));
    }

    #[test]
    fn the_original_error_is_the_source() {
        let names = SelectedNames { cluster: "prod".into(), user: None };
        let err = with_location(KubeconfigError::MissingClusterUrl, &names, &files());
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&err);
        let found = std::iter::from_fn(|| {
            let this = next?;
            next = this.source();
            Some(this)
        });
        let kinds: Vec<_> = found.filter_map(|err| err.downcast_ref::<KubeconfigError>()).collect();
        assert!(
            matches!(kinds[..], [KubeconfigError::ReadConfig(..), KubeconfigError::MissingClusterUrl]),
            "{kinds:?}"
        );
    }
}
