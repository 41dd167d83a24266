//! Admission by the plugin Priority. Every server has the plugin switched on.

use serde_json::{Value, json};

use crate::{
    case::{Case, core},
    check::Outcome,
    context::Context,
    kinds::POD,
};

const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("priority/of-system", "a pod gets the value and preemption policy of its class", of_system),
        core("priority/of-own-class", "a class that does not preempt", of_own_class),
        core("priority/without-class", "a pod without a class has priority 0", without_class),
        core("priority/unknown-class-403", "a pod whose class does not exist: 403", unknown_class),
        core("priority/provided-403", "a priority that is not that of the class: 403", provided),
        core("priority/provided-equal", "the priority of the class may be provided", provided_equal),
        core("priority/policy-provided-403", "a preemption policy that is not that of the class: 403", policy_provided),
        core("priority/global-default", "a default class is that of pods without one, and there is one at most", global_default),
        core("priority/reserved-name-422", "names of classes that begin with system- are reserved: 422", reserved_name),
        core("priority/too-large-422", "the largest values are reserved: 422", too_large),
        core("priority/system-class-stays-403", "a class of the system is not deleted: 403", system_class_stays),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn pod(cx: &Context, name: &str, more: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    cx.object_of(&POD, name, json!({"spec": spec}))
}

/// A class of the case. Its name is that of the case's namespace, which no other case has.
fn class(cx: &Context, more: Value) -> Value {
    let mut class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": cx.ns}, "value": 7});
    for (field, value) in more.as_object().into_iter().flatten() {
        class[field] = value.clone();
    }
    class
}

async fn of_system(cx: Context) -> Outcome {
    let made = cx
        .create_at(cx.all_of(&POD), &pod(&cx, "a", json!({"priorityClassName": "system-node-critical"})))
        .await?;
    made.eq("/spec/priority", 2_000_001_000)?.eq("/spec/preemptionPolicy", "PreemptLowerPriority")?;
    Ok(())
}

async fn of_own_class(cx: Context) -> Outcome {
    cx.create_at(CLASSES, &class(&cx, json!({"preemptionPolicy": "Never"}))).await?;
    let pods = cx.all_of(&POD);
    let wanted = pod(&cx, "a", json!({"priorityClassName": cx.ns}));
    let made = cx.eventually("201", || cx.post(&pods, &wanted), |reply| reply.code == 201).await?;
    made.eq("/spec/priority", 7)?.eq("/spec/preemptionPolicy", "Never")?;
    cx.delete(format!("{CLASSES}/{}", cx.ns)).await?.is(200)?;
    Ok(())
}

async fn without_class(cx: Context) -> Outcome {
    let made = cx.create_at(cx.all_of(&POD), &pod(&cx, "a", json!({}))).await?;
    made.eq("/spec/priority", 0)?.eq("/spec/preemptionPolicy", "PreemptLowerPriority")?;
    Ok(())
}

async fn unknown_class(cx: Context) -> Outcome {
    let reply = cx.post(cx.all_of(&POD), &pod(&cx, "a", json!({"priorityClassName": "none"}))).await?;
    reply
        .fails(403, "Forbidden")?
        .says("pods \"a\" is forbidden: no PriorityClass with name none was found")?;
    Ok(())
}

async fn provided(cx: Context) -> Outcome {
    let reply = cx
        .post(
            cx.all_of(&POD),
            &pod(&cx, "a", json!({"priority": 5, "priorityClassName": "system-node-critical"})),
        )
        .await?;
    reply.fails(403, "Forbidden")?.says(
        "pods \"a\" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission \
         controller computed 2000001000 from the given PriorityClass name",
    )?;
    Ok(())
}

async fn provided_equal(cx: Context) -> Outcome {
    let spec = json!({"priority": 2_000_000_000, "priorityClassName": "system-cluster-critical"});
    cx.create_at(cx.all_of(&POD), &pod(&cx, "a", spec)).await?.eq("/spec/priority", 2_000_000_000)?;
    Ok(())
}

async fn policy_provided(cx: Context) -> Outcome {
    let reply = cx.post(cx.all_of(&POD), &pod(&cx, "a", json!({"preemptionPolicy": "Never"}))).await?;
    reply.fails(403, "Forbidden")?.says(
        "pods \"a\" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority \
         admission controller computed PreemptLowerPriority from the given PriorityClass name",
    )?;
    Ok(())
}

/// The value 0 leaves the pods of other cases as they are.
async fn global_default(cx: Context) -> Outcome {
    cx.create_at(CLASSES, &class(&cx, json!({"value": 0, "globalDefault": true}))).await?;
    let pods = cx.all_of(&POD);
    let wanted = pod(&cx, "a", json!({}));
    let path = format!("{pods}?dryRun=All");
    let made = cx
        .eventually(
            "the default class",
            || cx.post(&path, &wanted),
            |reply| reply.body["spec"]["priorityClassName"] == cx.ns,
        )
        .await;
    let second =
        class(&cx, json!({"metadata": {"name": format!("{}-2", cx.ns)}, "value": 0, "globalDefault": true}));
    let refused = cx.post(CLASSES, &second).await?;
    cx.delete(format!("{CLASSES}/{}", cx.ns)).await?.is(200)?;
    made?;
    refused.fails(403, "Forbidden")?.mentions(&format!(
        "PriorityClass {} is already marked as default. Only one default can exist",
        cx.ns
    ))?;
    Ok(())
}

async fn reserved_name(cx: Context) -> Outcome {
    let name = format!("system-{}", cx.ns);
    let reply = cx.post(CLASSES, &class(&cx, json!({"metadata": {"name": name}}))).await?;
    let why = format!(
        "Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
    );
    reply.fails(422, "Invalid")?.cause("FieldValueForbidden", "metadata.name")?.mentions(&why)?;
    Ok(())
}

async fn too_large(cx: Context) -> Outcome {
    let reply = cx.post(CLASSES, &class(&cx, json!({"value": 1_000_000_001}))).await?;
    reply
        .fails(422, "Invalid")?
        .mentions("value: Forbidden: maximum allowed value of a user defined priority is 1000000000")?;
    Ok(())
}

async fn system_class_stays(cx: Context) -> Outcome {
    let reply = cx.delete(format!("{CLASSES}/system-node-critical")).await?;
    reply.fails(403, "Forbidden")?.mentions("this is a system priority class and cannot be deleted")?;
    Ok(())
}
