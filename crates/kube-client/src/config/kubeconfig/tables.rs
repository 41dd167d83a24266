//! How the records of a kubeconfig are decoded.

use super::auth_info::{AuthInfo, AuthProviderConfig, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use super::types::{Cluster, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext, Preferences};
use super::values::NamedExtension;
use crate::config::record::{
    DataType, Field, Fields, FromValue, Record, RecordType, UnknownKeys, deserialize_by_table,
};

deserialize_by_table!(
    Kubeconfig,
    Preferences,
    NamedCluster,
    Cluster,
    NamedAuthInfo,
    AuthInfo,
    AuthProviderConfig,
    ExecConfig,
    ExecAuthCluster,
    NamedContext,
    Context,
    NamedExtension,
);

const NAME: Field = Field::required("name", DataType::Text);
const EXTENSIONS: Field =
    Field::optional("extensions", &DataType::List(&DataType::Record(NamedExtension::TYPE)));

impl Record for Kubeconfig {
    const TYPE: &'static RecordType = &RecordType {
        name: "Kubeconfig",
        fields: &[
            Field::optional("preferences", &DataType::Record(Preferences::TYPE)),
            Field::optional("clusters", &DataType::List(&DataType::Record(NamedCluster::TYPE))),
            Field::optional("users", &DataType::List(&DataType::Record(NamedAuthInfo::TYPE))),
            Field::optional("contexts", &DataType::List(&DataType::Record(NamedContext::TYPE))),
            Field::text("current-context"),
            EXTENSIONS,
            Field::text("kind"),
            Field::text("apiVersion"),
        ],
        unknown: UnknownKeys::Kept,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            preferences: fields.take("preferences"),
            clusters: fields.take("clusters").unwrap_or_default(),
            auth_infos: fields.take("users").unwrap_or_default(),
            contexts: fields.take("contexts").unwrap_or_default(),
            current_context: fields.take("current-context"),
            extensions: fields.take("extensions"),
            kind: fields.take("kind"),
            api_version: fields.take("apiVersion"),
            other: fields.other(),
        }
    }
}

impl Record for Preferences {
    const TYPE: &'static RecordType = &RecordType {
        name: "Preferences",
        fields: &[Field::unquoted_bool("colors"), EXTENSIONS],
        unknown: UnknownKeys::Kept,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self { colors: fields.take("colors"), extensions: fields.take("extensions"), other: fields.other() }
    }
}

impl Record for NamedCluster {
    const TYPE: &'static RecordType = &RecordType {
        name: "NamedCluster",
        fields: &[NAME, Field::optional("cluster", &DataType::Record(Cluster::TYPE))],
        unknown: UnknownKeys::Kept,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            name: fields.take("name").unwrap_or_default(),
            cluster: fields.take("cluster"),
            other: fields.other(),
        }
    }
}

impl Record for Cluster {
    const TYPE: &'static RecordType = &RecordType {
        name: "Cluster",
        fields: &[
            Field::text("server"),
            Field::unquoted_bool("insecure-skip-tls-verify"),
            Field::text("certificate-authority"),
            Field::text("certificate-authority-data"),
            Field::text("proxy-url"),
            Field::unquoted_bool("disable-compression"),
            Field::text("tls-server-name"),
            EXTENSIONS,
        ],
        unknown: UnknownKeys::Kept,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            server: fields.take("server"),
            insecure_skip_tls_verify: fields.take("insecure-skip-tls-verify"),
            certificate_authority: fields.take("certificate-authority"),
            certificate_authority_data: fields.take("certificate-authority-data"),
            proxy_url: fields.take("proxy-url"),
            disable_compression: fields.take("disable-compression"),
            tls_server_name: fields.take("tls-server-name"),
            extensions: fields.take("extensions"),
            other: fields.other(),
        }
    }
}

impl Record for NamedAuthInfo {
    const TYPE: &'static RecordType = &RecordType {
        name: "NamedAuthInfo",
        fields: &[NAME, Field::optional("user", &DataType::Record(AuthInfo::TYPE))],
        unknown: UnknownKeys::Kept,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            name: fields.take("name").unwrap_or_default(),
            auth_info: fields.take("user"),
            other: fields.other(),
        }
    }
}

impl Record for AuthInfo {
    const TYPE: &'static RecordType = &RecordType {
        name: "AuthInfo",
        fields: &[
            Field::text("username"),
            Field::text("password"),
            Field::text("token"),
            Field::text("tokenFile"),
            Field::text("client-certificate"),
            Field::text("client-certificate-data"),
            Field::text("client-key"),
            Field::text("client-key-data"),
            Field::text("as"),
            Field::text("as-uid"),
            Field::optional("as-groups", &DataType::List(&DataType::Text)),
            Field::optional("as-user-extra", &DataType::Map(&DataType::List(&DataType::Text))),
            Field::optional("auth-provider", &DataType::Record(AuthProviderConfig::TYPE)),
            Field::optional("exec", &DataType::Record(ExecConfig::TYPE)),
            EXTENSIONS,
        ],
        unknown: UnknownKeys::Kept,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            username: fields.take("username"),
            password: fields.take("password"),
            token: fields.take("token"),
            token_file: fields.take("tokenFile"),
            client_certificate: fields.take("client-certificate"),
            client_certificate_data: fields.take("client-certificate-data"),
            client_key: fields.take("client-key"),
            client_key_data: fields.take("client-key-data"),
            impersonate: fields.take("as"),
            impersonate_uid: fields.take("as-uid"),
            impersonate_groups: fields.take("as-groups"),
            impersonate_user_extra: fields.take("as-user-extra"),
            auth_provider: fields.take("auth-provider"),
            exec: fields.take("exec"),
            extensions: fields.take("extensions"),
            other: fields.other(),
        }
    }
}

impl Record for AuthProviderConfig {
    const TYPE: &'static RecordType = &RecordType {
        name: "AuthProviderConfig",
        fields: &[NAME, Field::new("config", DataType::Map(&DataType::Text))],
        unknown: UnknownKeys::Kept,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            name: fields.take("name").unwrap_or_default(),
            config: fields.take("config").unwrap_or_default(),
            other: fields.other(),
        }
    }
}

impl Record for ExecConfig {
    const TYPE: &'static RecordType = &RecordType {
        name: "ExecConfig",
        fields: &[
            Field::text("apiVersion"),
            Field::text("installHint"),
            Field::text("command"),
            Field::optional("args", &DataType::List(&DataType::Text)),
            Field::optional("env", &DataType::List(&DataType::Map(&DataType::Text))),
            Field::optional("interactiveMode", &ExecInteractiveMode::TYPE),
            Field::unquoted_bool("provideClusterInfo"),
        ],
        unknown: UnknownKeys::Kept,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            api_version: fields.take("apiVersion"),
            install_hint: fields.take("installHint"),
            command: fields.take("command"),
            args: fields.take("args"),
            env: fields.take("env"),
            drop_env: None,
            interactive_mode: fields.take("interactiveMode"),
            provide_cluster_info: fields.take("provideClusterInfo").unwrap_or_default(),
            cluster: None,
            other: fields.other(),
        }
    }
}

impl ExecInteractiveMode {
    const TYPE: DataType = DataType::OneOf(&["Never", "IfAvailable", "Always"]);
}

impl FromValue for ExecInteractiveMode {
    fn take_from(value: &mut serde_json::Value) -> Option<Self> {
        match value.as_str()? {
            "Never" => Some(Self::Never),
            "IfAvailable" => Some(Self::IfAvailable),
            "Always" => Some(Self::Always),
            _ => None,
        }
    }
}

impl Record for ExecAuthCluster {
    const TYPE: &'static RecordType = &RecordType {
        name: "ExecAuthCluster",
        fields: &[
            Field::text("server"),
            Field::optional("insecure-skip-tls-verify", &DataType::Bool),
            Field::new("certificate-authority-data", DataType::Base64),
            Field::text("proxy-url"),
            Field::text("tls-server-name"),
            Field::optional("config", &DataType::Any),
        ],
        unknown: UnknownKeys::Ignored,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            server: fields.take("server"),
            insecure_skip_tls_verify: fields.take("insecure-skip-tls-verify"),
            certificate_authority_data: fields.take_base64("certificate-authority-data"),
            proxy_url: fields.take("proxy-url"),
            tls_server_name: fields.take("tls-server-name"),
            config: fields.take("config"),
        }
    }
}

impl Record for NamedContext {
    const TYPE: &'static RecordType = &RecordType {
        name: "NamedContext",
        fields: &[NAME, Field::optional("context", &DataType::Record(Context::TYPE))],
        unknown: UnknownKeys::Kept,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            name: fields.take("name").unwrap_or_default(),
            context: fields.take("context"),
            other: fields.other(),
        }
    }
}

impl Record for Context {
    const TYPE: &'static RecordType = &RecordType {
        name: "Context",
        fields: &[
            Field::required("cluster", DataType::Text),
            Field::text("user"),
            Field::text("namespace"),
            EXTENSIONS,
        ],
        unknown: UnknownKeys::Kept,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            cluster: fields.take("cluster").unwrap_or_default(),
            user: fields.take("user"),
            namespace: fields.take("namespace"),
            extensions: fields.take("extensions"),
            other: fields.other(),
        }
    }
}

impl Record for NamedExtension {
    const TYPE: &'static RecordType = &RecordType {
        name: "NamedExtension",
        fields: &[NAME, Field::required("extension", DataType::Any)],
        unknown: UnknownKeys::Ignored,
    };

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            name: fields.take("name").unwrap_or_default(),
            extension: fields.take("extension").unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
