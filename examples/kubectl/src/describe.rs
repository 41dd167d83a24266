//! `describe`: every field of an object, and its events, as kubectl prints those of custom resources.

use clap::Args;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, DynamicObject, ListParams};
use kube::table::age;
use kube::{Resource as _, ResourceExt as _};
use serde_json::Value;

use crate::Cluster;

#[derive(Args)]
pub(crate) struct Describe {
    /// TYPE, TYPE NAME... or TYPE/NAME...
    #[arg(required = true)]
    objects: Vec<String>,
}

impl Describe {
    pub(crate) async fn run(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let mut texts = Vec::new();
        for selected in cluster.select(&self.objects).await? {
            let api = cluster.api(&selected.mapping, false);
            let objects = match &selected.name {
                Some(name) => vec![api.get(name).await?],
                None => api.list(&ListParams::default()).await?.items,
            };
            for object in objects {
                texts.push(fields(&object)? + &events(cluster, &object).await?);
            }
        }
        print!("{}", texts.join("\n\n"));
        Ok(())
    }
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn fields(object: &DynamicObject) -> anyhow::Result<String> {
    let pairs = |map: &std::collections::BTreeMap<String, String>, separator: &str| {
        let shown = map.iter().filter(|(key, _)| *key != LAST_APPLIED);
        let lines: Vec<_> = shown.map(|(key, value)| format!("{key}{separator}{value}")).collect();
        if lines.is_empty() { "<none>".to_owned() } else { lines.join("\n              ") }
    };
    let mut out = format!(
        "Name:         {}\nNamespace:    {}\nLabels:       {}\nAnnotations:  {}\n",
        object.name_any(),
        object.namespace().unwrap_or_default(),
        pairs(object.labels(), "="),
        pairs(object.annotations(), ": ")
    );
    let mut object = object.clone();
    let meta = object.meta_mut();
    (meta.name, meta.namespace, meta.labels, meta.annotations, meta.managed_fields) =
        (None, None, None, None, None);
    add_fields(&mut out, 0, &serde_json::to_value(object)?);
    Ok(out)
}

/// A line for each field, sorted by its title, with those of objects and lists below it.
fn add_fields(out: &mut String, indent: usize, object: &Value) {
    let mut fields: Vec<_> =
        object.as_object().into_iter().flatten().map(|(key, value)| (title(key), value)).collect();
    fields.sort_by(|(left, _), (right, _)| left.cmp(right));
    let width = fields.iter().filter(|(_, value)| !value.is_object() && !value.is_array());
    let width = width.map(|(title, _)| title.len() + 3).max().unwrap_or_default();
    for (title, value) in fields {
        let title = format!("{title}:");
        match value {
            Value::Object(_) | Value::Array(_) => *out += &format!("{:indent$}{title}\n", ""),
            value => *out += &format!("{:indent$}{title:width$}{}\n", "", text(value)),
        }
        add_fields(out, indent + 2, value);
        for item in value.as_array().into_iter().flatten() {
            match item {
                Value::Object(_) => add_fields(out, indent + 2, item),
                item => *out += &format!("{:indent$}  {}\n", "", text(item)),
            }
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `creationTimestamp` becomes `Creation Timestamp`.
fn title(key: &str) -> String {
    let mut title = String::new();
    for (at, char) in key.char_indices() {
        match at {
            0 => title.extend(char.to_uppercase()),
            _ if char.is_uppercase() && !title.ends_with(char::is_uppercase) => title.extend([' ', char]),
            _ => title.push(char),
        }
    }
    title.replace("Api Version", "API Version").replace("Uid", "UID")
}

/// The events about the object, the oldest first.
async fn events(cluster: &Cluster, object: &DynamicObject) -> anyhow::Result<String> {
    let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
    let events: Api<Event> = Api::namespaced(cluster.client.clone(), &namespace);
    let about = format!("involvedObject.uid={}", object.uid().unwrap_or_default());
    let mut events = events.list(&ListParams::default().fields(&about)).await?.items;
    events.sort_by_key(|event| event.last_timestamp.as_ref().map(|time| time.0));
    let mut rows = vec![["Type", "Reason", "Age", "From", "Message"].map(str::to_owned)];
    rows.push(["----", "------", "----", "----", "-------"].map(str::to_owned));
    rows.extend(events.into_iter().map(|event| {
        let last = event.last_timestamp.as_ref().or(event.metadata.creation_timestamp.as_ref());
        let from = event.source.and_then(|source| source.component).or(event.reporting_component);
        let cells = [event.type_, event.reason, Some(age(last, Timestamp::now())), from, event.message];
        cells.map(|cell| cell.unwrap_or_default())
    }));
    if rows.len() == 2 {
        return Ok("Events:  <none>\n".to_owned());
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let [a, b, c, d] = [0, 1, 2, 3].map(width);
    let line = |[type_, reason, age, from, message]: &[String; 5]| {
        format!("  {type_:a$}  {reason:b$}  {age:c$}  {from:d$}  {message}\n")
    };
    Ok("Events:\n".to_owned() + &rows.iter().map(line).collect::<String>())
}
