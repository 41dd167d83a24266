//! `POST .../pods/{name}/eviction`: a deletion that PodDisruptionBudgets can refuse.

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    admission,
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    object::selector::LabelSelector,
    route::DeleteOptions,
    status_error::{Cause, Details, StatusError},
    storage::Stored,
    webhook::Interruption,
    write::body,
};

pub(super) fn evict(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let mut eviction = body::posted(call, "Eviction")?;
    body::check_posted_name(call, &eviction, "Eviction")?;
    let options = DeleteOptions::parse(&call.query, &eviction["deleteOptions"])?;
    let mut warnings = Vec::new();
    admission::admit_posted(
        cluster.admission_context(),
        call,
        &mut eviction,
        options.dry_run,
        &mut warnings,
    )?;
    let resource = call.endpoint.resource.clone();
    let stored = cluster.store().get(resource.table, &call.key()).ok_or_else(|| call.not_found())?.clone();
    super::delete::check_preconditions(call, &options, &stored)?;
    let pod = stored.value();
    let over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending"));
    if !over && pod["metadata"]["deletionTimestamp"].is_null() {
        take_disruption(cluster, call, &stored, options.dry_run)?;
    }
    if !options.dry_run {
        cluster.delete_gracefully(&resource, &call.key(), options.propagation, options.grace)?;
        cluster.run_tasks();
    }
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(ApiResponse { code: StatusCode::CREATED, content: Content::Document(status), warnings })
}

/// Decrements the allowed disruptions of the pod's budget, if it has one.
fn take_disruption(
    cluster: &mut ClusterState,
    call: &Call,
    pod: &Stored,
    dry_run: bool,
) -> Result<(), StatusError> {
    let namespace = pod.key.namespace();
    let Some(resource) =
        cluster.scheme().by_plural("policy", "poddisruptionbudgets").map(|e| e.resource.clone())
    else {
        return Ok(());
    };
    let all = cluster.store().objects(resource.table, namespace);
    let mut budgets =
        all.map(|stored| (stored.key.clone(), stored.value())).filter(|(_, budget)| covers(budget, pod));
    let Some((key, mut budget)) = budgets.next() else { return Ok(()) };
    if budgets.next().is_some() {
        let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", why));
    }
    drop(budgets);
    if goes_unhealthy(&budget, &pod.value()) {
        return Ok(());
    }
    let status = &budget["status"];
    let number = |field: &str| status[field].as_i64().unwrap_or(0);
    if number("observedGeneration") < budget["metadata"]["generation"].as_i64().unwrap_or(0) {
        let why = format!("The disruption budget {} is still being processed by the server.", key.name());
        return Err(refused(why, 10));
    }
    let allowed = number("disruptionsAllowed");
    if allowed <= 0 {
        let (needs, has) = (number("desiredHealthy"), number("currentHealthy"));
        let why = format!(
            "The disruption budget {} needs {needs} healthy pods and has {has} currently",
            key.name()
        );
        return Err(refused(why, 0));
    }
    if !dry_run {
        budget["status"]["disruptionsAllowed"] = (allowed - 1).into();
        budget["status"]["disruptedPods"][call.object_name()] = cluster.now().into();
        cluster.put(&resource, key, budget)?;
    }
    Ok(())
}

/// Whether a pod that is not ready goes without a disruption: always, or while the budget has enough healthy pods.
fn goes_unhealthy(budget: &Value, pod: &Value) -> bool {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    if conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True") {
        return false;
    }
    let number = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || number("desiredHealthy") > 0 && number("currentHealthy") >= number("desiredHealthy")
}

fn covers(budget: &Value, pod: &Stored) -> bool {
    let selector = LabelSelector::from_object(&budget["spec"]["selector"]);
    selector.is_some_and(|selector| selector.matches(|key| pod.label(key)))
}

fn refused(why: String, retry_after_seconds: u64) -> StatusError {
    let cause = Cause { reason: "DisruptionBudget".into(), message: why, ..Cause::default() };
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    StatusError::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message).about(Details {
        causes: vec![cause],
        retry_after_seconds,
        ..Details::default()
    })
}
