//! Compressed responses, if the feature `gzip` is enabled and the configuration does not disable them.

#[cfg(feature = "gzip")]
pub(super) use enabled::layer;

#[cfg(not(feature = "gzip"))]
pub(super) use disabled::layer;

#[cfg(feature = "gzip")]
mod enabled {
    use tower_http::decompression::DecompressionLayer;

    use crate::config::Config;

    /// Requests gzip and decompresses, unless the request has its own `Accept-Encoding`, as watches have.
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
