//! Adds to an error the kubeconfig file, the cluster or user, and the value that cannot be used.

use std::io;

use super::kubeconfig::{MergedFile, Selection};
use super::redact::Redacted;
use super::{Cluster, KubeconfigError};
use crate::chain::ErrorChain;

/// A value of a cluster or user that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{location}{}", ErrorChain(.cause))]
struct LocatedError {
    location: String,
    #[source]
    cause: KubeconfigError,
}

/// Adds the files in which a context, user or cluster was not found.
pub(super) fn with_paths(err: KubeconfigError, files: &[MergedFile]) -> KubeconfigError {
    let paths: Vec<_> = files.iter().map(|file| file.path.display().to_string()).collect();
    let add = |text: String| format!("{text} in {}", paths.join(", "));
    match err {
        KubeconfigError::LoadContext(text) => KubeconfigError::LoadContext(add(text)),
        KubeconfigError::LoadClusterOfContext(text) => KubeconfigError::LoadClusterOfContext(add(text)),
        err => err,
    }
}

/// Adds the file, the cluster or user, and the value, if the error concerns one.
pub(super) fn with_location(
    cause: KubeconfigError,
    selection: &Selection,
    files: &[MergedFile],
) -> KubeconfigError {
    let Selection { cluster, entries, .. } = selection;
    let (file, location) = match &cause {
        // The message has the entry already.
        KubeconfigError::LoadContext(_) => {
            let Some((index, _)) = &entries.user else { return cause };
            (files.iter().find(|file| *index < file.users), String::new())
        }
        KubeconfigError::LoadClusterOfContext(_) => {
            (files.iter().find(|file| entries.cluster.0 < file.clusters), String::new())
        }
        KubeconfigError::LoadClientCertificate(_) | KubeconfigError::LoadClientKey(_) => {
            let Some((index, name)) = &entries.user else { return cause };
            (files.iter().find(|file| *index < file.users), format!("user {name:?}"))
        }
        KubeconfigError::MissingClusterUrl
        | KubeconfigError::ParseClusterUrl(_)
        | KubeconfigError::ParseProxyUrl(_)
        | KubeconfigError::LoadCertificateAuthority(_)
        | KubeconfigError::ParseCertificates(_) => {
            let value = value(cluster, &cause);
            if value.is_none() && matches!(cause, KubeconfigError::ParseProxyUrl(_)) {
                return cause; // the URL came from the environment
            }
            let (index, name) = &entries.cluster;
            let location = format!("cluster {name:?}{}", value.unwrap_or_default());
            (files.iter().find(|file| *index < file.clusters), location)
        }
        _ => return cause,
    };
    match file {
        Some(file) => {
            let separator = if location.is_empty() { "" } else { ": " };
            let location = format!("{location}{separator}");
            let located = io::Error::new(io::ErrorKind::InvalidData, LocatedError { location, cause });
            KubeconfigError::ReadConfig(located, file.path.clone())
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
    use std::path::PathBuf;

    use super::*;
    use crate::config::kubeconfig::merge_files;
    use crate::config::{KubeConfigOptions, Kubeconfig, LoadDataError};

    fn files() -> (Kubeconfig, Vec<MergedFile>) {
        let other = "clusters: [{name: dev, cluster: {server: 'https://dev'}}]\nusers: [{name: jim}]";
        let text = "clusters: [{name: dev}, {name: prod, cluster: {server: 'https://me:hush@a b', proxy-url: 'x y'}}]\nusers: [{name: jane}]";
        let last = "clusters: [{name: prod}, {name: stage}]\nusers: [{name: jane}, {name: joe}]";
        let file = |(path, text): (&str, &str)| (PathBuf::from(path), Kubeconfig::from_yaml(text).unwrap());
        merge_files([("/other", other), ("/home/x/config", text), ("/last", last)].map(file).into()).unwrap()
    }

    fn located(cause: KubeconfigError) -> KubeconfigError {
        let (mut merged, files) = files();
        let options =
            KubeConfigOptions { context: None, cluster: Some("prod".into()), user: Some("jane".into()) };
        let selection = Selection::new(&mut merged, &options).unwrap();
        with_location(cause, &selection, &files)
    }

    fn message(cause: KubeconfigError) -> String {
        located(cause).to_string()
    }

    #[test]
    fn errors_have_the_file_the_name_and_the_value() {
        let bad_url = || "a b".parse::<http::Uri>().unwrap_err();
        assert_eq!(
            message(KubeconfigError::ParseClusterUrl(bad_url())),
            "the kubeconfig /home/x/config cannot be used: cluster \"prod\", `server` \"https://a b\": the cluster's `server` is not a \
             URL: expected one such as https://host:6443, with a port up to 65535: invalid uri character"
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
        // Those whose text has the entry.
        assert_eq!(
            message(KubeconfigError::LoadContext("user \"jane\" has x".into())),
            "the kubeconfig /home/x/config cannot be used: user \"jane\" has x"
        );
        assert_eq!(
            message(KubeconfigError::LoadClusterOfContext("cluster \"prod\" has x".into())),
            "the kubeconfig /home/x/config cannot be used: cluster \"prod\" has x"
        );
        let absent =
            with_paths(KubeconfigError::LoadContext("no context named \"x\"".into()), &files().1).to_string();
        assert_eq!(absent, "no context named \"x\" in /other, /home/x/config, /last");
        // An error that concerns no value of a file is unchanged.
        assert!(matches!(
            with_paths(KubeconfigError::CurrentContextNotSet, &files().1),
            KubeconfigError::CurrentContextNotSet
        ));
    }

    #[test]
    fn the_original_error_is_the_source() {
        let err = located(KubeconfigError::MissingClusterUrl);
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
