//! Chapters "CRDs and derive macros" and "KubeSchema".

use super::prelude::*;

mod derive_input {
    use super::super::prelude::*;
    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[kube(namespaced, status = "DocumentStatus")]
    pub struct DocumentSpec {
        pub title: String,
        pub content: String,
    }

    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct DocumentStatus {
        pub phase: String,
    }
}

mod scope {
    use super::super::prelude::*;
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct DocumentStatus {
        pub phase: String,
    }

    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[kube(namespaced)]                     // Namespace-scoped (cluster-scoped without this)
    #[kube(status = "DocumentStatus")]      // Enable /status subresource
    #[kube(scale = r#"{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}"#)]
    pub struct DocumentSpec {
        pub title: String,
    }
}

mod columns {
    use super::super::prelude::*;
    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[kube(shortname = "doc")]              // kubectl get doc
    #[kube(category = "example")]           // kubectl get example (group lookup)
    #[kube(printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#)]
    #[kube(selectable = ".spec.title")]     // Field selector support
    pub struct DocumentSpec {
        pub title: String,
    }
}

mod schemas {
    use super::super::prelude::*;
    mod derived {
        use super::*;
        #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[kube(schema = "derived")]             // Default: auto-generated from schemars
        pub struct DocumentSpec {}
    }
    mod manual {
        use super::*;
        #[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
        #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[kube(schema = "manual")]              // Manual schema specification
        pub struct DocumentSpec {}

        impl JsonSchema for Document {
            fn schema_name() -> Cow<'static, str> {
                "Document".into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "object" })
            }
        }
    }
    mod disabled {
        use super::*;
        #[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
        #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[kube(schema = "disabled")]            // Disable schema
    #[kube(doc = "Document resource description")]  // CRD description
        pub struct DocumentSpec {}
    }
}

mod rule {
    use super::super::prelude::*;
    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[kube(validation = Rule::new("self.spec.title.size() > 0"))]
    pub struct DocumentSpec {
        pub title: String,
    }
}

mod version {
    use super::super::prelude::*;
    #[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
    #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[kube(storage)]                        // Store this version in etcd
    #[kube(served = true)]                  // Serve via API
    #[kube(deprecated = "Migrate to v2")]   // Mark as deprecated
    pub struct DocumentSpec {
        pub title: String,
    }
}

mod untagged {
    use super::super::prelude::*;
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum Value {
        String(String),
        Number(i64),
    }
}

mod flatten {
    use super::super::prelude::*;
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Config {
        name: String,
        #[serde(flatten)]
        extra: HashMap<String, serde_json::Value>,
    }
}

async fn registration(client: Client) -> anyhow::Result<()> {
    use derive_input::Document;
    use kube::runtime::wait::conditions;

    let crds = Document::crd();
    let crd_api: Api<CustomResourceDefinition> = Api::all(client.clone());

    // Register/update CRD via SSA
    let pp = PatchParams::apply("my-controller").force();
    crd_api.patch("documents.example.com", &pp, &Patch::Apply(crds)).await?;

    // Wait until CRD reaches Established status
    let establish = conditions::is_crd_established();
    let crd = tokio::time::timeout(
        Duration::from_secs(10),
        kube::runtime::wait::await_condition(crd_api, "documents.example.com", establish),
    ).await??;
    drop(crd);
    Ok(())
}

mod inherit {
    use super::super::prelude::*;
    #[derive(Resource, Clone, Debug, Serialize, Deserialize)]
    #[resource(inherit = "ConfigMap")]
    struct MyConfigMap {
        metadata: ObjectMeta,
        data: Option<BTreeMap<String, String>>,
    }
}

mod schema_with {
    use super::super::prelude::*;
    use schemars::{Schema, json_schema};

    fn quantity_schema(_gen: &mut schemars::SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "quantity" })
    }

    #[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "example.com", version = "v1", kind = "MyApp")]
    pub struct MyAppSpec {
        #[schemars(schema_with = "quantity_schema")]
        pub memory_limit: String,
    }
}

mod versions {
    use super::super::prelude::*;

    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct DocumentStatus {
        pub phase: String,
    }

    mod v1 {
        use super::*;
        #[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
        #[kube(group = "example.com", version = "v1", kind = "Document")]
        #[kube(namespaced, status = "DocumentStatus")]
        pub struct DocumentSpec {
            pub title: String,
        }
    }

    mod v2 {
        use super::*;
        #[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
        #[kube(group = "example.com", version = "v2", kind = "Document")]
        #[kube(namespaced, status = "DocumentStatus")]
        pub struct DocumentSpec {
            pub title: String,
            pub category: String,  // Added in v2
        }
    }

    async fn merging(crd_api: Api<CustomResourceDefinition>, pp: PatchParams) -> anyhow::Result<()> {
        use kube::core::crd::merge_crds;

        let merged = merge_crds(
            vec![v1::Document::crd(), v2::Document::crd()],
            "v2",  // Version to store in etcd
        )?;

        // Register merged CRD with the API server
        crd_api.patch("documents.example.com", &pp, &Patch::Apply(merged)).await?;
        Ok(())
    }
}

mod kube_schema {
    use super::super::prelude::*;
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    pub struct DocumentStatus {
        pub phase: String,
    }

    use kube::CustomResource;
    use kube::core::KubeSchema;
    use serde::{Serialize, Deserialize};

    #[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[kube(namespaced, status = "DocumentStatus")]
    pub struct DocumentSpec {
        pub title: String,
        pub content: String,
        pub replicas: i32,
    }
}

mod struct_rule {
    use super::super::prelude::*;
    #[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[x_kube(validation = "self.spec.replicas <= 10")]
    pub struct DocumentSpec {
        pub title: String,
        pub replicas: i32,
    }
}

mod field_rule {
    use super::super::prelude::*;
    #[derive(KubeSchema, Serialize, Deserialize)]
    pub struct DocumentSpec {
        #[x_kube(validation = Rule::new("self != ''").message("title must not be empty"))]
        pub title: String,

        #[x_kube(validation = Rule::new("self >= 1 && self <= 100").reason("FieldValueInvalid"))]
        pub replicas: i32,
    }
}

mod transition_rule {
    use super::super::prelude::*;
    #[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "example.com", version = "v1", kind = "Document")]
    #[x_kube(validation = "self.spec.storageClass == oldSelf.spec.storageClass")]
    pub struct DocumentSpec {
        pub storage_class: String,
        pub content: String,
    }
}

mod singleton {
    use super::super::prelude::*;
    #[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "example.com",
        version = "v1",
        kind = "Singleton",
        validation = Rule::new("self.metadata.name == 'singleton'"),
    )]
    pub struct SingletonSpec {
        pub config: String,
    }
}

mod merge_strategy {
    use super::super::prelude::*;
    #[derive(KubeSchema, Serialize, Deserialize)]
    pub struct DocumentSpec {
        #[x_kube(merge_strategy = kube::core::ListMerge::Set)]
        pub tags: Vec<String>,
    }
}
