//! Definitions as YAML.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::error::Error;

use super::plan::without_server_fields;
use crate::yaml_text::to_string;

/// Definitions as a YAML file, one document each, such as kubebuilder writes them to `config/crd`.
///
/// The text is that of [`to_string`](crate::yaml::to_string): the same in every run. Of the metadata it has what a program sets, and no
/// status.
///
/// ```
/// use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
/// use kube_tools::crds;
///
/// # let page: CustomResourceDefinition = serde_json::from_value(serde_json::json!({
/// #     "metadata": { "name": "pages.example.com" },
/// #     "spec": {
/// #         "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page" },
/// #         "versions": [{ "name": "v1", "served": true, "storage": true }],
/// #     },
/// # }))?;
/// // `Page::crd()` of a derived kind, or several versions by `merge_crds`.
/// let yaml = crds::to_yaml([page])?;
/// assert!(yaml.starts_with(
///     "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: pages.example.com\nspec:\n  group: example.com\n"
/// ));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::SerdeError`] if a definition has no YAML form.
pub fn to_yaml(crds: impl IntoIterator<Item = CustomResourceDefinition>) -> kube_client::Result<String> {
    let mut text = String::new();
    for crd in crds {
        let json = serde_json::to_value(without_server_fields(crd)).map_err(Error::SerdeError)?;
        text.push_str("---\n");
        text.push_str(&to_string(&json)?);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn crd(spec: &Value) -> CustomResourceDefinition {
        let mut json = json!({
            "metadata": { "name": "pages.example.com" },
            "spec": { "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }] },
        });
        if let (Some(schema), Some(more)) = (
            json.pointer_mut("/spec/versions/0/schema/openAPIV3Schema").and_then(Value::as_object_mut),
            spec.as_object(),
        ) {
            schema.extend(more.clone());
        }
        serde_json::from_value(json).unwrap()
    }

    fn read(yaml: &str) -> CustomResourceDefinition {
        serde_saphyr::from_str(yaml).unwrap_or_else(|err| panic!("{err}\n{yaml}"))
    }

    #[test]
    fn a_definition_is_written_as_kubebuilder_writes_it() {
        let description = "One line.\n\nAnother: with a colon.";
        let property = json!({ "type": "string", "description": description, "enum": ["yes", "no", "1.0"], "default": "on" });
        let yaml =
            to_yaml([crd(&json!({ "properties": { "b": property, "a": { "type": "integer" } } }))]).unwrap();
        let expected = "\
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: pages.example.com
spec:
  group: example.com
  names:
    kind: Page
    plural: pages
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          a:
            type: integer
          b:
            default: \"on\"
            description: |-
              One line.

              Another: with a colon.
            enum:
            - \"yes\"
            - \"no\"
            - \"1.0\"
            type: string
        type: object
    served: true
    storage: true
";
        assert_eq!(yaml, expected);
    }

    #[test]
    fn spaces_stay_where_they_are_part_of_a_text() {
        let of = crd(&json!({ "description": "One.\n   \nTwo.\n" }));
        assert_eq!(read(&to_yaml([of.clone()]).unwrap()), of);
    }

    #[test]
    fn several_definitions_are_documents_of_one_file() {
        let yaml = to_yaml([crd(&json!({})), crd(&json!({}))]).unwrap();
        assert_eq!(yaml.matches("---\n").count(), 2);
        assert_eq!(serde_saphyr::from_multiple::<CustomResourceDefinition>(&yaml).unwrap().len(), 2);
        assert_eq!(to_yaml([]).unwrap(), "");
    }

    #[test]
    fn what_the_server_added_is_left_out() {
        let mut live = crd(&json!({}));
        live.metadata.uid = Some("1".into());
        live.metadata.resource_version = Some("2".into());
        live.metadata.generation = Some(3);
        live.metadata.managed_fields = Some(vec![Default::default()]);
        live.status = Some(Default::default());
        assert_eq!(to_yaml([live]).unwrap(), to_yaml([crd(&json!({}))]).unwrap());
    }

    #[test]
    fn null_stays_where_it_means_something() {
        let of = crd(&json!({ "nullable": true, "enum": ["a", null], "default": null }));
        assert_eq!(read(&to_yaml([of.clone()]).unwrap()), of);
    }

    proptest! {
        #[test]
        fn every_text_is_read_back_as_it_was(text in "([ -~]|[\\n\\t#:\"'\\-|>é\u{85}\u{2028}]){0,160}") {
            let of = crd(&json!({ "description": text, "example": text, "default": { text.as_str(): [text.as_str()] } }));
            prop_assert_eq!(read(&to_yaml([of.clone()]).unwrap()), of);
        }
    }
}
