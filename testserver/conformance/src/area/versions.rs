//! Versions of a custom resource: an object stays in the version in which it was written, whatever is the storage version later.

use serde_json::{Value, json};

use super::conversion;
use crate::{
    case::{Case, custom},
    check::{Failure, Outcome, at, equal},
    client::ApiResponse,
    context::{APPLY, Context, MERGE},
    kinds::plain_crd,
    server::CRDS,
    webhook::TestWebhook,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        custom("versions/none-drops-on-write", "conversion None drops fields that the storage version lacks", drops_on_write),
        custom("versions/none-drops-on-read", "conversion None drops fields that the requested version lacks", drops_on_read),
        custom("versions/defaults-of-the-written-version", "a read applies the defaults of the version in which the object is stored, and of no other", defaults),
        custom("versions/flip-keeps-what-was-written", "a new storage version leaves stored objects as they are", flip_keeps),
        custom("versions/flip-applies-to-writes", "after a new storage version, objects are stored in it", flip_applies),
        custom("versions/a-write-moves-an-object", "an update stores an older object in the storage version, with its defaults", write_moves),
        custom("versions/stored-versions", "status.storedVersions lists every version that was a storage version", stored_versions),
        custom("versions/a-dropped-field-comes-back", "a field that a schema drops is hidden, not lost", comes_back),
        custom("versions/new-default-of-stored-objects", "a new default applies to reads of stored objects", new_default),
        custom("versions/dry-run-drops", "a dry run shows what a write would return", dry_run_drops),
        custom("versions/patch-in-other-version", "a patch keeps only what both versions have", patch_other),
        custom("versions/apply-conflict", "an apply in one version conflicts with a manager of another version, on the field as that version names it", apply_conflict),
        custom("versions/apply-force", "a forced apply takes a field from a manager of another version", apply_force),
        custom("versions/apply-same-value", "an apply of the value that a manager of another version applied shares the field", apply_same),
        custom("versions/apply-moves-to-other-version", "a manager that applies in another version owns the fields there", apply_moves),
        custom("versions/update-takes-ownership", "an update in one version takes a field from a manager of another version", update_takes),
        custom("versions/deprecated-warns-every-verb", "every response of a deprecated version has a warning", every_verb),
        custom("versions/deprecated-names-the-newest", "the warning names the newest version that is served and not deprecated, if it is newer", names_newest),
        custom("versions/deprecated-own-words", "deprecationWarning replaces the warning", own_words),
    ]
    .concat()
}

/// The CRD with `a` in both versions, `b` and the default `d1` only in v1, `c` and the default `d2` only in v2.
fn definition(cx: &Context, storage: &str) -> Value {
    let schema = |own: &str, default: &str, value: &str| {
        let text = json!({"type": "string"});
        let properties = json!({"a": text, own: text, default: {"type": "string", "default": value}});
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})
    };
    let mut crd = plain_crd(&cx.own_group(), "Flip", "flips", schema("b", "d1", "one"));
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["schema"]["openAPIV3Schema"] = schema("c", "d2", "two");
    crd["spec"]["versions"] = json!([crd["spec"]["versions"][0], second]);
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        version["storage"] = json!(version["name"] == storage);
    }
    crd
}

fn flip(cx: &Context, version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("{}/{version}", cx.own_group()), "kind": "Flip", "metadata": {"name": name}, "spec": spec})
}

fn one(cx: &Context, version: &str, name: &str) -> String {
    format!("{}/{name}", cx.own(version, "flips"))
}

async fn create(cx: &Context, version: &str, name: &str, spec: Value) -> Result<ApiResponse, Failure> {
    cx.create_at(cx.own(version, "flips"), &flip(cx, version, name, spec)).await
}

/// The object in both versions.
async fn reads(cx: &Context, name: &str, v1: Value, v2: Value) -> Outcome {
    for (version, spec) in [("v1", v1), ("v2", v2)] {
        let reply = cx.get(one(cx, version, name)).await?;
        reply.is(200)?.eq("/spec", spec)?.eq("/apiVersion", format!("{}/{version}", cx.own_group()))?;
    }
    Ok(())
}

/// Changes the definition, and waits until writes and reads follow it: a dry run of `probe` then has this spec.
async fn redefine(cx: &Context, change: impl Fn(&mut Value), probe: Value, shows: Value) -> Outcome {
    let path = format!("{CRDS}/flips.{}", cx.own_group());
    let mut crd = cx.get(&path).await?.body;
    change(&mut crd);
    cx.put(&path, &crd).await?.is(200)?;
    let dry = format!("{}?dryRun=All", cx.own("v1", "flips"));
    cx.eventually(&shows.to_string(), || cx.post(dry.clone(), &probe), |reply| reply.body["spec"] == shows)
        .await?;
    Ok(())
}

/// Makes v2 the storage version.
async fn store_v2(cx: &Context) -> Outcome {
    let storage = |crd: &mut Value| {
        crd["spec"]["versions"][0]["storage"] = json!(false);
        crd["spec"]["versions"][1]["storage"] = json!(true);
    };
    // A v1 field is dropped once v2 is the storage version.
    redefine(cx, storage, flip(cx, "v1", "probe", json!({"a": "A", "b": "B"})), json!({"a": "A"})).await
}

async fn drops_on_write(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    create(&cx, "v2", "x", json!({"a": "A", "c": "C"})).await?.eq("/spec", json!({"a": "A"}))?;
    reads(&cx, "x", json!({"a": "A", "d1": "one"}), json!({"a": "A"})).await
}

async fn drops_on_read(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    create(&cx, "v1", "x", json!({"a": "A", "b": "B"})).await?;
    reads(&cx, "x", json!({"a": "A", "b": "B", "d1": "one"}), json!({"a": "A"})).await?;
    let list = cx.get(cx.own("v2", "flips")).await?;
    list.eq("/items/0/spec", json!({"a": "A"}))?;
    let watch = format!("{}?watch=true&timeoutSeconds=20", cx.own("v2", "flips"));
    let event = cx.watch(watch).await?.expect("ADDED", "x").await?;
    at(&event, "/spec", json!({"a": "A"}))
}

async fn defaults(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    create(&cx, "v2", "x", json!({"a": "A"})).await?;
    reads(&cx, "x", json!({"a": "A", "d1": "one"}), json!({"a": "A"})).await
}

async fn flip_keeps(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    let made = create(&cx, "v1", "x", json!({"a": "A", "b": "B"})).await?;
    store_v2(&cx).await?;
    reads(&cx, "x", json!({"a": "A", "b": "B", "d1": "one"}), json!({"a": "A"})).await?;
    equal("resourceVersion", made.revision()?, cx.get(one(&cx, "v2", "x")).await?.revision()?)
}

async fn flip_applies(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    store_v2(&cx).await?;
    create(&cx, "v1", "x", json!({"a": "A", "b": "B"})).await?.eq("/spec", json!({"a": "A"}))?;
    reads(&cx, "x", json!({"a": "A"}), json!({"a": "A", "d2": "two"})).await
}

async fn write_moves(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    create(&cx, "v1", "x", json!({"a": "A", "b": "B"})).await?;
    store_v2(&cx).await?;
    let change = json!({"metadata": {"labels": {"l": "1"}}});
    cx.patch(one(&cx, "v2", "x"), MERGE, &change).await?.eq("/spec", json!({"a": "A", "d2": "two"}))?;
    reads(&cx, "x", json!({"a": "A"}), json!({"a": "A", "d2": "two"})).await
}

async fn stored_versions(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    store_v2(&cx).await?;
    let crd = format!("{CRDS}/flips.{}", cx.own_group());
    let both = |reply: &ApiResponse| reply.body["status"]["storedVersions"] == json!(["v1", "v2"]);
    cx.wait_for(&crd, "storedVersions v1 and v2", both).await?;
    Ok(())
}

async fn comes_back(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    create(&cx, "v1", "x", json!({"a": "A", "b": "B"})).await?;
    let b = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let properties = |crd: &mut Value, schema: Option<Value>| match (crd.pointer_mut(b), schema) {
        (Some(Value::Object(members)), None) => drop(members.remove("b")),
        (Some(Value::Object(members)), Some(schema)) => drop(members.insert("b".into(), schema)),
        _ => {}
    };
    let probe = || flip(&cx, "v1", "probe", json!({"a": "A", "b": "B"}));
    redefine(&cx, |crd| properties(crd, None), probe(), json!({"a": "A", "d1": "one"})).await?;
    cx.get(one(&cx, "v1", "x")).await?.eq("/spec", json!({"a": "A", "d1": "one"}))?;
    let text = || Some(json!({"type": "string"}));
    redefine(&cx, |crd| properties(crd, text()), probe(), json!({"a": "A", "b": "B", "d1": "one"})).await?;
    cx.get(one(&cx, "v1", "x")).await?.eq("/spec", json!({"a": "A", "b": "B", "d1": "one"}))?;
    Ok(())
}

async fn new_default(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    create(&cx, "v1", "x", json!({"a": "A"})).await?;
    let add = |crd: &mut Value| {
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["e"] =
            json!({"type": "string", "default": "E"});
    };
    let shows = json!({"a": "A", "d1": "one", "e": "E"});
    redefine(&cx, add, flip(&cx, "v1", "probe", json!({"a": "A"})), shows.clone()).await?;
    cx.get(one(&cx, "v1", "x")).await?.eq("/spec", shows)?;
    Ok(())
}

async fn dry_run_drops(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    let dry = format!("{}?dryRun=All", cx.own("v2", "flips"));
    let object = flip(&cx, "v2", "x", json!({"a": "A", "c": "C"}));
    cx.create_at(dry, &object).await?.eq("/spec", json!({"a": "A"}))?;
    Ok(())
}

async fn patch_other(cx: Context) -> Outcome {
    cx.establish(&definition(&cx, "v1")).await?;
    create(&cx, "v1", "x", json!({"a": "A", "b": "B"})).await?;
    let patched = cx.patch(one(&cx, "v2", "x"), MERGE, &json!({"spec": {"a": "Z"}})).await?;
    patched.is(200)?.eq("/spec", json!({"a": "Z"}))?.eq("/metadata/generation", 2)?;
    reads(&cx, "x", json!({"a": "Z", "d1": "one"}), json!({"a": "Z"})).await
}

/// The definition with v1 deprecated.
fn deprecated(cx: &Context) -> Value {
    let mut crd = definition(cx, "v1");
    crd["spec"]["versions"][0]["deprecated"] = json!(true);
    crd
}

fn warns(reply: &ApiResponse, what: &str, warning: &str) -> Outcome {
    equal(what, vec![warning.to_owned()], reply.warnings())
}

async fn every_verb(cx: Context) -> Outcome {
    cx.establish(&deprecated(&cx)).await?;
    let group = cx.own_group();
    let warning = format!("{group}/v1 Flip is deprecated; use {group}/v2 Flip");
    let (all, x) = (cx.own("v1", "flips"), one(&cx, "v1", "x"));
    let object = flip(&cx, "v1", "x", json!({"a": "A"}));
    warns(&cx.post(&all, &object).await?, "create", &warning)?;
    warns(&cx.post(&all, &object).await?, "create of an existing object", &warning)?;
    warns(&cx.post(&all, &json!({})).await?, "invalid create", &warning)?;
    let read = cx.get(&x).await?;
    warns(&read, "get", &warning)?;
    warns(&cx.get(one(&cx, "v1", "none")).await?, "get of a missing object", &warning)?;
    warns(&cx.get(&all).await?, "list", &warning)?;
    warns(&cx.get(format!("{all}?watch=1&timeoutSeconds=1")).await?, "watch", &warning)?;
    warns(&cx.put(&x, &read.body).await?, "update", &warning)?;
    warns(&cx.patch(&x, MERGE, &json!({"spec": {"a": "B"}})).await?, "patch", &warning)?;
    let applied = flip(&cx, "v1", "y", json!({"a": "A"}));
    warns(
        &cx.patch(format!("{}?fieldManager=m", one(&cx, "v1", "y")), APPLY, &applied).await?,
        "apply",
        &warning,
    )?;
    warns(&cx.delete(&x).await?, "delete", &warning)?;
    warns(&cx.delete(&all).await?, "deletecollection", &warning)?;
    equal("of the other version", Vec::<String>::new(), cx.get(cx.own("v2", "flips")).await?.warnings())?;
    equal("of discovery", Vec::<String>::new(), cx.get(format!("/apis/{group}/v1")).await?.warnings())
}

async fn names_newest(cx: Context) -> Outcome {
    let mut crd = definition(&cx, "v1");
    let version = |name: &str, served: bool, deprecated: bool| {
        let mut version = definition(&cx, "v1")["spec"]["versions"][0].clone();
        version["name"] = json!(name);
        version["storage"] = json!(false);
        version["served"] = json!(served);
        version["deprecated"] = json!(deprecated);
        version
    };
    crd["spec"]["versions"][1]["deprecated"] = json!(true);
    let more =
        [version("v3", false, false), version("v3beta1", true, false), version("v10alpha1", true, true)];
    crd["spec"]["versions"].as_array_mut().into_iter().for_each(|versions| versions.extend(more.clone()));
    cx.establish(&crd).await?;
    let group = cx.own_group();
    for (version, use_instead) in [("v2", String::new()), ("v10alpha1", format!("; use {group}/v1 Flip"))] {
        let warning = format!("{group}/{version} Flip is deprecated{use_instead}");
        warns(&cx.get(cx.own(version, "flips")).await?, version, &warning)?;
    }
    equal("v1", Vec::<String>::new(), cx.get(cx.own("v1", "flips")).await?.warnings())
}

async fn own_words(cx: Context) -> Outcome {
    let mut crd = deprecated(&cx);
    crd["spec"]["versions"][0]["deprecationWarning"] = json!("Flips of v1 are \"old\"");
    cx.establish(&crd).await?;
    warns(&cx.get(cx.own("v1", "flips")).await?, "list", "Flips of v1 are \"old\"")
}

// ---- ownership

/// Serves the CRD of the conversion webhook: `size` of v1 is `width` of v2.
async fn convertible(cx: &Context) -> Result<TestWebhook, Failure> {
    let hook = TestWebhook::start(|_, request| conversion::well(request)).await?;
    cx.establish(&conversion::convertible(cx, &hook)).await?;
    Ok(hook)
}

fn thing(cx: &Context, version: &str, value: &str) -> Value {
    let field = if version == "v2" { "width" } else { "size" };
    json!({"apiVersion": format!("{}/{version}", cx.own_group()), "kind": "Thing", "metadata": {"name": "x"}, "spec": {field: value}})
}

async fn applied(cx: &Context, version: &str, value: &str, query: &str) -> Result<ApiResponse, Failure> {
    let path = format!("{}/x?{query}", cx.own(version, "things"));
    cx.patch(path, APPLY, &thing(cx, version, value)).await
}

/// Manager, version and fields of `spec` of each entry.
fn owners(object: &Value) -> Vec<(String, String, Value)> {
    let entries = object["metadata"]["managedFields"].as_array();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entry = |entry: &Value| {
        let version = text(&entry["apiVersion"]);
        let version = version.rsplit('/').next().unwrap_or_default().to_owned();
        (text(&entry["manager"]), version, entry["fieldsV1"]["f:spec"].clone())
    };
    entries.into_iter().flatten().map(entry).collect()
}

fn owner(manager: &str, version: &str, fields: Value) -> (String, String, Value) {
    (manager.to_owned(), version.to_owned(), fields)
}

async fn apply_conflict(cx: Context) -> Outcome {
    let _hook = convertible(&cx).await?;
    applied(&cx, "v1", "5", "fieldManager=one").await?.is(201)?;
    let refused = applied(&cx, "v2", "6", "fieldManager=two").await?;
    refused.fails(409, "Conflict")?.cause("FieldManagerConflict", ".spec.size")?;
    Ok(())
}

async fn apply_force(cx: Context) -> Outcome {
    let _hook = convertible(&cx).await?;
    applied(&cx, "v1", "5", "fieldManager=one").await?.is(201)?;
    let forced = applied(&cx, "v2", "6", "fieldManager=two&force=true").await?;
    forced.is(200)?.eq("/spec", json!({"width": "6"}))?;
    equal("owners", vec![owner("two", "v2", json!({"f:width": {}}))], owners(&forced.body))
}

async fn apply_same(cx: Context) -> Outcome {
    let _hook = convertible(&cx).await?;
    applied(&cx, "v1", "5", "fieldManager=one").await?.is(201)?;
    let shared = applied(&cx, "v2", "5", "fieldManager=two").await?;
    shared.is(200)?;
    let mut both = owners(&shared.body);
    both.sort_by(|a, b| a.0.cmp(&b.0));
    let want = vec![owner("one", "v1", json!({"f:size": {}})), owner("two", "v2", json!({"f:width": {}}))];
    equal("owners", want, both)
}

async fn apply_moves(cx: Context) -> Outcome {
    let _hook = convertible(&cx).await?;
    applied(&cx, "v1", "5", "fieldManager=one").await?.is(201)?;
    let moved = applied(&cx, "v2", "6", "fieldManager=one").await?;
    moved.is(200)?.eq("/spec", json!({"width": "6"}))?;
    equal("owners", vec![owner("one", "v2", json!({"f:width": {}}))], owners(&moved.body))
}

async fn update_takes(cx: Context) -> Outcome {
    let _hook = convertible(&cx).await?;
    applied(&cx, "v1", "5", "fieldManager=one").await?.is(201)?;
    let path = format!("{}/x?fieldManager=two", cx.own("v2", "things"));
    let updated = cx.patch(path, MERGE, &json!({"spec": {"width": "6"}})).await?;
    updated.is(200)?;
    equal("owners", vec![owner("two", "v2", json!({"f:width": {}}))], owners(&updated.body))
}
