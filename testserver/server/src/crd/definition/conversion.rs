//! Validates `spec.conversion` of a definition.

use serde_json::Value;

use crate::{object::names, schema::ErrorList, webhook};

/// Validates `spec.conversion` of a CRD; messages are those of the genuine server.
pub(super) fn validate(conversion: &Value, errors: &mut ErrorList) {
    let at = |field: &str| format!("spec.conversion.{field}");
    let (client, versions) =
        (&conversion["webhook"]["clientConfig"], &conversion["webhook"]["conversionReviewVersions"]);
    let versions: Vec<&str> = versions.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match conversion["strategy"].as_str().unwrap_or_default() {
        "Webhook" => {
            if client.is_null() {
                errors.required(at("webhookClientConfig"), "required when strategy is set to Webhook");
            } else {
                webhook::validate_client_config(&at("webhookClientConfig"), client, errors);
            }
            if versions.is_empty() {
                errors.required(at("conversionReviewVersions"), "");
            } else if !versions.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
                let printed = serde_json::json!(versions);
                let why = "must include at least one of v1, v1beta1";
                errors.invalid(at("conversionReviewVersions"), printed, why);
            }
            for (i, version) in versions.iter().enumerate() {
                let wrong = match names::service_name(version) {
                    None if versions[..i].contains(version) => "duplicate version".into(),
                    None => continue,
                    Some(wrong) => wrong,
                };
                let at = at(&format!("conversionReviewVersions[{i}]"));
                errors.invalid(at, format!("{version:?}"), &wrong);
            }
        }
        strategy @ ("None" | "") => {
            if strategy.is_empty() {
                errors.required(at("strategy"), "");
            }
            let why = "should not be set when strategy is not set to Webhook";
            if !client.is_null() {
                errors.forbidden(at("webhookClientConfig"), why);
            }
            if !versions.is_empty() {
                errors.forbidden(at("conversionReviewVersions"), why);
            }
        }
        other => errors.not_supported(at("strategy"), format!("{other:?}"), &["None", "Webhook"]),
    }
}

/// Validates changes of `spec.conversion`: a bundle that can be used stays so.
pub(super) fn validate_update(old: &Value, new: &Value, errors: &mut ErrorList) {
    if let Some(why) = unusable_ca_bundle(new).filter(|_| unusable_ca_bundle(old).is_none()) {
        let bundle = &new["webhook"]["clientConfig"]["caBundle"];
        errors.invalid("spec.conversion.webhookClientConfig.caBundle", bundle, why);
    }
}

/// Why the conversion webhook cannot be trusted. A definition is not established before that is mended.
pub(crate) fn unusable_ca_bundle(conversion: &Value) -> Option<&'static str> {
    webhook::ca_bundle_problem(&conversion["webhook"]["clientConfig"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Responses of a genuine server (1.36).
    #[test]
    fn each_strategy_has_its_required_fields() {
        let good = json!({"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://x/y"}});
        let with = |strategy: &str, webhook: Value| {
            let mut errors = ErrorList::default();
            validate(&json!({"strategy": strategy, "webhook": webhook}), &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(with("Webhook", good.clone()).is_empty() && with("None", Value::Null).is_empty());
        assert_eq!(
            with("Webhook", Value::Null),
            [
                "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
                "spec.conversion.conversionReviewVersions: Required value"
            ]
        );
        assert_eq!(
            with(
                "Webhook",
                json!({"conversionReviewVersions": ["v9"], "clientConfig": {"url": "http://x/y"}})
            ),
            [
                "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
                "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1"
            ]
        );
        assert_eq!(with("None", good).len(), 2);
        assert_eq!(
            with("X", Value::Null),
            ["spec.conversion.strategy: Unsupported value: \"X\": supported values: \"None\", \"Webhook\""]
        );
    }
}
