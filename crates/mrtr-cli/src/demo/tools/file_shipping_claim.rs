//! `file_shipping_claim`: two questions, one after the other, so two rounds.

use mrtr::{Context, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Claim {
    order_id: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Contact {
    /// Where the confirmation goes
    #[schemars(email)]
    email: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Damage {
    /// What is broken, and what the packaging looks like
    #[schemars(length(min = 20, max = 500))]
    description: String,
}

pub(super) async fn file_shipping_claim(claim: Claim, cx: Context) -> Result<String, ToolError> {
    let contact: Contact = cx.elicit("email", "What email should receive the claim confirmation?").await?;
    let question = format!("Describe the damage to order {}. Include the condition of the packaging.", claim.order_id);
    let damage: Damage = cx.elicit("description", question).await?;
    let number: String = cx.step("file", file(cx.operation_id(), &claim.order_id, &damage.description)).await?;
    Ok(format!("Claim #{number} filed. Confirmation sent to {}.", contact.email))
}

/// Stands in for the carrier. It is given the operation's id, so a claim filed twice is still one claim.
async fn file(idempotency_key: &str, _order_id: &str, _description: &str) -> String {
    let number: String = idempotency_key.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    number.to_uppercase()
}
