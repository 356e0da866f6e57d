package sessiontool

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/target"
)

// view is what one session sees of the others, in one transaction.
type view struct {
	tx    *store.Tx
	scope Visibility
	self  store.Session
}

// view returns what a session sees. A sub-agent never sees outside its own tree.
func (t *Tools) view(tx *store.Tx, session int64) (view, error) {
	self, err := tx.SessionByID(session)
	if err != nil {
		return view{}, err
	}
	scope := cmp.Or(t.Config.Visibility(), VisibilityTree)
	if self.Depth > 0 && scope != VisibilitySelf {
		scope = VisibilityTree
	}
	return view{tx, scope, self}, nil
}

// maxLineage bounds how far up a session's requesters are followed; sub-agents
// nest at most five deep.
const maxLineage = 16

// sees reports whether a session may be looked at and spoken to. Every session
// tool asks it, and nothing else decides.
func (v view) sees(s store.Session) (bool, error) {
	switch {
	case s.ID == v.self.ID:
		return true, nil
	case v.scope == VisibilityAll:
		return true, nil
	case v.scope == VisibilityAgent && s.Agent == v.self.Agent:
		return true, nil
	case v.scope == VisibilityAgent, v.scope == VisibilityTree:
		return v.started(s)
	}
	return false, nil
}

// started reports whether a session is below the one that asks.
func (v view) started(s store.Session) (bool, error) {
	for range maxLineage {
		switch s.Parent {
		case 0:
			return false, nil
		case v.self.ID:
			return true, nil
		}
		above, found, err := lookUp(v.tx.SessionByID(s.Parent))
		if err != nil || !found {
			return false, err
		}
		s = above
	}
	return false, nil
}

// scan bounds how many sessions one call looks at.
const scan = 10_000

// sessions returns the sessions that are seen, the one used last first.
func (v view) sessions(archived bool) ([]store.Session, error) {
	switch v.scope {
	case VisibilityAgent, VisibilityAll:
		all, err := v.tx.Sessions(archived, scan)
		if err != nil {
			return nil, err
		}
		var out []store.Session
		for _, s := range all {
			ok, err := v.sees(s)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, s)
			}
		}
		return out, nil
	}
	return v.tree(archived)
}

// tree returns the session that asks and, where it sees them, those below it.
func (v view) tree(archived bool) ([]store.Session, error) {
	all := []store.Session{v.self}
	for i := 0; v.scope == VisibilityTree && i < len(all) && len(all) < scan; i++ {
		below, err := v.tx.SessionsUnder(all[i].ID)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	out := slices.DeleteFunc(all, func(s store.Session) bool { return (s.ArchivedAt != 0) != archived })
	slices.SortStableFunc(out, func(a, b store.Session) int { return cmp.Compare(b.UsedAt, a.UsedAt) })
	return out, nil
}

// find returns the session that a token names: "current" and the targets of
// package target, among those that are seen.
func (v view) find(token string) (store.Session, error) {
	if t := strings.TrimSpace(token); strings.EqualFold(t, "current") || t == v.self.Key {
		return v.self, nil
	}
	f := target.Finder{Tx: v.tx, Session: v.self.ID, Tree: true, Visible: v.named, Others: v.others}
	if v.scope == VisibilitySelf {
		f.Session = 0
	}
	found, err := f.Find(token)
	if unknown := new(target.Error); errors.As(err, &unknown) && unknown.Code() == target.CodeUnknown && v.scope != VisibilityAll {
		return store.Session{}, core.Errorf(target.CodeUnknown, "no session that you may see is called %q", core.Clip(token, target.NameLimit)).
			WithRemedy("sessions_list has those that you may see; tools.sessions.visibility is %s here", v.scope)
	}
	return found.Session, err
}

// named implements Visible of target.Finder. An archived session can be looked
// at by its key.
func (v view) named(s store.Session) (target.Target, bool, error) {
	t := target.Target{Session: s, Label: cmp.Or(s.Title, s.Key)}
	ok, err := v.sees(s)
	return t, ok, err
}

// others implements Others of target.Finder: what can be called by its title.
func (v view) others() ([]target.Target, error) {
	sessions, err := v.sessions(false)
	var out []target.Target
	for _, s := range sessions {
		if s.Title != "" {
			out = append(out, target.Target{Session: s, Label: s.Title})
		}
	}
	return out, err
}
