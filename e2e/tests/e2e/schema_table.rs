//! The table of kube-derive: for every way in which serde writes types, the server takes the definition, keeps each object
//! as it was written, and refuses the wrong ones.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures::{FutureExt as _, StreamExt as _, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{conditions, wait::await_condition};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::table::{Refused, Row, rows};
use crate::world::{Need, World, answer, run};

#[test]
fn every_way_of_serde_is_kept_by_the_server() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            // One at a time takes a genuine server a minute: it spends a second on each definition.
            let found: Vec<_> = stream::iter(rows())
                .map(|row| async move { (row.name, check(world, &row).await) })
                .buffer_unordered(6)
                .filter_map(async |(name, outcome)| outcome.err().map(|error| (name, error)))
                .collect()
                .await;
            for (name, error) in &found {
                eprintln!("{name}: {error:#}");
            }
            ensure!(found.is_empty(), "{} rows failed, see above", found.len());
            Ok(())
        }
        .boxed()
    })
}

/// One row, and its definition away again.
async fn check(world: &World, row: &Row) -> anyhow::Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    let outcome = check_row(world, row, &crds).await;
    match crds.delete(&row.crd.name_any(), &DeleteParams::default()).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        Err(error) => return outcome.and(Err(error.into())),
    }
    outcome
}

async fn check_row(world: &World, row: &Row, crds: &Api<CustomResourceDefinition>) -> anyhow::Result<()> {
    let empty = empty_list(&serde_json::to_value(&row.crd)?, "");
    ensure!(empty.is_none(), "the definition has an empty list at {}", empty.unwrap_or_default());
    let name = row.crd.name_any();
    // What an earlier run deleted goes away in its own time.
    if crds.get_opt(&name).await?.is_some_and(|crd| crd.metadata.deletion_timestamp.is_some()) {
        await_condition(crds.clone(), &name, |crd: Option<&CustomResourceDefinition>| crd.is_none()).await?;
    }
    match crds.patch(&name, &PatchParams::apply("e2e").force(), &Patch::Apply(&row.crd)).await {
        Err(kube::Error::Api(status))
            if world.before(30) && status.message.contains("field not declared in schema") =>
        {
            println!("left out: {} needs a newer server: {}", row.name, status.message);
            return Ok(());
        }
        applied => applied.context("applying the definition")?,
    };
    await_condition(crds.clone(), &name, conditions::is_crd_established()).await?;
    let api = objects(world, row)?;
    served(&api).await?;
    ensure!(
        crds.get(&name).await?.status.and_then(|status| status.conditions).is_some_and(|conditions| {
            conditions.iter().all(|condition| condition.type_ != "NonStructuralSchema")
        }),
        "the schema is not structural"
    );
    applied_again(row, crds).await?;
    for object in &row.objects {
        kept(world, row, &api, object).await.with_context(|| format!("writing {object}"))?;
    }
    let rules = !world.before(25);
    for wrong in &row.refused {
        if wrong.by_rule && !rules {
            println!("left out: {} {} breaks a rule, and this server evaluates none", row.name, wrong.change);
            continue;
        }
        refused(&api, wrong).await.with_context(|| wrong.change.clone())?;
    }
    Ok(())
}

fn objects(world: &World, row: &Row) -> anyhow::Result<Api<DynamicObject>> {
    let spec = &row.crd.spec;
    let resource = ApiResource {
        group: spec.group.clone(),
        version: spec.versions[0].name.clone(),
        api_version: format!("{}/{}", spec.group, spec.versions[0].name),
        kind: spec.names.kind.clone(),
        plural: spec.names.plural.clone(),
    };
    Ok(match spec.scope.as_str() {
        "Namespaced" => Api::namespaced_with(world.client.clone(), &world.namespace, &resource),
        _ => Api::all_with(world.client.clone(), &resource),
    })
}

/// "Established" comes a moment before the handler on a genuine server.
async fn served(api: &Api<DynamicObject>) -> anyhow::Result<()> {
    for _ in 0..200 {
        match api.list(&ListParams::default()).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 503) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
    anyhow::bail!("no objects can be listed 10 s after the definition was established")
}

/// Whoever applies the definition at every start must not cause work.
async fn applied_again(row: &Row, crds: &Api<CustomResourceDefinition>) -> anyhow::Result<()> {
    let name = row.crd.name_any();
    // A genuine server's controllers still write conditions for a moment: such a write is told by an unchanged generation.
    for _ in 0..20 {
        let before = crds.get(&name).await?;
        let after = crds.patch(&name, &PatchParams::apply("e2e").force(), &Patch::Apply(&row.crd)).await?;
        ensure!(after.metadata.generation == before.metadata.generation, "applied again: another generation");
        ensure!(after.spec == before.spec, "applied again: another spec");
        if after.resource_version() == before.resource_version() {
            return Ok(());
        }
        ensure!(after.status != before.status, "applied again: another resourceVersion");
    }
    anyhow::bail!("the definition does not come to rest")
}

/// Writes an object and reads it back.
async fn kept(world: &World, row: &Row, api: &Api<DynamicObject>, object: &Value) -> anyhow::Result<()> {
    let sent: DynamicObject = serde_json::from_value(object.clone())?;
    match api.create(&PostParams::default(), &sent).await {
        // Kubernetes 1.20 takes an empty text for null where it looks into alternatives.
        Err(kube::Error::Api(status))
            if world.before(25) && holds(object, &json!("")) && status.message.contains(r#""null""#) =>
        {
            println!("left out: {} {}: {}", row.name, sent.name_any(), status.message);
            return Ok(());
        }
        made => made?,
    };
    let read = written_part(serde_json::to_value(api.get(&sent.name_any()).await?)?);
    let object = written_part(object.clone());
    ensure!(read == object, "\n   wrote {object}\n    read {read}");
    let again = (row.again)(read.clone())?;
    ensure!(written_part(again.clone()) == object, "\nin Rust {again}\n   wrote {object}");
    Ok(())
}

async fn refused(api: &Api<DynamicObject>, wrong: &Refused) -> anyhow::Result<()> {
    let mut object: DynamicObject = serde_json::from_value(wrong.object.clone())?;
    object.metadata.name = Some("wrong".into());
    let result = api.create(&PostParams::default(), &object).await;
    if result.is_ok() {
        api.delete("wrong", &DeleteParams::default()).await?;
    }
    let status = answer(result)?;
    ensure!(status.is_invalid() && status.code == 422, "{status:?}");
    Ok(())
}

fn holds(value: &Value, wanted: &Value) -> bool {
    value == wanted
        || value.as_array().is_some_and(|items| items.iter().any(|item| holds(item, wanted)))
        || value.as_object().is_some_and(|fields| fields.values().any(|field| holds(field, wanted)))
}

/// The same value: a server writes 2.0 as 2.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Number(number) if number.is_f64() => {
            if let Some(Ok(whole)) = number.as_f64().map(|float| format!("{float:.0}").parse::<i64>())
                && Some(whole as f64) == number.as_f64()
            {
                *value = whole.into();
            }
        }
        _ => {}
    }
}

/// An object without the metadata that servers set.
fn written_part(mut object: Value) -> Value {
    whole_numbers(&mut object);
    let metadata = object["metadata"].take();
    let written = ["name", "labels", "annotations"].map(|key| (key.to_owned(), metadata[key].clone()));
    object["metadata"] = written.into_iter().filter(|(_, value)| !value.is_null()).collect();
    object
}

/// The place of a list without items: servers drop it, and the next apply would look like a change.
fn empty_list(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Array(items) if items.is_empty() => Some(path.to_owned()),
        Value::Array(items) => items.iter().find_map(|item| empty_list(item, path)),
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !["default", "example"].contains(&key.as_str()))
            .find_map(|(key, value)| empty_list(value, &format!("{path}.{key}"))),
        _ => None,
    }
}

#[test]
fn empty_lists_are_found() {
    let definition = json!({ "spec": { "names": { "shortNames": [] }, "versions": [{ "default": [] }] } });
    assert_eq!(empty_list(&definition, "").as_deref(), Some(".spec.names.shortNames"));
    assert_eq!(empty_list(&definition["spec"]["versions"], ""), None);
}
