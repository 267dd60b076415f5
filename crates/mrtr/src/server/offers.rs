//! What a server offers, checked once when it is built and looked up ever after.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::arguments::{InputSchema, OutputSchema};
use super::builder::BuildError;
use super::list::List;
#[cfg(feature = "http")]
use super::resource::Reader;
use super::uri_template::UriTemplate;
use super::{Prompt, Resource, ResourceTemplate, Tool};
use crate::form::Form;
use crate::wire::Method;

/// Something an author offers, and what was worked out of it.
#[derive(Debug)]
pub(super) struct Offered<T, R> {
    pub(super) item: T,
    pub(super) rules: R,
}

#[derive(Debug)]
pub(super) struct ToolRules {
    pub(super) input: InputSchema,
    pub(super) output: Option<OutputSchema>,
}

#[derive(Debug)]
pub(super) struct TemplateRules {
    pub(super) template: UriTemplate,
    pub(super) form: Arc<Form>,
}

/// Everything, by name, and the lists of it in the order it was given.
#[derive(Debug)]
pub(super) struct Offers {
    pub(super) tools: HashMap<String, Offered<Tool, ToolRules>>,
    pub(super) prompts: HashMap<String, Offered<Prompt, Arc<Form>>>,
    pub(super) resources: HashMap<String, Resource>,
    /// In order: the first that matches is it.
    pub(super) templates: Vec<Offered<ResourceTemplate, TemplateRules>>,
    pub(super) tool_list: List,
    pub(super) prompt_list: List,
    pub(super) resource_list: List,
    pub(super) template_list: List,
    can_complete: bool,
}

impl Default for Offers {
    fn default() -> Self {
        Self {
            tools: HashMap::new(),
            prompts: HashMap::new(),
            resources: HashMap::new(),
            templates: Vec::new(),
            tool_list: List::new(Method::ListTools, "tools"),
            prompt_list: List::new(Method::ListPrompts, "prompts"),
            resource_list: List::new(Method::ListResources, "resources"),
            template_list: List::new(Method::ListResourceTemplates, "resourceTemplates"),
            can_complete: false,
        }
    }
}

impl Offers {
    pub(super) fn add_tool(&mut self, tool: Tool) -> Result<(), BuildError> {
        let name = tool.name.clone();
        if !tool.has_valid_name() {
            return Err(BuildError::ToolName(name));
        }
        let rules = tool.rules().map_err(|problem| BuildError::Tool { tool: name.clone(), problem })?;
        self.tool_list.push(&name, &tool.definition(&rules));
        match self.tools.insert(name.clone(), Offered { item: tool, rules }) {
            Some(_) => Err(BuildError::DuplicateTool(name)),
            None => Ok(()),
        }
    }

    pub(super) fn add_prompt(&mut self, prompt: Prompt) -> Result<(), BuildError> {
        let name = prompt.name.clone();
        let invalid = |problem| BuildError::Prompt { prompt: name.clone(), problem };
        if name.is_empty() {
            return Err(invalid("it needs a name".to_owned()));
        }
        let form = prompt.form.clone().map_err(&invalid)?;
        if let Some(argument) = prompt.completers.stray(&form) {
            return Err(invalid(format!("there is no argument {argument:?} to complete")));
        }
        self.can_complete |= prompt.completers.can_complete(&form);
        self.prompt_list.push(&name, &prompt.definition(&form));
        match self.prompts.insert(name.clone(), Offered { item: prompt, rules: form }) {
            Some(_) => Err(BuildError::DuplicatePrompt(name)),
            None => Ok(()),
        }
    }

    pub(super) fn add_resource(&mut self, resource: Resource) -> Result<(), BuildError> {
        let uri = resource.info.uri.clone();
        check_scheme(&uri)?;
        self.resource_list.push(&uri, &resource.info.definition());
        match self.resources.insert(uri.clone(), resource) {
            Some(_) => Err(BuildError::DuplicateResource(uri)),
            None => Ok(()),
        }
    }

    pub(super) fn add_template(&mut self, item: ResourceTemplate) -> Result<(), BuildError> {
        let uri = item.info.uri.clone();
        let invalid = |problem| BuildError::Resource { uri: uri.clone(), problem };
        check_scheme(&uri)?;
        if let Some(problem) = item.problem() {
            return Err(invalid(problem));
        }
        let template = item.template.clone().map_err(&invalid)?;
        let form = item.form.clone().map_err(&invalid)?;
        if self.templates.iter().any(|other| other.rules.template.text == template.text) {
            return Err(BuildError::DuplicateResource(uri));
        }
        self.can_complete |= item.completers.can_complete(&form);
        self.template_list.push(&uri, &item.definition());
        self.templates.push(Offered { item, rules: TemplateRules { template, form } });
        Ok(())
    }

    fn has_prompts(&self) -> bool {
        !self.prompt_list.is_empty()
    }

    fn has_resources(&self) -> bool {
        !self.resource_list.is_empty() || !self.template_list.is_empty()
    }

    /// A server that offers nothing at all has an empty list of tools.
    fn has_tools(&self) -> bool {
        !self.tool_list.is_empty() || !(self.has_prompts() || self.has_resources())
    }

    /// Whether a method is answered: those of what is not offered are not.
    pub(super) fn answers(&self, method: Method) -> bool {
        match method {
            Method::Discover => true,
            Method::ListTools | Method::CallTool => self.has_tools(),
            Method::ListPrompts | Method::GetPrompt => self.has_prompts(),
            Method::ListResources | Method::ListResourceTemplates | Method::ReadResource => self.has_resources(),
            Method::Complete => self.can_complete,
            Method::Listen => false,
        }
    }

    /// What reads the resource at a URI: its own, or that of the first template that makes it.
    #[cfg(feature = "http")]
    pub(super) fn reader(&self, uri: &str) -> Option<&Reader> {
        let template = || self.templates.iter().find(|template| template.rules.template.matches(uri).is_some());
        self.resources.get(uri).map(|resource| &resource.reader).or_else(|| template().map(|found| &found.item.reader))
    }

    /// The capabilities that follow from what is offered. Spec: `schema#servercapabilities`.
    pub(super) fn capabilities(&self) -> Map<String, Value> {
        let offered = [
            ("tools", self.has_tools()),
            ("prompts", self.has_prompts()),
            ("resources", self.has_resources()),
            ("completions", self.can_complete),
        ];
        offered.into_iter().filter(|(_, offered)| *offered).map(|(name, _)| (name.to_owned(), json!({}))).collect()
    }
}

/// URIs are absolute: a scheme and something behind it (RFC 3986, section 3.1).
fn check_scheme(uri: &str) -> Result<(), BuildError> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    };
    match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) && !rest.is_empty() => Ok(()),
        _ => Err(BuildError::Resource {
            uri: uri.to_owned(),
            problem: "it is no URI with a scheme, such as file:///notes.txt".to_owned(),
        }),
    }
}
