//! Unaggregated discovery: converts the `APIResourceList` of one version to kinds.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIResource, APIResourceList};
use kube_core::discovery::{ApiCapabilities, ApiResource, Scope};
use kube_core::gvk::GroupVersion;

use super::group::{DiscoveredResource, ResourceNames, VersionResources};
use crate::error::{DiscoveryError, Error};

/// Groups the flat list, which has subresources as `plural/name`, into kinds with their subresources.
pub(super) fn version_resources(list: &APIResourceList) -> Result<VersionResources, Error> {
    let invalid = || Error::Discovery(DiscoveryError::InvalidGroupVersion(list.group_version.clone()));
    let gv: GroupVersion = list.group_version.parse().map_err(|_| invalid())?;
    if gv.version.is_empty() || gv.version.contains('/') {
        return Err(invalid());
    }
    let mut resources: Vec<DiscoveredResource> = list
        .resources
        .iter()
        .filter(|entry| !entry.name.contains('/'))
        .map(|entry| DiscoveredResource {
            kind: (resource(entry, &entry.name, &gv), capabilities(entry)),
            names: names(entry),
        })
        .collect();
    for entry in &list.resources {
        let Some((plural, name)) = entry.name.split_once('/') else { continue };
        // A few subresources have no parent resource in the list, and cannot be requested.
        if let Some(parent) = resources.iter_mut().find(|parent| parent.kind.0.plural == plural) {
            parent.kind.1.subresources.push((resource(entry, name, &gv), capabilities(entry)));
        }
    }
    Ok(VersionResources { version: gv.version, resources })
}

fn resource(entry: &APIResource, plural: &str, list: &GroupVersion) -> ApiResource {
    let or_default = |value: &Option<String>, default: &str| {
        value.clone().filter(|value| !value.is_empty()).unwrap_or_else(|| default.to_owned())
    };
    let gv = GroupVersion {
        group: or_default(&entry.group, &list.group),
        version: or_default(&entry.version, &list.version),
    };
    ApiResource {
        api_version: gv.api_version(),
        group: gv.group,
        version: gv.version,
        kind: entry.kind.clone(),
        plural: plural.to_owned(),
    }
}

fn names(entry: &APIResource) -> ResourceNames {
    ResourceNames {
        singular: entry.singular_name.clone(),
        short_names: entry.short_names.clone().unwrap_or_default(),
        categories: entry.categories.clone().unwrap_or_default(),
    }
}

fn capabilities(entry: &APIResource) -> ApiCapabilities {
    ApiCapabilities {
        scope: if entry.namespaced { Scope::Namespaced } else { Scope::Cluster },
        subresources: Vec::new(),
        operations: entry.verbs.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subresources_are_grouped_under_their_resource() {
        let list: APIResourceList = serde_json::from_str(
            r#"{"groupVersion":"apps/v1","resources":[
                {"name":"deployments/scale","kind":"Scale","group":"autoscaling","version":"v1","namespaced":true,"singularName":"","verbs":["get"]},
                {"name":"deployments","kind":"Deployment","namespaced":true,"singularName":"deployment","verbs":["get","list"]},
                {"name":"orphan/sub","kind":"X","namespaced":true,"singularName":"","verbs":[]}]}"#,
        )
        .unwrap();
        let version = version_resources(&list).unwrap();
        assert_eq!(version.version, "v1");
        let [deployments] = &version.resources[..] else { panic!("{version:?}") };
        assert_eq!(deployments.names.singular, "deployment");
        let (resource, caps) = &deployments.kind;
        assert_eq!((resource.api_version.as_str(), resource.plural.as_str()), ("apps/v1", "deployments"));
        assert!(caps.supports_operation("list") && caps.scope == Scope::Namespaced);
        let [(scale, _)] = &caps.subresources[..] else { panic!("{caps:?}") };
        assert_eq!((scale.plural.as_str(), scale.api_version.as_str()), ("scale", "autoscaling/v1"));
    }

    #[test]
    fn an_invalid_group_version_is_an_error() {
        let list = APIResourceList { group_version: "a/b/c".into(), ..APIResourceList::default() };
        let Err(Error::Discovery(err)) = version_resources(&list) else { panic!("expected an error") };
        assert!(err.to_string().contains("a/b/c"));
    }
}
