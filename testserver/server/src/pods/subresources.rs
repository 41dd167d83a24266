//! Pod subresources that the node serves: logs, and connections into the pod.

use jiff::Timestamp;
use serde_json::Value;

use super::{Container, LogQuery, Since, container_of, status_of};
use crate::{
    admission::{self, AdmissionContext},
    call::Call,
    route::Query,
    schema::{ErrorList, FieldError},
    status_error::StatusError,
    storage::Storage,
    webhook::Interruption,
};

/// The namespace and pod of a connection, after admission.
pub(super) fn connect<'a>(
    context: AdmissionContext<'_>,
    call: &'a Call,
) -> Result<(&'a str, Value), Interruption> {
    if !matches!(call.verb(), "get" | "create") {
        return Err(StatusError::method_not_allowed().into());
    }
    admission::admit_connection(context, call)?;
    Ok((call.namespace.as_deref().unwrap_or_default(), pod(context.storage, call)?))
}

/// The container and options of a log request, and whether the pod has a node.
pub(super) fn log(storage: &Storage, call: &Call) -> Result<(Container, LogQuery, bool), StatusError> {
    if call.verb() != "get" {
        return Err(StatusError::method_not_allowed());
    }
    let query = &call.query;
    let options = Options::parse(query)?;
    let pod = pod(storage, call)?;
    options.check(call.object_name())?;
    let namespace = call.namespace.as_deref().unwrap_or_default();
    let container = container_of(namespace, &pod, query.get("container"))?;
    let log = options.query(query);
    check_state(&pod, &container, &log)?;
    Ok((container, log, pod["spec"]["nodeName"].is_string()))
}

fn pod(storage: &Storage, call: &Call) -> Result<Value, StatusError> {
    let stored = storage.store.get(call.endpoint.resource.table, &call.key());
    Ok(stored.ok_or_else(|| call.not_found())?.value())
}

/// Refuses the log of a container that has not started, and the previous log of one that has not restarted.
fn check_state(pod: &Value, container: &Container, log: &LogQuery) -> Result<(), StatusError> {
    let Some(status) = status_of(pod, &container.name) else { return Ok(()) };
    let (name, pod) = (&container.name, &container.pod);
    if log.previous && status["restartCount"].as_i64().unwrap_or(0) == 0 {
        let why = format!("previous terminated container {name:?} in pod {pod:?} not found");
        return Err(StatusError::bad_request(why));
    }
    match status["state"]["waiting"]["reason"].as_str() {
        Some(reason) if !log.previous => Err(StatusError::bad_request(format!(
            "container {name:?} in pod {pod:?} is waiting to start: {reason}"
        ))),
        _ => Ok(()),
    }
}

/// Query parameters, as sent.
#[derive(Debug)]
struct Options {
    tail: Option<i64>,
    limit: Option<i64>,
    seconds: Option<i64>,
    time: Option<Timestamp>,
}

impl Options {
    fn parse(query: &Query) -> Result<Self, StatusError> {
        let number = |key: &str| query.get(key).map(integer).transpose();
        let time = query.get("sinceTime").map(|text| {
            text.parse().map_err(|_| {
                let why = format!("parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse");
                StatusError::bad_request(format!("{why} {text:?} as \"2006\""))
            })
        });
        Ok(Self {
            tail: number("tailLines")?,
            limit: number("limitBytes")?,
            seconds: number("sinceSeconds")?,
            time: time.transpose()?,
        })
    }

    fn check(&self, pod: &str) -> Result<(), StatusError> {
        let least = |field: &str, value: Option<i64>, least: i64, rule: &str| {
            value.filter(|value| *value < least).map(|value| FieldError::invalid(field, value, rule))
        };
        let both = self.seconds.is_some() && self.time.is_some();
        let both = both.then(|| {
            FieldError::forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified")
        });
        let errors: ErrorList = [
            least("tailLines", self.tail, 0, "must be greater than or equal to 0"),
            least("limitBytes", self.limit, 1, "must be greater than 0"),
            both,
            least("sinceSeconds", self.seconds, 1, "must be greater than 0"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if errors.is_empty() { Ok(()) } else { Err(StatusError::invalid("", "PodLogOptions", pod, &errors)) }
    }

    fn query(&self, query: &Query) -> LogQuery {
        let size = |number: Option<i64>| number.and_then(|number| usize::try_from(number).ok());
        LogQuery {
            follow: query.flag("follow"),
            previous: query.flag("previous"),
            timestamps: query.flag("timestamps"),
            tail: size(self.tail),
            limit: size(self.limit),
            since: self.time.map(Since::Time).or(self.seconds.map(Since::Seconds)),
        }
    }
}

fn integer(text: &str) -> Result<i64, StatusError> {
    text.parse()
        .map_err(|_| StatusError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
}
