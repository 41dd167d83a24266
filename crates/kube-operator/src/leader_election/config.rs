//! The settings of an elector and their validation.

use crate::clock::Clock;
use std::time::Duration;

/// How an elector campaigns for a Lease.
///
/// The durations default to those of client-go: 15 s, 10 s and 2 s. Replicas that compete for one Lease should use the same durations.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) identity: Option<String>,
    pub(crate) lease_duration: Duration,
    pub(crate) renew_deadline: Duration,
    pub(crate) retry_period: Duration,
    pub(crate) clock: Clock,
}

/// A [`Config`] that no elector can follow.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidConfig {
    /// A field is empty that must not be.
    #[error("Lease settings: {field} must not be empty")]
    Empty {
        /// Which field.
        field: &'static str,
    },
    /// A name that the server would refuse.
    #[error(
        "Lease settings: {field} is {value:?}, but must have at most {max} characters: lower-case letters, digits, '-' and '.', with a letter or digit at both ends and beside each '.'"
    )]
    Name {
        /// Which field.
        field: &'static str,
        /// Its value.
        value: String,
        /// The longest allowed length.
        max: usize,
    },
    /// A Lease stores whole seconds.
    #[error("Lease settings: lease_duration is {0:?}, but must be between 1 s and {max} s", max = i32::MAX)]
    LeaseDuration(Duration),
    /// A leader that cannot renew has to stop before its Lease expires.
    #[error(
        "Lease settings: renew_deadline ({renew_deadline:?}) must be shorter than lease_duration ({lease_duration:?})"
    )]
    RenewDeadline {
        /// The configured deadline.
        renew_deadline: Duration,
        /// The configured duration.
        lease_duration: Duration,
    },
    /// A leader has to try more than once before its deadline.
    #[error(
        "Lease settings: retry_period ({retry_period:?}) must be longer than 0 and at most half of renew_deadline ({renew_deadline:?})"
    )]
    RetryPeriod {
        /// The configured period.
        retry_period: Duration,
        /// The configured deadline.
        renew_deadline: Duration,
    },
}

impl Config {
    /// Campaigns for the Lease `name` in `namespace`, which is created if it does not exist.
    pub fn new(name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: namespace.into(),
            identity: None,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            clock: Clock::system(),
        }
    }

    /// The `holderIdentity` of this process. It must be unique: two processes with the same identity both lead.
    ///
    /// Default: `$POD_NAME`, or else the host name (in a pod, its name), then `_` and a random suffix, as client-go has it.
    #[must_use]
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// How long the other replicas wait after the last renewal that they saw before one of them takes over. Rounded up to whole seconds.
    #[must_use]
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.lease_duration = duration;
        self
    }

    /// A leader that could not renew for this long loses the leadership. The rest of the lease duration is its time to stop its work.
    #[must_use]
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.renew_deadline = deadline;
        self
    }

    /// The time between two attempts to acquire or renew the Lease.
    #[must_use]
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.retry_period = period;
        self
    }

    /// With the Lease `NAME-INDEX`.
    pub(crate) fn suffixed(mut self, index: usize) -> Self {
        self.name = format!("{}-{index}", self.name);
        self
    }

    pub(crate) fn validate(&self) -> Result<(), InvalidConfig> {
        let fields = [
            ("name", Some(&self.name)),
            ("namespace", Some(&self.namespace)),
            ("identity", self.identity.as_ref()),
        ];
        for (field, value) in fields {
            if value.is_some_and(String::is_empty) {
                return Err(InvalidConfig::Empty { field });
            }
        }
        check_name("name", &self.name, MAX_NAME)?;
        check_name("namespace", &self.namespace, MAX_LABEL)?;
        let (lease_duration, renew_deadline, retry_period) =
            (self.lease_duration, self.renew_deadline, self.retry_period);
        if lease_duration < Duration::from_secs(1) || whole_seconds(lease_duration).is_none() {
            return Err(InvalidConfig::LeaseDuration(lease_duration));
        }
        if renew_deadline >= lease_duration {
            return Err(InvalidConfig::RenewDeadline { renew_deadline, lease_duration });
        }
        if retry_period.is_zero() || retry_period > renew_deadline / 2 {
            return Err(InvalidConfig::RetryPeriod { retry_period, renew_deadline });
        }
        Ok(())
    }
}

/// The longest name of an object.
pub(crate) const MAX_NAME: usize = 253;
/// The longest name of a namespace, and value of a label.
pub(crate) const MAX_LABEL: usize = 63;

/// Checks the value of `field`, which is or begins the name of an object and has at most `max` characters.
pub(crate) fn check_name(field: &'static str, value: &str, max: usize) -> Result<(), InvalidConfig> {
    if value.len() <= max && is_name(value) {
        return Ok(());
    }
    Err(InvalidConfig::Name { field, value: value.to_owned(), max })
}

/// Whether `text` has the form of an object's name: parts of lower-case letters, digits and inner hyphens, separated by dots.
pub(crate) fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_part = |part: &str| {
        !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.bytes().all(is_allowed)
    };
    text.split('.').all(is_part)
}

/// `duration` in seconds, rounded up: another replica must never take over earlier than this one expects.
pub(crate) fn whole_seconds(duration: Duration) -> Option<i32> {
    let seconds = duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0));
    i32::try_from(seconds).ok()
}

/// How long work may go on after the renew deadline has passed, before another process may take over.
///
/// A tenth of that time is left for the end of the work itself, and for clocks that run at different rates.
pub(crate) fn time_to_stop(config: &Config) -> Duration {
    config.lease_duration.saturating_sub(config.renew_deadline).mul_f64(0.9)
}

/// A name of this process that no other has.
pub(crate) fn default_identity() -> String {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let host =
        || std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned());
    let name = variable("POD_NAME").or_else(|| variable("HOSTNAME")).or_else(host);
    format!("{}_{:016x}", name.as_deref().unwrap_or("unknown"), fastrand::u64(..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(lease: f64, renew: f64, retry: f64) -> Result<(), InvalidConfig> {
        let config = Config::new("name", "namespace")
            .lease_duration(Duration::from_secs_f64(lease))
            .renew_deadline(Duration::from_secs_f64(renew))
            .retry_period(Duration::from_secs_f64(retry));
        config.validate()
    }

    #[test]
    fn durations_out_of_order_are_errors_that_name_the_field() {
        assert_eq!(seconds(15.0, 10.0, 2.0), Ok(()));
        for (lease, renew, retry, field) in [
            (0.5, 0.4, 0.1, "lease_duration is 500ms"),
            (3e9, 10.0, 2.0, "lease_duration is 3000000000s"),
            (10.0, 10.0, 2.0, "renew_deadline (10s)"),
            (15.0, 10.0, 5.1, "retry_period (5.1s)"),
            (15.0, 10.0, 0.0, "retry_period (0ns)"),
        ] {
            let error = seconds(lease, renew, retry).expect_err(field).to_string();
            assert!(error.contains(field), "{error}");
        }
        let durations = [Duration::MAX, Duration::from_secs(1)];
        for duration in durations {
            let error = Config::new("name", "namespace").lease_duration(duration).validate();
            assert!(error.is_err(), "{duration:?}");
        }
    }

    #[test]
    fn empty_names_are_errors() {
        assert_eq!(Config::new("", "a").validate(), Err(InvalidConfig::Empty { field: "name" }));
        assert_eq!(Config::new("a", "").validate(), Err(InvalidConfig::Empty { field: "namespace" }));
        let identity = Config::new("a", "a").identity("").validate();
        assert_eq!(identity, Err(InvalidConfig::Empty { field: "identity" }));
    }

    #[test]
    fn names_that_the_server_would_refuse_are_errors_that_name_the_field() {
        let long = "a".repeat(64);
        for name in ["a", "my-operator", "a.b-c.0", &long] {
            assert_eq!(Config::new(name, "default").validate(), Ok(()), "{name}");
        }
        for name in ["My-Operator", "a_b", "-a", "a-", "a..b", "a.-b", ".a", "é", &"a".repeat(254)] {
            let error = Config::new(name, "default").validate().expect_err(name).to_string();
            assert!(error.starts_with(&format!("Lease settings: name is {name:?}, but must ")), "{error}");
        }
        let error = Config::new("a", &*long).validate().expect_err("a namespace of 64 letters").to_string();
        assert!(error.starts_with("Lease settings: namespace is"), "{error}");
        assert!(error.contains("at most 63 characters"), "{error}");
    }

    #[test]
    fn a_lease_duration_is_rounded_up_to_whole_seconds() {
        assert_eq!(whole_seconds(Duration::from_millis(1500)), Some(2));
        assert_eq!(whole_seconds(Duration::from_secs(2)), Some(2));
        assert_eq!(whole_seconds(Duration::MAX), None);
    }

    #[test]
    fn two_processes_on_one_host_have_different_identities() {
        assert_ne!(default_identity(), default_identity());
    }
}
