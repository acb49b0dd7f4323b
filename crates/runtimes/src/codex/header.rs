//! What the loader needs of a session's header: it refuses a file whose first line is none that it takes.
//!
//! Each was tried with the real client (0.169.0).

use super::loader::{is_list, is_none_or, is_text, member};
use super::record::Record;
use crate::json::{Field, members, text};
use crate::placing::{Edit, put};
use crate::repair::is_uuid_shaped;

/// Returns the fields of a session's header that are missing or not as the loader needs them: it refuses the file then.
pub(super) fn faults<'a>(payload: Field<'a>) -> Vec<(&'static str, Option<Field<'a>>)> {
    let all = members(payload).unwrap_or_default();
    let of = |name: &str| all.iter().find(|member| member.name == name).map(|member| member.value);
    let mut faults: Vec<(&'static str, Option<Field<'a>>)> = Vec::new();
    let mut check = |name: &'static str, is_good: &dyn Fn(Option<Field<'a>>) -> bool| {
        let field = of(name);
        faults.extend((!is_good(field)).then_some((name, field)));
    };
    check("id", &is_id);
    for name in ["timestamp", "cwd", "originator", "cli_version"] {
        check(name, &is_text);
    }
    check("session_id", &|id| id.is_none() || is_id(id));
    check("source", &|source| source.is_none() || is_source(source));
    for name in ["forked_from_id", "parent_thread_id"] {
        check(name, &|id| is_none_or(id, is_id));
    }
    for name in ["model_provider", "thread_source", "agent_nickname", "memory_mode"] {
        check(name, &|name| is_none_or(name, is_text));
    }
    check("dynamic_tools", &|tools| is_none_or(tools, is_list));
    check("base_instructions", &|base| is_none_or(base, |base| is_text(member(base, "text"))));
    check("git", &|git| is_none_or(git, is_git));
    faults
}

/// Returns the edits of a header's line with which the loader takes it: what it needs comes from `wanted`, a whole payload, and
/// what it can do without goes.
pub(super) fn edits(record: &Record<'_>, wanted: &str) -> Vec<Edit> {
    let value = |name: &str| member(Some(Field::whole(wanted)), name).map_or("null", |field| field.raw());
    let faults = faults(record.body).into_iter();
    let members = faults.map(|(name, field)| (name, field, value(name).to_owned()));
    put((record.body.raw().as_bytes(), record.body.span().start), members)
}

fn is_id(field: Option<Field<'_>>) -> bool {
    text(field).is_some_and(|id| {
        let digits = id.bytes().filter(u8::is_ascii_hexdigit).count();
        digits == 32 && (id.len() == digits || is_uuid_shaped(&id))
    })
}

fn is_source(source: Option<Field<'_>>) -> bool {
    let subagent = member(source, "subagent");
    let spawned = ["thread_spawn", "other"].into_iter().any(|kind| member(subagent, kind).is_some());
    is_text(source) || is_text(member(source, "custom")) || is_text(subagent) || spawned
}

fn is_git(git: Option<Field<'_>>) -> bool {
    git.is_some_and(|git| members(git).is_some())
        && ["commit_hash", "branch", "repository_url"]
            .into_iter()
            .all(|part| is_none_or(member(git, part), is_text))
}
