package command

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Target is what a person named.
type Target struct {
	// Session is the target's session; its ID is 0 for an agent that has none
	// for this place yet.
	Session store.Session
	// Run is the newest run of a sub-agent; its ID is "" for other sessions.
	Run core.Run
	// Agent is set where an agent's declared name was written.
	Agent string
	// Label is what people call it.
	Label string
}

// recent is how long an ended sub-agent that is bound nowhere can be named by
// the commands that look at runs. /focus finds every session that is not archived.
const recent = 30 * time.Minute

// sessionScan bounds how many sessions are looked at for a label.
const sessionScan = 500

// resolver finds the target of one request.
type resolver struct {
	tx       *store.Tx
	r        Request
	config   Config
	sessions bool // also sessions and agents, and sub-agents of any age
}

// resolve finds what token names: "last", a child's ordinal, a session key or
// session:<id>, then a task name, a label or an agent's name, then the unique
// start of one of these or of a run's id. Exact beats prefix. The codes of its
// refusals are target_unknown and target_ambiguous.
func (s Set) resolve(tx *store.Tx, r Request, token string, sessions bool) (Target, error) {
	v := &resolver{tx: tx, r: r, config: s.o.Config, sessions: sessions}
	children, err := v.children()
	if err != nil {
		return Target{}, err
	}
	ordinal, numeric := 0, false
	if n, err := strconv.Atoi(token); err == nil {
		ordinal, numeric = n, true
	}
	switch {
	case strings.EqualFold(token, "last"):
		if len(children) == 0 {
			return Target{}, refuseTarget(token)
		}
		return children[len(children)-1], nil
	case numeric:
		i := slices.IndexFunc(children, func(t Target) bool { return t.Run.Ordinal == ordinal })
		if i < 0 {
			return Target{}, refuseTarget(token)
		}
		return children[i], nil
	case strings.Contains(token, ":"):
		return v.byKey(children, token)
	}
	others, err := v.others(children)
	if err != nil {
		return Target{}, err
	}
	all := slices.Concat(children, others)
	for _, matches := range []func(Target) bool{exactly(token), beginning(token)} {
		if hits := unique(all, matches); len(hits) == 1 {
			return hits[0], nil
		} else if len(hits) > 1 {
			return Target{}, refuseAmbiguous(token, describe(hits))
		}
	}
	return Target{}, refuseTarget(token)
}

// children returns the sub-agents of the session, each once, in the order of
// their ordinals; archived ones are left out.
func (v *resolver) children() ([]Target, error) {
	if v.r.Session.ID == 0 {
		return nil, nil
	}
	since := v.r.Now.Add(-recent)
	if v.sessions {
		since = 0
	}
	runs, err := v.tx.RunsOf(v.r.Session.ID, since)
	if err != nil {
		return nil, err
	}
	var out []Target
	for _, run := range runs {
		session, err := v.tx.SessionByID(run.Session)
		if errors.Is(err, store.ErrNotFound) || err == nil && session.ArchivedAt != 0 && v.sessions {
			continue
		}
		if err != nil {
			return nil, err
		}
		t := Target{Session: session, Run: run, Label: run.Name()}
		if i := slices.IndexFunc(out, func(o Target) bool { return o.Session.ID == session.ID }); i >= 0 {
			t.Run.Ordinal = out[i].Run.Ordinal // the session keeps its first number
			out[i] = t
			continue
		}
		out = append(out, t)
	}
	return out, nil
}

// byKey finds a session by its key, or by session:<id>.
func (v *resolver) byKey(children []Target, token string) (Target, error) {
	id := int64(0)
	if digits, ok := strings.CutPrefix(token, "session:"); ok {
		id, _ = strconv.ParseInt(digits, 10, 64)
	}
	for _, t := range children {
		if t.Session.ID == id || t.Session.Key == token {
			return t, nil
		}
	}
	if !v.sessions {
		return Target{}, refuseTarget(token)
	}
	session, err := v.tx.SessionByID(id)
	if id == 0 {
		session, err = v.tx.SessionByKey(token)
	}
	if errors.Is(err, store.ErrNotFound) {
		return Target{}, refuseTarget(token)
	}
	if err != nil {
		return Target{}, err
	}
	t, ok, err := v.visible(session)
	if err == nil && !ok {
		err = refuseTarget(token)
	}
	return t, err
}

// others returns the agents, and the sessions besides the children that the
// person may name.
func (v *resolver) others(children []Target) ([]Target, error) {
	if !v.sessions {
		return nil, nil
	}
	var out []Target
	for _, id := range v.config.AgentIDs() {
		name := v.config.AgentName(id)
		if name == "" {
			name = id
		}
		out = append(out, Target{Agent: id, Label: name})
	}
	sessions, err := v.tx.Sessions(false, sessionScan)
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		if s.Title == "" || slices.ContainsFunc(children, func(t Target) bool { return t.Session.ID == s.ID }) {
			continue
		}
		t, ok, err := v.visible(s)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, t)
		}
	}
	return out, nil
}

// visible tells whether the person may name a session that is not a child of
// this conversation's: a binding must not show anybody what others said. A
// session is theirs if they are an operator, if it belongs to this
// conversation, if it is their own direct chat, or if they asked for it.
func (v *resolver) visible(s store.Session) (Target, bool, error) {
	t := Target{Session: s, Label: s.Title}
	run, err := v.tx.LatestRunOfSession(s.ID)
	switch {
	case err == nil:
		t.Run, t.Label = run, run.Name()
		t.Run.Ordinal = 0 // it counts in another session
	case !errors.Is(err, store.ErrNotFound):
		return t, false, err
	}
	if t.Label == "" {
		t.Label = s.Key
	}
	if s.ArchivedAt != 0 {
		return t, false, nil
	}
	if v.r.Operator || s.ID == v.r.Session.ID || run.Owner != "" && run.Owner == v.r.Actor {
		return t, true, nil
	}
	key, err := core.ParseSessionKey(s.Key)
	if err != nil {
		return t, false, nil //nolint:nilerr // a key that cannot be read is nobody's
	}
	own, err := v.belongs(s, key)
	return t, own, err
}

// belongs tells whether a session is of this conversation or of this person.
func (v *resolver) belongs(s store.Session, key core.SessionKey) (bool, error) {
	m := v.r.Message
	switch key.Kind {
	case core.SessionDirect:
		return key.Channel == m.Address.Channel && key.Peer == m.Author.ID && m.Author.ID != "", nil
	case core.SessionGroup:
		around := m.Address.ParentConversation()
		return key.Channel == around.Channel && key.Account == around.Account &&
			(key.Peer == around.Conversation || key.Peer == m.Address.Conversation), nil
	case core.SessionSubagent:
		for depth := 0; s.Parent != 0 && depth < maxLineage; depth++ {
			parent, err := v.tx.SessionByID(s.Parent)
			if errors.Is(err, store.ErrNotFound) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			if parent.ID == v.r.Session.ID || parent.ID == v.r.Session.Parent {
				return true, nil
			}
			if key, err := core.ParseSessionKey(parent.Key); err == nil && key.Kind != core.SessionSubagent {
				return v.belongs(parent, key)
			}
			s = parent
		}
	}
	return false, nil
}

// maxLineage bounds how far up a session's requesters are followed.
const maxLineage = 16

// names are what a target can be called.
func (t Target) names() []string {
	names := []string{t.Label}
	if t.Run.ID != "" {
		names = append(names, t.Run.TaskName, t.Run.Label)
	}
	if t.Session.ID != 0 {
		names = append(names, t.Session.Title)
	}
	if t.Agent != "" {
		names = append(names, t.Agent)
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

func exactly(token string) func(Target) bool {
	return func(t Target) bool {
		return slices.ContainsFunc(t.names(), func(n string) bool { return strings.EqualFold(n, token) }) ||
			t.Run.ID != "" && strings.EqualFold(t.Run.ID, token)
	}
}

// shortestID is the shortest start of a run's id that counts.
const shortestID = 4

func beginning(token string) func(Target) bool {
	return func(t Target) bool {
		return slices.ContainsFunc(t.names(), func(n string) bool { return hasPrefixFold(n, token) }) ||
			len(token) >= shortestID && hasPrefixFold(t.Run.ID, token)
	}
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// unique returns the targets that match. Sub-agents of this conversation come
// before everything else: where one matches, the others do not count.
func unique(all []Target, matches func(Target) bool) []Target {
	var near, far []Target
	for _, t := range all {
		switch {
		case !matches(t):
		case t.Run.Ordinal > 0:
			near = append(near, t)
		default:
			far = append(far, t)
		}
	}
	if len(near) > 0 {
		return near
	}
	return far
}

func describe(targets []Target) []string {
	var out []string
	for _, t := range targets {
		out = append(out, candidate(t))
	}
	return out
}
