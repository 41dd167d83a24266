//! `ServiceAccount`: pods run as an account of their namespace, and get its token.

use serde_json::{Value, json};

use crate::{
    admission::{Objects, Operation, Write},
    object::meta,
    status_error::StatusError,
};

const MIRROR: &str = "kubernetes.io/config.mirror";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME: &str = "kube-api-access-";

/// Sets the account of a new pod, the image pull secrets of the account, and the volume with the token.
pub(super) fn mutate(
    objects: Objects<'_>,
    new_volume: &dyn Fn(&str) -> String,
    write: &Write<'_>,
    pod: &mut Value,
) -> Result<(), StatusError> {
    if !write.writes(&[Operation::Create], "", "pods")
        || !pod["spec"].is_object()
        || !pod["metadata"]["annotations"][MIRROR].is_null()
    {
        return Ok(());
    }
    let account = named(&pod["spec"]).unwrap_or("default").to_owned();
    let namespace = write.namespace.unwrap_or_default();
    let service_account = objects.get("", "serviceaccounts", Some(namespace), &account).ok_or_else(|| {
        let why = format!(
            "error looking up service account {namespace}/{account}: serviceaccount {account:?} not found"
        );
        write.forbidden(meta::name_or_base(pod), &why)
    })?;
    let spec = &mut pod["spec"];
    for field in ["serviceAccountName", "serviceAccount"] {
        spec[field] = account.as_str().into();
    }
    let mounts = [&spec["automountServiceAccountToken"], &service_account["automountServiceAccountToken"]];
    if mounts.into_iter().find_map(Value::as_bool).unwrap_or(true) {
        mount_token(new_volume, spec);
    }
    let pull = &service_account["imagePullSecrets"];
    if is_empty(&spec["imagePullSecrets"]) && !is_empty(pull) {
        spec["imagePullSecrets"] = pull.clone();
    }
    Ok(())
}

/// The account that a pod names, also under the deprecated name of the field.
fn named(spec: &Value) -> Option<&str> {
    let names = ["serviceAccountName", "serviceAccount"].into_iter();
    names.filter_map(|field| spec[field].as_str()).find(|name| !name.is_empty())
}

/// Mounts the token where clients look for it, in all containers that mount nothing else there.
fn mount_token(new_volume: &dyn Fn(&str) -> String, spec: &mut Value) {
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    let present = volumes.filter_map(|volume| volume["name"].as_str()).find(|name| name.starts_with(VOLUME));
    let present = present.map(str::to_owned);
    let name = present.clone().unwrap_or_else(|| new_volume(VOLUME));
    let mount = json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH});
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers.filter(|container| container.is_object()) {
            let mounts = container["volumeMounts"].as_array().cloned().unwrap_or_default();
            if mounts.iter().all(|mount| mount["mountPath"] != MOUNT_PATH) {
                container["volumeMounts"] = mounts.into_iter().chain([mount.clone()]).collect();
                mounted = true;
            }
        }
    }
    if mounted && present.is_none() {
        let volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
        spec["volumes"] = volumes.into_iter().chain([token_volume(&name)]).collect();
    }
}

/// A token that the kubelet renews, the CA certificate, and the namespace.
fn token_volume(name: &str) -> Value {
    let namespace = json!({"apiVersion": "v1", "fieldPath": "metadata.namespace"});
    let sources = json!([
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
    ]);
    json!({"name": name, "projected": {"sources": sources, "defaultMode": 420}})
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounted(mut spec: Value) -> Value {
        mount_token(&|base| format!("{base}x"), &mut spec);
        spec
    }

    #[test]
    fn a_container_keeps_its_own_mount() {
        let own = json!([{"name": "v", "mountPath": MOUNT_PATH}]);
        let spec = json!({"containers": [{"name": "c", "volumeMounts": own}], "volumes": [{"name": "v"}]});
        assert_eq!(mounted(spec.clone()), spec, "nothing needs the volume");

        let mut two = spec;
        two["initContainers"] = json!([{"name": "i"}]);
        let two = mounted(two);
        assert_eq!(two["containers"][0]["volumeMounts"], own);
        assert_eq!(two["volumes"][1]["name"], two["initContainers"][0]["volumeMounts"][0]["name"]);
    }

    #[test]
    fn a_volume_of_that_name_is_used() {
        let volumes = json!([{"name": "kube-api-access-mine", "emptyDir": {}}]);
        let spec = mounted(json!({"containers": [{"name": "c"}], "volumes": volumes}));
        assert_eq!(spec["volumes"], volumes);
        assert_eq!(spec["containers"][0]["volumeMounts"][0]["name"], "kube-api-access-mine");
    }
}
