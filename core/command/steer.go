package command

import (
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/target"
)

// cutTarget splits a target from the text behind it. A name with spaces stands
// in quotation marks.
func cutTarget(args string) (token, text string) {
	args = strings.TrimSpace(args)
	for _, quote := range []struct{ open, shut string }{{`"`, `"`}, {"'", "'"}, {"“", "”"}, {"„", "“"}, {"«", "»"}} {
		rest, opened := strings.CutPrefix(args, quote.open)
		if name, text, shut := strings.Cut(rest, quote.shut); opened && shut && name != "" {
			return name, strings.TrimSpace(text)
		}
	}
	return cutWord(args)
}

// unquoted is a target that is all of the arguments, in quotation marks or not.
func unquoted(args string) string {
	if token, text := cutTarget(args); text == "" {
		return token
	}
	return args
}

// mayControl reports whether the person may stop, steer or address a sub-agent:
// whoever it was started for, the owner of the binding that the conversation goes
// through, and operators.
func mayControl(r Request, run core.Run) bool {
	return r.Operator || run.Owner == r.Actor || r.Bound && r.Binding.Owner == r.Actor && r.Actor != ""
}

// controlled finds a sub-agent that the person may stop, steer or address.
func (s Set) controlled(tx *store.Tx, r Request, token string) (target.Target, error) {
	t, err := s.resolve(tx, r, token, false)
	if err != nil {
		return t, err
	}
	if !mayControl(r, t.Run) {
		return t, refuseOthers(t.Label)
	}
	return t, nil
}

// kill is /subagents kill: of one sub-agent, or of all that the person may stop.
func (s Set) kill(tx *store.Tx, r Request, token string) (Reply, error) {
	if strings.EqualFold(token, "all") {
		return s.killAll(tx, r)
	}
	t, err := s.controlled(tx, r, token)
	if err != nil {
		return Reply{}, err
	}
	stopped, err := s.o.Stopper.StopRun(tx, t.Run)
	if err != nil {
		return Reply{}, err
	}
	if !stopped.Run && stopped.Runs == 0 && !stopped.Turn && stopped.Queued == 0 {
		return Reply{}, refuseEnded(t.Label)
	}
	n := stopped.Runs
	if stopped.Run {
		n++
	}
	return Reply{Text: r.Language.StopRuns(n)}, nil
}

// killAll stops what the conversation's session started, and leaves its own
// turn alone.
func (s Set) killAll(tx *store.Tx, r Request) (Reply, error) {
	if r.Session.ID == 0 {
		return Reply{Text: r.Language.StopNothing()}, nil
	}
	live, err := tx.Descendants(r.Session.ID)
	if err != nil {
		return Reply{}, err
	}
	stopped, total := 0, len(live)
	for _, run := range live { // the older, which are above, first
		if !mayControl(r, run) {
			continue
		}
		what, err := s.o.Stopper.StopRun(tx, run)
		if err != nil {
			return Reply{}, err
		}
		if what.Run {
			stopped += 1 + what.Runs
		}
	}
	total = max(total, stopped)
	switch {
	case total == 0:
		return Reply{Text: r.Language.StopNothing()}, nil
	case stopped < total:
		return Reply{Text: r.Language.StopSome(stopped, total)}, nil
	}
	return Reply{Text: r.Language.StopRuns(stopped)}, nil
}

// steer is /subagents steer: a live sub-agent gets a message at its next step.
func (s Set) steer(tx *store.Tx, r Request, token, text string) (Reply, error) {
	t, err := s.controlled(tx, r, token)
	if err != nil {
		return Reply{}, err
	}
	author := r.Message.Author
	err = s.o.Stopper.Steer(tx, t.Run, model.Item{Kind: model.User, Text: text, Author: &author}, r.Actor)
	if core.ErrorCode(err) == CodeTargetEnded {
		err = refuseEnded(t.Label)
	}
	return Reply{Text: r.Language.SteerDone(core.Clip(t.Label, nameLimit))}, err
}

// send is /subagents send: a message to the session of a sub-agent, which gets a
// turn of its own and is answered where the command was written.
func (s Set) send(tx *store.Tx, r Request, token, text string) (Reply, error) {
	t, err := s.controlled(tx, r, token)
	if err != nil {
		return Reply{}, err
	}
	live, _, err := tx.SessionLive(t.Session.ID)
	if err != nil {
		return Reply{}, err
	}
	if !live {
		return Reply{}, refuseArchived(t.Label)
	}
	author := r.Message.Author
	item := model.Item{Kind: model.User, Text: text, Author: &author, At: r.Now}
	_, err = tx.InsertInbox(store.Inbox{
		Session: t.Session.ID, Kind: store.InboxMessage, Lane: store.LaneMain, ReplyTo: r.Message.Address, Anchor: r.Message.ID,
		Policy: s.o.Config.PolicyOf(r.Message), Owner: r.Actor, Body: item.Encode(), At: r.Now,
	})
	if err != nil {
		return Reply{}, err
	}
	if err := tx.MarkReady(t.Session.ID, r.Now); err != nil {
		return Reply{}, err
	}
	tx.OnCommit(func() { s.o.Kernel.Wake(t.Session.ID, store.LaneMain, false) })
	return Reply{Text: r.Language.SendDone(core.Clip(t.Label, nameLimit))}, nil
}
