//! [`TestFile`]: the text of `tests/verify.rs` for a project.

use anyhow::Result;
use kube_tools::yaml;
use serde_json::Value;

use super::manifest::Library;
use super::workload::Workload;

const TEMPLATE: &str = include_str!("verify.rs.tmpl");

/// What marks a place that only the user can complete. The rest of its line says with what.
const MARK: &str = "FILL IN: ";

/// What the test is made from.
#[derive(Debug)]
pub(super) struct TestFile<'a> {
    /// Where the definitions and the samples are, from the folder of the package.
    pub(super) crds: &'a str,
    pub(super) samples: &'a str,
    pub(super) workload: &'a Workload,
    /// What runs the operator is there, or has to be moved there.
    pub(super) library: &'a Library,
    /// Whether the operator is a function of a `Client`, and not of a tower service for any client library.
    pub(super) with_kube: bool,
}

impl TestFile<'_> {
    pub(super) fn text(&self) -> Result<String> {
        let (imports, client, parameter, argument) = if self.with_kube {
            let imports = "use kube::Client;\n\
                           use kube_testserver::{Builder, BuiltInController, Manifests};\n\
                           use kube_verify::Verify;";
            (imports, "Client", "client", "client")
        } else {
            let imports = "use kube_testserver::{Builder, BuiltInController, Manifests};\n\
                           use kube_verify::{ApiService, Verify};";
            (imports, "ApiService", "service", "Client::new(service, \"default\")")
        };
        let Workload { namespaces, changed } = self.workload;
        let (mut fixtures, mut texts) = ("", String::new());
        if !namespaces.is_empty() {
            fixtures = "        .fixtures(NAMESPACES)\n";
            texts += &constant("The namespaces of the samples.", "NAMESPACES", namespaces)?;
        }
        let change = if changed.is_empty() {
            "        // FILL IN: |step| step.patch_of(\"KIND\", \"NAME\", json!({ .. })), or leave this step out.\n        \
             .step(\"change\", |_| {\n            panic!(\"{}:{}: fill in the change\", file!(), line!())\n        })\n"
        } else {
            texts += &constant("What users change: a value of a sample of each kind.", "CHANGED", changed)?;
            "        .step(\"change\", |step| step.apply(CHANGED))\n"
        };
        let move_program = if self.library.is_present {
            ""
        } else {
            "/// FILL IN: add src/lib.rs with a function that does what `main` does, and let `main` call it: a test cannot call src/main.rs.\n"
        };
        let values = [
            ("IMPORTS", imports.to_owned()),
            ("CLIENT", client.to_owned()),
            ("MOVE_PROGRAM", move_program.to_owned()),
            ("LIBRARY", self.library.name.clone()),
            ("PARAMETER", parameter.to_owned()),
            ("ARGUMENT", argument.to_owned()),
            ("FIXTURES", fixtures.to_owned()),
            ("CHANGE", change.to_owned()),
            ("CRDS", format!("{:?}", self.crds)),
            ("SAMPLES", format!("{:?}", self.samples)),
            // The last: it has texts of the user.
            ("TEXTS", texts),
        ];
        let fill = |text: String, (name, value): (&str, String)| text.replace(&format!("__{name}__"), &value);
        Ok(values.into_iter().fold(TEMPLATE.to_owned(), fill).trim_end().to_owned() + "\n")
    }
}

/// The places of a test that the user has to complete: the number of the line, and with what.
pub(super) fn open_places(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().zip(1..);
    lines.filter_map(|(line, number)| line.split_once(MARK).map(|(_, what)| (number, what)))
}

/// A constant with objects as YAML.
fn constant(what: &str, name: &str, objects: &[Value]) -> Result<String> {
    let documents = objects.iter().map(yaml::to_string).collect::<Result<Vec<_>, _>>()?;
    let text = documents.join("---\n");
    // As many as end no quote within the text.
    let marks = (1..).map(|count| "#".repeat(count)).find(|marks| !text.contains(&format!("\"{marks}")));
    let marks = marks.expect("invariant: the text is finite");
    Ok(format!("\n/// {what}\nconst {name}: &str = r{marks}\"\n{text}\"{marks};\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(workload: &Workload, with_kube: bool) -> String {
        let library = &Library { name: "page_operator".into(), is_present: with_kube };
        let file = TestFile { crds: "deploy/crds", samples: "a \"b\"", workload, library, with_kube };
        let text = file.text().unwrap();
        assert!(syn::parse_file(&text).is_ok() && !text.contains("__"), "{text}");
        text
    }

    #[test]
    fn the_test_is_rust_and_names_what_is_open() {
        let changed =
            json!({"apiVersion": "example.com/v1", "kind": "Page", "spec": {"text": "a \"# b\"##"}});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        let workload = Workload { namespaces: vec![namespace], changed: vec![changed] };
        let whole = text(&workload, true);
        for expected in [
            "fn operator() -> fn(Client) -> Program {\n    // |client| Box::pin(async move { page_operator::run(client).await",
            "        .crds(definitions())\n        .fixtures(NAMESPACES)\n        .cluster(cluster)\n",
            "        .step(\"change\", |step| step.apply(CHANGED))\n",
            "let mut objects = read(\"deploy/crds\");",
            "let mut objects = read(\"a \\\"b\\\"\");",
            "const NAMESPACES: &str = r#\"\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n\"#;\n",
            "const CHANGED: &str = r###\"\n",
        ] {
            assert!(whole.contains(expected), "{expected}: {whole}");
        }
        let open: Vec<_> = open_places(&whole).collect();
        assert_eq!(open[0].1, "what runs the whole operator, as `main` does, and uses no other client.");
        assert!(whole.lines().nth(open[0].0 - 1).unwrap().contains(open[0].1));
        assert_eq!(open.len(), 2, "the operator and a child: {open:?}");
        // The test fails until both are filled in.
        assert_eq!(whole.matches("    panic!(\"{}:{}: fill in ").count(), 2, "{whole}");
    }

    #[test]
    fn what_is_not_known_is_open() {
        let whole = text(&Workload::default(), false);
        assert!(
            whole.contains("fn operator() -> fn(ApiService) -> Program {") && !whole.contains("kube::Client")
        );
        assert!(!whole.contains("NAMESPACES") && !whole.contains("CHANGED"), "{whole}");
        let open: Vec<_> = open_places(&whole).map(|(_, what)| what).collect();
        assert!(open.len() == 4 && open[2].starts_with("|step| step.patch_of("), "{open:?}");
        assert!(open[1].starts_with("add src/lib.rs with a function that does what `main` does"), "{open:?}");
    }
}
