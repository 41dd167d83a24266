//! Finds the configuration: a kubeconfig, or else that of the pod.

use std::io::ErrorKind;

use super::{Config, InferConfigError, KubeConfigOptions, KubeconfigError};

impl Config {
    /// The kubeconfig in `KUBECONFIG` or `~/.kube/config`, or if there is none, the in-cluster configuration of the pod.
    ///
    /// A kubeconfig that exists but cannot be used is an error; the in-cluster configuration is not tried then.
    ///
    /// # Errors
    /// If the kubeconfig cannot be used, or neither of them exists.
    pub async fn infer() -> Result<Self, InferConfigError> {
        let err = match Self::from_kubeconfig(&KubeConfigOptions::default()).await {
            Ok(config) => return Ok(config),
            Err(err) => err,
        };
        if !is_missing(&err) {
            return Err(InferConfigError::invalid(err));
        }
        tracing::debug!(error = %err, "no kubeconfig, trying the in-cluster configuration");
        Self::incluster().map_err(|in_cluster| InferConfigError::not_found(err, in_cluster))
    }
}

/// Whether there is no kubeconfig, as opposed to one that cannot be used.
fn is_missing(err: &KubeconfigError) -> bool {
    match err {
        KubeconfigError::FindPath | KubeconfigError::CurrentContextNotSet => true,
        KubeconfigError::ReadConfig(cause, _) => cause.kind() == ErrorKind::NotFound,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;
    use crate::config::InClusterError;

    #[test]
    fn only_a_missing_kubeconfig_leads_to_the_in_cluster_configuration() {
        let missing = KubeconfigError::ReadConfig(ErrorKind::NotFound.into(), "/x".into());
        let locked = KubeconfigError::ReadConfig(ErrorKind::PermissionDenied.into(), "/x".into());
        assert!(is_missing(&missing));
        assert!(!is_missing(&locked));
        assert!(!is_missing(&KubeconfigError::MissingClusterUrl));
    }

    #[test]
    fn the_error_has_both_causes() {
        let missing = KubeconfigError::ReadConfig(ErrorKind::NotFound.into(), "/home/x/.kube/config".into());
        let outside = InClusterError::ReadEnvironmentVariable(std::env::VarError::NotPresent);
        let err = InferConfigError::not_found(missing, outside);
        let text = err.to_string();
        assert!(text.contains("the kubeconfig /home/x/.kube/config cannot be used: "), "{text}");
        assert!(text.contains("KUBERNETES_SERVICE_HOST"), "{text}");
        assert!(err.source().unwrap().is::<KubeconfigError>());
        assert_eq!(text, crate::chain::ErrorChain(&err).to_string());
    }
}
