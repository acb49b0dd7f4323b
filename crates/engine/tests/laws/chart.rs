//! The data-flow chart of seed 000, walked edge by edge: from an issue to the next agent's prompt, and back into the
//! ledger.

use std::time::Duration;

use stemmata_engine::{
    Engine, EventFilter, FollowFrom, PromptMade, PromptOf, PromptTrigger, PromptWanted, Subscription,
};
use stemmata_model::{
    Estimate, Event, Json, LedgerId, NewEvent, NewPayload, Party, Payload, SessionId, topics,
};
use stemmata_prompt::profile::Profile;
use stemmata_prompt::strategy::{DocumentFormat, Strategy, parse};
use stemmata_store::EventQuery;

use crate::support::engine;

/// The example of seed 000, as it stands there.
const SEEDS_STRATEGY: &str = include_str!("../../../prompt/src/strategy/seed.json");

/// Long enough for any machine; nothing here waits unless something is broken.
const PATIENCE: Duration = Duration::from_secs(20);

fn cluster() -> LedgerId {
    LedgerId::new("cluster-7").expect("a name")
}

fn message(topic: &'static str, sender: &str, text: &str, data: &str) -> NewEvent {
    let payload = NewPayload::Plain { text: Some(text.to_owned()), data: Json::parse(data).ok() };
    let session = SessionId::new(cluster().as_str()).expect("a name");
    NewEvent::new(session, topics::topic(topic), Party::new(sender).expect("a name"), payload)
}

/// An agent's builder: it hears of events by the bus, and assembles what its strategy names up to where it stands.
struct Builder {
    bus: Subscription,
    strategy: Strategy,
}

impl Builder {
    /// Waits for the event that triggers an agent.
    fn triggered_by(&mut self, topic: &str) -> Event {
        loop {
            let event = self.bus.next(PATIENCE).expect("a read").expect("the bus delivers in time");
            if event.topic.as_str() == topic {
                return event;
            }
        }
    }

    /// Returns the prompt of an agent that an event triggers.
    fn prompt(&self, engine: &Engine, role: &str, trigger: &Event) -> PromptMade {
        let profile = Profile::new(Party::new(role).expect("a name"), role);
        let wanted = PromptWanted {
            trigger: Some(PromptTrigger::Event(trigger.seq)),
            ..PromptWanted::new(&profile, &self.strategy, &Estimate)
        };
        engine.assemble(&PromptOf { ledger: cluster(), session: None, tip: None }, &wanted).expect("a prompt")
    }
}

fn text(event: &Event) -> &str {
    match &event.payload {
        Payload::Plain { text: Some(text), .. } => text,
        other => panic!("{other:?} is not text"),
    }
}

fn topics_of(engine: &Engine) -> Vec<String> {
    let events = engine.log().events(&cluster(), &EventQuery::after(None, 100)).expect("a read");
    events.into_iter().map(|event| event.topic.to_string()).collect()
}

#[test]
fn all_nine_edges_of_the_chart() {
    let engine = engine();
    let bus = |topics: &[&'static str]| {
        let topics = topics.iter().map(|name| self::topics::topic(name)).collect();
        engine
            .subscribe(&cluster(), EventFilter { topics, ..EventFilter::default() }, FollowFrom::Beginning)
            .expect("a subscription")
    };
    let mut heard = bus(&[topics::ISSUE_OPENED, topics::STATE_SNAPSHOT]);
    let strategy = parse(SEEDS_STRATEGY, DocumentFormat::Json).expect("the seed's example is a strategy");
    let mut builder = Builder { bus: bus(&[topics::ISSUE_OPENED, topics::STATE_SNAPSHOT]), strategy };

    // 1. The issue is published to the ledger.
    let issue = message(
        topics::ISSUE_OPENED,
        "user",
        "The parser loops on an empty line",
        "{\"title\":\"Parser loops\"}",
    );
    engine.publish(&cluster(), vec![issue]).expect("published");
    // 2. The ledger's bus delivers it.
    assert_eq!(
        text(&heard.next(PATIENCE).expect("a read").expect("delivered")),
        "The parser loops on an empty line"
    );
    // 3. The snapshotter has it, and 4. what it makes of it is in the ledger, and on the bus again.
    let snapshot = heard.next(PATIENCE).expect("a read").expect("delivered");
    assert_eq!(
        (snapshot.topic.as_str(), snapshot.sender.as_str()),
        (topics::STATE_SNAPSHOT, "state-snapshotter")
    );
    assert_eq!(topics_of(&engine), [topics::ISSUE_OPENED, topics::STATE_SNAPSHOT]);
    // 5. The builder hears of the issue, 6. makes packs, 7. and they are the prompt of the planner.
    let trigger = builder.triggered_by(topics::ISSUE_OPENED);
    let prompt = builder.prompt(&engine, "planner", &trigger);
    let decided: Vec<(&str, u64)> =
        prompt.trace.candidates.iter().map(|one| (one.section.as_str(), one.chars)).collect();
    assert_eq!(prompt.text, include_str!("../golden/chart_planner.txt"), "{decided:?}");
    // 8. The planner runs on it, 9. and what it publishes is in the ledger.
    let agent = |prompt: &str| {
        assert!(prompt.contains("Task: Parser loops"), "an agent knows the state");
        message(topics::PLAN_READY, "planner", "Skip empty lines first", "{\"summary\":\"skip empty lines\"}")
    };
    engine.publish(&cluster(), vec![agent(&prompt.text)]).expect("published");

    // And round again: the next agent's prompt knows the plan and the state that it made.
    let plan = heard.next(PATIENCE).expect("a read").expect("delivered");
    let trigger = builder.triggered_by(topics::STATE_SNAPSHOT);
    let next = builder.triggered_by(topics::STATE_SNAPSHOT);
    assert!(trigger.seq < next.seq && plan.seq == next.seq);
    let prompt = builder.prompt(&engine, "worker", &next).text;
    for wanted in ["Skip empty lines first", "Plan: skip empty lines", "The parser loops on an empty line"] {
        assert!(prompt.contains(wanted), "{wanted}: {prompt}");
    }
    assert_eq!(
        topics_of(&engine),
        [topics::ISSUE_OPENED, topics::STATE_SNAPSHOT, topics::PLAN_READY, topics::STATE_SNAPSHOT]
    );
}
