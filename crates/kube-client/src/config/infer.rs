//! Finding the configuration that a user means without saying so.

use std::io::ErrorKind;

use super::{Config, InferConfigError, KubeConfigOptions, KubeconfigError};

impl Config {
    /// The kubeconfig that `KUBECONFIG` names or `~/.kube/config`, and where there is none, the pod's own configuration.
    ///
    /// A kubeconfig that is there but broken is an error, not a reason to look elsewhere.
    ///
    /// # Errors
    /// What is wrong with the kubeconfig, or why neither source is there.
    pub async fn infer() -> Result<Self, InferConfigError> {
        let err = match Self::from_kubeconfig(&KubeConfigOptions::default()).await {
            Ok(config) => return Ok(config),
            Err(err) => err,
        };
        if !is_absence(&err) {
            return Err(InferConfigError::broken(err));
        }
        tracing::debug!(error = %err, "no kubeconfig, looking for a pod's configuration");
        Self::incluster().map_err(|in_cluster| InferConfigError::nowhere(err, in_cluster))
    }
}

/// Whether there is no kubeconfig at all, as opposed to one with a mistake in it.
fn is_absence(err: &KubeconfigError) -> bool {
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
    fn only_absence_leads_on() {
        let missing = KubeconfigError::ReadConfig(ErrorKind::NotFound.into(), "/x".into());
        let locked = KubeconfigError::ReadConfig(ErrorKind::PermissionDenied.into(), "/x".into());
        assert!(is_absence(&missing));
        assert!(!is_absence(&locked));
        assert!(!is_absence(&KubeconfigError::MissingClusterUrl));
    }

    #[test]
    fn the_error_tells_of_both_places() {
        let missing = KubeconfigError::ReadConfig(ErrorKind::NotFound.into(), "/home/x/.kube/config".into());
        let outside = InClusterError::ReadEnvironmentVariable(std::env::VarError::NotPresent);
        let err = InferConfigError::nowhere(missing, outside);
        let text = err.to_string();
        assert!(text.contains("the kubeconfig /home/x/.kube/config cannot be used: "), "{text}");
        assert!(text.contains("KUBERNETES_SERVICE_HOST"), "{text}");
        assert!(err.source().is_some());
        assert_eq!(text, crate::chain::ErrorChain(&err).to_string());
    }
}
