package app

import (
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// SendRequest is the body of POST /send.
type SendRequest struct {
	// Address that gets the message, as channel:account:conversation or channel:account:conversation/thread.
	To string `json:"to"`
	// Text of the message, in Markdown.
	Message string `json:"message"`
	// Name of this message: the same key again is the same message.
	Key string `json:"key,omitempty"`
}

// SentView is the answer to POST /send.
type SentView struct {
	// Number of the message in the outbox.
	ID int64 `json:"id"`
	// Whether this request wrote it; false if its key was known.
	Fresh bool `json:"fresh"`
}

// StopView says what a stop ended.
type StopView struct {
	// Whether a turn of the session itself was in progress.
	Turn bool `json:"turn"`
	// Sub-agents that were stopped.
	Tasks int `json:"tasks"`
	// Messages that waited and are dropped.
	Queued int64 `json:"queued"`
}

// ReloadView says what a reload changed.
type ReloadView struct {
	// The keys that changed, each with its class and its values, one per line.
	Changes []string `json:"changes"`
	// Those of them that wait for the next start of the gateway.
	Pending []string `json:"pending"`
	// What was done with each account.
	Accounts []AccountReload `json:"accounts"`
}

func endpoints() []Endpoint {
	return slices.Concat(readEndpoints(), writeEndpoints())
}

func readEndpoints() []Endpoint {
	rows := Parameter{"limit", "integer", "How many rows at most, 1 to 1000; 200 if left out."}
	pages := Parameter{"limit", "integer", rows.Summary + " A page ends earlier where its rows have more than a megabyte; the end is a page without any."}
	after := Parameter{"after", "integer", "Only rows with a higher number; 0 if left out."}
	return []Endpoint{
		get("/status", "The gateway, its load and its accounts.", api.status),
		get("/doctor", "What is wrong, each with a remedy, and the alerts of the last days.", api.doctor),
		get("/data/{id}", "What the store has of a person, by channel:id; transcripts apart.", api.data),
		get("/data/{id}/transcript", "Rows of one of a person's own sessions, of all its histories, oldest first.", api.dataTranscript, pages, after,
			Parameter{"session", "integer", "Number of the session."}),
		get("/data/{id}/picture", "A picture that came with a message of a person.", api.dataPicture, Parameter{"ref", "string", "Name of the picture."}),
		get("/usage", "What each agent used on each day, the latest first.", api.usage,
			Parameter{"days", "integer", "How many days, today among them, 1 to 366; 30 if left out."}),
		get("/channels", "The accounts of the channels.", api.channels),
		get("/sessions", "Sessions, the most recently used first.", api.sessions, rows,
			Parameter{"archived", "boolean", "The archived ones instead."}),
		get("/sessions/{key}", "One session with its bindings, tasks and turns, by key, number or session:<number>.", one(Views.Session)),
		get("/sessions/{key}/transcript", "Rows of the whole history of a session, archived ones too, oldest first.", api.transcript, pages, after,
			Parameter{"raw", "boolean", "The rows as they are stored."}),
		get("/worktrees", "Git worktrees of visible sessions, the newest first.", api.worktrees, rows),
		get("/tasks", "Tasks, the newest first.", api.tasks, rows, Parameter{"status", "string", "Only those in this state."},
			Parameter{"agent", "string", "Only those of this agent."}, Parameter{"runtime", "string", "Only those of this kind of work."}),
		get("/tasks/audit", "What is wrong with the ledger of tasks, errors first.", api.audit, rows,
			Parameter{"severity", "string", "Only warn, or only error."}, Parameter{"code", "string", "Only findings of this code."}),
		get("/tasks/maintenance", "What maintenance of the ledger would do.", api.maintenance),
		get("/tasks/{id}", "One task with its lineage and result, by the id of the task or of its run, or by the key of its session.", one(Views.Task)),
		get("/tasks/{id}/trace", "The tree of a task: lineage, turns, model calls, tool calls, events, messages and their receipts, in order.", one(Views.Trace)),
		get("/bindings", "Bindings, the newest first.", api.bindings, rows, Parameter{"ended", "boolean", "Those that ended instead of the live ones."}),
		get("/bindings/{id}", "One binding.", one(Views.Binding)),
		get("/outbox", "Messages on their way out, the newest first.", api.outbox, rows,
			Parameter{"state", "string", "Only those in this state."}),
		get("/outbox/{id}", "One message with its text and receipts.", one(Views.OutboxMessage)),
	}
}

func writeEndpoints() []Endpoint {
	return []Endpoint{
		post("/sessions/{key}/archive", "Archive the session of a sub-agent, or a visible one, that is not at work.", api.archiveSession),
		post("/sessions/{key}/restore", "Bring an archived session back.", api.restoreSession),
		post("/sessions/{key}/stop", "Stop a session: its turn, what waits in it, and every sub-agent below it.", api.stopSession),
		post("/tasks/maintenance", "Mend the ledger of tasks and prune what is kept no longer.", api.maintain),
		post("/worktrees/{id}/restore", "Bring a worktree back that is kept as a snapshot.", api.restoreWorktree),
		post("/worktrees/{id}/remove", "Remove a worktree, kept as a snapshot where it is not pushed; or let go of a snapshot.", api.removeWorktree),
		post("/tasks/{id}/cancel", "Stop a task and every sub-agent below it.", api.cancelTask),
		takes(post("/tasks/{id}/notify", "Choose what people are told of a task that goes on.", api.notifyTask), NotifyRequest{}),
		post("/tasks/{id}/retry", "Tell an outcome anew that nobody was told.", api.retryTask),
		post("/tasks/{id}/dismiss", "Let an outcome go that nobody was told.", api.dismissTask),
		post("/bindings/{id}/end", "End a binding, with its farewell in the bound place.", api.endBinding),
		post("/outbox/{id}/retry", "Send a message again that is ambiguous, failed, blocked or dismissed.", api.retry),
		post("/outbox/{id}/dismiss", "Let a message go that is ambiguous, failed or blocked.", api.dismiss),
		takes(post("/data/{id}/delete", "Remove what the store has of a person, in one transaction.", api.deleteData), DataDeletion{}),
		takes(post("/send", "Put one message into the outbox.", api.send), SendRequest{}),
		post("/reload", "Read the configuration file again and apply each key by its class; what needs a restart is named.", api.reload),
	}
}

// get makes an endpoint that reads.
func get[T any](path, summary string, serve func(api, *http.Request) (T, error), query ...Parameter) Endpoint {
	return Endpoint{
		Method: http.MethodGet, Path: path, Summary: summary, Query: query, Answer: reflect.TypeFor[T](),
		serve: func(s api, r *http.Request) (any, error) { return serve(s, r) },
	}
}

// post makes an endpoint that changes something.
func post[T any](path, summary string, serve func(api, *http.Request) (T, error)) Endpoint {
	e := get(path, summary, serve)
	e.Method, e.Writes = http.MethodPost, true
	return e
}

func takes(e Endpoint, body any) Endpoint {
	e.Body = reflect.TypeOf(body)
	return e
}

// read runs a view in a transaction.
func read[T any](s api, r *http.Request, view func(v Views, tx *store.Tx) (T, error)) (out T, err error) {
	v := s.views()
	err = s.db.Read(r.Context(), func(tx *store.Tx) error {
		out, err = view(v, tx)
		return err
	})
	return out, err
}

// one makes an endpoint of a view that takes one name, the path's only
// wildcard.
func one[T any](view func(v Views, tx *store.Tx, ref string) (T, error)) func(api, *http.Request) (T, error) {
	return func(s api, r *http.Request) (T, error) {
		return read(s, r, func(v Views, tx *store.Tx) (T, error) { return view(v, tx, ref(r)) })
	}
}

// ref is what the path names: a key or an id.
func ref(r *http.Request) string {
	if key := r.PathValue("key"); key != "" {
		return key
	}
	return r.PathValue("id")
}

func (s api) status(r *http.Request) (StatusView, error) {
	view, err := read(s, r, Views.Status)
	if err == nil && s.live != nil {
		s.live.running(&view)
	}
	return view, err
}

// running adds what only the running gateway knows.
func (a *App) running(view *StatusView) {
	view.Running, view.PID, view.ReadyAt = true, os.Getpid(), a.ready()
	a.runs(view.Channels)
	a.reloads(view)
}

func (s api) channels(r *http.Request) ([]ChannelView, error) {
	view, err := read(s, r, Views.Channels)
	if err == nil && s.live != nil {
		s.live.runs(view)
	}
	return view, err
}

func (s api) sessions(r *http.Request) ([]SessionView, error) {
	n, err := limit(r)
	if err != nil {
		return nil, err
	}
	archived, err := flag(r, "archived")
	if err != nil {
		return nil, err
	}
	return read(s, r, func(v Views, tx *store.Tx) ([]SessionView, error) { return v.Sessions(tx, archived, n) })
}

func (s api) transcript(r *http.Request) ([]RowView, error) {
	raw, err := flag(r, "raw")
	if err != nil {
		return nil, err
	}
	n, err := limit(r)
	if err != nil {
		return nil, err
	}
	after, err := number(r, "after")
	if err != nil {
		return nil, err
	}
	return read(s, r, func(v Views, tx *store.Tx) ([]RowView, error) { return v.Transcript(tx, ref(r), raw, after, n) })
}

func (s api) bindings(r *http.Request) ([]BindingView, error) {
	n, err := limit(r)
	if err != nil {
		return nil, err
	}
	ended, err := flag(r, "ended")
	if err != nil {
		return nil, err
	}
	return read(s, r, func(v Views, tx *store.Tx) ([]BindingView, error) { return v.Bindings(tx, ended, n) })
}

// outboxStates are the states that a list of the outbox can be limited to.
func outboxStates() []string {
	return []string{
		string(store.OutQueued), string(store.OutSending), string(store.OutSent), string(store.OutAmbiguous), string(store.OutFailed),
		string(store.OutBlocked), string(store.OutWithdrawn), string(store.OutDismissed),
	}
}

func (s api) outbox(r *http.Request) ([]OutboxView, error) {
	n, err := limit(r)
	if err != nil {
		return nil, err
	}
	state := r.URL.Query().Get("state")
	if state != "" && !slices.Contains(outboxStates(), state) {
		return nil, core.Errorf("bad_request", "no message is ever %q", state).WithRemedy("states: %s", strings.Join(outboxStates(), ", "))
	}
	return read(s, r, func(v Views, tx *store.Tx) ([]OutboxView, error) { return v.Outbox(tx, store.OutboxState(state), n) })
}

// write runs a change in a transaction and then shows what it changed.
func write[T any](s api, r *http.Request, change func(v Views, tx *store.Tx) (T, error)) (out T, err error) {
	v := s.views()
	err = s.db.Write(r.Context(), func(tx *store.Tx) error {
		out, err = change(v, tx)
		return err
	})
	return out, err
}

func (s api) stopSession(r *http.Request) (StopView, error) {
	return write(s, r, func(_ Views, tx *store.Tx) (StopView, error) {
		session, err := findSession(tx, ref(r))
		if err != nil {
			return StopView{}, err
		}
		return stopView(s.live.engine.Stop(tx, session.ID))
	})
}

func (s api) archiveSession(r *http.Request) (SessionView, error) {
	return s.changeSession(r, s.live.engine.ArchiveNow)
}

func (s api) restoreSession(r *http.Request) (SessionView, error) {
	return s.changeSession(r, s.live.engine.Restore)
}

func (s api) changeSession(r *http.Request, change func(tx *store.Tx, session store.Session) error) (SessionView, error) {
	return write(s, r, func(v Views, tx *store.Tx) (SessionView, error) {
		session, err := findSession(tx, ref(r))
		if err != nil {
			return SessionView{}, err
		}
		if err := change(tx, session); err != nil {
			return SessionView{}, err
		}
		d, err := v.Session(tx, session.Key)
		return d.SessionView, err
	})
}

// stopView counts the session's own task too.
func stopView(s subagent.Stopped, err error) (StopView, error) {
	v := StopView{Turn: s.Turn, Tasks: s.Runs, Queued: s.Queued}
	if s.Run {
		v.Tasks++
	}
	return v, err
}

func (s api) endBinding(r *http.Request) (BindingView, error) {
	return write(s, r, func(v Views, tx *store.Tx) (BindingView, error) {
		b, err := findBinding(tx, ref(r))
		switch {
		case err != nil:
			return BindingView{}, err
		case !b.Status.Live():
			return BindingView{}, core.Errorf("binding_state", "the binding has ended already: %s", b.Reason)
		}
		s.live.log.Info("an operator ends a binding", "binding", b.ID, "address", b.Address.String(), "owner", b.Owner)
		if err := s.live.bindings.End(tx, b.ID, core.EndManual); err != nil {
			return BindingView{}, err
		}
		return v.Binding(tx, b.ID)
	})
}

func (s api) retry(r *http.Request) (OutboxView, error) {
	return s.change(r, func(tx *store.Tx, id int64) error { return s.live.delivery.Retry(tx, id) })
}

func (s api) dismiss(r *http.Request) (OutboxView, error) {
	return s.change(r, func(tx *store.Tx, id int64) error { return s.live.delivery.Dismiss(tx, id) })
}

// change does something to a message of the outbox.
func (s api) change(r *http.Request, do func(tx *store.Tx, id int64) error) (OutboxView, error) {
	return write(s, r, func(_ Views, tx *store.Tx) (OutboxView, error) {
		row, err := findOutbox(tx, ref(r))
		if err != nil {
			return OutboxView{}, err
		}
		if err := do(tx, row.ID); err != nil {
			return OutboxView{}, err
		}
		row, err = tx.OutboxByID(row.ID)
		return outboxView(row), err
	})
}

func (s api) send(r *http.Request) (SentView, error) {
	var req SendRequest
	if err := decodeBody(r, &req); err != nil {
		return SentView{}, err
	}
	to, err := core.ParseAddress(req.To)
	if err != nil {
		return SentView{}, core.Errorf("bad_address", "%v", err)
	}
	if s.live.adapter(to.Channel, to.Account) == nil {
		return SentView{}, core.Errorf("account_unknown", "the gateway has no account %s:%s", to.Channel, to.Account).
			WithRemedy("`skein channels` lists the accounts")
	}
	row := store.Outbox{Kind: store.OutSend, Address: to, Text: req.Message}
	if req.Key != "" {
		row.OnceKey = "send/" + req.Key
	}
	return write(s, r, func(_ Views, tx *store.Tx) (SentView, error) {
		id, fresh, err := s.live.delivery.Post(tx, row)
		if err == nil && id == 0 {
			err = core.Errorf("message_empty", "nothing is left of the message to send").WithRemedy("write some text")
		}
		return SentView{ID: id, Fresh: fresh}, err
	})
}

func (s api) reload(r *http.Request) (ReloadView, error) {
	done, err := s.live.ReloadFile(r.Context())
	return reloadView(done), err
}

func reloadView(done Reloaded) ReloadView {
	return ReloadView{Changes: lines(done.Plan), Pending: lines(done.Pending), Accounts: slices.Concat([]AccountReload{}, done.Accounts)}
}

// lines returns a plan with one line for each change.
func lines(plan config.Plan) []string {
	out := []string{}
	for _, change := range plan {
		out = append(out, change.String())
	}
	return out
}
