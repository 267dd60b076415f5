//! What a client wants to hear. Spec: `basic/patterns/subscriptions#notification-filter`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Features;
use crate::wire::{Object, RpcError};

/// How many resources one subscription may name; their length is bounded with the request's.
const MAX_URIS: usize = 1_000;

/// A filter as a client sends it, and as it is acknowledged.
#[derive(Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Filter {
    #[serde(default, skip_serializing_if = "is_off")]
    pub(super) tools_list_changed: Option<bool>,
    #[serde(default, skip_serializing_if = "is_off")]
    pub(super) prompts_list_changed: Option<bool>,
    #[serde(default, skip_serializing_if = "is_off")]
    pub(super) resources_list_changed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resource_subscriptions: Option<Vec<String>>,
}

impl Filter {
    /// Reads `params.notifications`. Kinds this revision does not know are passed over, and so not acknowledged.
    ///
    /// # Errors
    /// `-32602` when it is missing, of the wrong types, or names too many resources.
    pub(super) fn parse(raw: Option<&RawValue>) -> Result<Self, RpcError> {
        let missing = || RpcError::malformed_params("params.notifications is missing: what to be told of");
        let Object(filter) = serde_json::from_str::<Object<Self>>(raw.ok_or_else(missing)?.get()).map_err(|_| {
            RpcError::malformed_params(
                "params.notifications must be an object: toolsListChanged, promptsListChanged and resourcesListChanged \
                 are booleans, resourceSubscriptions is a list of URIs",
            )
        })?;
        if filter.resource_subscriptions.as_ref().is_some_and(|uris| uris.len() > MAX_URIS) {
            let message = format!("params.notifications.resourceSubscriptions must not name more than {MAX_URIS} URIs");
            return Err(RpcError::invalid_params(message));
        }
        Ok(filter)
    }

    /// What of it a server that offers this honours.
    pub(super) fn restricted(self, offered: Features) -> Self {
        let if_offered = |wanted: Option<bool>, offered: bool| wanted.filter(|wanted| *wanted && offered);
        Self {
            tools_list_changed: if_offered(self.tools_list_changed, offered.tools),
            prompts_list_changed: if_offered(self.prompts_list_changed, offered.prompts),
            resources_list_changed: if_offered(self.resources_list_changed, offered.resources),
            resource_subscriptions: self.resource_subscriptions.filter(|_| offered.resources),
        }
    }
}

fn is_off(flag: &Option<bool>) -> bool {
    *flag != Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledged(notifications: &str, offered: Features) -> String {
        let raw = RawValue::from_string(notifications.to_owned()).expect("JSON");
        let filter = Filter::parse(Some(&raw)).expect(notifications);
        serde_json::to_string(&filter.restricted(offered)).expect("JSON")
    }

    #[test]
    fn only_what_is_wanted_and_offered_is_acknowledged() {
        let all = Features { tools: true, prompts: true, resources: true };
        let none = Features { tools: false, prompts: false, resources: false };
        let wants = r#"{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,"resourceSubscriptions":["b:","a:"],"later":[1]}"#;
        assert_eq!(
            acknowledged(wants, all),
            r#"{"toolsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["b:","a:"]}"#
        );
        assert_eq!(acknowledged(wants, Features { tools: true, ..none }), r#"{"toolsListChanged":true}"#);
        assert_eq!(acknowledged(wants, none), "{}");
        assert_eq!(acknowledged("{}", all), "{}");
    }
}
