//! The pods of a StatefulSet: their names and labels, and the claims for their volumes.

use serde_json::{Map, Value, json};

use crate::{
    object::meta,
    workloads::{
        pod::REVISION,
        revisions::template_of,
        template::{controller_reference, pod_from_template},
    },
};

/// The number in the name of a pod; `None` when it is not a name of this set.
pub(crate) fn ordinal_of(set: &Value, pod: &str) -> Option<i64> {
    let digits = pod.strip_prefix(meta::name(set))?.strip_prefix('-')?;
    let canonical = digits == "0" || !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| canonical)
}

/// A new pod from the template of a revision.
pub(crate) fn pod_of_set(set: &Value, ordinal: i64, revision: &Value) -> Value {
    let mut pod = pod_from_template(set, &template_of(revision));
    let name = format!("{}-{ordinal}", meta::name(set));
    let labels = &mut pod["metadata"]["labels"];
    labels["statefulset.kubernetes.io/pod-name"] = name.as_str().into();
    labels["apps.kubernetes.io/pod-index"] = ordinal.to_string().into();
    labels[REVISION] = meta::name(revision).into();
    pod["spec"]["hostname"] = name.as_str().into();
    if let Some(service) = set["spec"]["serviceName"].as_str().filter(|name| !name.is_empty()) {
        pod["spec"]["subdomain"] = service.into();
    }
    let claimed = templates(set).map(|template| {
        let claim = claim_name(set, template, ordinal);
        json!({"name": meta::name(template), "persistentVolumeClaim": {"claimName": claim}})
    });
    let claimed: Vec<Value> = claimed.collect();
    if !claimed.is_empty() {
        // A claim takes the place of a volume of its name.
        let others = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default().into_iter();
        let others = others.filter(|volume| claimed.iter().all(|claim| claim["name"] != volume["name"]));
        let volumes = claimed.iter().cloned().chain(others).collect();
        pod["spec"]["volumes"] = Value::Array(volumes);
    }
    meta::set(&mut pod, "name", name);
    pod
}

/// The names of the claims of the pod with this ordinal.
pub(crate) fn claim_names(set: &Value, ordinal: i64) -> impl Iterator<Item = String> {
    templates(set).map(move |template| claim_name(set, template, ordinal))
}

/// The claims of the pod with this ordinal.
pub(crate) fn claims_of_set(set: &Value, ordinal: i64) -> Vec<Value> {
    let selected = set["spec"]["selector"]["matchLabels"].as_object();
    let claim = |template: &Value| {
        let mut claim = template.clone();
        let mut labels: Map<String, Value> =
            template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
        labels.extend(selected.cloned().unwrap_or_default());
        claim["metadata"]["labels"] = labels.into();
        meta::set(&mut claim, "name", claim_name(set, template, ordinal));
        meta::set(&mut claim, "namespace", set["metadata"]["namespace"].clone());
        owned_claim(set, &claim, None).unwrap_or(claim)
    };
    templates(set).map(claim).collect()
}

/// The claim with the owner that the retention policy gives it; `None` if it has it. `condemned` is the pod that uses the claim when
/// scaling down removes it.
pub(crate) fn owned_claim(set: &Value, claim: &Value, condemned: Option<&Value>) -> Option<Value> {
    let policy = &set["spec"]["persistentVolumeClaimRetentionPolicy"];
    let (deleted, scaled) = (policy["whenDeleted"] == "Delete", policy["whenScaled"] == "Delete");
    let reference = match condemned {
        Some(pod) if scaled => Some(pod_reference(pod)),
        _ => deleted.then(|| controller_reference(set)),
    };
    let former = claim["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
    let ours = |owner: &&Value| owner["uid"] == set["metadata"]["uid"] || is_own_pod(set, owner);
    if former.iter().filter(ours).eq(reference.iter()) {
        return None;
    }
    let others = former.iter().filter(|owner| !ours(owner)).cloned();
    let all: Vec<Value> = others.chain(reference).collect();
    let mut claim = claim.clone();
    meta::set(&mut claim, "ownerReferences", if all.is_empty() { Value::Null } else { all.into() });
    Some(claim)
}

fn pod_reference(pod: &Value) -> Value {
    let mut reference = controller_reference(pod);
    reference["apiVersion"] = "v1".into();
    reference["kind"] = "Pod".into();
    reference
}

fn is_own_pod(set: &Value, reference: &Value) -> bool {
    let name = reference["name"].as_str().unwrap_or_default();
    reference["kind"] == "Pod" && ordinal_of(set, name).is_some()
}

fn templates(set: &Value) -> impl Iterator<Item = &Value> {
    set["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten()
}

fn claim_name(set: &Value, template: &Value, ordinal: i64) -> String {
    format!("{}-{}-{ordinal}", meta::name(template), meta::name(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(policy: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "n", "uid": "u"},
            "spec": {"serviceName": "s", "selector": {"matchLabels": {"app": "db"}}, "persistentVolumeClaimRetentionPolicy": policy,
                "volumeClaimTemplates": [{"metadata": {"name": "data", "labels": {"app": "x", "l": "m"}}}]}})
    }

    #[test]
    fn a_pod_has_its_ordinal_in_its_name() {
        let ordinal = |name: &str| ordinal_of(&set(json!({})), name);
        assert_eq!(
            ["db-0", "db-17", "db-01", "db-", "db", "web-1", "db-a", "db-+1"].map(ordinal),
            [Some(0), Some(17), None, None, None, None, None, None]
        );
    }

    #[test]
    fn a_pod_uses_its_claims() {
        let template = json!({"metadata": {"labels": {"app": "db"}}, "spec": {"volumes": [{"name": "data"}, {"name": "tmp"}]}});
        let revision = json!({"metadata": {"name": "db-x"}, "data": {"spec": {"template": template}}});
        let pod = pod_of_set(&set(json!({})), 2, &revision);
        assert_eq!((meta::name(&pod), &pod["spec"]["subdomain"]), ("db-2", &json!("s")));
        assert_eq!(
            pod["metadata"]["labels"],
            json!({"app": "db", "statefulset.kubernetes.io/pod-name": "db-2",
            "apps.kubernetes.io/pod-index": "2", "controller-revision-hash": "db-x"})
        );
        let claim = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data-db-2"}});
        assert_eq!(pod["spec"]["volumes"], json!([claim, {"name": "tmp"}]));
        let claims = claims_of_set(&set(json!({})), 2);
        assert_eq!(
            (meta::name(&claims[0]), &claims[0]["metadata"]["labels"]),
            ("data-db-2", &json!({"app": "db", "l": "m"}))
        );
        assert!(claims[0]["metadata"].get("ownerReferences").is_none());
    }

    #[test]
    fn the_retention_policy_decides_who_owns_a_claim() {
        let pod = json!({"metadata": {"name": "db-2", "uid": "p"}});
        let owner = |policy: Value, condemned: bool| {
            let set = set(policy);
            let claim = claims_of_set(&set, 2).remove(0);
            let claim = owned_claim(&set, &claim, condemned.then_some(&pod)).unwrap_or(claim);
            assert_eq!(owned_claim(&set, &claim, condemned.then_some(&pod)), None, "once");
            claim["metadata"]["ownerReferences"][0]["uid"].as_str().map(str::to_owned)
        };
        let (delete, retain) = ("Delete", "Retain");
        for (deleted, scaled, usual, condemned) in [
            (retain, retain, None, None),
            (delete, retain, Some("u"), Some("u")),
            (retain, delete, None, Some("p")),
            (delete, delete, Some("u"), Some("p")),
        ] {
            let policy = json!({"whenDeleted": deleted, "whenScaled": scaled});
            assert_eq!(owner(policy.clone(), false).as_deref(), usual, "{policy}");
            assert_eq!(owner(policy.clone(), true).as_deref(), condemned, "{policy}");
        }
    }
}
