//! ControllerRevisions: the former templates of a StatefulSet or a DaemonSet.

use serde_json::{Value, json};

use super::template::{controller_reference, hash};

/// What makes the current template the newest revision.
#[derive(Debug, PartialEq)]
pub(crate) enum HistoryStep {
    /// No revision has the template: this one is new.
    Create(Value),
    /// The revision at this index has the template again, and gets this number.
    Renumber(usize, i64),
    /// The revision at this index is the newest.
    Keep(usize),
}

/// Plans the history of an owner; `revisions` are all that it owns.
pub(crate) fn plan_history(owner: &Value, revisions: &[Value]) -> HistoryStep {
    let data = data_of(owner);
    let newest = revisions.iter().map(number).max().unwrap_or(0);
    let same = (0..revisions.len()).filter(|at| revisions[*at]["data"] == data);
    match same.max_by_key(|at| number(&revisions[*at])) {
        Some(at) if number(&revisions[at]) == newest => HistoryStep::Keep(at),
        Some(at) => HistoryStep::Renumber(at, newest.saturating_add(1)),
        None => HistoryStep::Create(revision(owner, data, newest.saturating_add(1))),
    }
}

/// The indexes of the oldest revisions beyond `revisionHistoryLimit`, without those in use.
pub(crate) fn surplus_revisions(
    owner: &Value,
    revisions: &[Value],
    in_use: impl Fn(&Value) -> bool,
) -> Vec<usize> {
    let keep = usize::try_from(owner["spec"]["revisionHistoryLimit"].as_i64().unwrap_or(10)).unwrap_or(0);
    let mut old: Vec<usize> = (0..revisions.len()).filter(|at| !in_use(&revisions[*at])).collect();
    old.sort_by_key(|at| number(&revisions[*at]));
    old.truncate(old.len().saturating_sub(keep));
    old
}

/// The pod template of a revision.
pub(crate) fn template_of(revision: &Value) -> Value {
    let mut template = revision["data"]["spec"]["template"].clone();
    if let Some(template) = template.as_object_mut() {
        template.remove("$patch");
    }
    template
}

/// The label with which a kind marks its revisions. Pods of a DaemonSet carry the same.
pub(crate) fn hash_label(owner: &Value) -> &'static str {
    if owner["kind"] == "StatefulSet" { "controller.kubernetes.io/hash" } else { "controller-revision-hash" }
}

/// A strategic merge patch that restores the template, as `kubectl rollout undo` applies it.
fn data_of(owner: &Value) -> Value {
    let mut template = owner["spec"]["template"].clone();
    template["$patch"] = "replace".into();
    json!({"spec": {"template": template}})
}

fn revision(owner: &Value, data: Value, number: i64) -> Value {
    let (metadata, template) = (&owner["metadata"], &owner["spec"]["template"]);
    let hash = hash(&data, owner["status"]["collisionCount"].as_u64().unwrap_or(0));
    let name = metadata["name"].as_str().unwrap_or_default();
    let mut labels = template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    labels.insert(hash_label(owner).into(), hash.as_str().into());
    json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": format!("{name}-{hash}"), "namespace": metadata["namespace"], "labels": labels,
            "annotations": metadata["annotations"].as_object().cloned().unwrap_or_default(),
            "ownerReferences": [controller_reference(owner)],
        },
        "data": data,
        "revision": number,
    })
}

fn number(revision: &Value) -> i64 {
    revision["revision"].as_i64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(image: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "uid": "u"},
            "spec": {"revisionHistoryLimit": 1, "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"image": image}}}})
    }

    fn created(owner: &Value, revisions: &[Value]) -> Value {
        match plan_history(owner, revisions) {
            HistoryStep::Create(revision) => revision,
            step => panic!("{step:?}"),
        }
    }

    #[test]
    fn each_template_has_one_revision_and_the_current_one_the_greatest_number() {
        let (one, two) = (owner("one"), owner("two"));
        let first = created(&one, &[]);
        let hash = first["metadata"]["labels"]["controller.kubernetes.io/hash"].as_str().unwrap();
        assert_eq!(first["metadata"]["name"], format!("db-{hash}"));
        assert_eq!((&first["metadata"]["labels"]["app"], &first["revision"]), (&json!("db"), &json!(1)));
        assert_eq!(template_of(&first), one["spec"]["template"]);
        let second = created(&two, std::slice::from_ref(&first));
        assert_eq!(second["revision"], 2);
        let both = [first, second];
        assert_eq!(plan_history(&two, &both), HistoryStep::Keep(1));
        assert_eq!(plan_history(&one, &both), HistoryStep::Renumber(0, 3));
    }

    #[test]
    fn another_name_follows_a_collision() {
        let mut one = owner("one");
        let name = created(&one, &[])["metadata"]["name"].clone();
        one["status"]["collisionCount"] = 1.into();
        assert_ne!(created(&one, &[])["metadata"]["name"], name);
    }

    #[test]
    fn old_revisions_that_nothing_uses_go() {
        let revisions: Vec<Value> = [4, 1, 3, 2].map(|number| json!({"revision": number})).into();
        assert_eq!(surplus_revisions(&owner("one"), &revisions, |r| r["revision"] == 4), [1, 3]);
        assert_eq!(surplus_revisions(&owner("one"), &revisions, |r| r["revision"] != 2), [0_usize; 0]);
    }
}
