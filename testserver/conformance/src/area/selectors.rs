//! Label and field selectors.

use serde_json::json;

use crate::{
    case::{Case, core, custom, each, since},
    check::Outcome,
    context::Context,
    kinds::{CONFIG_MAP, SECRET},
    subject::Subject,
};

/// Selector (URL-encoded where needed), and the names it selects among the five objects of `objects`.
const LABELS: [(&str, &str, &str, &[&str]); 21] = [
    ("equals", "key=value", "env%3Dprod", &["a", "b"]),
    ("double-equals", "key==value", "env%3D%3Dprod", &["a", "b"]),
    ("not-equals", "key!=value takes objects without the key too", "env!%3Dprod", &["c", "d", "e"]),
    ("in", "key in (x,y)", "env%20in%20(prod,test)", &["a", "b", "c"]),
    ("not-in", "key notin (x) takes objects without the key too", "env%20notin%20(prod)", &["c", "d", "e"]),
    ("exists", "key alone takes objects that have it", "env", &["a", "b", "c", "d"]),
    ("not-exists", "!key takes objects that lack it", "!env", &["e"]),
    ("and", "requirements joined by commas must all hold", "env%3Dprod,tier%3Dweb", &["a"]),
    ("prefixed-key", "keys with a prefix", "app.example/name%3Dx", &["d"]),
    ("empty-value", "key= takes the empty value", "tier%3D", &["c"]),
    ("spaces", "spaces around operators do not matter", "env%20%3D%20prod%20,%20tier", &["a", "b"]),
    ("in-single", "in with a single value", "env%20in%20(test)", &["c"]),
    ("greater-than", "key>number compares as numbers", "rank%3E9", &["b", "c"]),
    ("less-than", "key<number compares as numbers", "rank%3C10", &["a"]),
    ("greater-needs-number", "objects whose value is no number are not taken by >", "tier%3E1", &[]),
    ("none-match", "nothing matches: an empty list", "env%3Dnone", &[]),
    ("empty", "an empty selector takes everything", "", &["a", "b", "c", "d", "e"]),
    ("same-key-twice", "two requirements on one key", "env!%3Dprod,env!%3Dtest,env", &["d"]),
    ("in-with-empty", "an empty value inside a set", "tier%20in%20(,web)", &["a", "c"]),
    ("not-exists-and", "!key joined with others", "!tier,env", &["d"]),
    ("case-sensitive", "values are case-sensitive", "env%3DProd", &[]),
];

/// Selectors that are refused with 400.
const BAD_LABELS: [(&str, &str, &str); 6] = [
    ("bad-operator", "an unknown operator: 400", "env~prod"),
    ("bad-set", "a set that is not closed: 400", "env%20in%20(prod"),
    ("bad-key", "a key outside the syntax: 400", "-env%3Dprod"),
    ("bad-value", "a value outside the syntax: 400", "env%3Da%2Fb"),
    ("bad-empty-requirement", "an empty requirement: 400", "env,,tier"),
    ("bad-number", "> with a value that is no number: 400", "rank%3Ex"),
];

pub(crate) fn cases() -> Vec<Case> {
    let good = LABELS.iter().flat_map(|(id, rule, text, names)| {
        each(&format!("selectors/label-{id}"), rule, move |cx| takes(cx, text, names))
    });
    let bad = BAD_LABELS.iter().flat_map(|(id, rule, text)| {
        custom(&format!("selectors/label-{id}-400"), rule, move |cx| refused(cx, text))
    });
    let fields = [
        each("selectors/field-name", "fieldSelector metadata.name selects one object", field_name),
        each("selectors/field-name-not", "fieldSelector metadata.name!= excludes one object", field_name_not),
        each("selectors/field-namespace", "fieldSelector metadata.namespace", field_namespace),
        each("selectors/field-and", "field requirements separated by commas must all hold", field_and),
        each("selectors/field-and-label", "field and label selectors together", field_and_label),
        each("selectors/field-unknown-400", "an unknown field: 400, naming it", field_unknown),
        each("selectors/field-malformed-400", "a field selector without operator: 400", field_malformed),
        since(
            31,
            custom(
                "selectors/field-selectable",
                "selectableFields of the CRD (since 1.31)",
                field_selectable,
            ),
        ),
        since(
            31,
            custom(
                "selectors/field-selectable-watch",
                "an object whose selectable field starts to match is ADDED to a watch",
                selectable_watch,
            ),
        ),
        core("selectors/field-secret-type", "fieldSelector type of Secrets", field_secret_type),
        core("selectors/field-of-config-map-400", "other fields of ConfigMaps: 400", field_config_map),
    ];
    good.chain(bad).chain(fields.into_iter().flatten()).collect()
}

async fn objects(cx: &Context) -> Outcome {
    let all = [
        ("a", json!({"env": "prod", "tier": "web", "rank": "9"})),
        ("b", json!({"env": "prod", "tier": "db", "rank": "10"})),
        ("c", json!({"env": "test", "tier": "", "rank": "100"})),
        ("d", json!({"env": "dev", "app.example/name": "x"})),
        ("e", json!({"other": "y"})),
    ];
    for (name, labels) in all {
        cx.create_at(cx.all(), &cx.object_of(cx.kind(), name, json!({"metadata": {"labels": labels}})))
            .await?;
    }
    Ok(())
}

async fn takes(cx: Context, text: &str, names: &[&str]) -> Outcome {
    objects(&cx).await?;
    cx.get(format!("{}?labelSelector={text}", cx.all())).await?.lists(names)?;
    Ok(())
}

async fn refused(cx: Context, text: &str) -> Outcome {
    cx.get(format!("{}?labelSelector={text}", cx.all())).await?.fails(400, "BadRequest")?;
    Ok(())
}

async fn field_name(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    cx.get(format!("{}?fieldSelector=metadata.name%3Db", cx.all())).await?.lists(&["b"])?;
    cx.get(format!("{}?fieldSelector=metadata.name%3D%3Db", cx.all())).await?.lists(&["b"])?;
    Ok(())
}

async fn field_name_not(cx: Context) -> Outcome {
    cx.create_all(&["a", "b", "c"]).await?;
    cx.get(format!("{}?fieldSelector=metadata.name!%3Db", cx.all())).await?.lists(&["a", "c"])?;
    Ok(())
}

async fn field_namespace(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.get(format!("{}?fieldSelector=metadata.namespace%3D{}", cx.everywhere(), cx.ns))
        .await?
        .lists(&["a"])?;
    cx.get(format!("{}?fieldSelector=metadata.namespace%3Delsewhere", cx.all())).await?.lists(&[])?;
    Ok(())
}

async fn field_and(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    cx.get(format!("{}?fieldSelector=metadata.name%3Da,metadata.name!%3Db", cx.all()))
        .await?
        .lists(&["a"])?;
    cx.get(format!("{}?fieldSelector=metadata.name%3Da,metadata.name%3Db", cx.all())).await?.lists(&[])?;
    Ok(())
}

async fn field_and_label(cx: Context) -> Outcome {
    objects(&cx).await?;
    cx.get(format!("{}?fieldSelector=metadata.name!%3Da&labelSelector=env%3Dprod", cx.all()))
        .await?
        .lists(&["b"])?;
    Ok(())
}

async fn field_unknown(cx: Context) -> Outcome {
    let r = cx.get(format!("{}?fieldSelector=spec.nonsense%3D1", cx.all())).await?;
    let says = match cx.subject {
        Subject::Custom => "field label not supported: spec.nonsense",
        Subject::Builtin => {
            "\"spec.nonsense\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        }
    };
    r.fails(400, "BadRequest")?.mentions(says)?;
    Ok(())
}

async fn field_malformed(cx: Context) -> Outcome {
    cx.get(format!("{}?fieldSelector=metadata.name", cx.all())).await?.fails(400, "BadRequest")?;
    Ok(())
}

async fn field_selectable(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &cx.with_spec("a", json!({"color": "red"}))).await?;
    cx.create_at(cx.all(), &cx.with_spec("b", json!({"color": "blue"}))).await?;
    cx.create_at(cx.all(), &cx.with_spec("c", json!({}))).await?;
    let r = cx.get(format!("{}?fieldSelector=spec.color%3Dred", cx.all())).await?;
    r.lists(&["a"])?;
    cx.get(format!("{}?fieldSelector=spec.color!%3Dred", cx.all())).await?.lists(&["b", "c"])?;
    Ok(())
}

async fn selectable_watch(cx: Context) -> Outcome {
    let revision = cx.create_at(cx.all(), &cx.with_spec("a", json!({"color": "red"}))).await?.revision()?;
    let path = format!("{}?watch=1&resourceVersion={revision}&fieldSelector=spec.color%3Dblue", cx.all());
    let mut watch = cx.watch(path).await?;
    cx.merge(cx.one("a"), &json!({"spec": {"color": "blue"}})).await?.is(200)?;
    watch.expect("ADDED", "a").await?;
    Ok(())
}

async fn field_secret_type(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&SECRET), &cx.object_of(&SECRET, "a", json!({"type": "conformance.example/x"})))
        .await?;
    cx.create_at(cx.all_of(&SECRET), &cx.object_of(&SECRET, "b", json!({}))).await?;
    cx.get(format!("{}?fieldSelector=type%3Dconformance.example/x", cx.all_of(&SECRET)))
        .await?
        .lists(&["a"])?;
    Ok(())
}

async fn field_config_map(cx: Context) -> Outcome {
    let r = cx.get(format!("{}?fieldSelector=data.k%3D1", cx.all_of(&CONFIG_MAP))).await?;
    r.fails(400, "BadRequest")?.mentions("\"data.k\" is not a known field selector")?;
    Ok(())
}
