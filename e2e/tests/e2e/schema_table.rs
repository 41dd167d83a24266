//! The schema table of kube-derive: for every serde representation, the server accepts the CRD, returns each object as it was written, and
//! rejects invalid objects.

use anyhow::{Context as _, ensure};
use futures::{FutureExt as _, StreamExt as _, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::crds::install;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::table::{RejectedObject, Row, rows};
use crate::test_env::{Requires, TestEnv, rejection, run};

#[test]
fn every_serde_representation_survives_a_round_trip() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            // Six at a time: a genuine server needs a second for each CRD.
            let failures: Vec<_> = stream::iter(rows())
                .map(|row| async move { (row.name, check(env, &row).await) })
                .buffer_unordered(6)
                .filter_map(async |(name, outcome)| outcome.err().map(|error| (name, error)))
                .collect()
                .await;
            for (name, error) in &failures {
                eprintln!("{name}: {error:#}");
            }
            ensure!(failures.is_empty(), "{} rows failed, see above", failures.len());
            Ok(())
        }
        .boxed()
    })
}

/// Checks one row and deletes its CRD.
async fn check(env: &TestEnv, row: &Row) -> anyhow::Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(env.client.clone());
    let outcome = check_row(env, row, &crds).await;
    match crds.delete(&row.crd.name_any(), &DeleteParams::default()).await {
        Ok(_) => {}
        Err(error) if error.is_not_found() => {}
        Err(error) => return outcome.and(Err(error.into())),
    }
    outcome
}

async fn check_row(env: &TestEnv, row: &Row, crds: &Api<CustomResourceDefinition>) -> anyhow::Result<()> {
    let empty = find_empty_list(&serde_json::to_value(&row.crd)?, "");
    ensure!(empty.is_none(), "the CRD has an empty list at {}", empty.unwrap_or_default());
    let name = row.crd.name_any();
    match install(&env.client, "e2e", [row.crd.clone()]).await {
        Err(error) if env.older_than(30) && error.to_string().contains("field not declared in schema") => {
            println!("skipped: {} needs a newer server: {error}", row.name);
            return Ok(());
        }
        installed => installed.context("installing the CRD")?,
    };
    let api = objects(env, row)?;
    ensure!(
        crds.get(&name).await?.status.and_then(|status| status.conditions).is_some_and(|conditions| {
            conditions.iter().all(|condition| condition.type_ != "NonStructuralSchema")
        }),
        "the schema is not structural"
    );
    applied_again(row, crds).await?;
    for object in &row.objects {
        check_round_trip(env, row, &api, object).await.with_context(|| format!("writing {object}"))?;
    }
    let rules = !env.older_than(25);
    for wrong in &row.rejected {
        if wrong.by_rule && !rules {
            println!(
                "skipped: {} {} violates a validation rule, which this server does not evaluate",
                row.name, wrong.change
            );
            continue;
        }
        check_rejected(&api, wrong).await.with_context(|| wrong.change.clone())?;
    }
    Ok(())
}

fn objects(env: &TestEnv, row: &Row) -> anyhow::Result<Api<DynamicObject>> {
    let spec = &row.crd.spec;
    let resource = ApiResource {
        group: spec.group.clone(),
        version: spec.versions[0].name.clone(),
        api_version: format!("{}/{}", spec.group, spec.versions[0].name),
        kind: spec.names.kind.clone(),
        plural: spec.names.plural.clone(),
    };
    Ok(match spec.scope.as_str() {
        "Namespaced" => Api::namespaced_with(env.client.clone(), &env.namespace, &resource),
        _ => Api::all_with(env.client.clone(), &resource),
    })
}

/// Applying an unchanged CRD again, as controllers do at every start, must not change it.
async fn applied_again(row: &Row, crds: &Api<CustomResourceDefinition>) -> anyhow::Result<()> {
    let name = row.crd.name_any();
    // For a short time a genuine server still writes status conditions, which change the resourceVersion but not the generation.
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
    anyhow::bail!("the status of the CRD keeps changing")
}

/// Writes an object and reads it back.
async fn check_round_trip(
    env: &TestEnv,
    row: &Row,
    api: &Api<DynamicObject>,
    object: &Value,
) -> anyhow::Result<()> {
    let sent: DynamicObject = serde_json::from_value(object.clone())?;
    match api.create(&PostParams::default(), &sent).await {
        // Kubernetes 1.20 treats an empty string in an alternative as null.
        Err(kube::Error::Api(status))
            if env.older_than(25) && contains(object, &json!("")) && status.message.contains(r#""null""#) =>
        {
            println!("skipped: {} {}: {}", row.name, sent.name_any(), status.message);
            return Ok(());
        }
        created => created?,
    };
    let read = without_server_metadata(serde_json::to_value(api.get(&sent.name_any()).await?)?);
    let object = without_server_metadata(object.clone());
    ensure!(read == object, "\n   wrote {object}\n    read {read}");
    let again = (row.round_trip)(read.clone())?;
    ensure!(without_server_metadata(again.clone()) == object, "\nin Rust {again}\n   wrote {object}");
    Ok(())
}

async fn check_rejected(api: &Api<DynamicObject>, wrong: &RejectedObject) -> anyhow::Result<()> {
    let mut object: DynamicObject = serde_json::from_value(wrong.object.clone())?;
    object.metadata.name = Some("wrong".into());
    let result = api.create(&PostParams::default(), &object).await;
    if result.is_ok() {
        api.delete("wrong", &DeleteParams::default()).await?;
    }
    let status = rejection(result)?;
    ensure!(status.is_invalid() && status.code == 422, "{status:?}");
    Ok(())
}

fn contains(value: &Value, wanted: &Value) -> bool {
    value == wanted
        || value.as_array().is_some_and(|items| items.iter().any(|item| contains(item, wanted)))
        || value.as_object().is_some_and(|fields| fields.values().any(|field| contains(field, wanted)))
}

/// Turns whole floats into integers: a server writes 2.0 as 2.
fn normalize_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(normalize_numbers),
        Value::Object(fields) => fields.values_mut().for_each(normalize_numbers),
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

/// The object without the metadata that servers set.
fn without_server_metadata(mut object: Value) -> Value {
    normalize_numbers(&mut object);
    let metadata = object["metadata"].take();
    let written = ["name", "labels", "annotations"].map(|key| (key.to_owned(), metadata[key].clone()));
    object["metadata"] = written.into_iter().filter(|(_, value)| !value.is_null()).collect();
    object
}

/// The path of the first empty list. Servers drop empty lists, so that the next apply would be a change.
fn find_empty_list(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Array(items) if items.is_empty() => Some(path.to_owned()),
        Value::Array(items) => items.iter().find_map(|item| find_empty_list(item, path)),
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !["default", "example"].contains(&key.as_str()))
            .find_map(|(key, value)| find_empty_list(value, &format!("{path}.{key}"))),
        _ => None,
    }
}

#[test]
fn empty_lists_are_found() {
    let definition = json!({ "spec": { "names": { "shortNames": [] }, "versions": [{ "default": [] }] } });
    assert_eq!(find_empty_list(&definition, "").as_deref(), Some(".spec.names.shortNames"));
    assert_eq!(find_empty_list(&definition["spec"]["versions"], ""), None);
}
