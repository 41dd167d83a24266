//! How files are copied.

use tokio::sync::watch;

use super::progress::CopyProgress;

/// How [`Api::copy_to`](crate::ApiExt::copy_to) and [`Api::copy_from`](crate::ApiExt::copy_from) copy.
///
/// ```
/// use kube_tools::pods::{CopyParams, CopyProgress};
/// let (sender, mut progress) = tokio::sync::watch::channel(CopyProgress::default());
/// let params = CopyParams::default().container("app").retries(3).progress(sender);
/// // While the copy runs, another task shows `progress`.
/// assert_eq!((params.retries, progress.borrow_and_update().bytes), (3, 0));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CopyParams {
    /// The container. `None` for the one that [`ApiExt::default_container`](crate::ApiExt::default_container) returns.
    pub container: Option<String>,
    /// Whether permissions (without set-user-ID, set-group-ID and sticky bits) and modification times are copied. On by default. Owners
    /// never are.
    pub preserve: bool,
    /// How often a copy from a pod may be resumed after its connection failed, 0 by default. Needs `sh`, `dd` and `tail` in the
    /// container, and the permission to `get` the pod: it is resumed only in the same pod, and if the container was not restarted.
    ///
    /// Before attempt n it pauses n seconds, 10 at most. What a later attempt meets, also that the pod is not found or access is refused,
    /// is tried again like a lost connection.
    pub retries: u32,
    /// Receives the number of copied files and bytes.
    pub progress: Option<watch::Sender<CopyProgress>>,
}

impl Default for CopyParams {
    fn default() -> Self {
        Self { container: None, preserve: true, retries: 0, progress: None }
    }
}

impl CopyParams {
    /// Sets the [`container`](Self::container).
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// Sets [`preserve`](Self::preserve).
    #[must_use]
    pub fn preserve(mut self, preserve: bool) -> Self {
        self.preserve = preserve;
        self
    }

    /// Sets [`retries`](Self::retries).
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets the receiver of the [`progress`](Self::progress).
    #[must_use]
    pub fn progress(mut self, sender: watch::Sender<CopyProgress>) -> Self {
        self.progress = Some(sender);
        self
    }
}
