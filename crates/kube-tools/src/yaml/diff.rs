//! The unified diff of an object: before and after a write.

use kube_core::DynamicObject;
use serde_json::{Map, Value};
use similar::TextDiff;

use super::comparable::comparable;
use super::result::ObjectResult;
use crate::yaml_text::to_string;

impl ObjectResult {
    /// What the write changed, or in a dry run would change: a unified diff of the object as YAML, in the manner of `kubectl diff`. Empty
    /// if nothing differs; `None` if there is nothing to compare, because the object failed or was deleted.
    ///
    /// Without status, managed fields and the metadata that the server sets. The values of Secrets are asterisks, as in `kubectl diff`.
    /// Needs the feature `diff`.
    ///
    /// ```
    /// use kube_client::Client;
    /// use kube_client::api::PatchParams;
    /// use kube_tools::yaml::{Applier, Objects};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let applier = Applier::new(client);
    /// let yaml = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {level: info}}";
    /// applier.apply(&Objects::parse(yaml)?, &PatchParams::apply("my-script")).await.into_result()?;
    /// let changed = Objects::parse(&yaml.replace("info", "debug"))?;
    /// let report = applier.apply(&changed, &PatchParams::apply("my-script").dry_run()).await;
    /// let diff = report.results()[0].diff().unwrap_or_default();
    /// assert!(diff.contains("-  level: info\n+  level: debug\n"), "{diff}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn diff(&self) -> Option<String> {
        let after = self.after.as_deref()?;
        let [mut old, mut new] =
            [self.before.as_deref().map(without_noise).unwrap_or_default(), without_noise(after)];
        if self.id.group.is_empty() && self.id.kind == "Secret" {
            hide_values(&mut old, &mut new);
        }
        let (old, new) = (to_yaml(&old), to_yaml(&new));
        let names = [format!("live/{}", self.id), format!("applied/{}", self.id)];
        let diff = TextDiff::from_lines(&old, &new);
        Some(diff.unified_diff().header(&names[0], &names[1]).to_string())
    }
}

/// Without the status, which is not applied, and without what `kubectl apply` of old keeps: the whole object once more.
fn without_noise(object: &DynamicObject) -> Value {
    let mut value = comparable(object);
    if let Some(fields) = value.as_object_mut() {
        fields.remove("status");
    }
    let annotations = value.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    annotations
        .and_then(|annotations| annotations.remove("kubectl.kubernetes.io/last-applied-configuration"));
    value
}

/// Nothing for an object that does not exist.
fn to_yaml(value: &Value) -> String {
    if value.is_null() { String::new() } else { to_string(value).unwrap_or_default() }
}

/// Puts asterisks in place of the values, and says which differ.
fn hide_values(old: &mut Value, new: &mut Value) {
    for field in ["data", "stringData"] {
        let (old, new) = (values(old, field), values(new, field));
        let (mut none_old, mut none_new) = (Map::new(), Map::new());
        let (old, new) = (old.unwrap_or(&mut none_old), new.unwrap_or(&mut none_new));
        for (key, value) in new.iter_mut() {
            let before = old.get_mut(key);
            let differs = before.as_deref().is_some_and(|before| before != value);
            *value = if differs { "*** (after)" } else { "***" }.into();
            if let Some(before) = before {
                *before = if differs { "*** (before)" } else { "***" }.into();
            }
        }
        for (_, removed) in old.iter_mut().filter(|(key, _)| !new.contains_key(*key)) {
            *removed = "***".into();
        }
    }
}

fn values<'a>(secret: &'a mut Value, field: &str) -> Option<&'a mut Map<String, Value>> {
    secret.get_mut(field).and_then(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_of_a_secret_is_never_shown() {
        let mut old = json!({ "data": { "same": "a", "changed": "b", "removed": "c" } });
        let mut new =
            json!({ "data": { "same": "a", "changed": "d", "added": "e" }, "stringData": { "text": "f" } });
        hide_values(&mut old, &mut new);
        assert_eq!(old, json!({ "data": { "same": "***", "changed": "*** (before)", "removed": "***" } }));
        assert_eq!(
            new,
            json!({ "data": { "same": "***", "changed": "*** (after)", "added": "***" }, "stringData": { "text": "***" } })
        );
        let (mut old, mut new) = (Value::Null, json!({ "data": 3 }));
        hide_values(&mut old, &mut new);
        assert_eq!((old, new), (Value::Null, json!({ "data": 3 })), "what is not a mapping has no values");
    }
}
