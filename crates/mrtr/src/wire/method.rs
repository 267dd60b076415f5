//! The requests a server answers.

/// A request method of the revision this crate speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Method {
    Discover,
    ListTools,
    CallTool,
    ListPrompts,
    GetPrompt,
    ListResources,
    ListResourceTemplates,
    ReadResource,
    Complete,
    Listen,
}

impl Method {
    const ALL: [Self; 10] = [
        Self::CallTool,
        Self::ListTools,
        Self::Discover,
        Self::ListPrompts,
        Self::GetPrompt,
        Self::ListResources,
        Self::ListResourceTemplates,
        Self::ReadResource,
        Self::Complete,
        Self::Listen,
    ];

    /// The method of this name, if a server of this revision can know it.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// As it goes over the wire.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Discover => "server/discover",
            Self::ListTools => "tools/list",
            Self::CallTool => "tools/call",
            Self::ListPrompts => "prompts/list",
            Self::GetPrompt => "prompts/get",
            Self::ListResources => "resources/list",
            Self::ListResourceTemplates => "resources/templates/list",
            Self::ReadResource => "resources/read",
            Self::Complete => "completion/complete",
            Self::Listen => "subscriptions/listen",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name_and_nothing_else_is() {
        assert!(Method::ALL.iter().all(|method| Method::parse(method.name()) == Some(*method)));
        assert_eq!(Method::parse("Tools/call"), None);
        assert_eq!(Method::parse(""), None);
    }
}
