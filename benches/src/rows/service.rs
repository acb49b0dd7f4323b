//! The service over HTTP: the same calls over a Unix socket, over TCP and in the process, with one and with many clients.
//! Not what the calls cost themselves: other rows have that.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stemmata_api::v1::{
    BeginTurnRequest, CheckpointRequest, SearchRequest, SessionsRequest, ShowRequest, TurnMadeRequest,
};
use stemmata_api::{Control, Service};
use stemmata_client::{Address, Remote};
use stemmata_engine::{
    CaptureOptions, Home, HomeOptions, MachineFacts, OpenFor, RandomIds, Settings, SystemClock,
};
use stemmata_server::{Limits, Listen, Server};
use stemmata_service::Local;
use stemmata_testkit::claude::ClaudeSession;

use super::Bench;
use crate::measure::Times;
use crate::report::{Figure, Line, Section, Target};
use crate::scratch;

/// Clients that ask at the same time.
const CLIENTS: [usize; 3] = [1, 8, 64];

/// Calls of a round by all clients together, and rounds.
const CALLS: usize = 64;
const ROUNDS: usize = 20;

/// Sessions of the store, and turns of each.
const SESSIONS: u64 = 20;
const TURNS: u64 = 20;

/// What a pair over the socket may take longer than in the process, with one client.
const MEDIAN: Target = Target::AtMost(Figure::Seconds(0.000_3));
const SLOWEST: Target = Target::AtMost(Figure::Seconds(0.000_6));

const PEER: &str = "in the process";

pub(super) fn run(_: &Bench) -> anyhow::Result<Section> {
    let folder = scratch::folder()?;
    let stage = Stage::new(folder.path())?;
    let mut lines = Vec::new();
    for call in Call::ALL {
        for clients in CLIENTS {
            lines.extend(measure(&stage, call, clients)?);
        }
    }
    Ok(Section {
        name: "service",
        title: format!("a store of {SESSIONS} sessions of {TURNS} turns, asked over HTTP"),
        notes: vec![format!(
            "{ROUNDS} rounds of {CALLS} calls by all clients together, alternating between the ways; each client is a thread with a \
             connection of its own. A pair is the beginning and the end of a turn, both durable, without a prompt."
        )],
        lines,
    })
}

/// The ways to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Process,
    Socket,
    Tcp,
}

const WAYS: [Way; 3] = [Way::Process, Way::Socket, Way::Tcp];

/// A store, and a server in front of it.
struct Stage {
    local: Arc<dyn Service>,
    server: Server,
    tip: String,
}

impl Stage {
    fn new(folder: &Path) -> anyhow::Result<Self> {
        let options = HomeOptions {
            settings: Settings::of_texts("[identity]\nuser = \"bench\"\n", &|_| None)?,
            machine: MachineFacts { mark: None, host_name: "bench".to_owned(), user_id: 0 },
            open_for: OpenFor::Command,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            temp: None,
        };
        let home = Arc::new(Home::open(&folder.join("data"), options)?);
        let files: Vec<PathBuf> = (0..SESSIONS)
            .map(|seed| {
                let session = ClaudeSession::new(seed).turns(TURNS).build();
                let path = folder.join(format!("{}.jsonl", session.session_id));
                scratch::write(&path, |out| {
                    session
                        .lines
                        .iter()
                        .try_for_each(|line| std::io::Write::write_all(out, format!("{line}\n").as_bytes()))
                })?;
                Ok(path)
            })
            .collect::<anyhow::Result<_>>()?;
        let report = home.engine()?.import(&files, &CaptureOptions::import(), 1, &|_| {})?;
        anyhow::ensure!(report.failures.is_empty(), "a made-up session was not imported");
        let by = home.identity()?.principal("stemma")?;
        let local: Arc<dyn Service> = Arc::new(Local::new(home, by));
        let sessions = local.sessions(&SessionsRequest::all())?;
        let tip =
            sessions.sessions.first().and_then(|session| session.tip).context("a session with a tip")?;
        local.settle_index(&Control::none())?;
        let listen =
            Listen { socket: Some(folder.join("run").join("s")), tcp: Some(([127, 0, 0, 1], 0).into()) };
        let server = Server::start(&local, &listen, Limits::default())?;
        Ok(Self { local, server, tip: tip.to_string() })
    }

    /// Returns the service for one client.
    fn client(&self, way: Way) -> anyhow::Result<Arc<dyn Service>> {
        Ok(match way {
            Way::Process => Arc::clone(&self.local),
            Way::Socket => {
                let path = self.server.socket().context("a socket")?;
                Arc::new(Remote::new(Address::Socket(path.to_owned())))
            }
            Way::Tcp => {
                let address = self.server.tcp().context("an address")?;
                Arc::new(Remote::new(Address::Http(format!("http://{address}"))))
            }
        })
    }
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Show,
    Search,
    Checkpoint,
    Pair,
}

/// A call that is ready: making it costs nothing that is measured.
enum Ready {
    Show(ShowRequest),
    Search(Box<SearchRequest>),
    Checkpoint(Box<CheckpointRequest>, Vec<u8>),
    Pair(Box<(BeginTurnRequest, TurnMadeRequest)>),
}

impl Call {
    const ALL: [Self; 4] = [Self::Show, Self::Search, Self::Checkpoint, Self::Pair];

    const fn name(self) -> &'static str {
        match self {
            Self::Show => "show",
            Self::Search => "search",
            Self::Checkpoint => "checkpoint",
            Self::Pair => "begin+end",
        }
    }

    /// Makes the call of a client; `session` is its own.
    fn ready(self, stage: &Stage, session: &str, number: usize) -> anyhow::Result<Ready> {
        Ok(match self {
            Self::Show => Ready::Show(ShowRequest { ctx: stage.tip.clone(), entries: false }),
            Self::Search => {
                let request = json!({ "text": "the retries wait", "limit": 10, "settle_ms": 0 });
                Ready::Search(Box::new(read(request)?))
            }
            Self::Checkpoint => {
                let request = json!({
                    "format": "my-agent-v1", "commit_type": "delta", "template": "bench", "session": session,
                    "trigger": "explicit",
                });
                let content =
                    format!("{session} {number} of what an agent said and did in a turn\n").repeat(50);
                Ready::Checkpoint(Box::new(read(request)?), content.into_bytes())
            }
            Self::Pair => {
                let turn =
                    json!({ "ledger": "bench", "session": session, "agent": "worker", "template": "fixer" });
                let said = json!({ "role": "user", "text": format!("Question {number} about the retries") });
                let entry =
                    json!({ "role": "assistant", "text": format!("Answer {number}: they wait too long.") });
                let begin = read(json!({ "turn": turn, "said": said }))?;
                Ready::Pair(Box::new((begin, read(json!({ "turn": turn, "entries": [entry] }))?)))
            }
        })
    }
}

fn read<T: DeserializeOwned>(request: Value) -> anyhow::Result<T> {
    Ok(serde_json::from_value(request)?)
}

impl Ready {
    fn ask(&self, service: &dyn Service) -> anyhow::Result<()> {
        match self {
            Self::Show(request) => drop(service.show(request)?),
            Self::Search(request) => drop(service.search(request, &Control::none())?),
            Self::Checkpoint(request, content) => {
                service.checkpoint(request, &mut content.as_slice())?;
            }
            Self::Pair(pair) => {
                service.begin_turn(&pair.0)?;
                service.end_turn(&pair.1)?;
            }
        }
        Ok(())
    }
}

/// What the calls of one way took.
#[derive(Default)]
struct Taken {
    each: Vec<Duration>,
    wall: Duration,
}

fn measure(stage: &Stage, call: Call, clients: usize) -> anyhow::Result<Vec<Line>> {
    let mut taken: [Taken; 3] = Default::default();
    let services = WAYS
        .iter()
        .map(|way| (0..clients).map(|_| stage.client(*way)).collect::<anyhow::Result<Vec<_>>>())
        .collect::<anyhow::Result<Vec<_>>>()?;
    // The first round opens connections and files, and is not counted.
    for round in 0..=ROUNDS {
        for step in 0..WAYS.len() {
            let at = (round + step) % WAYS.len();
            let (Some(way), Some(services), Some(taken)) =
                (WAYS.get(at), services.get(at), taken.get_mut(at))
            else {
                continue;
            };
            let of_round = one_round(stage, (call, *way), services, round)?;
            if round > 0 {
                taken.each.extend(of_round.each);
                taken.wall += of_round.wall;
            }
        }
    }
    Ok(lines(call, clients, taken))
}

/// Has every client make its calls, all at the same time.
fn one_round(
    stage: &Stage,
    (call, way): (Call, Way),
    services: &[Arc<dyn Service>],
    round: usize,
) -> anyhow::Result<Taken> {
    let calls = CALLS / services.len();
    let mut ready = Vec::new();
    for client in 0..services.len() {
        let session = format!("{}-{way:?}-{}-{client}", call.name(), services.len());
        let made = (0..calls).map(|number| call.ready(stage, &session, round * calls + number));
        ready.push(made.collect::<anyhow::Result<Vec<_>>>()?);
    }
    let began = Instant::now();
    let each = std::thread::scope(|scope| {
        let threads: Vec<_> = services
            .iter()
            .zip(&ready)
            .map(|(service, ready)| {
                scope.spawn(move || {
                    let timed = ready.iter().map(|ready| {
                        let began = Instant::now();
                        ready.ask(service.as_ref())?;
                        Ok(began.elapsed())
                    });
                    timed.collect::<anyhow::Result<Vec<_>>>()
                })
            })
            .collect();
        let done = threads.into_iter().map(|thread| thread.join().expect("a client does not panic"));
        done.collect::<anyhow::Result<Vec<_>>>()
    })?;
    Ok(Taken { each: each.concat(), wall: began.elapsed() })
}

fn lines(call: Call, clients: usize, taken: [Taken; 3]) -> Vec<Line> {
    let rate = |taken: &Taken| Figure::rate(u64::try_from(taken.each.len()).unwrap_or(0), taken.wall);
    let [process, socket, tcp] = taken.map(|taken| (rate(&taken), Times::new(taken.each)));
    let many = if clients == 1 { "client" } else { "clients" };
    let mut lines = Vec::new();
    for (way, (rate, times)) in [("socket", &socket), ("TCP", &tcp)] {
        let case = |what: &str| format!("{}, {clients} {many}, {way}, {what}", call.name());
        for (what, percent) in [("p50", 50), ("p99", 99)] {
            lines.push(
                Line::ours(1, case(what), Figure::time(times.percentile(percent)))
                    .beside(PEER, Figure::time(process.1.percentile(percent))),
            );
        }
        lines.push(Line::ours(1, case("rate"), *rate).beside(PEER, process.0));
    }
    if call == Call::Pair && clients == 1 {
        for (what, percent, target) in [("p50", 50, MEDIAN), ("p99", 99, SLOWEST)] {
            let more = socket.1.percentile(percent).saturating_sub(process.1.percentile(percent));
            lines.push(
                Line::ours(1, format!("begin+end, 1 client, socket, {what} more"), Figure::time(more))
                    .target(target),
            );
        }
    }
    lines
}
