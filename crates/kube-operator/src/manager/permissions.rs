//! What this program may not do that it needs: asked once at the start, and said in one message.

use super::replicas::Replicas;
use crate::rbac::missing_permissions;
use http::{Method, Uri};
use kube_client::{Client, error::ErrorChain};

/// The requests for which a manager needs permissions.
#[derive(Default)]
pub(super) struct NeededRequests(Vec<(Method, Uri)>);

impl NeededRequests {
    /// List and watch of this collection.
    pub(super) fn add_watch(&mut self, path: &str) {
        self.add(Method::GET, path);
        self.add(Method::GET, &format!("{path}?watch=true"));
    }

    /// What leader election or sharding does with Leases.
    pub(super) fn add_leases(&mut self, replicas: &Replicas) {
        let leases = |namespace: &str| format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
        match replicas {
            Replicas::Alone => {}
            Replicas::Elected(config) => {
                let (leases, name) = (leases(&config.namespace), &config.name);
                self.add(Method::GET, &format!("{leases}/{name}"));
                self.add(Method::POST, &leases);
                self.add(Method::PUT, &format!("{leases}/{name}"));
            }
            Replicas::Sharded(config) => {
                let (leases, name) = (leases(config.namespace()), "any");
                self.add(Method::GET, &leases);
                self.add(Method::POST, &leases);
                self.add(Method::PUT, &format!("{leases}/{name}"));
                self.add(Method::DELETE, &format!("{leases}/{name}"));
            }
        }
    }

    fn add(&mut self, method: Method, uri: &str) {
        // A path that is no URI is an error of its own requests.
        self.0.extend(uri.parse().ok().map(|uri| (method, uri)));
    }

    /// Asks for all of them, and logs the rules that are missing, as roles that can be applied.
    pub(super) async fn review(self, client: Client) {
        match missing_permissions(&client, self.0).await {
            Ok(missing) if missing.is_empty() => {}
            Ok(missing) => {
                let roles = missing.to_yaml("missing-permissions");
                tracing::warn!(
                    "this program lacks permissions that it needs; these roles would grant them:\n{roles}"
                );
            }
            // Every identity may ask by default. Where it may not, each refused request says so.
            Err(error) => {
                tracing::debug!(error = %ErrorChain(&error), "the permissions could not be reviewed");
            }
        }
    }
}
