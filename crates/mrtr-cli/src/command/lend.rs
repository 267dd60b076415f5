//! `--root` and `--sample-...`: the directories and the model that servers may ask for.
//!
//! A model is behind a command or an HTTP endpoint, or is the person at the terminal. What a server wants of it, and what
//! it says, passes a person first, unless `--sample-unattended` says that there is none.

use std::env;
use std::sync::Arc;

use mrtr::client::{
    Answer, Ask, BoxFuture, CommandSampler, HttpOptions, HttpSampler, NotAnswered, Responder, Responders, Roots,
    SamplingApi,
};

use serde_json::Value;

use crate::args::Lend;
use crate::exit::Failure;
use crate::term::Terminal;

impl Lend {
    /// Adds responders for what there is to lend. Without one, nothing is declared, and no server may ask.
    pub(super) fn add_to(
        &self,
        mut responders: Responders,
        terminal: Option<&Terminal>,
    ) -> Result<Responders, Failure> {
        if !self.roots.is_empty() {
            let roots = self.roots.iter().try_fold(Roots::new(), Roots::directory);
            responders = responders.roots(roots.map_err(|error| Failure::usage(format!("--root: {error}")))?);
        }
        let model = self.model()?;
        let has_model = model.is_some();
        if self.sample_unattended && !has_model {
            return Err(Failure::usage("--sample-unattended needs --sample-with or --sample-url"));
        }
        if !has_model && terminal.is_none() {
            return Ok(responders);
        }
        let desk = Desk { model, terminal: terminal.cloned(), is_unattended: self.sample_unattended };
        Ok(if has_model { responders.sampling_with_tools(desk) } else { responders.sampling(desk) })
    }

    fn model(&self) -> Result<Option<Arc<dyn Responder>>, Failure> {
        if let Some(line) = &self.sample_with {
            return Ok(Some(Arc::new(CommandSampler::shell(line).env_remove(super::reach::TOKEN))));
        }
        let Some(url) = &self.sample_url else { return Ok(None) };
        let api = match self.sample_api.as_deref() {
            Some("anthropic") => Some(SamplingApi::Anthropic),
            Some(_) => Some(SamplingApi::OpenAi),
            None => SamplingApi::of(url),
        };
        let api = api.ok_or_else(|| {
            Failure::usage("--sample-url: the path ends in neither /chat/completions nor /messages; say --sample-api")
        })?;
        let mut sampler = HttpSampler::with(url, api, &HttpOptions::new().proxy_from_env())
            .map_err(|error| Failure::usage(format!("--sample-url: {error}")))?;
        if let Ok(key) = env::var(SAMPLE_KEY)
            && !key.is_empty()
        {
            sampler = sampler.key(key);
        }
        if let Some(model) = &self.sample_model {
            sampler = sampler.model(model);
        }
        Ok(Some(Arc::new(sampler)))
    }
}

/// Where sampling requests come in and answers go out.
struct Desk {
    model: Option<Arc<dyn Responder>>,
    terminal: Option<Terminal>,
    is_unattended: bool,
}

impl Desk {
    async fn answer(&self, ask: &Ask) -> Result<Answer, NotAnswered> {
        if let (Some(model), true) = (&self.model, self.is_unattended) {
            return model.respond(ask).await;
        }
        let terminal = self.terminal.as_ref().ok_or(NotAnswered::Nobody)?;
        let Some(model) = &self.model else {
            // Spec: client/sampling. Tools come only to who has declared that they can be used.
            let params: Value = serde_json::from_str(ask.params.get()).unwrap_or_default();
            if !params["tools"].is_null() || !params["toolChoice"].is_null() {
                let what =
                    "the server sends tools for the model, which a person cannot use and this client did not declare";
                return Err(NotAnswered::failed(what));
            }
            return terminal.write_sample(ask).await;
        };
        let reviewed = terminal.review_request(ask).await?;
        let answer = model.respond(&reviewed).await?;
        terminal.review_sample(answer).await
    }
}

impl Responder for Desk {
    fn respond<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Answer, NotAnswered>> {
        Box::pin(self.answer(ask))
    }
}

/// The variable that holds the key of the model.
pub(crate) const SAMPLE_KEY: &str = "MRTR_SAMPLE_KEY";
