//! A server to copy from: a form with every kind of field, a rule of its own, a page to pay on, and one effect.
//!
//! ```text
//! $ cargo run -p mrtr --example checkout
//! $ mrtr call http://127.0.0.1:8080/mcp checkout basket=b-17
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::civil::Date;
use mrtr::{Context, Keyring, Server, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Checkout {
    /// Which basket to buy
    basket: String,
}

#[derive(Deserialize, JsonSchema)]
struct Delivery {
    /// Street and house number
    #[schemars(length(min = 5, max = 100))]
    street: String,
    /// Where the confirmation goes
    #[schemars(email)]
    email: String,
    speed: Speed,
    /// Not before this day (jiff's dates need schemars' feature `jiff02`)
    earliest: Option<Date>,
    /// How many parcels at most
    #[schemars(range(min = 1, max = 5))]
    #[serde(default = "one")]
    parcels: u8,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Speed {
    /// Standard, 3 to 5 days
    Standard,
    /// Express, next working day
    Express,
}

fn one() -> u8 {
    1
}

async fn checkout(checkout: Checkout, payments: Arc<Payments>, cx: Context) -> Result<String, ToolError> {
    let delivery: Delivery = cx
        .elicit("delivery", "Where shall it go?")
        .check(|delivery: &Delivery| match delivery.street.chars().any(|c| c.is_ascii_digit()) {
            true => Ok(()),
            false => Err("the street needs a house number".into()),
        })
        .await?;

    // Card numbers never go through a form: the user pays on a page, and agreeing to go there is not having paid.
    let page = format!("https://pay.example/{}", cx.operation_id());
    cx.elicit_url("pay", "Pay for your order", page).await?;
    let receipt: String = cx.until("paid", || payments.receipt(cx.operation_id())).await?;

    let order: u32 = cx.step("order", place(&checkout.basket)).await?;
    let Delivery { street, email, speed, earliest, parcels } = delivery;
    let earliest = earliest.map(|day| format!(", not before {day}")).unwrap_or_default();
    Ok(format!(
        "Order {order}, paid with {receipt}, goes to {street} as {speed:?} in at most {parcels} parcels{earliest}. {email} will hear from us."
    ))
}

/// Stands in for a payment provider: the third time it is asked, it has the money.
#[derive(Default)]
struct Payments(AtomicU32);

impl Payments {
    async fn receipt(&self, operation: &str) -> Option<String> {
        let paid = self.0.fetch_add(1, Ordering::Relaxed) >= 2;
        paid.then(|| format!("receipt-{}", operation.len()))
    }
}

/// Stands in for the order book.
async fn place(basket: &str) -> u32 {
    basket.bytes().map(u32::from).sum()
}

fn tool() -> Tool {
    let payments = Arc::new(Payments::default());
    Tool::new("checkout", move |arguments, cx| checkout(arguments, Arc::clone(&payments), cx))
        .description("Buy what is in a basket; asks where it goes and to pay")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    Server::new("shop", "1.0.0").keys(Keyring::random()).tool(tool()).serve_http("127.0.0.1:8080").await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use mrtr::testing::{Flow, Script, form, torture, url};
    use serde_json::{Value, json};

    use super::*;

    /// The one-line test that a question can be asked at all.
    #[test]
    fn the_form_is_one() {
        mrtr::form::schema_of::<Delivery>().expect("a form");
    }

    fn delivery() -> Value {
        json!({ "street": "Main Street 5", "email": "ann@example.com", "speed": "express" })
    }

    #[test]
    fn a_basket_is_bought_once_it_is_paid() {
        Flow::new(tool())
            .call(json!({ "basket": "b-17" }))
            .expects(form("delivery"))
            .answers(json!({ "street": "Nowhere", "email": "ann@example.com", "speed": "express" }))
            .expects(form("delivery").saying("house number"))
            .answers(delivery())
            .expects(url("pay"))
            .accepts()
            .finishes_with("goes to Main Street 5 as Express");
    }

    /// The order book takes one order per basket, however often it is told. If it did not: `.once()`.
    #[test]
    fn whatever_happens_nothing_is_ordered_twice() {
        let script = Script::new(json!({ "basket": "b-17" })).answer("delivery", delivery());
        torture(|_| tool(), &script.clone().repeatable("order")).assert_clean();
        torture(|_| tool().once(), &script).assert_clean();
    }
}
