//! Log, exec, attach and portforward.

use http::Method;

use super::setup::{below, not_allowed, pods};
use crate::{
    case::{Case, core},
    check::{Outcome, equal},
    context::Context,
};

// One row per line.
#[rustfmt::skip]
pub(super) fn cases() -> Vec<Case> {
    [
        core("pods/log-waiting", "the log of a container that has not started is empty: 204, with or without previous", log_waiting),
        core("pods/log-missing-404", "the log of a missing pod: 404", |cx| missing(cx, "log")),
        core("pods/log-which-container-400", "the log of one of several containers needs its name: 400, naming them", |cx| which(cx, "log")),
        core("pods/log-wrong-container-400", "the log of a container that the pod does not have: 400", |cx| wrong_container(cx, "log")),
        core("pods/log-options-422", "log options out of range: 422 of PodLogOptions with their causes", log_options),
        core("pods/log-options-400", "log options of the wrong type: 400", log_unreadable),
        core("pods/log-one-since-422", "sinceTime and sinceSeconds exclude each other: 422", log_one_since),
        core("pods/log-verbs-405", "other verbs than GET on a log: 405", log_verbs),
        core("pods/exec-missing-404", "exec in a missing pod: 404", |cx| missing(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-no-host-400", "exec in a pod without node: 400, for GET and POST", |cx| no_host(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-upgrade-no-host-400", "the same for requests to upgrade the connection: an ordinary HTTP response", |cx| no_host_upgrade(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-which-container-400", "exec in one of several containers needs its name: 400, naming them", |cx| which(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-wrong-container-400", "exec in a container that the pod does not have: 400", |cx| wrong_container(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-verbs-405", "exec is GET or POST: 405 for others", |cx| get_or_post(cx, "exec?command=ls&stdout=true")),
        core("pods/attach-missing-404", "attach to a missing pod: 404", |cx| missing(cx, "attach?stdout=true")),
        core("pods/attach-no-host-400", "attach to a pod without node: 400, for GET and POST", |cx| no_host(cx, "attach?stdout=true")),
        core("pods/attach-upgrade-no-host-400", "the same for requests to upgrade the connection", |cx| no_host_upgrade(cx, "attach?stdout=true")),
        core("pods/attach-which-container-400", "attach to one of several containers needs its name: 400, naming them", |cx| which(cx, "attach?stdout=true")),
        core("pods/attach-wrong-container-400", "attach to a container that the pod does not have: 400", |cx| wrong_container(cx, "attach?stdout=true")),
        core("pods/attach-verbs-405", "attach is GET or POST: 405 for others", |cx| get_or_post(cx, "attach?stdout=true")),
        core("pods/portforward-missing-404", "port-forward to a missing pod: 404", |cx| missing(cx, "portforward?ports=80")),
        core("pods/portforward-no-host-400", "port-forward to a pod without node: 400, for GET and POST", |cx| no_host(cx, "portforward?ports=80")),
        core("pods/portforward-upgrade-no-host-400", "the same for requests to upgrade the connection", |cx| no_host_upgrade(cx, "portforward")),
        core("pods/portforward-verbs-405", "port-forward is GET or POST: 405 for others", |cx| get_or_post(cx, "portforward?ports=80")),
    ]
    .concat()
}

fn with_container(rest: &str, container: &str) -> String {
    format!("{rest}{}container={container}", if rest.contains('?') { '&' } else { '?' })
}

async fn log_waiting(cx: Context) -> Outcome {
    pods(&cx).await?;
    for (pod, query) in
        [("a", "log"), ("a", "log?previous=true"), ("two", "log?container=d"), ("two", "log?container=i")]
    {
        let r = cx.get(below(&cx, pod, query)).await?;
        equal("body", "", &r.is(204)?.text)?;
    }
    Ok(())
}

async fn missing(cx: Context, rest: &'static str) -> Outcome {
    let r = cx.get(below(&cx, "none", rest)).await?;
    r.fails(404, "NotFound")?
        .says("pods \"none\" not found")?
        .eq("/details/name", "none")?
        .eq("/details/kind", "pods")?;
    Ok(())
}

async fn which(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    let r = cx.get(below(&cx, "two", rest)).await?;
    r.fails(400, "BadRequest")?
        .mentions("a container name must be specified for pod two, choose one of: [")?;
    ["c", "d", "i"].iter().try_for_each(|name| r.mentions(name).map(drop))
}

async fn wrong_container(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    let r = cx.get(below(&cx, "a", &with_container(rest, "none"))).await?;
    r.fails(400, "BadRequest")?.says("container none is not valid for pod a")?;
    Ok(())
}

async fn log_options(cx: Context) -> Outcome {
    pods(&cx).await?;
    for (field, value, why) in [
        ("tailLines", "-1", "Invalid value: -1: must be greater than or equal to 0"),
        ("sinceSeconds", "0", "Invalid value: 0: must be greater than 0"),
        ("limitBytes", "0", "Invalid value: 0: must be greater than 0"),
    ] {
        let r = cx.get(below(&cx, "a", &format!("log?{field}={value}"))).await?;
        r.fails(422, "Invalid")?.says(&format!("PodLogOptions \"a\" is invalid: {field}: {why}"))?;
        r.cause("FieldValueInvalid", field)?
            .eq("/details/kind", "PodLogOptions")?
            .eq("/details/name", "a")?;
    }
    Ok(())
}

async fn log_unreadable(cx: Context) -> Outcome {
    pods(&cx).await?;
    for query in ["tailLines=x", "sinceSeconds=x", "limitBytes=1.5", "sinceTime=yesterday"] {
        cx.get(below(&cx, "a", &format!("log?{query}"))).await?.fails(400, "BadRequest")?;
    }
    let r = cx.get(below(&cx, "a", "log?tailLines=x")).await?;
    r.says("strconv.ParseInt: parsing \"x\": invalid syntax")?;
    Ok(())
}

async fn log_one_since(cx: Context) -> Outcome {
    pods(&cx).await?;
    let r = cx.get(below(&cx, "a", "log?sinceSeconds=5&sinceTime=2020-01-01T00:00:00Z")).await?;
    r.fails(422, "Invalid")?.mentions("at most one of `sinceTime` or `sinceSeconds` may be specified")?;
    Ok(())
}

async fn log_verbs(cx: Context) -> Outcome {
    pods(&cx).await?;
    not_allowed(&cx, &below(&cx, "a", "log"), &[Method::POST, Method::PUT, Method::DELETE]).await
}

async fn no_host(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    for method in [Method::GET, Method::POST] {
        let r = cx.call(method, below(&cx, "a", rest)).send().await?;
        r.fails(400, "BadRequest")?.says("pod a does not have a host assigned")?;
    }
    Ok(())
}

async fn no_host_upgrade(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    let call = cx.call(Method::POST, below(&cx, "a", rest));
    let call = call.header("connection", "Upgrade").header("upgrade", "SPDY/3.1");
    let r = call.header("x-stream-protocol-version", "v4.channel.k8s.io").send().await?;
    r.fails(400, "BadRequest")?.says("pod a does not have a host assigned")?;
    Ok(())
}

async fn get_or_post(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    not_allowed(&cx, &below(&cx, "a", rest), &[Method::PUT, Method::DELETE]).await
}
