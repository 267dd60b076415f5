//! The example tools: models of how little an author writes. Each file uses the public API of `mrtr` only.

mod cancel_subscription;
mod deploy_release;
mod file_shipping_claim;
mod provision;

use mrtr::{Server, Tool};
use serde_json::Value;

/// A tool of the demo, and how to try it.
pub(crate) struct Example {
    pub(crate) name: &'static str,
    /// The arguments it gets unless told otherwise.
    pub(crate) arguments: &'static [(&'static str, &'static str)],
    /// Flags that answer all its questions.
    pub(crate) answers: &'static str,
    input_schema: fn() -> Value,
    tool: fn() -> Tool,
}

impl Example {
    /// The examples, the one to begin with first.
    pub(crate) const ALL: &[Self] = &[
        Self {
            name: "deploy_release",
            arguments: &[("service", "api"), ("version", "4.8.1")],
            answers: "--answer confirm_prod.confirm=yes",
            input_schema: schema::<deploy_release::Deploy>,
            tool: || {
                Tool::new("deploy_release", deploy_release::deploy_release)
                    .description("Deploy a release, after the user confirms")
            },
        },
        Self {
            name: "cancel_subscription",
            arguments: &[("account_id", "acc_8821")],
            answers: "--answer confirmed.confirmed=yes",
            input_schema: schema::<cancel_subscription::Cancel>,
            tool: || {
                Tool::new("cancel_subscription", cancel_subscription::cancel_subscription)
                    .description("Cancel an account's subscription, after the user confirms")
            },
        },
        Self {
            name: "file_shipping_claim",
            arguments: &[("order_id", "ord_5177")],
            answers: "--answer email.email=ada@example.com \
                      --answer description.description='The lid is cracked, the box was wet.'",
            input_schema: schema::<file_shipping_claim::Claim>,
            tool: || {
                Tool::new("file_shipping_claim", file_shipping_claim::file_shipping_claim)
                    .description("File a claim for an order that arrived damaged; asks who claims and what is broken")
            },
        },
        Self {
            name: "provision",
            arguments: &[("name", "web-1")],
            answers: "--answer size.size=medium --answer size.features=backups,monitoring \
                      --answer budget.monthly=25",
            input_schema: schema::<provision::Provision>,
            tool: || {
                Tool::new("provision", provision::provision)
                    .description("Provision a machine; asks what kind and for which budget, both at once")
            },
        },
    ];

    /// Finds an example by the name of its tool.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|example| example.name == name)
    }

    /// The schema of the tool's arguments.
    pub(crate) fn input_schema(&self) -> Value {
        (self.input_schema)()
    }
}

/// A server that offers all examples.
pub(crate) fn server() -> Server {
    let server = Server::new("mrtr-demo", env!("CARGO_PKG_VERSION"))
        .instructions("Example tools that ask their questions in the middle of a call.");
    Example::ALL.iter().fold(server, |server, example| server.tool((example.tool)()))
}

fn schema<T: schemars::JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

#[cfg(test)]
mod tests {
    use mrtr::form::schema_of;
    use mrtr::testing::{Fault, Script, torture};
    use serde_json::json;

    use super::*;

    #[test]
    fn every_question_makes_a_form() {
        assert!(schema_of::<deploy_release::Confirm>().is_ok());
        assert!(schema_of::<cancel_subscription::Confirm>().is_ok());
        assert_eq!(schema_of::<file_shipping_claim::Contact>().unwrap()["properties"]["email"]["format"], "email");
        assert_eq!(schema_of::<file_shipping_claim::Damage>().unwrap()["properties"]["description"]["minLength"], 20);
        assert_eq!(schema_of::<provision::Budget>().unwrap()["properties"]["monthly"]["maximum"], 500.0);
    }

    #[test]
    fn choices_are_shown_by_their_doc_comments() {
        let schema = schema_of::<provision::Machine>().unwrap();
        assert_eq!(
            schema["properties"]["size"]["oneOf"][1],
            json!({ "const": "medium", "title": "Medium: 2 cores, 8 GB" })
        );
        assert_eq!(schema["properties"]["features"]["items"]["anyOf"][0]["title"], "Nightly backups");
    }

    /// What the example is called and answered with.
    fn script(example: &Example) -> Script {
        let arguments = example.arguments.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        let script = Script::new(arguments.collect::<serde_json::Map<_, _>>().into());
        match example.name {
            "deploy_release" => script.answer("confirm_prod", json!({ "confirm": true })),
            // The lookup only reads.
            "cancel_subscription" => script.answer("confirmed", json!({ "confirmed": true })).repeatable("account"),
            "file_shipping_claim" => script
                .answer("email", json!({ "email": "ada@example.com" }))
                .answer("description", json!({ "description": "The lid is cracked, the box was wet." })),
            "provision" => script
                .answer("size", json!({ "size": "medium", "features": ["backups"] }))
                .answer("budget", json!({ "monthly": 25 })),
            other => panic!("{other} has no script"),
        }
    }

    #[test]
    fn done_once_the_examples_are_clean_whatever_happens() {
        for example in Example::ALL {
            let report = torture(|_| (example.tool)().once(), &script(example));
            report.assert_clean();
            assert!(report.runs() > 20, "{report}");
        }
    }

    /// The carrier and the cloud are given the operation's id, and a subscription ends only once.
    #[test]
    fn examples_that_hand_on_the_operations_id_need_no_ledger() {
        for (name, effect) in
            [("cancel_subscription", "cancel"), ("file_shipping_claim", "file"), ("provision", "create")]
        {
            let example = Example::find(name).unwrap();
            torture(|_| (example.tool)(), &script(example).repeatable(effect)).assert_clean();
        }
    }

    /// Its pipeline takes no key to deduplicate by: what follows its question runs again when its request is repeated.
    #[test]
    fn a_release_is_deployed_again_when_its_last_request_is_repeated() {
        let example = Example::find("deploy_release").unwrap();
        let report = torture(|_| (example.tool)(), &script(example));
        let repeated: Vec<_> = report.findings().iter().map(|finding| (finding.fault, finding.round)).collect();
        let faults = [Fault::LostReply, Fault::TornOff, Fault::LateDuplicate, Fault::ParallelDuplicate];
        assert_eq!(repeated, faults.map(|fault| (fault, 2)), "{report}");
    }

    #[test]
    fn the_server_builds_and_every_example_is_called_by_its_tools_name() {
        assert!(server().build().is_ok());
        for example in Example::ALL {
            assert_eq!((example.tool)().name(), example.name);
        }
    }
}
