//! `provision`: two questions that do not depend on each other, so both go out in one round.

use mrtr::{Context, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Provision {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Machine {
    /// How large it is
    size: Size,
    /// What comes with it
    #[serde(default)]
    features: Vec<Feature>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Size {
    /// Small: 1 core, 2 GB
    Small,
    /// Medium: 2 cores, 8 GB
    Medium,
    /// Large: 8 cores, 32 GB
    Large,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Feature {
    /// Nightly backups
    Backups,
    /// Metrics and alerts
    Monitoring,
    /// A public IPv4 address
    PublicAddress,
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Budget {
    /// The most it may cost in a month, in euros
    #[schemars(range(min = 5, max = 500))]
    monthly: f64,
}

pub(super) async fn provision(provision: Provision, cx: Context) -> Result<String, ToolError> {
    let name = &provision.name;
    let (machine, budget) = tokio::join!(
        cx.elicit::<Machine>("size", format!("What kind of machine should {name} be?")),
        cx.elicit::<Budget>("budget", format!("How much may {name} cost?")),
    );
    let (machine, budget) = (machine?, budget?);
    let cost = machine.monthly_cost();
    if cost > budget.monthly {
        return Ok(format!("Nothing was provisioned: it would cost {cost} euros a month, not {}.", budget.monthly));
    }
    let id: String = cx.step("create", create(cx.operation_id(), &machine)).await?;
    Ok(format!("Provisioned {name} as {id}, for {cost} euros a month."))
}

impl Machine {
    fn monthly_cost(&self) -> f64 {
        let size = match self.size {
            Size::Small => 6.0,
            Size::Medium => 18.0,
            Size::Large => 72.0,
        };
        let features = self.features.iter().map(|feature| match feature {
            Feature::Backups => 2.5,
            Feature::Monitoring => 4.0,
            Feature::PublicAddress => 1.5,
        });
        size + features.sum::<f64>()
    }
}

/// Stands in for a cloud. It is given the operation's id, so a machine created twice is still one machine.
async fn create(idempotency_key: &str, machine: &Machine) -> String {
    let id: String = idempotency_key.chars().filter(char::is_ascii_alphanumeric).take(6).collect();
    format!("{:?}-{id}", machine.size).to_lowercase()
}
