//! What [`Api::log_lines`](crate::ApiExt::log_lines) reads.

use std::time::Duration;

use jiff::Timestamp;

/// Which pods and containers [`Api::log_lines`](crate::ApiExt::log_lines) reads, and from where on. By default: what the main containers of
/// all pods have printed so far.
///
/// ```
/// use kube_tools::pods::LogLinesParams;
/// use std::time::Duration;
/// let params = LogLinesParams::default().labels("app=web").follow().since(Duration::from_secs(60)).container("web");
/// assert!(params.follow && params.since_time.is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct LogLinesParams {
    /// Only pods with these labels, for example `app=web`.
    pub label_selector: Option<String>,
    /// Only pods with these fields, for example `metadata.name=web-0`.
    pub field_selector: Option<String>,
    /// Whether to continue with new lines, restarted containers and new pods. Then the stream has no end.
    pub follow: bool,
    /// Only the container of this name, of any kind. `None` for the main containers; of a pod that names its default container
    /// (annotation `kubectl.kubernetes.io/default-container`), only that one.
    pub container: Option<String>,
    /// Init containers (sidecars among them) and ephemeral containers too.
    pub all_containers: bool,
    /// Only lines from this time on, by the clock of the node.
    pub since_time: Option<Timestamp>,
    /// Only this number of lines from the end of each container that exists at the start, 0 for none. New pods and restarted containers are
    /// read from their beginning.
    pub tail_lines: Option<i64>,
}

impl LogLinesParams {
    /// Sets the [`label_selector`](Self::label_selector).
    #[must_use]
    pub fn labels(mut self, selector: &str) -> Self {
        self.label_selector = Some(selector.to_owned());
        self
    }

    /// Sets the [`field_selector`](Self::field_selector).
    #[must_use]
    pub fn fields(mut self, selector: &str) -> Self {
        self.field_selector = Some(selector.to_owned());
        self
    }

    /// Sets [`follow`](Self::follow).
    #[must_use]
    pub fn follow(mut self) -> Self {
        self.follow = true;
        self
    }

    /// Sets the [`container`](Self::container).
    #[must_use]
    pub fn container(mut self, name: &str) -> Self {
        self.container = Some(name.to_owned());
        self
    }

    /// Sets [`all_containers`](Self::all_containers).
    #[must_use]
    pub fn all_containers(mut self) -> Self {
        self.all_containers = true;
        self
    }

    /// Sets the [`since_time`](Self::since_time) to so long ago; to no time if that is before the year -9999.
    #[must_use]
    pub fn since(mut self, ago: Duration) -> Self {
        self.since_time = kube_client::time::now().checked_sub(ago).ok();
        self
    }

    /// Sets the [`tail_lines`](Self::tail_lines).
    #[must_use]
    pub fn tail(mut self, lines: i64) -> Self {
        self.tail_lines = Some(lines);
        self
    }

    pub(super) fn containers(&self) -> Containers {
        match &self.container {
            Some(name) => Containers::Named(name.clone()),
            None if self.all_containers => Containers::All,
            None => Containers::Main,
        }
    }
}

/// The selected containers of a pod.
#[derive(Clone, Debug)]
pub(super) enum Containers {
    Main,
    All,
    Named(String),
}

impl Containers {
    /// Whether init and ephemeral containers may be selected.
    pub(super) fn takes_all(&self) -> bool {
        !matches!(self, Self::Main)
    }

    pub(super) fn takes(&self, name: &str) -> bool {
        !matches!(self, Self::Named(only) if only != name)
    }
}
