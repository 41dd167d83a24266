//! Replays recorded responses of genuine servers (see `recorded/record.py`), and checks laws for any configuration.

use std::collections::HashMap;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Apply, ApplyError, apply};
use crate::{
    apply::{
        Update, Versions,
        managed::{ManagedFieldsEntry, requested},
        update,
    },
    patch,
    schema::{Schema, types},
    webhook::Interruption,
};

#[derive(Deserialize)]
struct Scenario {
    name: String,
    kind: String,
    steps: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    op: String,
    manager: String,
    body: Value,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    sub: String,
    code: u16,
    object: Option<Value>,
    status: Option<Value>,
}

fn things() -> Schema {
    let crd: Value = serde_saphyr::from_str(include_str!("../recorded/things.crd.yaml")).unwrap();
    Schema::from_openapi("spec.validation", &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]).unwrap()
}

fn scenarios(text: &str) -> Vec<Scenario> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The parts of a server that the scenarios need.
struct Server {
    schema: Schema,
    api_version: &'static str,
    live: Option<Value>,
    managers: Vec<ManagedFieldsEntry>,
}

impl Server {
    fn run(&mut self, step: &Recorded, now: &str) -> Result<(), ApplyError> {
        let (object, managers) = match step.op.as_str() {
            "apply" => {
                let applied = apply(Apply {
                    schema: &self.schema,
                    live: self.live.as_ref(),
                    managers: &self.managers,
                    config: &step.body,
                    manager: &step.manager,
                    api_version: self.api_version,
                    subresource: &step.sub,
                    ignored: if step.sub.is_empty() { &["status"] } else { &["spec", "metadata"] },
                    force: step.force,
                    now,
                    versions: &OneVersion(&self.schema),
                })?;
                let mut object = applied.object;
                self.schema.default(&mut object);
                (object, applied.managers)
            }
            op => self.write(op, step, now),
        };
        if step.code < 300 {
            (self.live, self.managers) = (Some(object), managers);
        }
        Ok(())
    }

    /// Create, put and the patches.
    fn write(&self, op: &str, step: &Recorded, now: &str) -> (Value, Vec<ManagedFieldsEntry>) {
        let mut new = match op {
            "create" | "put" => step.body.clone(),
            _ => {
                let mut base = self.live.clone().unwrap();
                base["metadata"]["managedFields"] = managed_fields(&self.managers);
                match op {
                    "merge" => patch::merge::apply(&mut base, &step.body).unwrap(),
                    "json" => patch::json::apply(&mut base, &step.body).unwrap(),
                    other => panic!("no step is called {other}"),
                }
                base
            }
        };
        let managers = requested(&new, &self.managers);
        let metadata = new["metadata"].as_object_mut().unwrap();
        metadata.remove("managedFields");
        metadata.retain(|_, v| *v != json!([]));
        let (live, other) = (self.live.as_ref(), new.clone());
        let mut new = if step.sub.is_empty() { new } else { live.unwrap().clone() };
        let status = if step.sub.is_empty() { live } else { Some(&other) }.and_then(|o| o.get("status"));
        match status {
            Some(status) => new["status"] = status.clone(),
            None => drop(new.as_object_mut().unwrap().remove("status")),
        }
        self.schema.default(&mut new);
        let entries = update(Update {
            schema: &self.schema,
            old: live,
            new: &new,
            managers: &managers,
            manager: &step.manager,
            api_version: self.api_version,
            subresource: &step.sub,
            now,
            versions: &OneVersion(&self.schema),
        });
        (new, entries.unwrap())
    }
}

/// All managers write in the same version.
struct OneVersion<'a>(&'a Schema);

impl Versions for OneVersion<'_> {
    fn schema(&self, _: &str) -> Option<&Schema> {
        Some(self.0)
    }

    fn convert(&self, object: &Value, _: &str) -> Result<Value, Interruption> {
        Ok(object.clone())
    }
}

fn managed_fields(managers: &[ManagedFieldsEntry]) -> Value {
    managers.iter().cloned().map(Value::from).collect()
}

/// Entries as recorded: times are the number of the step in which they first appeared.
fn entries(managers: &[ManagedFieldsEntry], times: &mut HashMap<String, usize>, step: usize) -> Value {
    let mut entries = managed_fields(managers);
    for entry in entries.as_array_mut().unwrap() {
        let time =
            entry.get("time").and_then(Value::as_str).map(|t| *times.entry(t.to_owned()).or_insert(step));
        entry["time"] = json!(time);
    }
    entries
}

fn check_refusal(at: &str, error: &ApplyError, status: &Value) {
    assert_eq!(Value::from(error.to_string()), status["message"], "{at}");
    if let ApplyError::Conflicts(conflicts) = error {
        let causes: Vec<_> = conflicts
            .iter()
            .map(|c| json!({"reason": "FieldManagerConflict", "message": c.message(), "field": c.field}))
            .collect();
        assert_eq!(json!(causes), status["details"]["causes"], "{at}");
    }
}

#[test]
fn custom_resources_as_on_the_genuine_server() {
    let scenarios = scenarios(include_str!("../recorded/custom.jsonl"));
    assert!(scenarios.len() >= 39);
    for scenario in scenarios {
        let mut server =
            Server { schema: things(), api_version: "algos.example/v1", live: None, managers: Vec::new() };
        let mut times = HashMap::new();
        for (number, step) in scenario.steps.iter().enumerate() {
            let at = format!("{} step {number}", scenario.name);
            let outcome = server.run(step, &format!("t{number:02}"));
            match (&outcome, step.code) {
                (Ok(()), 200 | 201) => {
                    let mut want = step.object.clone().unwrap();
                    let recorded = want["metadata"].as_object_mut().unwrap().remove("managedFields");
                    assert_eq!(server.live.as_ref().unwrap(), &want, "{at}");
                    let got = entries(&server.managers, &mut times, number);
                    assert_eq!(got, recorded.unwrap_or_else(|| json!([])), "{at}");
                }
                // Refused by validation, after apply.
                (Ok(()), 422) => {}
                (Err(error), 400 | 409 | 500) => check_refusal(&at, error, step.status.as_ref().unwrap()),
                (outcome, code) => {
                    panic!("{at}: {outcome:?}, the genuine server says {code}: {:?}", step.status)
                }
            }
        }
    }
}

/// Built-in kinds: ownership only, because objects contain values of other parts of the server.
#[test]
fn built_in_kinds_as_on_the_genuine_server() {
    let of = |kind: &str| match kind {
        "ConfigMap" => ("v1", "io.k8s.api.core.v1.ConfigMap"),
        "Service" => ("v1", "io.k8s.api.core.v1.Service"),
        "Deployment" => ("apps/v1", "io.k8s.api.apps.v1.Deployment"),
        other => panic!("no type for {other}"),
    };
    for scenario in scenarios(include_str!("../recorded/built_in.jsonl")) {
        let (api_version, name) = of(&scenario.kind);
        let mut server =
            Server { schema: types::by_name(name).unwrap(), api_version, live: None, managers: Vec::new() };
        let mut times = HashMap::new();
        for (number, step) in scenario.steps.iter().enumerate() {
            let at = format!("{} step {number}", scenario.name);
            match server.run(step, &format!("t{number:02}")) {
                Err(error @ ApplyError::Conflicts(_)) => {
                    check_refusal(&at, &error, step.status.as_ref().unwrap())
                }
                // The older server words these without naming the object.
                Err(error) => {
                    let text = error.to_string();
                    let reason = text.split_once("): ").unwrap().1;
                    assert!(
                        step.status.as_ref().unwrap()["message"].as_str().unwrap().ends_with(reason),
                        "{at}: {text}"
                    );
                }
                Ok(()) => {
                    let mut object = step.object.clone().unwrap();
                    let recorded =
                        object["metadata"].as_object_mut().unwrap().remove("managedFields").unwrap();
                    let mut got = entries(&server.managers, &mut times, number);
                    if step.op == "create" && scenario.kind == "Deployment" {
                        let pull = "/fieldsV1/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"c\"}";
                        got[0].pointer_mut(pull).unwrap()["f:imagePullPolicy"] = json!({});
                    }
                    assert_eq!(got, recorded, "{at}");
                    server.live = Some(object);
                }
            }
        }
    }
}

/// A configuration of the things CRD that is always valid.
fn config(manager: &'static str) -> impl Strategy<Value = Value> {
    let scalars = prop::collection::btree_map(prop_oneof![Just("i32"), Just("nn")], 0..3i64, 0..2);
    let labels = prop::collection::btree_map("[kl]", "[vw]", 0..3);
    let ports = prop::collection::btree_map(1..4i64, proptest::option::of("[no]"), 0..3);
    let tags = prop::collection::btree_set("[abc]", 0..3);
    (scalars, labels, ports, tags).prop_map(move |(scalars, labels, ports, tags)| {
        let mut spec: Map<String, Value> = scalars.into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect();
        spec.insert("labels".into(), json!(labels));
        let port = |(port, name): (i64, Option<String>)| match name {
            Some(name) => json!({"port": port, "name": name}),
            None => json!({"port": port}),
        };
        spec.insert("ports".into(), ports.into_iter().map(port).collect());
        spec.insert("tags".into(), json!(tags));
        json!({"apiVersion": "algos.example/v1", "kind": "Thing", "metadata": {"name": "x", "annotations": {manager: "1"}}, "spec": spec})
    })
}

fn forced(
    schema: &Schema,
    live: Option<&(Value, Vec<ManagedFieldsEntry>)>,
    manager: &str,
    config: &Value,
    now: &str,
) -> (Value, Vec<ManagedFieldsEntry>) {
    let applied = apply(Apply {
        schema,
        live: live.map(|(object, _)| object),
        managers: live.map(|(_, managers)| managers.as_slice()).unwrap_or_default(),
        config,
        manager,
        api_version: "algos.example/v1",
        subresource: "",
        ignored: &[],
        force: true,
        now,
        versions: &OneVersion(schema),
    });
    let applied = applied.unwrap();
    (applied.object, applied.managers)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn applying_again_changes_nothing(a in config("a"), b in config("b")) {
        let schema = things();
        let first = forced(&schema, None, "a", &a, "1");
        let second = forced(&schema, Some(&first), "b", &b, "2");
        prop_assert_eq!(&forced(&schema, Some(&second), "b", &b, "3"), &second);
    }

    /// Fields of only one of two managers are removed when that manager gives them up; the rest is unchanged.
    #[test]
    fn applying_nothing_undoes_an_apply(a in config("a"), b in config("b")) {
        let schema = things();
        let first = forced(&schema, None, "a", &a, "1");
        let conflict_free = apply(Apply { schema: &schema, live: Some(&first.0), managers: &first.1, config: &b, manager: "b",
            api_version: "algos.example/v1", subresource: "", ignored: &[], force: false, now: "2", versions: &OneVersion(&schema) });
        let Ok(second) = conflict_free else { return Ok(()) };
        let nothing = json!({"apiVersion": "algos.example/v1", "kind": "Thing", "metadata": {"name": "x"}});
        let (object, managers) = forced(&schema, Some(&(second.object, second.managers)), "b", &nothing, "3");
        prop_assert_eq!(managers, first.1);
        let fields = |o: &Value| o["spec"].as_object().cloned().unwrap_or_default();
        for (name, value) in fields(&first.0) {
            // Containers may be empty now, and lists may have the order of the other manager.
            let scalar = !value.is_array() && !value.is_object();
            prop_assert!(!scalar || object["spec"][&name] == value, "{name}");
        }
    }

    #[test]
    fn two_managers_of_different_fields_commute(a in config("a"), b in config("b")) {
        let schema = things();
        let mut a = a;
        a["spec"].as_object_mut().unwrap().retain(|name, _| name == "i32" || name == "labels");
        let mut b = b;
        b["spec"].as_object_mut().unwrap().retain(|name, _| name != "i32" && name != "labels");
        let ab = forced(&schema, Some(&forced(&schema, None, "a", &a, "1")), "b", &b, "1");
        let ba = forced(&schema, Some(&forced(&schema, None, "b", &b, "1")), "a", &a, "1");
        prop_assert_eq!(ab, ba);
    }
}
