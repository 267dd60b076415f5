//! The requests, one by one: what each looks up, and how it reads what comes of it.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};
use tracing::error;

use super::answer::{Answer, Completed};
use super::arguments::Arguments;
use super::call::{Call, client};
use super::caller::{Caller, bounded};
use super::completion::{self, Asked, Completing, Target};
use super::list::{Caching, List};
use super::offers::Offered;
use super::once::unresolved;
use super::prompt::read;
use super::reading::Read;
use super::resource::Reader;
use super::uri_template::MAX_URI;
use super::{Dispatch, Incoming, PromptResult, ToolResult, headers};
use crate::form::harmless;
use crate::wire::{Method, Request, RpcError};

impl Dispatch {
    /// `tools/call`. Spec: `server/tools#calling-tools`.
    pub(super) async fn call_tool(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Answer {
        let Some(name) = &request.params.name else {
            return Err(RpcError::malformed_params("params.name is missing: the name of the tool to call"));
        };
        let Some(Offered { item: tool, rules }) = self.offers.tools.get(&*name.0) else {
            return Err(RpcError::invalid_params(format!("Unknown tool: {}", harmless(&name.0, 80))));
        };
        let Arguments { canonical, value } = Arguments::parse(request.params.arguments)?;
        if let Some(headers) = incoming.headers {
            headers::check_params(headers, &rules.input.mirrored, &value)?;
        }
        let (accept_unasked, once) = (tool.accept_unasked, tool.once);
        let call = Call { method: Method::CallTool, target: &name.0, canonical: &canonical, accept_unasked, once };
        let invalid = |problem| Completed::of(&ToolResult::error(format!("Invalid arguments: {problem}")));
        let again = if tool.resolver.is_some() { value.clone() } else { Value::Null };
        let start = |cx| {
            rules.input.check(&value, canonical.len()).map_err(invalid)?;
            (tool.handler)(value, cx).map_err(invalid)
        };
        let resolve = tool.resolver.as_ref().map(|resolver| {
            let value = again;
            move |cx| resolver(value, cx).map_err(invalid)
        });
        self.operate(request, incoming, call, start, resolve, |result: ToolResult| {
            if let (Some(output), false) = (&rules.output, result.is_error) {
                output.check(result.structured_content.as_ref()).map_err(|problem| {
                    error!("the tool's structured content breaks its own output schema: {problem}");
                    RpcError::internal("the tool's result is not what it promises; the server's log says why")
                })?;
            }
            let completed = Completed::of(&result)?;
            Ok(completed.with_meta(result.meta))
        })
        .await
    }

    /// `prompts/get`. Spec: `server/prompts#getting-a-prompt`.
    pub(super) async fn get_prompt(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Answer {
        let Some(name) = &request.params.name else {
            return Err(RpcError::malformed_params("params.name is missing: the name of the prompt to get"));
        };
        let Some(Offered { item: prompt, rules: form }) = self.offers.prompts.get(&*name.0) else {
            return Err(RpcError::invalid_params(format!("Unknown prompt: {}", harmless(&name.0, 80))));
        };
        let Arguments { canonical, value } = Arguments::parse(request.params.arguments)?;
        let texts = texts(&value)?;
        let (accept_unasked, once) = (prompt.accept_unasked, prompt.once);
        let call = Call { method: Method::GetPrompt, target: &name.0, canonical: &canonical, accept_unasked, once };
        let invalid = |problem| Err(RpcError::invalid_params(format!("Invalid arguments: {problem}")));
        let start = |cx| {
            let arguments = read(form, texts).map_err(invalid)?;
            (prompt.handler)(arguments, cx).map_err(invalid)
        };
        self.operate(request, incoming, call, start, unresolved(), |result: Result<PromptResult, String>| {
            Completed::of(&result.map_err(failed)?)
        })
        .await
    }

    /// `resources/read`. Spec: `server/resources#reading-resources`.
    pub(super) async fn read_resource(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Answer {
        let Some(uri) = &request.params.uri else {
            return Err(RpcError::malformed_params("params.uri is missing: the URI of the resource to read"));
        };
        let uri = &*uri.0;
        if uri.len() > MAX_URI {
            // Not said back: it may be as long as a body may be.
            return Err(RpcError::invalid_params(format!("Resource not found: no URI is longer than {MAX_URI} bytes")));
        }
        if let Some(resource) = self.offers.resources.get(uri) {
            let reader = &resource.reader;
            let call = self.reading(uri, reader);
            let start = |cx| (reader.handler)(Default::default(), cx).map_err(|problem| Err(not_found(uri, &problem)));
            return self.operate(request, incoming, call, start, unresolved(), contents(uri, reader, request)).await;
        }
        for template in &self.offers.templates {
            let (reader, form) = (&template.item.reader, &template.rules.form);
            let Some(values) = template.rules.template.matches(uri) else { continue };
            let start = |cx| {
                let texts = values.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                let values = read(form, texts).map_err(|problem| Err(not_found(uri, &problem)))?;
                (reader.handler)(values, cx).map_err(|problem| Err(not_found(uri, &problem)))
            };
            let call = self.reading(uri, reader);
            return self.operate(request, incoming, call, start, unresolved(), contents(uri, reader, request)).await;
        }
        Err(not_found(uri, ""))
    }

    fn reading<'a>(&self, uri: &'a str, reader: &Reader) -> Call<'a> {
        let Reader { accept_unasked, once, .. } = *reader;
        Call { method: Method::ReadResource, target: uri, canonical: b"", accept_unasked, once }
    }

    /// `resources/list`: those that are there by themselves, and those the templates know of now.
    pub(super) async fn list_resources(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Answer {
        let listers = self.offers.templates.iter().filter_map(|template| template.item.lister.as_deref());
        let mut list = Cow::Borrowed(&self.offers.resource_list);
        let mut caching = self.list_caching;
        let mut seen: HashSet<String> = HashSet::new();
        for lister in listers {
            let clock = self.clock(incoming);
            let found = bounded(|| lister(caller(request, incoming)), &clock, self.limits.handler_time).await?;
            let list: &mut List = list.to_mut();
            for resource in found.map_err(failed)? {
                // Cursors name an entry by its URI: listed twice, it would lead a client round in circles.
                if !self.offers.resources.contains_key(&resource.uri) && seen.insert(resource.uri.clone()) {
                    list.push(&resource.uri, &resource.definition());
                }
            }
            // What code listed for this caller may change at any time, and be different for another one.
            caching = Caching::NONE;
        }
        self.page(&list, request, caching)
    }

    /// One page of a list.
    pub(super) fn page(&self, list: &List, request: &Request<'_>, caching: Caching) -> Answer {
        list.page(request.params.cursor, self.page_size, caching, &self.keys, &self.cursors)
    }

    /// `completion/complete`. Spec: `server/utilities/completion`.
    pub(super) async fn complete_argument(&self, request: &Request<'_>, incoming: &Incoming<'_>) -> Answer {
        let params = &request.params;
        let Asked { target, argument, context } = Asked::parse(params.reference, params.argument, params.context)?;
        let (completers, form) = match &target {
            Target::Prompt { name } => match self.offers.prompts.get(name) {
                Some(prompt) => (&prompt.item.completers, &prompt.rules),
                None => return Err(RpcError::invalid_params(format!("Unknown prompt: {}", harmless(name, 80)))),
            },
            Target::Template { uri } => {
                let templates = &self.offers.templates;
                let named = templates.iter().find(|template| template.rules.template.text == *uri);
                match named.or_else(|| templates.iter().find(|template| template.rules.template.matches(uri).is_some()))
                {
                    Some(template) => (&template.item.completers, &template.rules.form),
                    // A resource of its own has nothing to complete.
                    None if self.offers.resources.contains_key(uri) => return completion::answer(Vec::new()),
                    None => return Err(not_found(uri, "")),
                }
            }
        };
        let arguments = context.unwrap_or_default().arguments;
        let typed = Completing { value: argument.value, arguments, caller: caller(request, incoming) };
        let complete = completers.complete(&argument.name, form, typed)?;
        completion::answer(bounded(complete, &self.clock(incoming), self.limits.handler_time).await?)
    }
}

fn caller(request: &Request<'_>, incoming: &Incoming<'_>) -> Caller {
    Caller { client: client(request), principal: incoming.principal.clone() }
}

/// A prompt's arguments, which are texts.
fn texts(arguments: &Value) -> Result<Vec<(&str, &str)>, RpcError> {
    let members = arguments.as_object().into_iter().flatten();
    members
        .map(|(name, value)| match value {
            Value::String(text) => Ok((name.as_str(), text.as_str())),
            _ => Err(RpcError::malformed_params(format!("params.arguments.{} must be a string", harmless(name, 80)))),
        })
        .collect()
}

/// Writes what a resource's handler returned.
fn contents<'a>(uri: &'a str, reader: &'a Reader, request: &'a Request<'_>) -> impl FnOnce(Read) -> Answer + 'a {
    move |found| {
        let parts = found.map_err(failed)?.ok_or_else(|| not_found(uri, ""))?;
        let contents: Vec<_> = parts.into_iter().map(|part| part.under(uri, reader.mime_type.as_deref())).collect();
        // What took answers to get belongs to those answers, and caches do not know them.
        let is_retry = request.params.input_responses.is_some() || request.params.request_state.is_some();
        let caching = if is_retry { Caching::NONE } else { reader.caching };
        Ok(caching.add_to(Completed::of(&json!({ "contents": contents }))?))
    }
}

/// Spec: `server/resources#error-handling`.
fn not_found(uri: &str, problem: &str) -> RpcError {
    let problem = if problem.is_empty() { String::new() } else { format!(": {problem}") };
    RpcError::invalid_params(format!("Resource not found{problem}")).with_data(json!({ "uri": uri }))
}

/// A failure where the protocol has no result for one.
fn failed(words: String) -> RpcError {
    RpcError::internal(words)
}
