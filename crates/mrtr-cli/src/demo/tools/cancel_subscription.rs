//! `cancel_subscription`: looks something up first, and asks about what it found.

use mrtr::{Context, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
pub(super) struct Cancel {
    account_id: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Confirm {
    /// Cancel the subscription
    confirmed: bool,
}

#[derive(Deserialize, Serialize)]
struct Account {
    name: String,
    plan: String,
}

pub(super) async fn cancel_subscription(cancel: Cancel, cx: Context) -> Result<String, ToolError> {
    // A step, so that what is cancelled is what the user was asked about, even if the plan changes meanwhile.
    let found: Option<Account> = cx.step("account", account(&cancel.account_id)).await?;
    let Some(account) = found else {
        return Err(ToolError::new(format!("There is no account {:?}.", cancel.account_id)));
    };
    let question = format!("Cancel the {} plan for {}? This cannot be undone.", account.plan, account.name);
    let answer: Confirm = cx.elicit("confirmed", question).await?;
    if !answer.confirmed {
        return Ok(format!("Nothing was cancelled. The {} subscription is still active.", account.plan));
    }
    cx.step("cancel", end_subscription(&cancel.account_id)).await?;
    Ok(format!("{} subscription cancelled.", account.plan))
}

/// Stands in for the customer database.
async fn account(id: &str) -> Option<Account> {
    let (name, plan) = match id {
        "acc_8821" => ("Meridian Corp", "Pro"),
        "acc_1042" => ("Harbour Books", "Team"),
        _ => return None,
    };
    Some(Account { name: name.into(), plan: plan.into() })
}

/// Stands in for the billing service.
async fn end_subscription(_account_id: &str) {}
