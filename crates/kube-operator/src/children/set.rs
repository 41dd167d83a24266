//! [`ChildSet`]: the names of the labels and annotations of a set.

use super::error::InvalidChildren;
use kube_core::{
    Expression, Resource, ResourceExt, Selector,
    labels::{check_label_key, check_label_value},
};
use kube_runtime::{reflector::ObjectRef, watcher};
use semver::Version;

/// What the sets of children of all owners of a controller have in common. A constant of the program.
///
/// ```
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// use kube_client::{Api, Client};
/// use kube_operator::children::ChildSet;
/// use kube_runtime::{Controller, watcher};
///
/// const CHILDREN: ChildSet = ChildSet::new("site-operator", env!("CARGO_PKG_VERSION"));
///
/// /// The controller of ConfigMaps that own Deployments. Of those, it sees no others.
/// fn controller(client: Client) -> Controller<ConfigMap> {
///     Controller::new(Api::all(client.clone()), watcher::Config::default())
///         .owns(Api::<Deployment>::all(client), CHILDREN.watch())
/// }
/// assert_eq!(CHILDREN.selector().to_string(), "site-operator/child-of");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildSet {
    name: &'static str,
    release: &'static str,
}

impl ChildSet {
    /// A set by the name of its controller, and by the release of the program: `env!("CARGO_PKG_VERSION")`.
    ///
    /// The name is the field manager of the children, and the prefix of a label of them and of annotations of the owner. So it is a DNS
    /// name in lower case, and stays the same for ever. A program that applied its children by [`Apply`](crate::apply::Apply) before uses
    /// the field manager that it had: the children get the label, and stay. Two controllers of one kind of owner need two names.
    ///
    /// A release never deletes what a newer one has recorded: while both run at the time of an upgrade, and after a step back, for which
    /// [`ChildrenStatus::kept_for`](super::ChildrenStatus::kept_for) says so. Releases are compared by the rules of semantic versions.
    /// Between two builds of the same release, the one that runs last decides.
    #[must_use]
    pub const fn new(name: &'static str, release: &'static str) -> Self {
        Self { name, release }
    }

    /// Selects the children of all owners, and no other objects.
    #[must_use]
    pub fn selector(&self) -> Selector {
        Selector::from_iter([Expression::Exists(self.label())])
    }

    /// A watch of the children of all owners: for [`Controller::owns`](kube_runtime::Controller::owns), and for
    /// [`Related`](kube_runtime::controller::Related) with what else is wanted of them. Other objects of the kind are neither sent nor
    /// cached.
    #[must_use]
    pub fn watch(&self) -> watcher::Config {
        watcher::Config::default().labels_from(&self.selector())
    }

    /// The owner of a child: for [`Controller::watches`](kube_runtime::Controller::watches), where children are outside of the namespace
    /// of their owner, so that `owns` does not find it. `None` for other objects.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// # use kube_client::{Api, Client};
    /// # use kube_operator::children::ChildSet;
    /// # use kube_runtime::{Controller, watcher};
    /// # const CHILDREN: ChildSet = ChildSet::new("site-operator", env!("CARGO_PKG_VERSION"));
    /// fn controller(client: Client) -> Controller<ConfigMap> {
    ///     Controller::new(Api::all(client.clone()), watcher::Config::default())
    ///         .watches(Api::<Secret>::all(client), CHILDREN.watch(), |secret| CHILDREN.owner_of(&secret))
    /// }
    /// ```
    #[must_use]
    pub fn owner_of<O>(&self, child: &impl Resource) -> Option<ObjectRef<O>>
    where
        O: Resource<DynamicType: Default>,
    {
        let dyntype = O::DynamicType::default;
        child.labels().get(&self.label())?;
        if let Some(owner) = child.annotations().get(&self.owner_key()) {
            let (namespace, name) =
                owner.split_once('/').map_or((None, &**owner), |(ns, name)| (Some(ns), name));
            let owner = ObjectRef::new_with(name, dyntype());
            return Some(match namespace {
                Some(namespace) => owner.within(namespace),
                None => owner,
            });
        }
        let mut owners = child.owner_references().iter().filter(|it| it.controller == Some(true));
        owners.find_map(|it| ObjectRef::from_owner_ref(child.namespace().as_deref(), it, dyntype()))
    }

    /// The field manager of the children.
    pub(super) fn manager(&self) -> &'static str {
        self.name
    }

    /// The label of a child, with the uid of its owner.
    pub(super) fn label(&self) -> String {
        format!("{}/child-of", self.name)
    }

    /// The annotation of a child that its owner cannot own: namespace and name of the owner.
    pub(super) fn owner_key(&self) -> String {
        format!("{}/owner", self.name)
    }

    /// The annotation of an owner: where its children are.
    pub(super) fn places_key(&self) -> String {
        format!("{}/children", self.name)
    }

    /// The annotation of an owner: the newest release that has applied its children.
    pub(super) fn release_key(&self) -> String {
        format!("{}/release", self.name)
    }

    /// The release, if this is a set that servers accept, for an owner with this uid.
    pub(super) fn check(&self, owner_uid: &str) -> Result<Version, InvalidChildren> {
        let label = check_label_key(&self.label()).and_then(|()| check_label_value(owner_uid));
        label.map_err(|source| InvalidChildren::Name { set: self.name.to_owned(), source })?;
        Version::parse(self.release).map_err(|source| InvalidChildren::Release {
            set: self.name.to_owned(),
            release: self.release.to_owned(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use serde_json::json;

    const SET: ChildSet = ChildSet::new("site-operator", "1.2.3");

    #[test]
    fn a_set_that_servers_refuse_is_an_error_that_names_it() {
        assert_eq!(SET.check("7b1a").unwrap(), Version::new(1, 2, 3));
        let message = |name, release| ChildSet::new(name, release).check("7b1a").unwrap_err().to_string();
        assert!(
            message("Site Operator", "1.0.0")
                .starts_with("the name \"Site Operator\" of a set of children is invalid: "),
            "{}",
            message("Site Operator", "1.0.0")
        );
        assert!(
            message("site-operator", "today").starts_with(
                "the release \"today\" of the set of children \"site-operator\" is invalid: expected a semantic version such as 1.2.3: "
            ),
            "{}",
            message("site-operator", "today")
        );
        assert!(message("", "1.0.0").contains("the prefix before the slash is empty"));
    }

    #[test]
    fn the_owner_is_found_by_annotation_or_reference() {
        let child = |metadata: serde_json::Value| -> ConfigMap {
            serde_json::from_value(json!({ "metadata": metadata })).unwrap()
        };
        let owner = |metadata| SET.owner_of::<Secret>(&child(metadata)).map(|it| (it.namespace, it.name));
        let labels = json!({ "site-operator/child-of": "1" });
        let at = |text: &str| json!({ "name": "a", "namespace": "x", "labels": labels, "annotations": { "site-operator/owner": text } });
        assert_eq!(owner(at("shop/site")), Some((Some("shop".into()), "site".into())));
        assert_eq!(owner(at("site")), Some((None, "site".into())));
        let reference = |kind: &str| json!([{ "apiVersion": "v1", "kind": kind, "name": "site", "uid": "1", "controller": true }]);
        let owned = |kind| json!({ "name": "a", "namespace": "x", "labels": labels, "ownerReferences": reference(kind) });
        assert_eq!(owner(owned("Secret")), Some((Some("x".into()), "site".into())));
        assert_eq!(owner(owned("Pod")), None);
        assert_eq!(owner(json!({ "name": "a", "ownerReferences": reference("Secret") })), None, "no label");
    }
}
