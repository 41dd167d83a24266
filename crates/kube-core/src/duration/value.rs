//! The duration type: signed, in nanoseconds, a string in Go's notation on the wire.

use std::{cmp::Ordering, fmt, str::FromStr, time};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::syntax::{self, ParseError};

/// A signed duration, parsed and printed in Go's notation, such as `1h30m0s`, `1.5s` or `-250ms`.
///
/// Many fields of Kubernetes objects hold such durations. The precision is one nanosecond. Go's limit is about 292 years;
/// longer durations are not parsed. On the wire it is a string, in CRDs a field of type `string`.
///
/// ```
/// use kube_core::Duration;
///
/// let timeout: Duration = "1m30s".parse()?;
/// assert_eq!(timeout, std::time::Duration::from_secs(90));
/// assert_eq!(timeout.to_string(), "1m30s");
/// let past: Duration = "-5s".parse()?;
/// assert!(past < timeout && past.is_negative());
/// assert_eq!(std::time::Duration::from(past).as_secs(), 5, "the magnitude alone");
/// assert_eq!(serde_json::to_string(&timeout).expect("a string"), r#""1m30s""#);
/// # Ok::<(), kube_core::duration::ParseError>(())
/// ```
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Duration {
    magnitude: time::Duration,
    // Never set if the magnitude is zero, so that equality can be derived.
    is_negative: bool,
}

impl Duration {
    pub(super) fn new(magnitude: time::Duration, is_negative: bool) -> Self {
        Self { magnitude, is_negative: is_negative && !magnitude.is_zero() }
    }

    /// Whether the duration is below zero. The conversion into [`std::time::Duration`] drops the sign.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.is_negative
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Duration {
    /// Go's notation: hours, minutes and seconds with a fraction, or one smaller unit below a second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        syntax::write(f, self.magnitude, self.is_negative)
    }
}

impl FromStr for Duration {
    type Err = ParseError;

    /// Accepts Go's notation: an optional sign, then numbers with fractions, each with one of the units `h`, `m`, `s`,
    /// `ms`, `us` (also `µs`) and `ns`; or `0` alone.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        syntax::parse(text).map(|(magnitude, is_negative)| Self::new(magnitude, is_negative))
    }
}

impl From<time::Duration> for Duration {
    fn from(magnitude: time::Duration) -> Self {
        Self::new(magnitude, false)
    }
}

impl From<Duration> for time::Duration {
    /// The magnitude. The sign is lost, because the standard library has no negative durations: check
    /// [`is_negative`](Duration::is_negative) first.
    fn from(duration: Duration) -> Self {
        duration.magnitude
    }
}

impl Ord for Duration {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.magnitude.cmp(&other.magnitude),
            (true, true) => other.magnitude.cmp(&self.magnitude),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Duration {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq<time::Duration> for Duration {
    fn eq(&self, other: &time::Duration) -> bool {
        *self == Self::from(*other)
    }
}

impl PartialEq<time::Duration> for &Duration {
    fn eq(&self, other: &time::Duration) -> bool {
        **self == *other
    }
}

impl PartialEq<Duration> for time::Duration {
    fn eq(&self, other: &Duration) -> bool {
        other == self
    }
}

impl PartialEq<Duration> for &time::Duration {
    fn eq(&self, other: &Duration) -> bool {
        *other == **self
    }
}

impl PartialOrd<time::Duration> for Duration {
    fn partial_cmp(&self, other: &time::Duration) -> Option<Ordering> {
        Some(self.cmp(&Self::from(*other)))
    }
}

impl Serialize for Duration {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
    {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
    where
        D: Deserializer<'de>,
    {
        deserializer.deserialize_str(DurationVisitor)
    }
}

struct DurationVisitor;

impl de::Visitor<'_> for DurationVisitor {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"1h30m\" or \"250ms\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        text.parse().map_err(|error| E::custom(format_args!("invalid duration {text:?}: {error}")))
    }
}

/// The schema is a string, as in the schemas of Kubernetes.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Duration {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }

    fn inline_schema() -> bool {
        true
    }
}
