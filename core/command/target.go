package command

import (
	"errors"
	"slices"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/target"
)

// sessionScan bounds how many sessions are looked at for a label.
const sessionScan = 500

// resolver finds the target of one request.
type resolver struct {
	tx     *store.Tx
	r      Request
	config Config
}

// finder finds the sub-agents of the conversation's session, and what is below
// them, that are active or ended a short while ago, or whose outcome nobody was
// told. In a thread of a sub-agent it finds that one too.
func finder(tx *store.Tx, r Request) target.Finder {
	f := target.Finder{Tx: tx, Session: r.Session.ID, Since: target.Recent(r.Now), Tree: true}
	f.Others = func() ([]target.Target, error) {
		out, err := untold(tx, r)
		if err != nil || !r.Session.Kind.Spawned() {
			return out, err
		}
		t, ok, err := itself(tx, r)
		if ok {
			out = append(out, t)
		}
		return out, err
	}
	if r.Session.Kind.Spawned() {
		f.Visible = func(s store.Session) (target.Target, bool, error) {
			if s.ID != r.Session.ID {
				return target.Target{}, false, nil
			}
			return itself(tx, r)
		}
	}
	return f
}

// untold are the sub-agents, of any age, whose outcome nobody was told.
func untold(tx *store.Tx, r Request) (out []target.Target, err error) {
	runs, err := tree(tx, r)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if run.Delivery != core.DeliveryBlocked {
			continue
		}
		session, err := tx.SessionByID(run.Session)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if run.Requester != r.Session.ID {
			run.Ordinal = 0 // it counts in another session
		}
		out = append(out, target.Target{Session: session, Run: run, Label: run.Name()})
	}
	return out, nil
}

// itself is the sub-agent of the conversation's own session.
func itself(tx *store.Tx, r Request) (t target.Target, ok bool, err error) {
	run, err := latestRun(tx, r.Session.ID)
	if err != nil || run.ID == "" {
		return t, false, err
	}
	t = target.Target{Session: r.Session, Run: run, Label: run.Name()}
	t.Run.Ordinal = 0 // it counts in the session above
	return t, true, nil
}

// resolve finds what token names; with sessions also sub-agents of any age,
// and the sessions and agents that the person may name.
func (s Set) resolve(tx *store.Tx, r Request, token string, sessions bool) (target.Target, error) {
	f := finder(tx, r)
	if sessions {
		v := &resolver{tx: tx, r: r, config: s.o.Config}
		f.Since, f.Visible = 0, v.visible
		f.Others = func() ([]target.Target, error) {
			children, err := f.Children()
			if err != nil {
				return nil, err
			}
			return v.others(children)
		}
	}
	t, err := f.Find(token)
	return t, refuseTarget(err)
}

// others returns the agents, and the sessions besides the children that the
// person may name.
func (v *resolver) others(children []target.Target) ([]target.Target, error) {
	var out []target.Target
	for _, id := range v.config.AgentIDs() {
		name := v.config.AgentName(id)
		if name == "" {
			name = id
		}
		out = append(out, target.Target{Agent: id, Label: name})
	}
	sessions, err := v.tx.Sessions(false, sessionScan)
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		if s.Title == "" || slices.ContainsFunc(children, func(t target.Target) bool { return t.Session.ID == s.ID }) {
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
func (v *resolver) visible(s store.Session) (target.Target, bool, error) {
	t := target.Target{Session: s, Label: s.Title}
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
	case core.SessionSubagent, core.SessionDashboard:
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
			if key, err := core.ParseSessionKey(parent.Key); err == nil && !key.Kind.Spawned() {
				return v.belongs(parent, key)
			}
			s = parent
		}
	}
	return false, nil
}

// maxLineage bounds how far up a session's requesters are followed.
const maxLineage = 16
