//! Names of finalizers.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, custom, since},
    check::{Outcome, equal},
    context::Context,
    kinds::{CONFIG_MAP, LEASE, WIDGET},
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("finalizers/unqualified-422", "a finalizer of a built-in kind that is neither qualified nor of Kubernetes: 422, on create and update", unqualified),
        core("finalizers/standard", "the finalizers of Kubernetes need no domain", standard),
        core("finalizers/lenient-kinds", "some kinds, such as Lease, accept any finalizer", lenient),
        since(29, custom("finalizers/warning", "a custom resource accepts any finalizer, with a warning about each that is not domain-qualified (since 1.29)", warning)),
        since(29, custom("finalizers/warning-once", "an update warns about new finalizers only, sorted (since 1.29)", warning_once)),
    ]
    .concat()
}

async fn unqualified(cx: Context) -> Outcome {
    let field = "metadata.finalizers[0]";
    let why = "name is neither a standard finalizer name nor is it fully qualified";
    let path = cx.all_of(&CONFIG_MAP);
    for name in ["foo", "foo.bar"] {
        let object = cx.object_of(&CONFIG_MAP, "a", json!({"metadata": {"finalizers": [name]}}));
        let reply = cx.post(&path, &object).await?;
        reply.fails(422, "Invalid")?.cause("FieldValueInvalid", field)?.mentions(why)?;
    }
    cx.create_at(&path, &cx.object_of(&CONFIG_MAP, "a", json!({}))).await?;
    let reply = cx.merge(format!("{path}/a"), &json!({"metadata": {"finalizers": ["foo"]}})).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", field)?.mentions(why)?;
    Ok(())
}

async fn standard(cx: Context) -> Outcome {
    let path = format!("{}?dryRun=All", cx.all_of(&CONFIG_MAP));
    for name in ["kubernetes", "orphan", "foregroundDeletion", "foo/bar", "a.b/c"] {
        cx.create_at(&path, &cx.object_of(&CONFIG_MAP, "a", json!({"metadata": {"finalizers": [name]}})))
            .await?;
    }
    Ok(())
}

async fn lenient(cx: Context) -> Outcome {
    let path = format!("{}?dryRun=All", cx.all_of(&LEASE));
    cx.create_at(path, &cx.object_of(&LEASE, "a", json!({"metadata": {"finalizers": ["foo"]}}))).await?;
    Ok(())
}

fn advice(name: &str, path: &str) -> String {
    format!(
        "metadata.finalizers: \"{name}\": prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with \
         other finalizer writers"
    )
}

async fn warning(cx: Context) -> Outcome {
    let path = format!("{}?dryRun=All", cx.all());
    for (name, warnings) in [
        ("foo", vec![advice("foo", "")]),
        ("foo.bar", vec![advice("foo.bar", " including a path (/)")]),
        ("foo/bar", vec![]),
        ("orphan", vec![]),
    ] {
        let object = cx.object_of(&WIDGET, "a", json!({"metadata": {"finalizers": [name]}}));
        let reply = cx.create_at(&path, &object).await?;
        equal(name, warnings, reply.warnings())?;
    }
    Ok(())
}

async fn warning_once(cx: Context) -> Outcome {
    let patch = |names: &[&str]| json!({"metadata": {"finalizers": names}});
    cx.create_at(cx.all(), &cx.object_of(&WIDGET, "a", patch(&["old"]))).await?;
    let reply = cx.merge(cx.one("a"), &patch(&["zz", "old", "aa"])).await?;
    equal("two new ones", [advice("aa", ""), advice("zz", "")], reply.warnings())?;
    let reply = cx.merge(cx.one("a"), &json!({"metadata": {"labels": {"a": "b"}}})).await?;
    equal("none new", Vec::<String>::new(), reply.warnings())?;
    cx.merge(cx.one("a"), &json!({"metadata": {"finalizers": Value::Null}})).await?.is(200)?;
    Ok(())
}
