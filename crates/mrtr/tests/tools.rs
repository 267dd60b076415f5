//! The example tools, as an author writes them, with every effect counted.

use mrtr::{Context, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::world::Effects;

#[derive(Deserialize, JsonSchema)]
pub struct Deploy {
    pub service: String,
    pub version: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct Confirm {
    /// Confirm production deploy
    pub confirm: bool,
}

/// Asks once, then does it.
pub fn deploy_release(effects: &Effects) -> Tool {
    let effects = effects.clone();
    Tool::new("deploy_release", move |deploy: Deploy, cx: Context| {
        let effects = effects.clone();
        async move {
            let question = format!("Deploy {} {} to production?", deploy.service, deploy.version);
            let answer: Confirm = cx.elicit("confirm_prod", question).await?;
            if !answer.confirm {
                return Ok("Nothing was deployed.".into());
            }
            let id: String = cx.step("release", async { effects.done("release", "r-1") }).await?;
            Ok::<String, ToolError>(format!("Deployed {} {} to production ({id}).", deploy.service, deploy.version))
        }
    })
}

#[derive(Deserialize, JsonSchema)]
pub struct Subscription {
    pub account: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct Confirmed {
    pub confirmed: bool,
}

/// Asks once; the answer may still be no.
pub fn cancel_subscription(effects: &Effects) -> Tool {
    let effects = effects.clone();
    Tool::new("cancel_subscription", move |subscription: Subscription, cx: Context| {
        let effects = effects.clone();
        async move {
            let question = format!("Cancel the subscription of {}? This cannot be undone.", subscription.account);
            let answer: Confirmed = cx.elicit("confirmed", question).await?;
            if !answer.confirmed {
                return Ok("Cancellation aborted.".into());
            }
            effects.happen("cancel");
            Ok::<String, ToolError>(format!("The subscription of {} is cancelled.", subscription.account))
        }
    })
}

#[derive(Deserialize, JsonSchema)]
pub struct Claim {
    pub order: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct Contact {
    #[schemars(email)]
    pub email: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct Damage {
    #[schemars(length(min = 20, max = 500))]
    pub description: String,
}

/// Asks twice, one after the other.
pub fn file_shipping_claim(effects: &Effects) -> Tool {
    let effects = effects.clone();
    Tool::new("file_shipping_claim", move |claim: Claim, cx: Context| {
        let effects = effects.clone();
        async move {
            let contact: Contact = cx.elicit("email", "Who receives the confirmation?").await?;
            let damage: Damage = cx.elicit("description", "Describe the damage.").await?;
            let id: String = cx.step("file", async { effects.done("file", "c-7") }).await?;
            let Claim { order } = claim;
            Ok::<String, ToolError>(format!(
                "Claim {id} for {order} ({}): {}.",
                damage.description.len(),
                contact.email
            ))
        }
    })
}

#[derive(Deserialize, JsonSchema)]
pub struct Machine {
    pub name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Region {
    Eu,
    Us,
}

#[derive(Deserialize, JsonSchema)]
pub struct Place {
    pub region: Region,
}

#[derive(Deserialize, JsonSchema)]
pub struct Size {
    #[schemars(range(min = 1, max = 64))]
    pub cpus: u8,
}

/// Asks two things at once; a refusal of either ends it.
pub fn provision(effects: &Effects) -> Tool {
    let effects = effects.clone();
    Tool::new("provision", move |machine: Machine, cx: Context| {
        let effects = effects.clone();
        async move {
            let place = cx.elicit::<Place>("place", "Where?");
            let size = cx.elicit::<Size>("size", "How large?");
            let (place, size) = tokio::try_join!(place, size)?;
            effects.happen("provision");
            Ok::<String, ToolError>(format!("{}: {} cpus in {:?}.", machine.name, size.cpus, place.region))
        }
    })
}
