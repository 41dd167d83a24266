//! Log, exec, attach and portforward.

use http::Method;

use super::setup::{below, not_allowed, pods};
use crate::{
    check::{Outcome, equal},
    context::Context,
};

fn with_container(rest: &str, container: &str) -> String {
    format!("{rest}{}container={container}", if rest.contains('?') { '&' } else { '?' })
}

pub(super) async fn log_waiting(cx: Context) -> Outcome {
    pods(&cx).await?;
    for (pod, query) in
        [("a", "log"), ("a", "log?previous=true"), ("two", "log?container=d"), ("two", "log?container=i")]
    {
        let r = cx.get(below(&cx, pod, query)).await?;
        equal("body", "", &r.is(204)?.text)?;
    }
    Ok(())
}

pub(super) async fn missing(cx: Context, rest: &'static str) -> Outcome {
    let r = cx.get(below(&cx, "none", rest)).await?;
    r.fails(404, "NotFound")?
        .says("pods \"none\" not found")?
        .eq("/details/name", "none")?
        .eq("/details/kind", "pods")?;
    Ok(())
}

pub(super) async fn which(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    let r = cx.get(below(&cx, "two", rest)).await?;
    r.fails(400, "BadRequest")?
        .mentions("a container name must be specified for pod two, choose one of: [")?;
    ["c", "d", "i"].iter().try_for_each(|name| r.mentions(name).map(drop))
}

pub(super) async fn wrong_container(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    let r = cx.get(below(&cx, "a", &with_container(rest, "none"))).await?;
    r.fails(400, "BadRequest")?.says("container none is not valid for pod a")?;
    Ok(())
}

pub(super) async fn log_options(cx: Context) -> Outcome {
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

pub(super) async fn log_unreadable(cx: Context) -> Outcome {
    pods(&cx).await?;
    for query in ["tailLines=x", "sinceSeconds=x", "limitBytes=1.5", "sinceTime=yesterday"] {
        cx.get(below(&cx, "a", &format!("log?{query}"))).await?.fails(400, "BadRequest")?;
    }
    let r = cx.get(below(&cx, "a", "log?tailLines=x")).await?;
    r.says("strconv.ParseInt: parsing \"x\": invalid syntax")?;
    Ok(())
}

pub(super) async fn log_one_since(cx: Context) -> Outcome {
    pods(&cx).await?;
    let r = cx.get(below(&cx, "a", "log?sinceSeconds=5&sinceTime=2020-01-01T00:00:00Z")).await?;
    r.fails(422, "Invalid")?.mentions("at most one of `sinceTime` or `sinceSeconds` may be specified")?;
    Ok(())
}

pub(super) async fn log_verbs(cx: Context) -> Outcome {
    pods(&cx).await?;
    not_allowed(&cx, &below(&cx, "a", "log"), &[Method::POST, Method::PUT, Method::DELETE]).await
}

pub(super) async fn no_host(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    for method in [Method::GET, Method::POST] {
        let r = cx.call(method, below(&cx, "a", rest)).send().await?;
        r.fails(400, "BadRequest")?.says("pod a does not have a host assigned")?;
    }
    Ok(())
}

pub(super) async fn no_host_upgrade(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    let call = cx.call(Method::POST, below(&cx, "a", rest));
    let call = call.header("connection", "Upgrade").header("upgrade", "SPDY/3.1");
    let r = call.header("x-stream-protocol-version", "v4.channel.k8s.io").send().await?;
    r.fails(400, "BadRequest")?.says("pod a does not have a host assigned")?;
    Ok(())
}

pub(super) async fn get_or_post(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    not_allowed(&cx, &below(&cx, "a", rest), &[Method::PUT, Method::DELETE]).await
}
