//! Compressed answers, where the feature is on and the configuration does not turn them off.

#[cfg(feature = "gzip")]
pub(super) use enabled::layer;

#[cfg(not(feature = "gzip"))]
pub(super) use disabled::layer;

#[cfg(feature = "gzip")]
mod enabled {
    use tower_http::decompression::DecompressionLayer;

    use crate::config::Config;

    /// Asks for gzip and undoes it, unless a request says itself what it accepts, as watches do.
    pub(in crate::stack) fn layer(config: &Config) -> DecompressionLayer {
        DecompressionLayer::new().gzip(!config.disable_compression)
    }
}

#[cfg(not(feature = "gzip"))]
mod disabled {
    use tower::layer::util::Identity;

    use crate::config::Config;

    /// Does nothing.
    pub(in crate::stack) fn layer(_: &Config) -> Identity {
        Identity::new()
    }
}
