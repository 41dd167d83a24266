//! Discovery, OpenAPI, version and health.

use http::Method;
use serde_json::{Value, json};

use crate::{
    case::{Case, core, custom, since},
    check::{Outcome, equal, holds},
    context::Context,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        custom("discovery/version", "/version has major, minor, gitVersion", version),
        custom("discovery/livez", "/livez, /readyz and /healthz return ok", health),
        custom("discovery/readyz-verbose", "/readyz?verbose lists the checks", verbose),
        custom("discovery/api-versions", "/api is an APIVersions with v1", api),
        custom("discovery/group-list", "/apis is an APIGroupList with the groups of CRDs", groups),
        custom("discovery/group", "/apis/GROUP is an APIGroup with its preferred version", group),
        custom("discovery/resource-list", "/apis/GROUP/VERSION lists resources and subresources", resources),
        custom("discovery/resource-fields", "a resource has names, kind, verbs, short names and categories", resource),
        custom("discovery/status-and-scale-listed", "status and scale are listed, scale as a Scale of autoscaling/v1", subresources),
        custom("discovery/unknown-group-404", "discovery of an unknown group: 404", unknown_group),
        custom("discovery/paths", "/ lists the paths", paths),
        since(27, custom("discovery/aggregated", "aggregated discovery by Accept (since 1.27)", aggregated)),
        since(27, custom("discovery/aggregated-resource", "a CRD's resource in aggregated discovery", aggregated_resource)),
        since(27, custom("discovery/aggregated-subresources", "subresources nest under their resource in aggregated discovery", aggregated_subresources)),
        since(24, custom("discovery/openapi-v3-index", "/openapi/v3 lists group versions with hashed URLs (since 1.24)", openapi_index)),
        since(24, custom("discovery/openapi-v3-of-crd", "the document of a CRD's group version has its schema with the group-version-kind", openapi_crd)),
        since(24, custom("discovery/openapi-v3-hash-is-immutable", "the URL with the right hash is cacheable", openapi_cache)),
        custom("discovery/openapi-v2", "/openapi/v2 lists the built-in paths", openapi_v2),
        custom("discovery/openapi-says-what-for", "built-in types and their fields have descriptions, and so have the common fields of a CRD", openapi_texts),
        core("discovery/core-resources", "/api/v1 lists pods with short name and category", core_resources),
        core("discovery/core-subresources", "/api/v1 lists pods/log, pods/exec and pods/status", core_subresources),
        core("discovery/apps-group", "apps/v1 lists deployments and deployments/scale", apps),
        core("discovery/storage-version-hash", "resources carry a storageVersionHash", storage_hash),
        since(27, core("discovery/core-aggregated", "aggregated discovery of /api has v1 (since 1.27)", core_aggregated)),
        core("discovery/kinds-of-everyday", "commonly used groups are served", everyday),
    ]
    .concat()
}

const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

fn named<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    list.as_array().and_then(|all| all.iter().find(|x| x[key] == name)).unwrap_or(&Value::Null)
}

async fn version(cx: Context) -> Outcome {
    let r = cx.get("/version").await?;
    let (major, minor) = (r.is(200)?.str("/major")?, r.str("/minor")?);
    let git = r.str("/gitVersion")?;
    let start = format!("v{major}.{}", minor.trim_end_matches('+'));
    holds(git.starts_with(&start), &start, git)?;
    r.has("/platform")?.has("/goVersion")?;
    Ok(())
}

/// A genuine server is not ready while an informer fills that another case has started, as by a policy with parameters.
async fn health(cx: Context) -> Outcome {
    for path in ["/livez", "/readyz", "/healthz"] {
        cx.wait_for(path, "ok", |reply| reply.code == 200 && reply.text == "ok").await?;
    }
    Ok(())
}

async fn verbose(cx: Context) -> Outcome {
    let has_checks = |text: &str| text.contains("[+]ping ok") && text.contains("readyz check passed");
    cx.wait_for("/readyz?verbose", "the checks", |reply| reply.code == 200 && has_checks(&reply.text))
        .await?;
    Ok(())
}

async fn api(cx: Context) -> Outcome {
    cx.get("/api")
        .await?
        .is(200)?
        .eq("/kind", "APIVersions")?
        .eq("/versions", json!(["v1"]))?
        .has("/serverAddressByClientCIDRs")?;
    Ok(())
}

async fn groups(cx: Context) -> Outcome {
    let r = cx
        .wait_for("/apis", "the run's group", |r| !named(&r.body["groups"], "name", &cx.group()).is_null())
        .await?;
    r.eq("/kind", "APIGroupList")?.eq("/apiVersion", "v1").or_else(|_| r.absent("/apiVersion"))?;
    let mine = named(&r.body["groups"], "name", &cx.group());
    let version = json!({"groupVersion": format!("{}/v1", cx.group()), "version": "v1"});
    equal("versions", json!([version]), mine["versions"].clone())?;
    equal("preferredVersion", version, mine["preferredVersion"].clone())?;
    holds(
        !named(&r.body["groups"], "name", "apiextensions.k8s.io").is_null(),
        "apiextensions.k8s.io",
        &r.text,
    )
}

async fn group(cx: Context) -> Outcome {
    let r = cx.wait_for_code(&format!("/apis/{}", cx.group()), 200).await?;
    r.eq("/kind", "APIGroup")?
        .eq("/apiVersion", "v1")?
        .eq("/name", cx.group())?
        .eq("/preferredVersion/version", "v1")?;
    Ok(())
}

async fn resources(cx: Context) -> Outcome {
    let r = cx.wait_for_code(&format!("/apis/{}/v1", cx.group()), 200).await?;
    r.eq("/kind", "APIResourceList")?
        .eq("/apiVersion", "v1")?
        .eq("/groupVersion", format!("{}/v1", cx.group()))?;
    for name in ["widgets", "widgets/status", "widgets/scale", "gadgets", "cogs"] {
        holds(!named(&r.body["resources"], "name", name).is_null(), name, &r.text)?;
    }
    Ok(())
}

async fn resource(cx: Context) -> Outcome {
    let r = cx.wait_for_code(&format!("/apis/{}/v1", cx.group()), 200).await?;
    let widgets = named(&r.body["resources"], "name", "widgets");
    let mut verbs: Vec<&str> =
        widgets["verbs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    verbs.sort_unstable();
    equal(
        "verbs",
        ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        verbs,
    )?;
    let facts = (&widgets["kind"], &widgets["singularName"], &widgets["namespaced"], &widgets["categories"]);
    equal("facts", (&json!("Widget"), &json!("widget"), &json!(true), &json!(["conformance"])), facts)?;
    equal("shortNames", json!([format!("w{}", cx.server.run)]), widgets["shortNames"].clone())?;
    equal(
        "namespaced of cogs",
        json!(false),
        named(&r.body["resources"], "name", "cogs")["namespaced"].clone(),
    )
}

async fn subresources(cx: Context) -> Outcome {
    let r = cx.wait_for_code(&format!("/apis/{}/v1", cx.group()), 200).await?;
    let (status, scale) = (
        named(&r.body["resources"], "name", "widgets/status"),
        named(&r.body["resources"], "name", "widgets/scale"),
    );
    equal("verbs of status", json!(["get", "patch", "update"]), status["verbs"].clone())?;
    equal("kind of scale", json!("Scale"), scale["kind"].clone())?;
    equal(
        "group and version of scale",
        (json!("autoscaling"), json!("v1")),
        (scale["group"].clone(), scale["version"].clone()),
    )
}

async fn unknown_group(cx: Context) -> Outcome {
    cx.get("/apis/none.example").await?.is(404)?;
    cx.get("/apis/none.example/v1").await?.is(404)?;
    Ok(())
}

async fn paths(cx: Context) -> Outcome {
    let r = cx.get("/").await?;
    let paths = r.is(200)?.body["paths"].as_array().cloned().unwrap_or_default();
    for path in ["/api", "/apis", "/version", "/healthz", "/livez", "/readyz"] {
        holds(paths.contains(&json!(path)), path, &r.text)?;
    }
    Ok(())
}

async fn discover(cx: &Context, path: &str) -> Result<crate::client::ApiResponse, crate::check::Failure> {
    let mut last = cx.call(Method::GET, path).accept(AGGREGATED).send().await?;
    for _ in 0..100 {
        if path == "/api" || last.text.contains(&cx.group()) {
            break;
        }
        crate::context::pause(100).await;
        last = cx.call(Method::GET, path).accept(AGGREGATED).send().await?;
    }
    last.is(200)?;
    Ok(last)
}

async fn aggregated(cx: Context) -> Outcome {
    let r = discover(&cx, "/apis").await?;
    r.eq("/kind", "APIGroupDiscoveryList")?.eq("/apiVersion", "apidiscovery.k8s.io/v2")?;
    let kind = r.header("content-type");
    holds(
        kind == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "the content type names the form",
        kind,
    )
}

/// The widgets of the run's group in aggregated discovery.
async fn widgets(cx: &Context) -> Result<Value, crate::check::Failure> {
    let r = discover(cx, "/apis").await?;
    let items = r.body["items"].as_array().cloned().unwrap_or_default();
    let mine = items.iter().find(|g| g["metadata"]["name"] == cx.group()).cloned().unwrap_or_default();
    Ok(named(&mine["versions"][0]["resources"], "resource", "widgets").clone())
}

async fn aggregated_resource(cx: Context) -> Outcome {
    let widgets = widgets(&cx).await?;
    equal("scope", json!("Namespaced"), widgets["scope"].clone())?;
    equal("singular", json!("widget"), widgets["singularResource"].clone())?;
    let kind = json!({"group": cx.group(), "version": "v1", "kind": "Widget"});
    equal("responseKind", kind, widgets["responseKind"].clone())
}

async fn aggregated_subresources(cx: Context) -> Outcome {
    let widgets = widgets(&cx).await?;
    holds(!named(&widgets["subresources"], "subresource", "status").is_null(), "status", &widgets)?;
    let scale = named(&widgets["subresources"], "subresource", "scale");
    equal("kind of scale", json!("Scale"), scale["responseKind"]["kind"].clone())
}

async fn openapi_index(cx: Context) -> Outcome {
    let key = format!("apis/{}/v1", cx.group());
    let r = cx.wait_for("/openapi/v3", "the run's group", |r| r.body["paths"][&key].is_object()).await?;
    let address = r.body["paths"][&key]["serverRelativeURL"].as_str().unwrap_or_default();
    holds(address.starts_with(&format!("/openapi/v3/{key}?hash=")), "an address with a hash", address)
}

async fn openapi_crd(cx: Context) -> Outcome {
    let path = format!("/openapi/v3/apis/{}/v1", cx.group());
    let r = cx.wait_for_code(&path, 200).await?;
    let schemas = r.body["components"]["schemas"].as_object().cloned().unwrap_or_default();
    let kind = json!([{"group": cx.group(), "version": "v1", "kind": "Widget"}]);
    let widget =
        schemas.values().find(|s| s["x-kubernetes-group-version-kind"] == kind).cloned().unwrap_or_default();
    equal(
        "type of holderIdentity",
        json!("string"),
        widget["properties"]["spec"]["properties"]["holderIdentity"]["type"].clone(),
    )?;
    let one = format!("/apis/{}/v1/namespaces/{{namespace}}/widgets/{{name}}", cx.group());
    holds(r.body["paths"][&one]["get"].is_object(), &one, r.body["paths"].as_object().map_or(0, |m| m.len()))
}

async fn openapi_cache(cx: Context) -> Outcome {
    let key = format!("apis/{}/v1", cx.group());
    let r = cx.wait_for("/openapi/v3", "the run's group", |r| r.body["paths"][&key].is_object()).await?;
    let address = r.body["paths"][&key]["serverRelativeURL"].as_str().unwrap_or_default();
    let document = cx.get(address).await?;
    holds(
        document.is(200)?.header("cache-control").contains("immutable"),
        "cache-control: immutable",
        document.header("cache-control"),
    )
}

async fn openapi_v2(cx: Context) -> Outcome {
    let r = cx.get("/openapi/v2").await?;
    r.is(200)?.eq("/swagger", "2.0")?;
    let crd = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
    let patch = &r.body["paths"]["/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"]["patch"];
    equal(
        "what is patched",
        json!("CustomResourceDefinition"),
        patch["x-kubernetes-group-version-kind"]["kind"].clone(),
    )?;
    let response = &patch["responses"]["200"]["schema"]["$ref"];
    equal("the schema of the response", json!(format!("#/definitions/{crd}")), response.clone())?;
    r.has(&format!("/definitions/{crd}/properties/spec"))?;
    let yaml = cx.call(http::Method::GET, "/openapi/v2").accept("application/yaml").send().await?;
    yaml.is(406)?;
    Ok(())
}

/// Descriptions that have not changed for many versions.
async fn openapi_texts(cx: Context) -> Outcome {
    let r = cx.get("/openapi/v2").await?;
    r.is(200)?;
    let said = |name: &str, field: &str, begin: &str| {
        let schema = &r.body["definitions"][name];
        let at = if field.is_empty() { schema } else { &schema["properties"][field] };
        let text = at["description"].as_str().unwrap_or_default();
        holds(text.starts_with(begin), &format!("{name} {field}: {begin}"), text)
    };
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
    let crd = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
    let kind = "Kind is a string value representing the REST resource this object represents.";
    let every = [
        (format!("{meta}.ObjectMeta"), "", "ObjectMeta is metadata that all persisted resources must have"),
        (
            format!("{meta}.ObjectMeta"),
            "finalizers",
            "Must be empty before the object is deleted from the registry.",
        ),
        (format!("{meta}.Time"), "", "Time is a wrapper around time.Time"),
        (format!("{crd}.CustomResourceDefinition"), "kind", kind),
        (
            format!("{crd}.CustomResourceDefinition"),
            "spec",
            "spec describes how the user wants the resources to appear",
        ),
        (
            format!("{crd}.CustomResourceDefinitionNames"),
            "plural",
            "plural is the plural name of the resource to serve.",
        ),
    ];
    for (name, field, begin) in &every {
        said(name, field, begin)?;
    }
    if cx.server.has_core_kinds() {
        let api = "io.k8s.api.core.v1";
        for (name, field, begin) in [
            ("ConfigMap", "", "ConfigMap holds configuration data for pods to consume."),
            ("Pod", "spec", "Specification of the desired behavior of the pod."),
            ("ContainerPort", "containerPort", "Number of port to expose on the pod's IP address."),
        ] {
            said(&format!("{api}.{name}"), field, begin)?;
        }
    }
    Ok(())
}

async fn core_resources(cx: Context) -> Outcome {
    let r = cx.get("/api/v1").await?;
    r.is(200)?.eq("/kind", "APIResourceList")?.eq("/groupVersion", "v1")?;
    let pods = named(&r.body["resources"], "name", "pods");
    equal("shortNames", json!(["po"]), pods["shortNames"].clone())?;
    equal("categories", json!(["all"]), pods["categories"].clone())?;
    equal(
        "namespaced of nodes",
        json!(false),
        named(&r.body["resources"], "name", "nodes")["namespaced"].clone(),
    )
}

async fn core_subresources(cx: Context) -> Outcome {
    let r = cx.get("/api/v1").await?;
    for name in [
        "pods/log",
        "pods/exec",
        "pods/status",
        "pods/eviction",
        "pods/binding",
        "namespaces/finalize",
        "serviceaccounts/token",
    ] {
        holds(!named(&r.body["resources"], "name", name).is_null(), name, "not listed")?;
    }
    Ok(())
}

async fn apps(cx: Context) -> Outcome {
    let r = cx.get("/apis/apps/v1").await?;
    let scale = named(&r.is(200)?.body["resources"], "name", "deployments/scale");
    equal("scale", (json!("Scale"), json!("autoscaling")), (scale["kind"].clone(), scale["group"].clone()))?;
    equal(
        "shortNames",
        json!(["deploy"]),
        named(&r.body["resources"], "name", "deployments")["shortNames"].clone(),
    )
}

async fn storage_hash(cx: Context) -> Outcome {
    let r = cx.get("/api/v1").await?;
    let hash = named(&r.body["resources"], "name", "configmaps")["storageVersionHash"].clone();
    equal("the hash of what config maps are stored as", json!("qFsyl6wFWjQ="), hash)
}

async fn core_aggregated(cx: Context) -> Outcome {
    let r = discover(&cx, "/api").await?;
    r.eq("/kind", "APIGroupDiscoveryList")?.eq("/items/0/versions/0/version", "v1")?;
    holds(
        !named(&r.body["items"][0]["versions"][0]["resources"], "resource", "pods").is_null(),
        "pods",
        "not there",
    )
}

async fn everyday(cx: Context) -> Outcome {
    let r = cx.get("/apis").await?;
    let names = [
        "apps",
        "batch",
        "autoscaling",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "coordination.k8s.io",
        "storage.k8s.io",
        "events.k8s.io",
    ];
    for name in names {
        holds(!named(&r.body["groups"], "name", name).is_null(), name, "not listed")?;
    }
    Ok(())
}
