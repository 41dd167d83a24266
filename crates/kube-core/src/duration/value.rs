//! The duration as a value: signed, in nanoseconds, with the notation of Go on the wire.

use std::{cmp::Ordering, fmt, str::FromStr, time};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{ParseError, format, parse};

/// A signed duration that reads and writes the notation of Go, such as `1h30m0s`, `1.5s` or `-250ms`.
///
/// Kubernetes has such durations in many fields. Precision is one nanosecond. Go itself knows durations of up to about
/// 292 years; longer ones are not read. On the wire it is a string, in CRDs a field of type `string`.
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
    // Never set where the magnitude is zero, so that equality may be derived.
    is_negative: bool,
}

impl Duration {
    pub(super) fn new(magnitude: time::Duration, is_negative: bool) -> Self {
        Self { magnitude, is_negative: is_negative && !magnitude.is_zero() }
    }

    /// Whether the duration is below zero: ask before the conversion into [`std::time::Duration`], which drops the sign.
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
    /// The notation of Go: hours, minutes and seconds with a fraction, or one smaller unit below a second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        format::write(f, self.magnitude, self.is_negative)
    }
}

impl FromStr for Duration {
    type Err = ParseError;

    /// Reads what Go reads: an optional sign, then numbers with fractions, each with one of the units `h`, `m`, `s`,
    /// `ms`, `us` (also `µs`) and `ns`; or `0` alone.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::duration(text)
    }
}

impl From<time::Duration> for Duration {
    fn from(magnitude: time::Duration) -> Self {
        Self::new(magnitude, false)
    }
}

impl From<Duration> for time::Duration {
    /// The magnitude: the standard library has no negative durations, so the sign is lost. Ask
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
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl de::Visitor<'_> for TextVisitor {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"1h30m\" or \"250ms\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        text.parse().map_err(|error| E::custom(format_args!("invalid duration {text:?}: {error}")))
    }
}

/// In a schema, a duration is a string, as in the schemas of Kubernetes itself.
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
