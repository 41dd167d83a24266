//! What each text is: the kubeconfig as JSON, or the error. Secrets in the texts are `hush`, which no error may contain.

use super::*;

/// YAML. A text that is JSON too is also decoded by `serde_json`.
const TEXTS: &[&str] = &[
    // Errors and unusual values at each level.
    "{clusters: [{name: a, cluster: {server: x, insecure-skip-tls-verify: yes, extra: 1}}], current-context: 5}",
    "clusters:\n- name: a\n- cluster: {}\n",
    "clusters:\n- name: a\n  cluster: {server: [x]}\n",
    "clusters:\n- name: a\n  cluster: {insecure-skip-tls-verify: 'yes'}\n",
    "users: [{name: a, user: {token: 12345, as-groups: [1, 2], as-user-extra: {a: [b]}}}]",
    "users: [{name: a, user: {token: {a: b}}}]",
    "users: [{name: a, user: {token: hush, password: [hush]}}]",
    "users: [{name: a, user: {as-user-extra: {a: b}}}]",
    "users: [{name: a, user: {exec: {interactiveMode: Sometimes}}}]",
    "users: [{name: a, user: {exec: {command: x, env: [{name: a, value: 5}], provideClusterInfo: no}}}]",
    "users: [{name: a, user: {exec: {env: [{name: a, value: [hush]}]}}}]",
    "users: [{name: a, user: {auth-provider: {config: {}}}}]",
    "contexts: [{name: a, context: &c {cluster: x}}, {name: b, context: *c}, {name: d, context: {<<: *c, user: y}}]",
    "contexts: [{name: a, context: {user: y}}]",
    "extensions: [{name: a, extension: {b: [1, ~, 'c']}, more: x}]",
    "extensions: [{name: a}]",
    "preferences: {colors: 5}",
    "clusters: ~\n---\nclusters: {a: b}\n",
    // Numbers, booleans and nulls as text.
    "{kind: 5, apiVersion: 1.50, current-context: true}",
    "{kind: 0o17, apiVersion: -0, current-context: 1e999}",
    "{kind: ~, apiVersion: null, current-context: }",
    "{kind: 'null', apiVersion: '', current-context: '~'}",
    "clusters: [{name: 5, cluster: {server: no, proxy-url: .inf}}]",
    "clusters: [{name: ~}]",
    "clusters: [{name: }]",
    "users: [{name: a, user: {as-groups: [x, ~]}}]",
    "users: [{name: a, user: {as-groups: [yes, 1.0, 'x']}}]",
    "users: [{name: a, user: {as-user-extra: {5: [6], true: [], x: ~}}}]",
    "users: [{name: a, user: {auth-provider: {name: x, config: {a: 1, b: yes, 3: c}}}}]",
    "users: [{name: a, user: {auth-provider: {name: x, config: {a: ~}}}}]",
    "users: [{name: a, user: {auth-provider: {name: x, config: ~}}}]",
    "users: [{name: a, user: {auth-provider: {name: x, more: {b: [c]}}}}]",
    // Tags.
    "{kind: !!int 5, apiVersion: !!str 5}",
    "{kind: !!str 5, apiVersion: !!str ~, current-context: ! 7}",
    "{x: [!!str 5, !!int '5', !!float '1', !!bool 'true', !!null '']}",
    "kind: !!binary Q29uZmln",
    "kind: !!binary '?'",
    "clusters: !!binary Q29uZmln",
    "x: !!binary Q29uZmln",
    "kind: !local Config",
    "clusters: [!local {name: a}]",
    "extensions: [{name: a, extension: !local [x]}]",
    "x: !local y",
    "users: [{name: a, user: {exec: {interactiveMode: !Never ~}}}]",
    "users: [{name: a, user: {exec: {interactiveMode: !Never x}}}]",
    "users: [{name: a, user: {exec: {interactiveMode: !Other Never}}}]",
    // Enums.
    "users: [{name: a, user: {exec: {interactiveMode: Never}}}]",
    "users: [{name: a, user: {exec: {interactiveMode: ~}}}]",
    "users: [{name: a, user: {exec: {interactiveMode: {Always: ~}}}}]",
    "users: [{name: a, user: {exec: {interactiveMode: {Always: 5}}}}]",
    "users: [{name: a, user: {exec: {interactiveMode: {Always: ~, Never: ~}}}}]",
    "users: [{name: a, user: {exec: {interactiveMode: [Always]}}}]",
    "users: [{name: a, user: {exec: {interactiveMode: 5}}}]",
    "users: [{name: a, user: {exec: {interactiveMode: never}}}]",
    // Booleans.
    "users: [{name: a, user: {exec: {provideClusterInfo: ~}}}]",
    "users: [{name: a, user: {exec: {provideClusterInfo: 'true'}}}]",
    "users: [{name: a, user: {exec: {provideClusterInfo: []}}}]",
    "users: [{name: a, user: {exec: {provideClusterInfo: {}}}}]",
    "users: [{name: a, user: {exec: {provideClusterInfo: 1.5}}}]",
    "preferences: {colors: on, extensions: [], x: on}",
    "preferences: {colors: !!bool 'off'}",
    "preferences: ~",
    "clusters: [{name: a, cluster: {disable-compression: maybe}}]",
    "clusters: [{name: a, cluster: {disable-compression: ~, insecure-skip-tls-verify: Off}}]",
    // Aliases, anchors and merge keys.
    "x: &a {server: y, z: 1}\nclusters:\n- {name: c, cluster: *a}\n- name: d\n  cluster:\n    <<: *a\n    server: w\n",
    "x: &a {server: [y]}\nclusters:\n- {name: c, cluster: *a}\n",
    "x: &a {server: [y]}\nclusters:\n- {name: c, cluster: {<<: *a}}\n",
    "x: &a hush\nusers:\n- {name: c, user: {token: *a}}\n",
    "x: &a [hush]\nusers:\n- {name: c, user: {token: *a}}\n",
    "x: &a {insecure-skip-tls-verify: 'no'}\nclusters:\n- {name: c, cluster: *a}\n",
    "x: &a {interactiveMode: Perhaps}\nusers:\n- {name: c, user: {exec: *a}}\n",
    "x: &a {more: b}\ncontexts:\n- {name: c, context: *a}\n",
    "x: &a [1, 2]\ny: [*a, *a]\nextensions: [{name: n, extension: *a}]\n",
    "clusters: &a [*a]",
    "kind: *missing",
    "<<: {kind: Config}\nclusters: []\n",
    "<<: [{kind: Config, x: 1}, {apiVersion: v1, x: 2}]\n",
    "<<: 5\n",
    // Unknown keys.
    "x: {a: [1, 2.5, {b: ~}], c: true, d: 'true', e: -7, f: 18446744073709551615}",
    "x: [99999999999999999999999, -99999999999999999999999, 0x1F, 1_000, 007]",
    "x: .nan",
    "5: five\ntrue: yes\n1.5: x\n",
    "~: x",
    "[a]: x",
    "{a: b}: x",
    "x: {a: 1, a: 2}",
    "{x: 1, x: 2}",
    "extensions: [{name: a, extension: {5: x, true: y}}]",
    "extensions: [{name: a, extension: {~: y}}]",
    "extensions: [{name: a, extension: ~}]",
    "extensions: [{name: a, extension: x, other: {~: y, [a]: b}}]",
    "extensions: ~",
    "extensions: [~]",
    "users: [{name: a, user: {exec: {command: x, args: [1, y], drop_env: [z], cluster: {server: s}}}}]",
    // Block scalars and escapes.
    "kind: |\n  two\n  lines\nx: >\n  one\n  line\n",
    "kind: \"\\u00e9\\t\"\nx: \"\\t\"\n",
    "users:\n- name: a\n  user:\n    client-key-data: |\n      hush\n    client-certificate-data: >-\n      a\n      b\n",
    // Lists in place of maps and the reverse.
    "[clusters, users]",
    "text",
    "5",
    "clusters: {}",
    "clusters: text",
    "clusters: [text]",
    "clusters: [[]]",
    "clusters: [~]",
    "clusters: [{name: a, cluster: []}]",
    "clusters: [{name: a, cluster: text}]",
    "clusters: [{name: a, cluster: ~}]",
    "users: [{name: a, user: {exec: []}}]",
    "users: [{name: a, user: {exec: {args: hush}}}]",
    "users: [{name: a, user: {exec: {env: {name: hush}}}}]",
    "users: [{name: a, user: {exec: {env: [~]}}}]",
    "users: [{name: a, user: {exec: {env: [{name: ~}]}}}]",
    "users: [{name: a, user: hush}]",
    "users: [{name: a, user: [{token: hush}]}]",
    "contexts: [{name: a, context: {cluster: {}}}]",
    "preferences: []",
    "extensions: {}",
    "extensions: [[a, b]]",
    "kind: {}",
    // Keys twice.
    "{kind: a, kind: b}",
    "clusters: [{name: a, name: b}]",
    "users: [{name: a, user: {token: hush, token: hush}}]",
    "extensions: [{name: a, name: b, extension: x}]",
    "extensions: [{name: a, extension: x, y: 1, y: 2}]",
    "users: [{name: a, user: {as-user-extra: {b: [], b: []}}}]",
    // Required keys that are missing.
    "users: [{user: {}}]",
    "contexts: [{}]",
    "contexts: [{name: a, context: {}}]",
    "extensions: [{}]",
    "extensions: [{extension: x}]",
    "contexts:\n- name: a\n  context:\n    user: b\n    extensions:\n    - extension: x\n",
    "users:\n- name: a\n  user:\n    auth-provider:\n      config: {id-token: hush}\n",
    // Several documents, none, and invalid ones.
    "",
    "---\n",
    "# nothing\n",
    "~",
    "{}",
    "kind: Config\n---\n~\n---\napiVersion: v1\nclusters: [{name: a}]\n",
    "kind: Config\n...\nclusters: [{name: a}]\n",
    "kind: Config\n---\nkind: [x]\n",
    "kind: Config\n---\nclusters: [{name: a}, {name: a}]\n",
    "kind: a\n b: c\n",
    "kind: 'a\n",
    "\tkind: a\n",
    "kind: \u{1}",
    "users: [{name: a, user: {token: hush",
    "x: {a: [1, 2",
    // JSON.
    r#"{"clusters": [{"name": "a", "cluster": {"server": "x", "insecure-skip-tls-verify": true, "y": [1, -2, 0.5, null]}}]}"#,
    r#"{"clusters": [{"name": "a", "cluster": {"insecure-skip-tls-verify": "true"}}]}"#,
    r#"{"clusters": [{"name": "a", "cluster": {"insecure-skip-tls-verify": 1}}]}"#,
    r#"{"clusters": null, "users": null, "contexts": null, "preferences": null, "kind": null}"#,
    r#"{"clusters": [{"cluster": {"server": "x"}}]}"#,
    r#"{"clusters": {"name": "a"}}"#,
    r#"{"clusters": ["a"]}"#,
    r#"{"kind": "a", "kind": "b"}"#,
    r#"{"x": 1, "x": 2}"#,
    r#"{"kind": 5}"#,
    r#"{"users": [{"name": "a", "user": {"token": 12345}}]}"#,
    r#"{"users": [{"name": "a", "user": {"token": "hush", "password": ["hush"]}}]}"#,
    r#"{"users": [{"name": "a", "user": {"as-groups": ["x"], "as-user-extra": {"y": ["z"]}, "extensions": []}}]}"#,
    r#"{"users": [{"name": "a", "user": {"exec": {"interactiveMode": "Always", "provideClusterInfo": null, "args": []}}}]}"#,
    r#"{"users": [{"name": "a", "user": {"exec": {"interactiveMode": "Perhaps"}}}]}"#,
    r#"{"users": [{"name": "a", "user": {"exec": {"interactiveMode": {"Never": null}}}}]}"#,
    r#"{"users": [{"name": "a", "user": {"exec": {"interactiveMode": {"Never": 5}}}}]}"#,
    r#"{"users": [{"name": "a", "user": {"auth-provider": {"name": "b", "config": {"c": "d"}, "e": {}}}}]}"#,
    r#"{"users": [{"name": "a", "user": {"auth-provider": {"name": "b", "config": null}}}]}"#,
    r#"{"extensions": [{"name": "a", "extension": {"b": [1]}, "c": {"d": 1}}]}"#,
    r#"{"extensions": [{"name": "a", "extension": null}]}"#,
    r#"{"extensions": [{"name": "a"}]}"#,
    r#"{"contexts": [{"name": "a", "context": {"user": "x"}}]}"#,
    r#"[]"#,
    r#"{"x": {"a": [1"#,
];

fn outcome<E: std::fmt::Display>(decoded: Result<Kubeconfig, E>) -> String {
    match decoded {
        // By a value, whose keys are sorted.
        Ok(config) => serde_json::to_value(config).unwrap().to_string(),
        Err(err) => format!("error: {err}"),
    }
}

#[test]
fn each_text_is_the_recorded_kubeconfig_or_error() {
    let mut outcomes = String::new();
    for text in TEXTS {
        let yaml = outcome(Kubeconfig::from_yaml(text));
        assert!(!yaml.starts_with("error") || !yaml.contains("hush"), "{yaml}");
        outcomes += &format!("{}\n    {yaml}\n", text.trim_end().replace('\n', "\n  "));
        if text.starts_with(['{', '[']) && text.contains('"') {
            outcomes += &format!("    by serde_json: {}\n", outcome(serde_json::from_str(text)));
            if let Ok(value) = serde_json::from_str::<serde_json::Value>(text) {
                outcomes += &format!("    of a value: {}\n", outcome(serde_json::from_value(value)));
            }
        }
    }
    insta::assert_snapshot!(outcomes);
}
