//! A plan for each edit of a user: of the fields of custom resources, of their labels and status, and of what the operator has made.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    fields::{FieldEdits, field_edits, other},
    outcome::{Known, Reference},
    plan::{Edit, EditFault, FieldPath, Injection, Part, Plan},
    state::{ObjectName, qualified},
    statuses::without_status,
};

/// More of them are not asked of controllers that run pods: they would make as many.
const MOST_PODS: i64 = 1000;

/// How many values of a child are tried until the server lets a user change one.
const MOST_PATHS: usize = 8;

/// Who makes the edits and the steps of the workload.
pub(crate) const USER: &str = "user";
/// The plans, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    pub(crate) plans: Vec<Plan>,
    /// Fields of which no other value can be derived.
    pub(crate) not_derived: usize,
    /// Extreme values that the limits of the schemas exclude.
    pub(crate) not_allowed: usize,
    /// Resources of children that have no value that is the same in each run.
    pub(crate) not_editable: Vec<String>,
}

/// What may be done to the fields of an object, if it is a custom resource of a definition.
pub(crate) fn of_fields(definitions: &[Value], object: &Value) -> Option<FieldEdits> {
    Some(field_edits(&version(definitions, object)?["schema"]["openAPIV3Schema"], object))
}

/// The version of its definition that a custom resource has.
fn version<'d>(definitions: &'d [Value], object: &Value) -> Option<&'d Value> {
    let (group, version) = object["apiVersion"].as_str()?.split_once('/')?;
    let is_of = |definition: &&Value| {
        definition["spec"]["group"] == group && definition["spec"]["names"]["kind"] == object["kind"]
    };
    let versions = definitions.iter().find(is_of)?["spec"]["versions"].as_array()?;
    versions.iter().find(|of| of["name"] == version)
}

/// One object of each kind, the first, at the first step after which it is there.
pub(crate) fn edits(
    reference: &Reference,
    definitions: &[Value],
    known: &Known,
    has_workloads: bool,
) -> Edits {
    let mut edits = Edits::default();
    let made: BTreeSet<&ObjectName> =
        reference.trace.writes.iter().filter(|write| write.created).map(|write| &write.object).collect();
    let (mut edited, mut overwritten) = (BTreeSet::new(), BTreeSet::new());
    let mut wiped = BTreeSet::new();
    for (step, reached) in reference.steps.iter().enumerate() {
        for (name, object) in &reached.state.0 {
            if !object["metadata"]["deletionTimestamp"].is_null() {
                continue;
            }
            let of = Object { name, object, step, known };
            if made.contains(name) {
                if overwritten.insert(&name.resource) {
                    match of.overwritten(&reference.masks).into_iter().next() {
                        Some(plan) => edits.plans.push(plan),
                        None => edits.not_editable.push(name.resource.clone()),
                    }
                }
                continue;
            }
            let Some(version) = version(definitions, object) else { continue };
            if edited.insert(&name.resource) {
                let found = field_edits(&version["schema"]["openAPIV3Schema"], object);
                edits.add_fields(&of, found, has_workloads);
            }
            let reports = reference.trace.statuses.iter().filter(|report| report.step <= step);
            let can_wipe = !version["subresources"]["status"].is_null();
            if can_wipe && without_status(name, object, reports).is_some() && wiped.insert(&name.resource) {
                edits.plans.push(of.plan(EditFault::WipeStatus, FieldPath::default()));
            }
        }
    }
    edits
}

impl Edits {
    fn add_fields(&mut self, of: &Object<'_>, found: FieldEdits, has_workloads: bool) {
        let fields = found.edits.into_iter().filter(|edit| {
            let is_large = edit.value.as_ref().and_then(Value::as_i64).is_some_and(|value| value > MOST_PODS);
            !(has_workloads && edit.fault == EditFault::Largest && is_large)
        });
        self.plans.extend(fields.map(|edit| of.plan(edit.fault, edit.path)));
        self.plans.push(of.plan(EditFault::Label, FieldPath::default()));
        self.not_derived += found.not_derived;
        self.not_allowed += found.not_allowed;
    }
}

/// An object of the reference, after a step.
struct Object<'r> {
    name: &'r ObjectName,
    object: &'r Value,
    step: usize,
    known: &'r Known,
}

impl Object<'_> {
    fn plan(&self, fault: EditFault, path: FieldPath) -> Plan {
        let ObjectName { resource, namespace, name } = self.name;
        let name = qualified(namespace, &self.known.names.template(resource, name));
        Plan(vec![Injection::Edit(Edit { fault, path, resource: resource.clone(), name, step: self.step })])
    }

    /// The edits of values of the operator, first of those that it has applied, that are no labels, which never change in many
    /// kinds, and that are in no list. Random ones are not compared.
    fn overwritten(&self, masks: &BTreeSet<String>) -> Vec<Plan> {
        let name = self.known.names.template(&self.name.resource, &self.name.name);
        let key = ObjectName { name, ..self.name.clone() }.to_string();
        let is_random = |path: &FieldPath| {
            let end = format!(".{path}");
            masks.iter().any(|mask| mask.starts_with(&key) && mask.ends_with(&end))
        };
        let mut paths = Vec::new();
        for (field, value) in self.object.as_object().into_iter().flatten() {
            if !matches!(field.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
                scalars(value, FieldPath::default().key(field), &mut paths);
            }
        }
        paths.retain(|path| !is_random(path));
        let in_list = |path: &FieldPath| path.0.iter().any(|part| matches!(part, Part::Item(_)));
        // A selector and the labels that it names are refused alike.
        let mut labels = BTreeSet::new();
        paths.retain(|path| {
            !is_label(path)
                || labels.insert((path.0.last().cloned(), path.get(self.object).map(Value::to_string)))
        });
        paths.sort_by_key(|path| (!is_applied(self.object, path), is_label(path), in_list(path)));
        paths.truncate(MOST_PATHS);
        paths.into_iter().map(|path| self.plan(EditFault::Overwrite, path)).collect()
    }
}

/// The edit of another value of the same child, after the server has refused this one: selectors and labels of pods never change.
pub(crate) fn instead_of(plan: &Plan, reference: &Reference, known: &Known) -> Option<Plan> {
    let edit = plan.edit().filter(|edit| edit.fault == EditFault::Overwrite)?;
    let objects = &reference.steps.get(edit.step)?.state.0;
    let all = objects.iter().filter(|(name, _)| name.resource == edit.resource).map(|(name, object)| {
        let of = Object { name, object, step: edit.step, known };
        of.overwritten(&reference.masks)
    });
    let mut of_child = all.into_iter().find(|plans| plans.contains(plan))?.into_iter();
    of_child.find(|other| other == plan)?;
    of_child.next()
}

/// Whether it is a label, or in a selector of such.
fn is_label(path: &FieldPath) -> bool {
    let names = ["labels", "matchLabels", "selector"];
    path.0.iter().any(|part| matches!(part, Part::Key(key) if names.contains(&key.as_str())))
}

/// The paths of all texts, numbers and flags.
fn scalars(value: &Value, path: Option<FieldPath>, paths: &mut Vec<FieldPath>) {
    let Some(path) = path else { return };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| scalars(value, path.key(key), paths)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| scalars(item, Some(path.item(at)), paths));
        }
        Value::Null => {}
        _ => paths.push(path),
    }
}

/// Whether a program keeps a field by server-side apply: then it wants this value for ever. What names an item of a list is no value.
pub(crate) fn is_applied(object: &Value, path: &FieldPath) -> bool {
    let applied = |entry: &Value| {
        entry["operation"] == "Apply" && entry["manager"] != USER && owns(&entry["fieldsV1"], object, &path.0)
    };
    object["metadata"]["managedFields"].as_array().is_some_and(|entries| entries.iter().any(applied))
}

/// Whether these fields of a manager have the value at a path in this one.
fn owns(fields: &Value, value: &Value, path: &[Part]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    match first {
        Part::Key(key) => {
            let of_key = (fields.get(format!("f:{key}")), value.get(key));
            matches!(of_key, (Some(fields), Some(value)) if owns(fields, value, rest))
        }
        Part::Item(at) => {
            let (Some(items), Some(item)) = (fields.as_object(), value.get(at)) else { return false };
            let is_name =
                |names: &Value| matches!(rest.first(), Some(Part::Key(key)) if names.get(key).is_some());
            items.iter().any(|(name, fields)| {
                let names = name.strip_prefix("k:").and_then(|text| serde_json::from_str::<Value>(text).ok());
                let names = names.unwrap_or_default();
                let is_item =
                    names.as_object().is_some_and(|names| names.iter().all(|(key, of)| item[key] == *of));
                is_item && !is_name(&names) && owns(fields, item, rest)
            })
        }
    }
}

/// Another value of a field of an object that the operator has made, whose schema is that of its present value.
pub(crate) fn overwriting(resource: &str, path: &FieldPath, object: &Value) -> Option<Value> {
    let present = path.get(object)?;
    if resource == "secrets" && path.0.first() == Some(&Part::Key("data".to_owned())) {
        return other(&json!({"type": "string", "format": "byte"}), None);
    }
    let of_type = match present {
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        _ => return None,
    };
    other(&json!({ "type": of_type }), Some(present))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        outcome::Reached,
        plan::{Operation, Place, Verb},
        state::{Names, State, normalize},
        trace::{StatusWrite, Write},
    };

    fn definition() -> Value {
        let spec = json!({"type": "object", "properties": {"size": {"type": "integer", "minimum": 0}}});
        json!({"spec": {"group": "example.com", "names": {"kind": "Page"}, "versions": [{
            "name": "v1", "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"properties": {"spec": spec}}},
        }]}})
    }

    fn page(name: &str, status: Value) -> (ObjectName, Value) {
        let page = json!({"apiVersion": "example.com/v1", "kind": "Page", "metadata": {"name": name, "namespace": "default"},
            "spec": {"size": 1}, "status": status});
        (ObjectName::of("pages.example.com", &page), page)
    }

    /// A map that the operator has applied.
    fn child(name: &str) -> (ObjectName, Value) {
        let fields =
            json!([{"operation": "Apply", "manager": "pages", "fieldsV1": {"f:data": {"f:text": {}}}}]);
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b", "text": "one", "x": "random"},
            "metadata": {"name": name, "namespace": "default", "managedFields": fields}});
        (ObjectName::of("configmaps", &map), map)
    }

    fn reference(steps: Vec<Vec<(ObjectName, Value)>>) -> Reference {
        let reached = |objects: Vec<(ObjectName, Value)>| {
            let state = State(objects.into_iter().collect());
            Reached { normal: normalize(&state, &Names::default()), state, external: Value::Null }
        };
        let mut reference =
            Reference { steps: steps.into_iter().map(reached).collect(), ..Reference::default() };
        for (object, answer) in [child("a"), child("b")] {
            let operation =
                Operation { verb: Verb::Apply, resource: object.resource.clone(), name: object.name.clone() };
            reference.trace.writes.push(Write {
                place: Place { operation, nth: 1 },
                object,
                effective: true,
                guarded: false,
                created: true,
                orphan: false,
                step: 1,
                answer: Arc::new(answer),
            });
        }
        reference
    }

    fn plans(reference: &Reference, has_workloads: bool) -> Vec<String> {
        let edits = edits(reference, &[definition()], &Known::default(), has_workloads);
        assert_eq!((edits.not_derived, edits.not_allowed), (0, 1), "a size below 0");
        edits.plans.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_first_object_of_each_kind_is_edited_where_it_first_is() {
        let ready = json!({"ready": true});
        let reports = |name: &str| {
            let (name, mut page) = page(name, ready.clone());
            let entry = json!({"manager": "pages", "subresource": "status", "fieldsV1": {"f:status": {"f:ready": {}}}});
            page["metadata"]["managedFields"] = json!([entry]);
            (name, page)
        };
        let user =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "0"}, "data": {"a": "b"}});
        let user = (ObjectName::of("configmaps", &user), user);
        let steps = vec![
            vec![user.clone()],
            vec![user.clone(), page("b", Value::Null)],
            vec![user, reports("a"), reports("b"), child("b"), child("a")],
        ];
        let mut reference = reference(steps);
        // The status of the first is that of a fixture.
        reference.trace.statuses.push(StatusWrite {
            object: reports("b").0,
            manager: "pages".to_owned(),
            step: 2,
            before: Value::Null,
            after: ready.clone(),
        });
        let expected = [
            "edit spec.size of pages.example.com b after step 1",
            "remove spec.size of pages.example.com b after step 1",
            "zero spec.size of pages.example.com b after step 1",
            "largest spec.size of pages.example.com b after step 1",
            "another label of pages.example.com b after step 1",
            "overwrite data.text of configmaps a after step 2",
            "wipe status of pages.example.com b after step 2",
        ];
        assert_eq!(plans(&reference, false), expected);
        let without_largest = plans(&reference, true);
        assert_eq!(without_largest.len(), expected.len() - 1);
        assert!(!without_largest.contains(&expected[3].to_owned()), "as many pods");
        reference.masks.insert("configmaps a.data.text".to_owned());
        assert!(
            plans(&reference, true).contains(&"overwrite data.a of configmaps a after step 2".to_owned())
        );
        reference.masks.extend(["data.a", "data.x"].map(|path| format!("configmaps a.{path}")));
        let edits = edits(&reference, &[definition()], &Known::default(), true);
        assert_eq!(edits.not_editable, ["configmaps"], "all is random");
    }

    #[test]
    fn what_a_program_has_applied_is_its_own() {
        let (_, mut map) = child("a");
        let path = |text: &str| FieldPath::parse(text).unwrap();
        assert!(is_applied(&map, &path("data.text")) && !is_applied(&map, &path("data.a")));
        assert!(!is_applied(&map, &path("data[0]")));
        map["metadata"]["managedFields"][0]["operation"] = "Update".into();
        assert!(!is_applied(&map, &path("data.text")), "another writer may have another value");
    }

    #[test]
    fn an_item_of_a_list_is_known_by_its_name() {
        let fields = json!([{"operation": "Apply", "manager": "pages", "fieldsV1":
            {"f:list": {r#"k:{"name":"b"}"#: {".": {}, "f:name": {}, "f:image": {}}}}}]);
        let object = json!({"metadata": {"managedFields": fields},
            "list": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]});
        let is = |path: &str| is_applied(&object, &FieldPath::parse(path).unwrap());
        assert!(is("list[1].image") && !is("list[0].image") && !is("list[2].image"));
        assert!(!is("list[1].name"), "with another name it is another item");
    }

    #[test]
    fn after_a_refusal_another_value_of_the_same_child_is_edited() {
        let reference = reference(vec![vec![child("a")]]);
        let known = Known::default();
        let next =
            |plan: &str| instead_of(&plan.parse().unwrap(), &reference, &known).map(|plan| plan.to_string());
        let plan = |path: &str| format!("overwrite {path} of configmaps a after step 0");
        assert_eq!(next(&plan("data.text")), Some(plan("data.a")));
        assert_eq!(next(&plan("data.a")), Some(plan("data.x")));
        assert_eq!(next(&plan("data.x")), None, "it was the last");
        assert_eq!(next("edit data.text of configmaps a after step 0"), None);
        assert_eq!(next("overwrite data.text of configmaps b after step 0"), None);
    }

    /// As one that was created by POST, so that all of it is owned alike.
    #[test]
    fn labels_of_a_child_come_last_and_equal_ones_once() {
        let labels = json!({"component": "web", "instance": "a", "name": "web", "part-of": "sites"});
        let mut of_pods = labels.clone();
        of_pods["tier"] = "front".into();
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": of_pods},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]}}}});
        let name = ObjectName::of("deployments.apps", &deployment);
        let of = Object { name: &name, object: &deployment, step: 0, known: &Known::default() };
        let plans = of.overwritten(&BTreeSet::new());
        let paths: Vec<_> = plans.iter().map(|plan| plan.edit().unwrap().path.to_string()).collect();
        let expected = [
            "spec.template.spec.containers[0].image",
            "spec.template.spec.containers[0].name",
            "spec.selector.matchLabels.component",
            "spec.selector.matchLabels.instance",
            "spec.selector.matchLabels.name",
            "spec.selector.matchLabels.part-of",
            "spec.template.metadata.labels.tier",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn values_of_children_follow_from_their_types() {
        let of = |resource: &str, path: &str, object: Value| {
            overwriting(resource, &FieldPath::parse(path).unwrap(), &object)
        };
        assert_eq!(of("pods", "spec.on", json!({"spec": {"on": true}})), Some(json!(false)));
        assert_eq!(of("pods", "spec.size", json!({"spec": {"size": 1}})), Some(json!(2)));
        assert_eq!(of("configmaps", "data.a", json!({"data": {"a": "one"}})), Some(json!("ona")));
        assert_eq!(of("secrets", "data.a", json!({"data": {"a": "b25l"}})), Some(json!("dmVyaWZ5")));
        assert_eq!(of("secrets", "type", json!({"type": "Opaque"})), Some(json!("Opaqua")));
        assert_eq!(of("pods", "spec.gone", json!({"spec": {}})), None);
    }
}
