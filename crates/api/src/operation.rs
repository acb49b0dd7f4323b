//! The row of an operation, declared beside its method. Routes, documents, clients and access rules are made from it.
//!
//! Routes, pages and tools are made by the code that walks [`TABLE`].

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::problem::{Code, Problem};
#[cfg(feature = "schema")]
use crate::schema::TypeOf;
use crate::service::rows::{chains, give_back, ledgers, maintain, prompts, registry, search};
use crate::{Answer, Control, Parts, PlanDigest, Service};

/// The operations of the service, a slice for each facet.
pub static TABLE: &[&[&dyn Row]] =
    &[chains::ALL, give_back::ALL, ledgers::ALL, maintain::ALL, prompts::ALL, registry::ALL, search::ALL];

/// Returns all rows of the [`TABLE`].
pub fn rows() -> impl Iterator<Item = &'static dyn Row> {
    TABLE.iter().copied().flatten().copied()
}

/// The method of an HTTP request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads. What is not in the path stands in the query, a field of a field as `page.limit`.
    Get,
    /// Reads what a query has no room for, adds, or does something.
    Post,
    /// Changes what its path names.
    Patch,
    /// Puts something where its path names it, or in the place of what is there.
    Put,
    /// Deletes what its path names. What is not in the path stands in the query: many clients send no body with it.
    Delete,
}

impl Method {
    /// Says whether the fields that are not in the path stand in the query, and there is no body.
    pub const fn has_query(self) -> bool {
        match self {
            Self::Get | Self::Delete => true,
            Self::Post | Self::Patch | Self::Put => false,
        }
    }

    /// Returns its name in HTTP.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// What a caller must be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Read.
    Read,
    /// Add what an agent says and does, and metadata about it.
    Publish,
    /// Delete, repair and configure.
    Manage,
}

/// What an operation does to what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing. It may update what is derived, such as folds and the index; no answer depends on these.
    Reads,
    /// Adds to it, or changes metadata.
    Writes,
    /// Deletes from it.
    Destroys,
}

/// What a second, equal request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// Nothing more than the first. It may be refused, because what it asks for is done.
    Same,
    /// Nothing more where it carries ids, or a key in the field of this name, which make it the same request.
    Keyed(&'static str),
    /// Nothing that the plan does not name: it is refused, or finishes what was left of the first.
    Planned,
    /// All of it once more.
    Again,
}

/// What flows beside request and answer: such an operation is routed by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flow {
    /// Bytes to the service.
    In,
    /// Bytes from the service.
    Out,
    /// Events from the service, until one side ends it.
    Events,
}

/// The part of a row that has no types.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// Its stable name, of facet and method: `chains.history`.
    pub name: &'static str,
    /// Its method over HTTP.
    pub method: Method,
    /// Its path over HTTP. A part in braces is a field of the request.
    pub path: &'static str,
    /// Other paths that answer the same, for callers who know another field of the request.
    pub also_at: &'static [&'static str],
    /// What its caller must be allowed to do.
    pub scope: Scope,
    /// What it does to what is stored.
    pub effect: Effect,
    /// What a second, equal request does.
    pub repeat: Repeat,
    /// The commands that print its answer, as typed.
    pub commands: &'static [&'static str],
}

impl Head {
    /// Returns an operation that reads.
    pub(crate) const fn get(name: &'static str, path: &'static str, scope: Scope) -> Self {
        let (method, effect, repeat) = (Method::Get, Effect::Reads, Repeat::Same);
        Self { name, method, path, also_at: &[], scope, effect, repeat, commands: &[] }
    }

    /// Returns an operation that reads what a query has no room for: texts and lists.
    pub(crate) const fn ask(name: &'static str, path: &'static str, scope: Scope) -> Self {
        Self { method: Method::Post, ..Self::get(name, path, scope) }
    }

    /// Returns an operation that writes.
    pub(crate) const fn post(name: &'static str, path: &'static str, scope: Scope, repeat: Repeat) -> Self {
        Self { effect: Effect::Writes, repeat, ..Self::ask(name, path, scope) }
    }
}

/// An operation with the types of its request and its answer.
#[derive(Debug)]
pub struct Op<Q: 'static, A: 'static> {
    /// The part without types.
    pub head: Head,
    /// How it is asked.
    pub run: Run<Q, A>,
}

/// How an operation is asked.
#[derive(Debug)]
pub enum Run<Q: 'static, A: 'static> {
    /// One request, one answer.
    Whole(Ask<Q, A>),
    /// With something that flows beside them.
    ByHand(Flow),
}

/// Asks a service.
pub type Ask<Q, A> = fn(&dyn Service, &Q, &Control<'_>) -> Answer<A>;

impl<Q, A> Op<Q, A> {
    pub(crate) const fn get(name: &'static str, path: &'static str, scope: Scope, ask: Ask<Q, A>) -> Self {
        Self { head: Head::get(name, path, scope), run: Run::Whole(ask) }
    }

    pub(crate) const fn ask(name: &'static str, path: &'static str, scope: Scope, ask: Ask<Q, A>) -> Self {
        Self { head: Head::ask(name, path, scope), run: Run::Whole(ask) }
    }

    pub(crate) const fn post(
        name: &'static str,
        path: &'static str,
        scope: Scope,
        repeat: Repeat,
        ask: Ask<Q, A>,
    ) -> Self {
        Self { head: Head::post(name, path, scope, repeat), run: Run::Whole(ask) }
    }

    /// Returns an operation that deletes exactly what a plan says.
    pub(crate) const fn apply(
        name: &'static str,
        path: &'static str,
        commands: &'static [&'static str],
        ask: Ask<Q, A>,
    ) -> Self {
        let head = Head::post(name, path, Scope::Manage, Repeat::Planned);
        Self { head: Head { effect: Effect::Destroys, commands, ..head }, run: Run::Whole(ask) }
    }

    pub(crate) const fn by_hand(flow: Flow, head: Head) -> Self {
        Self { head, run: Run::ByHand(flow) }
    }

    /// Sets the method over HTTP.
    pub(crate) const fn over(mut self, method: Method) -> Self {
        self.head.method = method;
        self
    }

    /// Adds other paths that answer the same.
    pub(crate) const fn also_at(mut self, paths: &'static [&'static str]) -> Self {
        self.head.also_at = paths;
        self
    }

    /// Names the commands that print its answer.
    pub(crate) const fn shown_by(mut self, commands: &'static [&'static str]) -> Self {
        self.head.commands = commands;
        self
    }
}

/// An operation without its types.
pub trait Row: Sync {
    /// Returns the part without types.
    fn head(&self) -> &Head;

    /// Returns what flows beside request and answer; nothing where [`call`](Self::call) does all of it.
    fn flow(&self) -> Option<Flow>;

    /// Asks a service, and returns the answer in JSON.
    ///
    /// # Errors
    /// Those of the method and of [`Parts::read`]; `not_supported` where something flows beside.
    fn call(&self, service: &dyn Service, request: &Parts, control: &Control<'_>) -> Answer<Vec<u8>>;

    /// Returns the type of its request.
    #[cfg(feature = "schema")]
    fn request(&self) -> TypeOf;

    /// Returns the type of its answer.
    #[cfg(feature = "schema")]
    fn answer(&self) -> TypeOf;
}

/// Requests and answers: read and written as JSON, and described by a schema. A trait, because a bound cannot depend on a feature,
/// and schemas are built with `schema` alone.
#[cfg(feature = "schema")]
pub trait Wire: Serialize + DeserializeOwned + schemars::JsonSchema {}

#[cfg(feature = "schema")]
impl<T: Serialize + DeserializeOwned + schemars::JsonSchema> Wire for T {}

/// Requests and answers: read and written as JSON.
#[cfg(not(feature = "schema"))]
pub trait Wire: Serialize + DeserializeOwned {}

#[cfg(not(feature = "schema"))]
impl<T: Serialize + DeserializeOwned> Wire for T {}

impl<Q: Wire, A: Wire> Row for Op<Q, A> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn flow(&self) -> Option<Flow> {
        match self.run {
            Run::Whole(_) => None,
            Run::ByHand(flow) => Some(flow),
        }
    }

    fn call(&self, service: &dyn Service, request: &Parts, control: &Control<'_>) -> Answer<Vec<u8>> {
        let Run::Whole(run) = self.run else {
            let detail = format!("`{}` takes more than a request in JSON", self.head.name);
            return Err(Box::new(Problem::new(Code::NotSupported, detail)));
        };
        let answer = run(service, &request.read(self.head.method)?, control)?;
        Ok(serde_json::to_vec(&answer).expect("an answer has only text keys"))
    }

    #[cfg(feature = "schema")]
    fn request(&self) -> TypeOf {
        TypeOf::of::<Q>()
    }

    #[cfg(feature = "schema")]
    fn answer(&self) -> TypeOf {
        TypeOf::of::<A>()
    }
}

/// The request of an operation that needs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EmptyRequest {}

/// Asks to do exactly what a plan says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Apply{Q}"))]
#[serde(deny_unknown_fields)]
pub struct Apply<Q> {
    /// What was planned.
    pub request: Q,
    /// The plan's digest.
    pub plan: PlanDigest,
}
