//! The trace that a change of an object belongs to, from an annotation.

use kube_core::ResourceExt;
use std::{fmt, str::FromStr};

/// A `traceparent` of W3C Trace Context: the trace and the span that led to something, such as the state of an object.
///
/// A client that changes an object can store its `traceparent` in an annotation, and a reconciler can link its span to that trace.
/// There is no annotation that all programs use, so its name is an argument.
///
/// Source: <https://www.w3.org/TR/trace-context/#traceparent-header>. Versions after 00 are read as it requires; flags other than
/// `sampled` are dropped.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::ResourceExt;
/// use kube_runtime::controller::TraceParent;
///
/// let mut map = ConfigMap::default();
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// map.annotations_mut().insert("example.com/traceparent".into(), header.into());
///
/// let Some(Ok(parent)) = TraceParent::of(&map, "example.com/traceparent") else { panic!("no trace") };
/// assert_eq!((parent.to_string().as_str(), parent.sampled), (header, true));
/// tracing::info!(trace_id = format!("{:032x}", parent.trace_id), "caused by");
/// // With `tracing-opentelemetry`:
/// // let context = SpanContext::new(
/// //     parent.trace_id.into(), parent.span_id.into(), TraceFlags::default().with_sampled(parent.sampled), true, TraceState::NONE);
/// // Span::current().add_link(context);
/// assert_eq!(TraceParent::of(&map, "example.com/other"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceParent {
    /// The trace.
    pub trace_id: u128,
    /// The span within it.
    pub span_id: u64,
    /// Whether the trace is recorded.
    pub sampled: bool,
}

/// A text is not a `traceparent`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid traceparent {text:?}: expected 00-TRACE-SPAN-FLAGS with 32, 16 and 2 lower-case hexadecimal digits, and ids other than 0"
)]
pub struct InvalidTraceParent {
    text: String,
}

impl TraceParent {
    /// The `traceparent` in this annotation of the object; `None` if it has none.
    pub fn of(object: &impl ResourceExt, annotation: &str) -> Option<Result<Self, InvalidTraceParent>> {
        object.annotations().get(annotation).map(|text| text.parse())
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.splitn(5, '-');
        let version = hexadecimal(fields.next()?, 2)?;
        let trace_id = hexadecimal(fields.next()?, 32)?;
        let span_id = hexadecimal(fields.next()?, 16)?;
        let flags = hexadecimal(fields.next()?, 2)?;
        // A later version may append fields.
        let valid =
            version != 0xff && (version > 0 || fields.next().is_none()) && trace_id != 0 && span_id != 0;
        valid.then_some(Self { trace_id, span_id: u64::try_from(span_id).ok()?, sampled: flags & 1 == 1 })
    }
}

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shown = || text.chars().take(64).collect();
        Self::parse(text).ok_or_else(|| InvalidTraceParent { text: shown() })
    }
}

/// As a `traceparent` of version 00.
impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace_id, span_id, sampled } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{:02x}", u8::from(*sampled))
    }
}

fn hexadecimal(digits: &str, length: usize) -> Option<u128> {
    let lower_case = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if digits.len() != length || !lower_case {
        return None;
    }
    u128::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_recommendation_allows_is_read_and_the_rest_is_an_error_that_shows_it() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        for (text, sampled) in [
            (format!("00-{trace}-{span}-01"), Some(true)),
            (format!("00-{trace}-{span}-00"), Some(false)),
            (format!("00-{trace}-{span}-03"), Some(true)),
            (format!("cc-{trace}-{span}-01"), Some(true)),
            (format!("cc-{trace}-{span}-01-what-the-future-brings"), Some(true)),
            (format!("00-{trace}-{span}-01-more"), None),
            (format!("ff-{trace}-{span}-01"), None),
            (format!("00-{}-{span}-01", trace.to_uppercase()), None),
            (format!("00-{}-{span}-01", "0".repeat(32)), None),
            (format!("00-{trace}-{}-01", "0".repeat(16)), None),
            (format!("00-{trace}-+{}-01", &span[1..]), None),
            (format!("00-{trace}-{span}"), None),
            (String::new(), None),
            ("€".repeat(1000), None),
        ] {
            let parsed: Result<TraceParent, _> = text.parse();
            assert_eq!(parsed.as_ref().ok().map(|parent| parent.sampled), sampled, "{text}");
            match parsed {
                Ok(parent) => assert_eq!(parent.to_string().parse(), Ok(parent)),
                Err(error) => assert!(error.to_string().len() < 400, "{error}"),
            }
        }
    }
}
