//! Reading: what kubectl 1.37 reads from the same text, and an error that says where and what for everything else.

use serde_json::{Value, json};

use super::*;

fn read(text: &str) -> Vec<Value> {
    let objects = Objects::parse(text).unwrap_or_else(|err| panic!("{err}\n{text}"));
    objects.iter().map(|object| serde_json::to_value(object).unwrap()).collect()
}

fn error(text: &str) -> String {
    Objects::parse(text).expect_err(text).to_string()
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
}

#[test]
fn documents_of_yaml_and_json_are_read_in_their_order() {
    let a = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let both = [map("a"), map("b")];
    for text in [
        format!("{a}---\n{}", a.replace("name: a", "name: b")),
        format!("# a comment\n---\n---\n{a}...\n---\n# nothing\n---\nnull\n---\n{}", map("b")),
        format!("\u{feff}{a}---\r\n{}\r\n", map("b")),
        format!("{}\n{}", map("a"), map("b")),
        format!("{}{}", map("a"), map("b")),
        format!("  {:#}\n---\n{}\n", map("a"), map("b")),
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}}}\n---\n{}", map("b")),
        json!({ "apiVersion": "v1", "kind": "List", "items": both }).to_string(),
        "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"a\"}\n}\n"
            .to_owned()
            + &map("b").to_string(),
    ] {
        assert_eq!(read(&text), both, "{text}");
    }
    for nothing in ["", "\n", "---\n", "---\n---\n", "# a comment\n", "null", "--- ~\n"] {
        assert!(read(nothing).is_empty(), "{nothing:?}");
    }
}

/// The values are those that kubectl 1.37 prints for this text.
#[test]
fn scalars_and_keys_are_those_of_kubectl() {
    let text = "
apiVersion: example.com/v1
kind: Odd
metadata: {name: y11}
a: yes
b: 0644
c: 1_000
d: 2001-01-01
e: on
f: ~
g: 1e3
h: 0x1F
i: y
j: !!binary aGk=
u: yEs
v: 1e16
w: 1e400
x: 1__0
z: 1_0.5
k: 0o17
l: 12:30:45
m: .5
n: 08
yes: 1
1: 2
o: 1.0
p: +1
q: 'yes'
r: |
  line
s: -0x1F
t: 0b11
";
    let mut expected = json!({ "apiVersion": "example.com/v1", "kind": "Odd", "metadata": { "name": "y11" },
        "a": true, "b": 420, "c": 1000, "d": "2001-01-01", "e": true, "f": null, "g": 1000, "h": 31, "i": true, "j": "hi", "k": 15,
        "l": "12:30:45", "m": 0.5, "false": 8, "true": 1, "1": 2, "o": 1, "p": 1, "q": "yes", "r": "line\n", "s": -31, "t": 3, "u": "yEs", "v": 10_000_000_000_000_000_u64, "w": "1e400", "x": 10, "z": 10.5 });
    let mut object = read(text).remove(0);
    for (expected, actual) in
        expected.as_object_mut().unwrap().iter().zip(object.as_object_mut().unwrap().iter())
    {
        assert_eq!(expected, actual);
    }
    assert_eq!(object, expected);
}

#[test]
fn anchors_and_merge_keys_are_expanded() {
    let objects = read(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &labels {app: shop}, annotations: {<<: *labels, b: c}}\n",
    );
    assert_eq!(objects[0]["metadata"]["annotations"], json!({ "app": "shop", "b": "c" }));
    let many = format!(
        "apiVersion: x.io/v1\nkind: Foo\nmetadata: {{name: a}}\nbase: &base {{a: b}}\nuses: [{}]\n",
        vec!["*base"; 500].join(", ")
    );
    assert_eq!(read(&many)[0]["uses"].as_array().unwrap().len(), 500, "one anchor may be used often");
}

#[test]
fn lists_stand_for_their_items() {
    let typed = "apiVersion: v1\nkind: ConfigMapList\nmetadata: {resourceVersion: '7'}\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]\n";
    assert_eq!(read(typed), [map("a"), map("b")]);
    let nested = json!({ "apiVersion": "v1", "kind": "List", "items": [{ "apiVersion": "v1", "kind": "List", "items": [map("a")] }, map("b")] });
    assert_eq!(read(&nested.to_string()), [map("a"), map("b")]);
    assert!(read("{apiVersion: v1, kind: List, items: []}").is_empty());
    assert!(read("{apiVersion: v1, kind: List, items: null}").is_empty());
    // What has items is a list, whatever its kind, and what has none is an object.
    assert_eq!(
        read(r#"{"apiVersion": "x.io/v1", "kind": "Pack", "items": [{"metadata": {"name": "a"}}]}"#)[0]["kind"],
        "Pack"
    );
    assert_eq!(read("{apiVersion: x.io/v1, kind: AllowList, metadata: {name: a}}").len(), 1);

    let list = |items: &str| format!("---\n---\napiVersion: v1\nkind: List\nitems: {items}\n");
    assert_eq!(
        error(&list("[{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {kind: Secret}]")),
        "document 1, line 3, items[1]: apiVersion: missing, expected a text such as \"v1\" or \"apps/v1\""
    );
    assert_eq!(
        error(&list("[{apiVersion: v1, kind: List, items: [3]}]")),
        "document 1, line 3, items[0].items[0]: expected an object with apiVersion, kind and metadata, found a number"
    );
    assert_eq!(
        error(&list("{a: b}")),
        "document 1, line 3: items: expected a list of objects, found a mapping"
    );
}

#[test]
fn what_is_not_an_object_is_an_error_that_names_the_field() {
    for (text, expected) in [
        ("[]", "expected an object with apiVersion, kind and metadata, found a list"),
        ("hello", "expected an object with apiVersion, kind and metadata, found a text"),
        ("{}", "apiVersion: missing, expected a text such as \"v1\" or \"apps/v1\""),
        ("{apiVersion: '', kind: A}", "apiVersion: missing, expected a text such as \"v1\" or \"apps/v1\""),
        (
            "{apiVersion: 1, kind: A}",
            "apiVersion: expected a text such as \"v1\" or \"apps/v1\", found a number",
        ),
        ("{apiVersion: v1}", "kind: missing, expected a text such as \"ConfigMap\""),
        ("{apiVersion: v1, kind: {}}", "kind: expected a text such as \"ConfigMap\", found a mapping"),
        ("{apiVersion: v1, kind: A}", "metadata: a A needs one, with a name"),
        ("{apiVersion: v1, kind: A, metadata: x}", "metadata: expected a mapping, found a text"),
        (
            "{apiVersion: v1, kind: A, metadata: {}}",
            "metadata.name: a A needs a name (or, to be created, a generateName)",
        ),
        (
            "{apiVersion: v1, kind: A, metadata: {name: ''}}",
            "metadata.name: a A needs a name (or, to be created, a generateName)",
        ),
        ("{apiVersion: v1, kind: A, metadata: {name: 3}}", "metadata.name: expected a text, found a number"),
        (
            "{apiVersion: v1, kind: A, metadata: {name: a, labels: {v: 1.0}}}",
            "metadata.labels.v: invalid type: integer `1`, expected a string",
        ),
        (
            "{apiVersion: v1, kind: A, metadata: {name: a, labels: [b]}}",
            "metadata.labels: invalid type: sequence, expected a map",
        ),
    ] {
        assert_eq!(error(text), format!("document 1, line 1: {expected}"), "{text}");
    }
    let unknown = error("{apiVersion: v1, kind: A, metadata: {name: a, lables: {b: c}}}");
    assert!(
        unknown.starts_with(
            "document 1, line 1: metadata.lables: objects have no such field; expected one of annotations, "
        ),
        "{unknown}"
    );
    assert!(
        read("{apiVersion: v1, kind: A, metadata: {generateName: a-, creationTimestamp: null}}").len() == 1
    );
}

#[test]
fn errors_of_syntax_have_document_and_line() {
    for (text, start, part) in [
        (
            "a: b\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n",
            "document 1, line 1: apiVersion",
            "missing",
        ),
        ("apiVersion: v1\nkind: A\nmetadata: {name: a}\n---\nkind: [\n", "document 2, line ", ""),
        ("apiVersion: v1\nkind: A\nmetadata:\n  name: a\n\tlabels: {}\n", "document 1, line ", ""),
        (
            "apiVersion: v1\nkind: A\nmetadata: {name: a}\ndata:\n  b: 1\n  b: 2\n",
            "document 1, line 6: ",
            "b",
        ),
        ("apiVersion: v1\nkind: A\nkind: B\nmetadata: {name: a}\n", "document 1, line 3: ", "kind"),
        (
            "{\"apiVersion\": \"v1\",\n\"kind\": \"A\", \"metadata\": {\"name\": \"a\"},\n\"data\": {\"b\": 1, \"b\": 2}}",
            "document 1, line 3: ",
            "the key \"b\" occurs twice",
        ),
        ("{\"a\": 1}\n{\"a\": ", "document 2, line ", ""),
        ("{\"a\": 1,\n \"b\" 2}", "document 1, line 2: ", ""),
        ("? {a: b}\n: c\n", "document 1, line 1: ", "a key is a mapping: expected a text"),
        ("~: b\n", "document 1, line 1: ", "a key is null: expected a text"),
        ("a: .inf\n", "document 1, line ", ""),
        ("a: *nothing\n", "document 1, line 1: ", "unknown anchor"),
    ] {
        let err = error(text);
        assert!(err.starts_with(start) && err.contains(part), "{err}\n{text}");
        assert!(!err.contains('\n'), "one line: {err}");
    }
}

#[test]
fn what_kubectl_takes_and_the_parser_refuses_is_repaired() {
    let many: String = (0..300).map(|n| format!("k{n}: \"#\"#c\n")).collect();
    let text =
        format!("apiVersion: x.io/v1\nkind: A\nmetadata: {{name: a}}\nspec:\n{}", many.replace('k', "  k"));
    assert_eq!(read(&text)[0]["spec"]["k299"], "#");
    let second = "---\napiVersion: x.io/v1\nkind: A\nmetadata:\n  {\n\t\"name\": \"b\"\n\t}\nitem: [\n\t{\n\t\t\"a\": \"\tb\"\n\t}]\n";
    let objects = read(&format!("{text}{second}"));
    assert_eq!((objects.len(), &objects[1]["item"]), (2, &json!([{ "a": "\tb" }])));
    // In blocks, tabs are no indentation for kubectl either, and the fault is told where it is.
    let err = error("apiVersion: v1\nkind: A\nmetadata: {name: \"a\"#c\n  }\nspec:\n\ta: b\n");
    assert!(err.starts_with("document 1, line 6: ") && err.contains("tab"), "{err}");
}

#[test]
fn text_that_would_fill_the_memory_is_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let uses = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb += &format!("a{n}: &a{n} [{uses}]\n");
    }
    assert!(error(&bomb).starts_with("document 1, line "), "{}", error(&bomb));
    for deep in [
        "[".repeat(100_000),
        "{\"a\":".repeat(100_000),
        "- ".repeat(100_000),
        (0..10_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect(),
    ] {
        error(&deep);
    }
}

#[test]
fn an_object_occurs_once() {
    let twice = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
---
apiVersion: apps/v1beta1
kind: Deployment
metadata: {name: web, namespace: shop}
";
    assert_eq!(
        error(twice),
        "deployment.apps/web in namespace shop occurs twice: expected it once, in document 1, line 2 or in document 2, line 6"
    );
    assert_eq!(read(&twice.replacen("shop", "other", 1)).len(), 2);
    assert_eq!(read(&twice.replacen("apps/v1\n", "x.io/v1\n", 1)).len(), 2);
    let generated = "{apiVersion: v1, kind: A, metadata: {generateName: a-}}\n---\n";
    assert_eq!(read(&generated.repeat(2)).len(), 2, "the server gives each a name of its own");

    let mut objects = Objects::parse(&map("a").to_string()).unwrap();
    assert!(objects.add(&map("a")).unwrap_err().to_string().ends_with("or in an object of the program"));
    assert!(objects.extend(Objects::parse(&map("a").to_string()).unwrap()).is_err());
    assert_eq!(objects.len(), 1, "what is refused is not kept");
    objects.add(&json!({ "apiVersion": "v1", "kind": "List", "items": [map("b"), map("c")] })).unwrap();
    assert_eq!(objects.len(), 3);
    assert_eq!(objects.sources().filter(Option::is_some).count(), 1);
}

#[test]
fn a_directory_is_read_as_by_kubectl() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
    std::fs::create_dir_all(path("sub/deeper.yaml")).unwrap();
    assert_eq!(
        Objects::read(directory.path()).unwrap_err().to_string(),
        format!(
            "{}: expected a file whose name ends in .yaml, .yml or .json (subdirectories are read by `read_recursive`)",
            directory.path().display()
        )
    );
    write("2.json", &map("second").to_string());
    write("1.yml", &map("first").to_string());
    write("3.yaml", &map("third").to_string());
    write("readme.txt", "not: [yaml");
    write("4.YAML", "not: [yaml");
    write("sub/5.yaml", &map("fifth").to_string());
    write("sub/deeper.yaml/6.yaml", &map("sixth").to_string());
    let names = |objects: Objects| {
        objects.into_iter().map(|object| object.metadata.name.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names(Objects::read(directory.path()).unwrap()), ["first", "second", "third"]);
    assert_eq!(
        names(Objects::read_recursive(directory.path()).unwrap()),
        ["first", "second", "third", "fifth", "sixth"]
    );
    // A file that is named is read, whatever its name.
    write("named.txt", &map("named").to_string());
    assert_eq!(names(Objects::read(path("named.txt")).unwrap()), ["named"]);

    write("3.yaml", &map("first").to_string());
    let err = Objects::read(directory.path()).unwrap_err().to_string();
    let [first, second] = ["1.yml", "3.yaml"].map(|name| path(name).display().to_string());
    assert!(
        err.contains(&format!("in {first}, document 1, line 1 or in {second}, document 1, line 1")),
        "{err}"
    );
    write("3.yaml", "\n\nkind: A");
    let err = Objects::read(directory.path()).unwrap_err().to_string();
    assert!(err.starts_with(&format!("{second}, document 1, line 3: apiVersion: missing")), "{err}");
    let missing = Objects::read(path("missing.yaml")).unwrap_err();
    assert!(matches!(&missing, ReadError::Io { path, .. } if path.ends_with("missing.yaml")), "{missing}");
    std::fs::write(path("binary.yaml"), [0x80, 0xff]).unwrap();
    assert!(Objects::read(path("binary.yaml")).unwrap_err().to_string().contains("not UTF-8"));
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_followed_to_files_and_not_to_directories() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    // As in a mounted ConfigMap.
    std::fs::create_dir(path("..2026_11_28")).unwrap();
    std::fs::write(path("..2026_11_28/a.yaml"), map("a").to_string()).unwrap();
    std::os::unix::fs::symlink("..2026_11_28", path("..data")).unwrap();
    std::os::unix::fs::symlink("..data/a.yaml", path("a.yaml")).unwrap();
    std::os::unix::fs::symlink(".", path("circle.yaml")).unwrap();
    assert_eq!(Objects::read(directory.path()).unwrap().len(), 1);
    assert_eq!(Objects::read_recursive(directory.path()).unwrap().len(), 1, "not the link and its file");
    // A path that is named is read, whatever its name, and so is a file.
    assert_eq!(Objects::read(path("..data")).unwrap().len(), 1);
    std::fs::write(path("..b.yaml"), map("b").to_string()).unwrap();
    assert_eq!(Objects::read(directory.path()).unwrap().len(), 2);
}

#[test]
fn a_reader_is_read_to_its_end() {
    let utf16: Vec<u8> = "\u{feff}apiVersion: v1\nkind: A\nmetadata: {name: é}\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let objects = Objects::from_reader("stdin", utf16.as_slice()).unwrap();
    assert_eq!(objects.iter().next().unwrap().metadata.name.as_deref(), Some("é"));
    let err = Objects::from_reader("stdin", "kind: A".as_bytes()).unwrap_err();
    assert!(err.to_string().starts_with("stdin, document 1, line 1: apiVersion"), "{err}");
    let endless = Objects::from_reader("endless", std::io::repeat(b' ')).unwrap_err();
    assert_eq!(endless.to_string(), "endless: more than 256 MiB");
    assert_eq!("".parse::<Objects>().unwrap().len(), 0);
}

#[test]
fn large_sets_of_schemas_are_within_the_limits() {
    let mut schema = json!({ "type": "string" });
    for _ in 0..20 {
        schema = json!({ "type": "object", "properties": { "inner": { "type": "array", "items": schema } } });
    }
    let properties: Value =
        (0..1000).map(|n| (format!("field{n}"), json!({ "type": "string", "description": "d" }))).collect();
    let crd = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "a" },
        "deep": schema, "wide": properties });
    let yaml = serde_saphyr::to_string(&crd).unwrap();
    let documents: String =
        (0..8).map(|n| format!("---\n{}", yaml.replace("name: a", &format!("name: a{n}")))).collect();
    assert_eq!(Objects::parse(&documents).unwrap().len(), 8);
}

#[test]
fn objects_added_one_by_one_are_compared_with_all_others_without_reading_them_again() {
    let map = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let mut objects = Objects::default();
    let started = std::time::Instant::now();
    for nth in 0..10_000 {
        objects.add(&map(&format!("map-{nth}"))).unwrap();
    }
    // 75 s if each one is compared anew.
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(objects.add(&map("map-0")).is_err());
    // A list of which one is a duplicate adds nothing.
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [map("new"), map("map-9999")] });
    assert!(objects.add(&list).is_err());
    assert_eq!(objects.len(), 10_000);
    objects.add(&map("new")).unwrap();
    assert!(objects.add(&map("new")).is_err());
    // Names that a program changes are known.
    objects.iter_mut().next().unwrap().metadata.name = Some("renamed".into());
    assert!(objects.add(&map("renamed")).is_err());
    objects.add(&map("map-0")).unwrap();
}
