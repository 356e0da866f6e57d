package target

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Window is how long an ended sub-agent that is bound nowhere can be named.
const Window = 30 * time.Minute

// Target is what was named.
type Target struct {
	// Session is the target's session; its ID is 0 for an agent that has none
	// for this place yet.
	Session store.Session
	// Run is the newest run of a sub-agent; its ID is "" for other sessions. Its
	// Ordinal is that of the session's first run, 0 where it counts in another
	// session than the Finder's.
	Run core.Run
	// Agent is set where an agent's declared name was written.
	Agent string
	// Label is what people call it.
	Label string
}

// Finder finds targets in one transaction. It writes nothing.
type Finder struct {
	Tx *store.Tx
	// Session is the one whose sub-agents have the numbers; 0 for none.
	Session int64
	// Since leaves out sub-agents that ended before it and are bound nowhere. 0
	// lets in all ages, but no archived ones.
	Since core.Millis
	// Tree also finds what the sub-agents asked for, at every depth.
	Tree bool
	// Others returns further targets that can be named; nil for none.
	Others func() ([]Target, error)
	// Visible says what a session that is none of the sub-agents is called, and
	// whether it may be named; nil for none.
	Visible func(s store.Session) (t Target, ok bool, err error)
}

// Recent returns the Since of the usual window: active, or ended within it.
func Recent(now core.Millis) core.Millis { return now.Add(-Window) }

// Find returns what token names. Its refusals are *Errors.
func (f Finder) Find(token string) (Target, error) {
	token = strings.TrimSpace(token)
	children, err := f.Children()
	if err != nil {
		return Target{}, err
	}
	ordinal, notNumber := strconv.Atoi(token)
	switch {
	case strings.EqualFold(token, "last"):
		if len(children) == 0 {
			return Target{}, &Error{Token: token}
		}
		return children[len(children)-1], nil
	case notNumber == nil:
		i := slices.IndexFunc(children, func(t Target) bool { return t.Run.Ordinal == ordinal })
		if i < 0 || ordinal <= 0 {
			return Target{}, &Error{Token: token, Near: children}
		}
		return children[i], nil
	}
	below, err := f.below(children)
	if err != nil {
		return Target{}, err
	}
	if strings.Contains(token, ":") {
		return f.byKey(children, below, token)
	}
	var others []Target
	if f.Others != nil {
		if others, err = f.Others(); err != nil {
			return Target{}, err
		}
	}
	for _, matches := range []func(Target) bool{exactly(token), beginning(token)} {
		switch hits := nearest(matches, children, below, others); len(hits) {
		case 0:
		case 1:
			return hits[0], nil
		default:
			return Target{}, &Error{Token: token, Candidates: hits}
		}
	}
	return Target{}, &Error{Token: token, Near: slices.Concat(children, below)}
}

// Children returns the sub-agents that the session itself asked for, each
// session once, in the order of their numbers.
func (f Finder) Children() ([]Target, error) {
	if f.Session == 0 {
		return nil, nil
	}
	return f.childrenOf(f.Session)
}

// All returns the children, and with Tree also what is below them, level by
// level: of those the Ordinal is 0.
func (f Finder) All() ([]Target, error) {
	children, err := f.Children()
	if err != nil {
		return nil, err
	}
	below, err := f.below(children)
	return slices.Concat(children, below), err
}

func (f Finder) runsOf(session int64) ([]core.Run, error) {
	if f.Since == 0 {
		return f.Tx.OpenRunsOf(session)
	}
	return f.Tx.RunsOf(session, f.Since)
}

func (f Finder) childrenOf(session int64) ([]Target, error) {
	runs, err := f.runsOf(session)
	if err != nil {
		return nil, err
	}
	var out []Target
	for _, run := range runs {
		session, err := f.Tx.SessionByID(run.Session)
		if errors.Is(err, store.ErrNotFound) || err == nil && session.ArchivedAt != 0 && f.Since == 0 {
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

// treeLimit bounds how many sub-agents of a tree are looked at.
const treeLimit = 1000

// below returns what the children asked for, level by level. A child that ended
// before the window still leads to what lives below it.
func (f Finder) below(children []Target) ([]Target, error) {
	if !f.Tree || f.Session == 0 {
		return nil, nil
	}
	seen := map[int64]bool{f.Session: true}
	for _, t := range children {
		seen[t.Session.ID] = true
	}
	var out []Target
	walked := map[int64]bool{f.Session: true}
	level, err := f.sessionsBelow(f.Session, walked)
	for len(level) > 0 && err == nil && len(walked) < treeLimit {
		var next []int64
		for _, session := range level {
			found, err := f.childrenOf(session)
			if err != nil {
				return nil, err
			}
			for _, t := range found {
				if !seen[t.Session.ID] {
					seen[t.Session.ID], t.Run.Ordinal = true, 0
					out = append(out, t)
				}
			}
			further, err := f.sessionsBelow(session, walked)
			if err != nil {
				return nil, err
			}
			next = append(next, further...)
		}
		level = next
	}
	return out, err
}

// sessionsBelow returns the sessions that a session asked for, ever, that asked
// for something themselves, and that were not walked yet.
func (f Finder) sessionsBelow(session int64, walked map[int64]bool) (out []int64, err error) {
	below, err := f.Tx.AskingBelow(session)
	for _, id := range below {
		if !walked[id] {
			walked[id] = true
			out = append(out, id)
		}
	}
	return out, err
}

// byKey finds a session by its key, or by session:<id>.
func (f Finder) byKey(children, below []Target, token string) (Target, error) {
	id, key := int64(0), token
	if digits, ok := strings.CutPrefix(token, "session:"); ok {
		id, _ = strconv.ParseInt(digits, 10, 64)
	} else if nested, err := core.ParseSessionKey(token); err == nil {
		key = nested.String()
	}
	for _, t := range slices.Concat(children, below) {
		if t.Session.ID == id || t.Session.Key == key {
			return t, nil
		}
	}
	unknown := &Error{Token: token, Near: slices.Concat(children, below)}
	if f.Visible == nil {
		return Target{}, unknown
	}
	session, err := f.Tx.SessionByID(id)
	if id == 0 {
		session, err = f.Tx.SessionByKey(key)
	}
	if errors.Is(err, store.ErrNotFound) {
		return Target{}, unknown
	}
	if err != nil {
		return Target{}, err
	}
	t, ok, err := f.Visible(session)
	if err == nil && !ok {
		err = unknown
	}
	return t, err
}

// names are what a target can be called.
func (t Target) names() []string {
	names := []string{t.Label, t.Agent, t.Session.Title, t.Run.TaskName, t.Run.Label}
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// ids are the ids of which a beginning counts.
func (t Target) ids() []string { return []string{t.Run.ID, t.Run.TaskID} }

func exactly(token string) func(Target) bool {
	same := func(n string) bool { return n != "" && strings.EqualFold(n, token) }
	return func(t Target) bool { return slices.ContainsFunc(t.names(), same) || slices.ContainsFunc(t.ids(), same) }
}

// shortestID is the shortest beginning of an id that counts.
const shortestID = 4

func beginning(token string) func(Target) bool {
	begins := func(n string) bool { return token != "" && hasPrefixFold(n, token) }
	return func(t Target) bool {
		return slices.ContainsFunc(t.names(), begins) || len(token) >= shortestID && slices.ContainsFunc(t.ids(), begins)
	}
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// nearest returns the targets that match of the first group that has any.
func nearest(matches func(Target) bool, groups ...[]Target) []Target {
	for _, group := range groups {
		var hits []Target
		for _, t := range group {
			if matches(t) {
				hits = append(hits, t)
			}
		}
		if len(hits) > 0 {
			return hits
		}
	}
	return nil
}
