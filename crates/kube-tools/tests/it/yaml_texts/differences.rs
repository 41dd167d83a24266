//! Texts that are read in another way than by kubectl, on purpose. The book has the reasons: `how-to/scripting.md`.

/// An object of a kind with any fields.
macro_rules! odd {
    ($fields:literal) => {
        concat!("apiVersion: example.com/v1\nkind: Odd\nmetadata: {name: a}\n", $fields)
    };
}

/// Reasons, and texts of the table for each.
pub(super) const DIFFERENCES: &[(&str, &[&str])] = &[
    (
        "a key that occurs twice in a mapping, or an object in a text, is an error: kubectl keeps the last",
        &[
            odd!("a: 1\na: 2\n"),
            odd!("spec: {a: 1, a: 2}\n"),
            odd!("1: a\n'1': b\n"),
            odd!("yes: a\n'true': b\n"),
            odd!("1: a\n1.0: b\n"),
            odd!("kind: Odd\n"),
            "{\"apiVersion\": \"example.com/v1\", \"kind\": \"Odd\", \"metadata\": {\"name\": \"a\"}, \"n\": 1, \"n\": 2}",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        ],
    ),
    (
        "what no object may have is an error before anything is sent",
        &[
            "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", /* c */ \"metadata\": {\"name\": \"a\"}}",
            "apiVersion: v1\nkind: List\n",
            odd!("items: [{a: b}]\n"),
            "kind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n",
            "kind: ConfigMap\nmetadata: {name: a}\n",
            "apiVersion: ''\nkind: ConfigMap\nmetadata: {name: a}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ~}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ''}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: ~\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, finalizers: [~]}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, ownerReferences: [~]}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, unknown: b}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, clusterName: b}\n",
        ],
    ),
    (
        "what an owner lacks is sent as an empty text: servers refuse both",
        &["apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, ownerReferences: [{name: b}]}\n"],
    ),
    (
        "bytes that are no text are an error: kubectl replaces them",
        &[
            odd!("a: !!binary /w==\n"),
            "{\"apiVersion\": \"example.com/v1\", \"kind\": \"Odd\", \"metadata\": {\"name\": \"a\"}, \"n\": \"\\ud83d\"}",
        ],
    ),
    (
        "a byte order mark is skipped before a document and an error inside: kubectl makes it a part of the next key",
        &[
            odd!("a: \u{feff}\n"),
            "# c\n\u{feff}apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "\n\u{feff}apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n\u{feff}data: {}\n",
        ],
    ),
    (
        "documents after `...`, beside `---` and after directives or JSON, and lists in lists, are read: kubectl drops or refuses them",
        &[
            "--- ~\n",
            "...\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n--- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n",
            "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n",
            "--- !!map\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "--- &x\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n...\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
            "%YAML 1.1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "%YAML 1.2\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "%TAG ! tag:x,2000:\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "%FOO bar\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\"}}{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"b\"}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
            "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\"}} # c",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n",
        ],
    ),
    (
        "tabs between tokens and in empty lines are read",
        &[
            odd!("a: |\n  \tb\n"),
            odd!("spec:\n-\ta\n"),
            odd!("spec:\n- \ta: b\n"),
            odd!("\t# c\n"),
            odd!("a: b\n\t\n"),
            odd!("a: b\n\t\nc: d\n"),
            odd!("spec:\n  a: b\n\t# c\n  d: e\n"),
            odd!("spec: {\n\t\"a\": \"b\",\n\t\"c\": [\n\t\t1\n\t]\n}\n"),
            "\t\n",
        ],
    ),
    (
        "YAML 1.2: what it has in quotes, anchors and brackets, and its line ends",
        &[
            odd!("a: !!timestamp x\n"),
            odd!("a: \"a\\tb\\n\\x41\\u00e9\\U0001F600\\e\\0\\/\\ \\_\\N\\L\\P\"\n"),
            odd!("a: \"\\ud83d\\ude00\"\n"),
            odd!("a: {a:}\n"),
            odd!("a: \u{2028}\n"),
            odd!("a: a\u{2028}b\n"),
            odd!("a: \u{85}\n"),
            odd!("a: a\u{85}b\n"),
            odd!("a: [::1]\n"),
            odd!("a: {a: ::1}\n"),
            odd!("a: [a:]\n"),
            odd!("a: {a: -}\n"),
            odd!("a: [-]\n"),
            odd!("a: {a: ?b}\n"),
            odd!("a: [?b]\n"),
            odd!("a: {a: b?}\n"),
            odd!("18446744073709551615: a\n"),
            odd!("a: &x.y 1\nb: *x.y\n"),
            odd!("a: &é 1\nb: *é\n"),
        ],
    ),
];
