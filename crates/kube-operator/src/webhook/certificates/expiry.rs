//! When the certificate in use expires: as a metric, and in the log.

use std::time::{SystemTime, UNIX_EPOCH};

use metrics::{describe_gauge, gauge};
use x509_parser::{parse_x509_certificate, pem::Pem};

use super::generation::Timestamp;

const EXPIRES: &str = "kube_operator_certificate_expiration_timestamp_seconds";
/// How long before its end a certificate should have been replaced.
const SOON: u64 = 24 * 3600;

/// The certificate that a server uses, and what was logged about it.
pub(super) struct Expiry {
    /// The file or Secret, for messages and as a label.
    certificate: String,
    expires: Option<Timestamp>,
    logged: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Valid,
    EndsSoon,
    Expired,
}

impl Expiry {
    /// Of a chain as PEM, leaf first.
    pub(super) fn of(certificate: impl Into<String>, chain: &[u8]) -> Self {
        let mut expiry = Self { certificate: certificate.into(), expires: None, logged: State::Valid };
        describe_gauge!(EXPIRES, "When the certificate that is served expires");
        expiry.replace(chain);
        expiry
    }

    /// Another chain is in use.
    pub(super) fn replace(&mut self, chain: &[u8]) {
        (self.expires, self.logged) = (not_after(chain), State::Valid);
        if let Some(expires) = self.expires {
            #[allow(clippy::cast_precision_loss, reason = "exact until the year 285 million")]
            gauge!(EXPIRES, "certificate" => self.certificate.clone()).set(expires as f64);
        }
    }

    /// Logs once that the certificate ends soon, and once that it has expired.
    pub(super) fn check(&mut self, now: Timestamp) {
        let Some(expires) = self.expires else { return };
        let state = match expires.checked_sub(now) {
            None | Some(0) => State::Expired,
            Some(left) if left < SOON => State::EndsSoon,
            Some(_) => State::Valid,
        };
        let certificate = self.certificate.as_str();
        match state {
            _ if state == self.logged => {}
            State::Valid => {}
            State::EndsSoon => tracing::warn!(
                certificate,
                "the served certificate expires within a day and was not replaced"
            ),
            State::Expired => {
                tracing::error!(certificate, "the served certificate has expired: API servers refuse it")
            }
        }
        self.logged = state;
    }
}

pub(super) fn now() -> Timestamp {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

/// The end of the validity of the first certificate.
fn not_after(chain: &[u8]) -> Option<Timestamp> {
    let leaf = Pem::iter_from_buffer(chain).filter_map(Result::ok).find(|pem| pem.label == "CERTIFICATE")?;
    let (_, leaf) = parse_x509_certificate(&leaf.contents).ok()?;
    u64::try_from(leaf.validity().not_after.timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::generation::issue;
    use super::*;

    #[test]
    fn a_certificate_is_reported_before_and_after_its_end() {
        let recorder = metrics_util::debugging::DebuggingRecorder::new();
        let _guard = metrics::set_default_local_recorder(&recorder);
        let generation = issue(&["x.test".into()], Duration::from_secs(3 * SOON), 1_000_000).unwrap();
        let mut expiry = Expiry::of("tls.crt", generation.certificate.as_bytes());
        assert_eq!(expiry.expires, Some(generation.expires));
        let gauges = recorder.snapshotter().snapshot().into_vec();
        let (key, .., value) = gauges.into_iter().next().unwrap();
        assert_eq!((key.key().name(), key.key().labels().next().unwrap().value()), (EXPIRES, "tls.crt"));
        assert_eq!(value, metrics_util::debugging::DebugValue::Gauge((generation.expires as f64).into()));
        let mut state = |now| {
            expiry.check(now);
            expiry.logged
        };
        assert_eq!(state(1_000_000), State::Valid);
        assert_eq!(state(generation.expires - SOON + 1), State::EndsSoon);
        assert_eq!(state(generation.expires), State::Expired);
        assert_eq!(not_after(b"zzz"), None);
    }
}
