//! `if`, `match` and `for` in structs, maps and lists.

use k8s_openapi::api::core::v1::{Container, PodSpec};
use serde_json::json;

use super::json;

enum Mode {
    Host,
    Priority(i32),
    Other { name: &'static str },
}

fn spec(mode: &Mode, node: Option<&str>) -> serde_json::Value {
    json(&apply!(PodSpec {
        match mode {
            Mode::Host => { host_network: true },
            Mode::Priority(number) if *number > 5 => { priority: *number, host_network: false }
            Mode::Priority(_) => {}
            Mode::Other { name } => { priority_class_name: *name },
        }
        node_selector: { if let Some(node) = node { "node": node } else { "none": "" } },
        if let Some(name) = node && name.len() > 1 { node_name: name } else if node.is_some() { hostname: "one" }
        containers: [
            if node.is_some() { name: "x" } else { name: "y" },
            match mode {
                Mode::Host => { name: "host" },
                Mode::Priority(number) => { ..[{ name: "p" }, { name: number.to_string() }] }
                Mode::Other { name } => apply!(Container { name: *name }),
            },
        ],
        volumes: [for n in 0..2 { name: format!("v{n}"), empty_dir: {} }],
    }))
}

#[test]
fn conditions_and_matches_choose_fields_entries_and_items() {
    let volumes = json!([{ "name": "v0", "emptyDir": {} }, { "name": "v1", "emptyDir": {} }]);
    assert_eq!(
        spec(&Mode::Host, None),
        json!({
            "hostNetwork": true, "nodeSelector": { "none": "" }, "containers": [{ "name": "y" }, { "name": "host" }],
            "volumes": volumes,
        })
    );
    assert_eq!(
        spec(&Mode::Priority(6), Some("n1")),
        json!({
            "hostNetwork": false, "priority": 6, "nodeSelector": { "node": "n1" }, "nodeName": "n1",
            "containers": [{ "name": "x" }, { "name": "p" }, { "name": "6" }], "volumes": volumes,
        })
    );
    assert_eq!(
        spec(&Mode::Other { name: "c" }, Some("n")),
        json!({
            "priorityClassName": "c", "nodeSelector": { "node": "n" }, "hostname": "one",
            "containers": [{ "name": "x" }, { "name": "c" }], "volumes": volumes,
        })
    );
}

#[test]
fn lists_of_texts_take_values_from_control_flow() {
    let (debug, names) = (true, ["a", "b"]);
    let args = apply!(Container { args: [
        "--x",
        if debug { "--debug" } else { "--quiet" },
        if debug { ..["--one", "--two"] }
        for name in &names { name },
        for name in names { format!("--name={name}") },
        for name in names { ..[name, "-"] }
        match names.len() { 2 => "two", _ => {"many"} },
        ..names,
        ..names.iter().map(|name| name.to_uppercase()),
    ] });
    assert_eq!(
        json(&args)["args"],
        json!([
            "--x", "--debug", "--one", "--two", "a", "b", "--name=a", "--name=b", "a", "-", "b", "-", "two",
            "a", "b", "A", "B",
        ])
    );
}

#[test]
fn loops_in_maps_and_structs_add_entries_and_fields() {
    let pairs = [("a", "1"), ("b", "2")];
    let spec = apply!(PodSpec {
        node_selector: { for (key, value) in pairs { (key): value } "c": "3" },
        for (_, value) in pairs { hostname: value }
    });
    assert_eq!(json(&spec), json!({ "nodeSelector": { "a": "1", "b": "2", "c": "3" }, "hostname": "2" }));
}

#[test]
fn continue_and_break_in_a_value_leave_its_item_out() {
    let env = [("A", Some("1")), ("B", None), ("C", Some("3")), ("D", None), ("E", Some("5"))];
    let container = apply!(Container {
        env: [
            for (name, value) in env {
                name,
                value: match value { Some(value) => value, None if name == "B" => continue, None => break },
            },
            { name: "last" },
        ],
        name: "x",
    });
    assert_eq!(
        json(&container),
        json!({ "env": [{ "name": "A", "value": "1" }, { "name": "C", "value": "3" }, { "name": "last" }], "name": "x" })
    );
}
