//! The facet `Ledgers` over a store of this machine.

pub(super) mod read;

use std::ops::ControlFlow;
use std::time::Duration;

use stemmata_api::v1::{
    APPEND_EVENTS_MAX, AdoptRequest, AppendRequest, Appended, CloseThreadRequest, DecideRequest, Decisions,
    DisownRequest, Event, Events, EventsForgotten, EventsRequest, FinishTaskRequest, FollowFrom,
    FollowRequest, Followed, ForgetEventsRequest, Ledger, LedgerPage, LedgerRequest, LedgersRequest,
    OpenTasks, ReplayRequest, Replayed, RestoreStateRequest, RestoredLedger, State, StateRequest,
};
use stemmata_api::{Answer, Code, Control, Ledgers, PlanDigest, Problem};
use stemmata_engine::{Adopt, Engine, EventsPlan, PublishOptions};
use stemmata_model::LedgerId;
use stemmata_store::StoreError;

use super::{Local, bad_request, items_max, size};
use crate::digest::{digest_of, hold};
use crate::fault::Fault;
use crate::wire;

/// How long `follow` waits before it reads again, also where nothing wakes it.
const WAIT: Duration = Duration::from_mins(1);

const _: () = assert!(APPEND_EVENTS_MAX == stemmata_store::BATCH_EVENTS_MAX);

impl Ledgers for Local {
    fn ledgers(&self, request: &LedgersRequest) -> Answer<LedgerPage> {
        self.with(|engine| {
            let after = request.page.after.as_deref().map(LedgerId::new).transpose();
            let after = after.map_err(|error| bad_request("after", error))?;
            let wanted = items_max(request.page.limit);
            let found = engine.log().ledgers(after.as_ref(), wanted)?;
            let next = found.last().filter(|_| found.len() == wanted).map(|last| last.id.clone());
            Ok(LedgerPage { ledgers: found.iter().map(wire::ledger::ledger).collect(), next })
        })
    }

    fn ledger(&self, request: &LedgerRequest) -> Answer<Ledger> {
        self.with(|engine| Ok(wire::ledger::ledger(&known(engine, &request.ledger)?)))
    }

    fn adopt(&self, request: &AdoptRequest) -> Answer<Ledger> {
        self.with(|engine| {
            let AdoptRequest { ledger, folder, homes, anyway } = request;
            let adopt = Adopt { folder, homes, anyway: *anyway };
            engine.adopt_folder(ledger, adopt)?;
            Ok(wire::ledger::ledger(&known(engine, ledger)?))
        })
    }

    fn disown(&self, request: &DisownRequest) -> Answer<Ledger> {
        self.with(|engine| {
            let DisownRequest { ledger, folder } = request;
            if !engine.disown_folder(ledger, folder)? {
                let detail = format!("`{folder}` is not one of the folders that {ledger} adopted");
                return Err(Problem::new(Code::FolderNotAdopted, detail).into());
            }
            Ok(wire::ledger::ledger(&known(engine, ledger)?))
        })
    }

    fn append(&self, request: &AppendRequest) -> Answer<Appended> {
        self.with(|engine| {
            let ledger = &request.ledger;
            let events = read::events(&request.events)?;
            let expected =
                request.expected.as_deref().map(|text| read::number(text, "expected")).transpose()?;
            let options = PublishOptions { expected, durability: request.durability };
            Ok(wire::ledger::appended(ledger, &engine.publish_with(ledger, events, options)?))
        })
    }

    fn events(&self, request: &EventsRequest) -> Answer<Events> {
        self.with(|engine| {
            let known = known(engine, &request.ledger)?;
            let query = read::query(request)?;
            let page = engine.log().page(&known.id, &query)?;
            let following = query.following(&page);
            let mut events: Vec<Event> = page.events.iter().map(wire::ledger::event).collect();
            let next = if request.newest_first {
                events.reverse();
                following.and_then(|query| query.through)
            } else {
                following.and_then(|query| query.after)
            };
            Ok(Events { ledger: known.id, events, last: known.last.to_string(), next })
        })
    }

    fn follow(
        &self,
        request: &FollowRequest,
        each: &mut dyn FnMut(&Event) -> ControlFlow<()>,
        control: &Control<'_>,
    ) -> Answer<Followed> {
        self.with(|engine| {
            let ledger = known(engine, &request.ledger)?.id;
            let (filter, from) = (read::filter(request)?, request.from.clone());
            let is_named = matches!(from, FollowFrom::Cursor(_));
            let mut subscription = engine.subscribe(&ledger, filter, from)?;
            let stopper = subscription.stopper();
            let _woken = control.cancel.map(|cancel| cancel.on_cancel(move || stopper.stop()));
            let mut events = 0;
            while !control.is_cancelled() && request.count.is_none_or(|count| events < count) {
                let Some(event) = subscription.next(WAIT)? else { continue };
                if each(&wire::ledger::event(&event)).is_break() {
                    break;
                }
                events += 1;
                if is_named {
                    subscription.acknowledge()?;
                }
            }
            Ok(Followed { events })
        })
    }

    fn plan_forget_events(&self, request: &ForgetEventsRequest) -> Answer<EventsForgotten> {
        self.with(|engine| {
            let plan = engine.plan_forget_events(&read::told(request)?)?;
            if plan.is_empty() {
                return Err(engine.nothing_told(&read::told(request)?).into());
            }
            Ok(EventsForgotten { stores_left: self.stores_left(), ..planned(request, &plan) })
        })
    }

    fn apply_forget_events(
        &self,
        request: &ForgetEventsRequest,
        plan: &PlanDigest,
        control: &Control<'_>,
    ) -> Answer<EventsForgotten> {
        self.with(|engine| {
            let _alone = self.alone()?;
            let found = engine.plan_forget_events(&read::told(request)?)?;
            let shown = planned(request, &found);
            if let Some(digest) = shown.digest.as_ref().filter(|_| !found.is_empty()) {
                hold(plan, Some(digest))?;
            }
            let events = found.counts().map(|(ledger, events)| format!("{events} of {ledger}"));
            let target = format!("events: {}", events.collect::<Vec<_>>().join(", "));
            let deed = self.deed("ledgers.apply_forget_events", target, control);
            let act = || Ok(engine.apply_forget_events(&found)?);
            let unfinished = self.audited(deed, act, |left| {
                if left.is_some() { "done, and files are left".to_owned() } else { "done".to_owned() }
            })?;
            let stores_left = self.stores_left();
            Ok(EventsForgotten { dry_run: false, stores_left, unfinished, digest: None, ..shown })
        })
    }

    fn state(&self, request: &StateRequest) -> Answer<State> {
        self.with(|engine| {
            let ledger = known(engine, &request.ledger)?.id;
            let at = request.at.as_deref().map(|text| read::number(text, "at")).transpose()?;
            let chars_max = request.text_chars_max.map(|max| size(max, "text_chars_max")).transpose()?;
            Ok(wire::state::state(&ledger, &engine.state_of(&ledger, at)?, chars_max))
        })
    }

    fn decisions(&self, request: &LedgerRequest) -> Answer<Decisions> {
        self.with(|engine| {
            let remembered = engine.remember(&known(engine, &request.ledger)?.id)?;
            Ok(Decisions {
                decisions: wire::state::decisions(&remembered.memory.items),
                notes: remembered.notes.clone(),
            })
        })
    }

    fn tasks(&self, request: &LedgerRequest) -> Answer<OpenTasks> {
        self.with(|engine| {
            let (tasks, notes) = engine.open_tasks(&known(engine, &request.ledger)?.id)?;
            Ok(OpenTasks { tasks: tasks.iter().map(wire::state::task).collect(), notes })
        })
    }

    fn decide(&self, request: &DecideRequest) -> Answer<Appended> {
        self.with(|engine| {
            if request.text.trim().is_empty() {
                return Err(bad_request("text", "it says nothing"));
            }
            Ok(wire::ledger::appended(&request.ledger, &engine.decide(request)?))
        })
    }

    fn finish_task(&self, request: &FinishTaskRequest) -> Answer<Appended> {
        self.with(|engine| {
            let ledger = known(engine, &request.ledger)?.id;
            let (text, done) = engine.finish_task(&ledger, &request.task)?;
            Ok(Appended { finished: Some(text), ..wire::ledger::appended(&ledger, &done) })
        })
    }

    fn close_thread(&self, request: &CloseThreadRequest) -> Answer<Appended> {
        self.with(|engine| {
            let ledger = known(engine, &request.ledger)?.id;
            let (text, done) = engine.close_thread(&ledger, &request.thread)?;
            Ok(Appended { finished: Some(text), ..wire::ledger::appended(&ledger, &done) })
        })
    }

    fn replay(&self, request: &ReplayRequest, control: &Control<'_>) -> Answer<Replayed> {
        self.with(|engine| {
            let ledger = known(engine, &request.ledger)?.id;
            control.check()?;
            let (through, reducers) = engine.compare_states(&ledger, !request.check)?;
            control.check()?;
            let transcripts = engine.replay_transcripts(&ledger, !request.check)?;
            let same = reducers.iter().all(|one| one.same) && transcripts.different.is_empty();
            let (through, reducers) = (through.to_string(), reducers.into());
            Ok(Replayed { ledger, through, reducers, same, transcripts })
        })
    }

    fn restore_state(&self, request: &RestoreStateRequest) -> Answer<RestoredLedger> {
        self.with(|_| Ok(self.home.restore_state(&request.ledger, request.repair)?))
    }
}

/// Returns a ledger that is there.
fn known(engine: &Engine, id: &LedgerId) -> Result<stemmata_store::Ledger, Fault> {
    Ok(engine.log().ledger(id)?.ok_or_else(|| StoreError::LedgerMissing(id.clone()))?)
}

/// Returns a plan with its digest.
fn planned(request: &ForgetEventsRequest, plan: &EventsPlan) -> EventsForgotten {
    let planned = wire::ledger::forgotten(request.session.clone(), plan);
    // As many other events are another plan.
    let going = plan
        .events()
        .iter()
        .flat_map(|(ledger, events)| events.iter().map(move |event| format!("{ledger} {event}")));
    let digest = digest_of("ledgers.forget_events", request, &(&planned, going.collect::<Vec<_>>()));
    EventsForgotten { digest: Some(digest), ..planned }
}
