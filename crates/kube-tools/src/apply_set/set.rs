//! [`ApplySet`]: the identity of a set, and the labels of its objects.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_core::{ApiResource, DynamicObject};
use sha2::{Digest as _, Sha256};

use super::error::ApplySetError;
use super::object::{in_words, object_text};

/// The label of a parent: the ID of its set.
pub(super) const ID: &str = "applyset.kubernetes.io/id";
/// The label of a member: the ID of its set.
pub(super) const PART_OF: &str = "applyset.kubernetes.io/part-of";
/// The annotation of a parent: the program that applies its set, as `name/version`.
pub(super) const TOOLING: &str = "applyset.kubernetes.io/tooling";
/// The annotation of a parent: the kinds of the members.
pub(super) const KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
/// The annotation of a parent: the namespaces of members, other than its own.
pub(super) const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";

/// The annotation of a parent: the run that applies its set. kubectl removes it, which tells that it was faster.
pub(super) const RUN: &str = "kube-tools/apply-set-run";

/// The value of [`TOOLING`] with which kubectl accepts a set.
const KUBECTL: &str = "kubectl/v1.37";

/// A set of objects that are applied together, and whose members are deleted once they are no longer in it.
///
/// The set has a parent object in the cluster, a Secret or ConfigMap that is made when the set is first applied, or a custom resource. It
/// records the kinds and namespaces of the members; the members carry its ID as a label. These are the labels and annotations of
/// `kubectl apply --prune --applyset=…`, so kubectl and this type may take turns.
///
/// ```
/// use kube_client::api::{ApiResource, DynamicObject, Patch, PatchParams};
/// use kube_client::{Api, Client};
/// use kube_tools::apply_set::ApplySet;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let maps = ApiResource::erase::<ConfigMap>(&());
/// let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &maps);
/// for names in [vec!["a", "b"], vec!["b"]] {
///     let mut objects: Vec<_> =
///         names.into_iter().map(|name| (maps.clone(), DynamicObject::new(name, &maps).within("default"))).collect();
///     // Checks the parent and the objects, records where members may be, and labels the objects.
///     let applying = ApplySet::secret("default", "example").begin(&client, &mut objects).await?;
///     let mut applied = Vec::new();
///     for (_, object) in &objects {
///         let name = object.metadata.name.as_deref().unwrap_or_default();
///         applied.push(api.patch(name, &PatchParams::apply("example"), &Patch::Apply(object)).await?);
///     }
///     // Deletes the members that were not applied, and records where the others are.
///     for pruned in applying.finish(&applied).await? {
///         println!("{pruned} pruned");
///     }
/// }
/// assert!(api.get_opt("a").await?.is_none());
/// # Ok(())
/// # }
/// ```
///
/// # Safety against accidents
/// - Before anything is applied, the parent records a superset of the old and the new members, and only after all others were pruned the
///   exact set. A run that fails or is cut off in between leaves the superset: the next one finds the rest.
/// - A parent of another tool ([`tooling`](Self::tooling)), or with the ID of another set, is refused; so are objects of another set.
/// - Objects are deleted by uid: one that was created again in the meantime is not deleted.
/// - Of two runs at the same time, only the one that began last deletes: the other gives up before its next deletion
///   ([`ApplySetError::Overtaken`]). An annotation of the parent says which run it is.
/// - An object that another one owns is not deleted: it is made again, or deleted, with its owner. Controllers copy the label of the set,
///   from a Service to its EndpointSlices for example.
///
/// # Permissions
/// `get`, `create` and `patch` of the parent; `list` and `delete` of all kinds of members in their namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplySet {
    pub(super) resource: ApiResource,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) tooling: String,
    pub(crate) dry_run: bool,
}

impl ApplySet {
    /// The set whose parent is a Secret: kubectl's `--applyset=name`.
    #[must_use]
    pub fn secret(namespace: &str, name: &str) -> Self {
        Self::custom(&ApiResource::erase::<Secret>(&()), Some(namespace), name)
    }

    /// The set whose parent is a ConfigMap: kubectl's `--applyset=configmaps/name`.
    #[must_use]
    pub fn config_map(namespace: &str, name: &str) -> Self {
        Self::custom(&ApiResource::erase::<ConfigMap>(&()), Some(namespace), name)
    }

    /// The set whose parent is a custom resource: kubectl's `--applyset=resource.group/name`. The namespace is `None` if the kind has
    /// none.
    ///
    /// The parent has to exist, with the label `applyset.kubernetes.io/id` (the [`id`](Self::id)) and the annotations
    /// `applyset.kubernetes.io/tooling` and `applyset.kubernetes.io/contains-group-kinds`; its definition has the label
    /// `applyset.kubernetes.io/is-parent-type: "true"`.
    #[must_use]
    pub fn custom(resource: &ApiResource, namespace: Option<&str>, name: &str) -> Self {
        Self {
            resource: resource.clone(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            tooling: KUBECTL.to_owned(),
            dry_run: false,
        }
    }

    /// Marks the set as that of another tool, `name/version`; sets of other tools are refused.
    ///
    /// By default it is kubectl's, whose rules are followed, and kubectl may apply the set too.
    #[must_use]
    pub fn tooling(mut self, tooling: &str) -> Self {
        self.tooling = tooling.to_owned();
        self
    }

    /// With `true`, all requests are dry runs: nothing is changed, and [`Applying::finish`](super::Applying::finish) returns what would be
    /// pruned.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// The ID of the set, made from kind, namespace and name of its parent: the value of the labels.
    ///
    /// ```
    /// use kube_tools::apply_set::ApplySet;
    ///
    /// let id = ApplySet::secret("default", "example").id();
    /// assert!(id.starts_with("applyset-") && id.ends_with("-v1") && id.len() <= 63);
    /// ```
    #[must_use]
    pub fn id(&self) -> String {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        let parts = [self.name.as_str(), namespace, &self.resource.kind, &self.resource.group];
        let hash = Sha256::digest(parts.join("."));
        format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(hash))
    }

    /// Labels an object as a member.
    ///
    /// # Errors
    /// [`ApplySetError::OtherSet`] if it has the label of another set.
    pub(super) fn label(
        &self,
        resource: &ApiResource,
        object: &mut DynamicObject,
    ) -> Result<(), ApplySetError> {
        let id = self.id();
        let labels = object.metadata.labels.get_or_insert_default();
        match labels.get(PART_OF) {
            Some(other) if *other != id => {
                let other = other.clone();
                Err(ApplySetError::OtherSet {
                    object: object_text(resource, &object.metadata),
                    other,
                    expected: id,
                })
            }
            _ => {
                labels.insert(PART_OF.to_owned(), id);
                Ok(())
            }
        }
    }

    /// The name of the tool, without its version.
    pub(super) fn tool(&self) -> &str {
        self.tooling.split('/').next().unwrap_or_default()
    }

    /// The manager of the fields of the parent.
    pub(super) fn field_manager(&self) -> String {
        format!("{}-applyset", self.tool())
    }
}

impl fmt::Display for ApplySet {
    /// Its parent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_words(&self.resource.kind, &self.name, self.namespace.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from kubectl 1.37.2: the label that `kubectl apply --prune --applyset=…` sets.
    #[test]
    fn ids_are_those_of_kubectl() {
        for (set, id) in [
            (
                ApplySet::secret("default", "example"),
                "applyset-VNX-enArHQgpmK7gtLljNBbFbl753p7x5UJGSVuRSCs-v1",
            ),
            (
                ApplySet::config_map("default", "example"),
                "applyset-OWmdUBxh4h3xzK2nxpNKbpSGFZDLvliwFdJ4clKnUqE-v1",
            ),
        ] {
            assert_eq!(set.id(), id);
        }
    }

    #[test]
    fn a_label_of_another_set_is_kept_and_refused() {
        let resource = ApiResource::erase::<ConfigMap>(&());
        let mut object = DynamicObject::new("a", &resource).within("default");
        let set = ApplySet::secret("default", "one");
        set.label(&resource, &mut object).unwrap();
        set.label(&resource, &mut object).unwrap();
        let err = ApplySet::secret("default", "two").label(&resource, &mut object).unwrap_err().to_string();
        assert!(err.starts_with("ConfigMap \"a\" in namespace \"default\" is in another apply set"), "{err}");
        assert_eq!(object.metadata.labels.unwrap()[PART_OF], set.id());
    }
}
