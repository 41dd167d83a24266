//! Cost limits of CEL rules: CRDs with too expensive rules are refused (since 1.25).

use serde_json::{Value, json};

use crate::{
    case::{Case, custom, since},
    check::Outcome,
    context::Context,
    kinds,
    server::CRDS,
};

/// A rule over a field `a`, the schema of `a`, and the factor by which it exceeds the limit; `None` if it does not.
type Row = (&'static str, &'static str, Value, Option<&'static str>);

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn most(count: u64, items: Value) -> Value {
    json!({"type": "array", "maxItems": count, "items": items})
}

// One row per line.
#[rustfmt::skip]
fn rows() -> Vec<Row> {
    let (number, text, short) = (|| json!({"type": "integer"}), || json!({"type": "string"}), || json!({"type": "string", "maxLength": 10}));
    let map = || json!({"type": "object", "additionalProperties": {"type": "string"}});
    vec![
        ("numbers", "self.a.all(x, x > 0)", list(number()), None),
        ("numbers-three-comparisons", "self.a.all(x, x > 0 && x < 5 && x != 3)", list(number()), Some("1.258291x")),
        ("numbers-squared", "self.a.all(x, self.a.all(y, x == y))", list(number()), Some("more than 100x")),
        ("texts", "self.a.all(x, x == x)", list(text()), Some("more than 100x")),
        ("texts-prefix", "self.a.all(x, x.startsWith('ab'))", list(text()), None),
        ("texts-pattern", "self.a.all(x, x.matches('^[a-z]+$'))", list(text()), Some("more than 100x")),
        ("texts-squared-of-100", "self.a.all(x, self.a.all(y, x == y))", most(100, text()), Some("more than 100x")),
        ("short-texts-squared-of-100", "self.a.all(x, self.a.all(y, x == y))", most(100, short()), None),
        ("map-values", "self.a.all(k, self.a[k] != 'x')", map(), None),
        ("map-squared", "self.a.all(k, self.a.all(j, j != k))", map(), Some("more than 100x")),
        ("pattern", "self.a.matches('^a*b$')", text(), None),
        ("contains-itself", "self.a.contains(self.a)", text(), Some("more than 100x")),
        ("contains-itself-of-1000", "self.a.contains(self.a)", json!({"type": "string", "maxLength": 1000}), None),
        ("all", "self.a.all(x, true)", most(6_000_000, number()), Some("1.8x")),
        ("sum", "self.a.all(x, x + 1 > 0)", most(2_500_000, number()), Some("1.5x")),
        ("exists", "self.a.exists(x, x > 0)", most(2_500_000, number()), Some("1.5x")),
        ("exists-one", "self.a.exists_one(x, x > 0)", most(2_000_000, number()), None),
        ("map-of-list", "self.a.map(x, x + 1).size() > 0", most(2_000_000, number()), Some("2.8x")),
        ("filter", "self.a.filter(x, x > 1).size() > 0", most(2_000_000, number()), Some("3.0x")),
        ("contains", "self.a.all(x, x.contains('abc'))", most(2_000_000, short()), Some("1.6x")),
        ("matches", "self.a.all(x, x.matches('^abc$'))", most(1_000_000, short()), Some("1.400000x")),
        ("in", "self.a.all(x, x in ['a','b'])", most(1_000_000, short()), Some("1.6x")),
        ("concatenation", "self.a.all(x, x + 'abc' != 'x')", most(1_500_000, short()), Some("1.5x")),
        ("either", "self.a.all(x, x == 'a' ? true : false)", most(1_500_000, short()), None),
        ("member", "self.a.all(x, x.c > 0)", most(2_000_000, json!({"type": "object", "properties": {"c": {"type": "integer"}}})), Some("1.200000x")),
    ]
}

pub(crate) fn cases() -> Vec<Case> {
    let rows = rows().into_iter().flat_map(|(id, rule, a, factor)| {
        let (id, what) = match factor {
            Some(factor) => {
                (format!("cost/{id}-422"), format!("{rule}: refused, {factor} of what a rule may cost"))
            }
            None => (format!("cost/{id}"), format!("{rule}: may be as costly as it is")),
        };
        since(25, custom(&id, &what, move |cx| judged(cx, rule, a.clone(), factor)))
    });
    let whole = custom(
        "cost/schema-422",
        "rules whose total estimated cost is too high: the schema is rejected, naming the rules",
        whole,
    );
    let nested = custom(
        "cost/nested",
        "the cost of a rule inside unbounded lists is multiplied by the items that fit into a request",
        nested,
    );
    rows.chain(since(25, whole)).chain(since(25, nested)).collect()
}

const SPEC: &str = "spec.validation.openAPIV3Schema.properties[spec]";

fn definition(cx: &Context, spec: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    kinds::plain_crd(&cx.own_group(), "Cost", "costs", schema)
}

async fn judged(cx: Context, rule: &str, a: Value, factor: Option<&str>) -> Outcome {
    let spec =
        json!({"type": "object", "properties": {"a": a}, "x-kubernetes-validations": [{"rule": rule}]});
    let reply = cx.post(format!("{CRDS}?dryRun=All"), &definition(&cx, spec)).await?;
    let Some(factor) = factor else { return reply.is(201).map(drop) };
    let field = format!("{SPEC}.x-kubernetes-validations[0].rule");
    reply.fails(422, "Invalid")?.cause("FieldValueForbidden", &field)?;
    reply.mentions(&format!("estimated rule cost exceeds budget by factor of {factor} (try simplifying"))?;
    Ok(())
}

async fn whole(cx: Context) -> Outcome {
    let a = most(100, json!({"type": "string"}));
    let rule = json!([{"rule": "self.a.all(x, self.a.all(y, x == y))"}]);
    let spec = json!({"type": "object", "properties": {"a": a}, "x-kubernetes-validations": rule});
    let reply = cx.post(format!("{CRDS}?dryRun=All"), &definition(&cx, spec)).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueForbidden", "spec.validation.openAPIV3Schema")?;
    reply.mentions(
        "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
    )?;
    reply.mentions(
        "estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 31.5x",
    )?;
    Ok(())
}

async fn nested(cx: Context) -> Outcome {
    let item = |rule: &str| json!({"type": "integer", "x-kubernetes-validations": [{"rule": rule}]});
    let spec = list(list(item("self > 3")));
    cx.post(format!("{CRDS}?dryRun=All"), &definition(&cx, spec)).await?.is(201)?;
    let spec = most(4000, most(2000, item("self > 3")));
    let reply = cx.post(format!("{CRDS}?dryRun=All"), &definition(&cx, spec)).await?;
    reply.fails(422, "Invalid")?.mentions("exceeds budget by factor of 1.6x")?;
    Ok(())
}
