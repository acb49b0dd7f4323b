//! `update`, `tag`, `pin` and `unpin`: what stands beside a commit.

use stemmata_api::v1::{TagsRequest, UpdateRequest};
use stemmata_api::{Code, Problem};

use crate::args::annotate::{Pin, Tag, TagCommand, Update};
use crate::errors::{CliError, Exit};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::wiring::App;

/// Verbs, also those that other commands have: `stemma tag list NAME` is a slip, and no commit is called so.
const VERBS: [&str; 5] = ["list", "ls", "add", "rm", "remove"];

/// Runs `update`.
pub(crate) fn run(app: &App, args: Update) -> Result<Exit, CliError> {
    let wish = UpdateRequest {
        summary: args.summary,
        add_tags: args.tag,
        remove_tags: args.untag,
        notes: args.note,
        thread: args.thread.map(|thread| thread.to_string()),
        ticket: args.ticket.map(|ticket| ticket.to_string()),
        ..nothing(app, &args.reference)?
    };
    apply(app, &wish)
}

/// Runs `tag`.
pub(crate) fn tag(app: &App, args: &Tag) -> Result<Exit, CliError> {
    if let Some(TagCommand::List(wanted)) = &args.command {
        return list(app, &wanted.prefix);
    }
    let (reference, name, remove) = match (&args.command, &args.reference, &args.name) {
        (Some(TagCommand::Add(add)), ..) => (&add.reference, &add.name, false),
        (Some(TagCommand::Remove(gone)), ..) => match gone.names.as_slice() {
            [reference, name] => (reference, name, true),
            [name, ..] => return remove_named(app, name),
            [] => return Err(CliError::Usage("name a tag: `stemma tag remove NAME`".to_owned())),
        },
        (None, Some(verb), _) if VERBS.contains(&verb.as_str()) => {
            let how = format!("`{verb}` is a verb, not a commit: see `stemma tag --help`");
            return Err(CliError::Usage(how));
        }
        (None, None, _) => return list(app, ""),
        (None, Some(reference), Some(name)) => (reference, name, args.remove),
        (Some(TagCommand::List(_)) | None, ..) => {
            return Err(CliError::Usage("name a commit and a tag: `stemma tag add REF NAME`".to_owned()));
        }
    };
    let names = vec![name.clone()];
    let unchanged = nothing(app, reference)?;
    let request = if remove {
        UpdateRequest { remove_tags: names, ..unchanged }
    } else {
        UpdateRequest { add_tags: names, ..unchanged }
    };
    apply(app, &request)
}

/// Removes a tag from the one commit that has it. It is looked up among the tags only: a session may have the same name.
fn remove_named(app: &App, name: &str) -> Result<Exit, CliError> {
    let mut found = app.service()?.tags(&TagsRequest { prefix: name.to_owned() })?.tags;
    found.retain(|tag| tag.name == name);
    match found.as_slice() {
        [] => {
            let problem = Problem::new(Code::ReferenceNotFound, format!("no tag is called `{name}`"));
            Err(Box::new(Problem { hint: Some("`stemma tag` lists the tags".to_owned()), ..problem }).into())
        }
        [one] => apply(
            app,
            &UpdateRequest { remove_tags: vec![name.to_owned()], ..nothing(app, &one.ctx.to_string())? },
        ),
        several => {
            let ids = app.short_ids(several.iter().map(|tag| tag.ctx))?;
            let named: Vec<String> = several.iter().map(|tag| ids.cut(tag.ctx)).collect();
            Err(CliError::Usage(format!(
                "{} have the tag: `stemma tag remove REF {name}` takes it from one",
                named.join(" and ")
            )))
        }
    }
}

/// Runs `tag list`.
fn list(app: &App, prefix: &str) -> Result<Exit, CliError> {
    let found = app.service()?.tags(&TagsRequest { prefix: prefix.to_owned() })?;
    let exit = app.answer(&found, || {
        let ids = app.short_ids(found.tags.iter().map(|tag| tag.ctx))?;
        let mut table = Table::new(&[("", Column::Flexible), ("", Column::Left)]);
        for tag in &found.tags {
            table.row(vec![cell(Style::Branch, tame(&tag.name)), cell(Style::Id, ids.cut(tag.ctx))]);
        }
        Ok(table.render(app.console.width))
    })?;
    if found.tags.is_empty() && !app.console.json {
        app.console.say("No tags. `stemma tag add REF NAME` adds one");
    }
    Ok(exit)
}

/// Runs `pin` and `unpin`.
pub(crate) fn pin(app: &App, args: &Pin, pin: bool) -> Result<Exit, CliError> {
    apply(app, &UpdateRequest { pin: Some(pin), ..nothing(app, &args.reference)? })
}

/// Asks to change nothing of a commit.
fn nothing(app: &App, reference: &str) -> Result<UpdateRequest, CliError> {
    Ok(UpdateRequest {
        ctx: app.ctx(reference)?,
        summary: None,
        add_tags: Vec::new(),
        remove_tags: Vec::new(),
        notes: Vec::new(),
        pin: None,
        thread: None,
        ticket: None,
    })
}

/// Applies changes and shows how the commit stands now.
fn apply(app: &App, wish: &UpdateRequest) -> Result<Exit, CliError> {
    let changed = app.service()?.update(wish)?;
    let exit = app.answer(&changed, || {
        let ids = app.short_ids([changed.id])?;
        let tags: String = changed.tags.iter().map(|tag| format!(" #{}", tame(tag))).collect();
        let pinned = if changed.pinned { " pinned" } else { "" };
        let (id, tags) = (ids.painted(changed.id), Style::Branch.paint(&tags));
        Ok(format!("{id}  {}{tags}{pinned}\n", tame(&changed.summary)))
    })?;
    for shared in changed.tags_shared.iter().flatten() {
        let (tag, count) = (&shared.tag, shared.commits);
        app.console.warn(&format!("`{tag}` names {count} commits now, so only an id tells them apart"));
    }
    Ok(exit)
}
