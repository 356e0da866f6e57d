package subagent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/model"
	"github.com/skein-bot/skein/core/store"
)

// hand writes the event into the requester's inbox.
func (e *Engine) hand(tx *store.Tx, run core.Run, posted core.Address, silent bool, end Ended) error {
	event := completion(run, posted)
	event.Told = silent
	switch {
	case end.Quiet: // people know
	case end.silent():
		event.Untold = model.UntoldSilence
	case silent:
		event.Untold = model.UntoldNotify
	}
	if run.Status != core.RunOK {
		event.LastTool, event.ToolCalls = end.LastTool, end.Calls
	}
	body, err := json.Marshal(model.Item{Kind: model.Event, Completion: &event, At: e.World.Now()})
	if err != nil {
		return err
	}
	return e.handBody(tx, run, string(body), silent)
}

// handBody hands an event to whoever is to have it now. Where nobody is left,
// people are told at once.
func (e *Engine) handBody(tx *store.Tx, run core.Run, body string, silent bool) error {
	to, err := e.requester(tx, run)
	if err != nil {
		return err
	}
	if to.session == 0 {
		if silent {
			return nil
		}
		_, err := e.noticeAll(tx, agent.Outcome{}, []core.Run{run})
		return err
	}
	row := store.Inbox{
		Session: to.session, Kind: store.InboxCompletion, Lane: store.LaneMain, ReplyTo: to.origin, Anchor: to.anchor,
		Policy: run.Spec.Policy, Owner: run.Owner, Run: run.ID, ForRun: to.run, Ordinal: run.Ordinal, Chain: to.chain,
		Body: body, At: e.World.Now(),
	}
	if to.run != "" {
		row.Lane = store.LaneSubagent
	}
	waited, released, err := e.joinWait(tx, run, &row)
	if err != nil {
		return err
	}
	if !waited && silent {
		return nil // nobody waits, and it has nothing to say
	}
	if !waited {
		if waited, err = e.holdForMessage(tx, &row); err != nil {
			return err
		}
	}
	if _, err := tx.InsertInbox(row); err != nil {
		return err
	}
	if waited && !released {
		return nil
	}
	return e.ready(tx, to.session, row.Lane, true)
}

// recipient is where an event goes.
type recipient struct {
	session int64
	run     string
	chain   int64
	origin  core.Address
	anchor  string
}

// requester finds who gets the event of a run: the run that asked if it lives,
// else the session that asked, else whoever asked for that one, up to the chat
// at the top. Sessions that are archived or deleted, and runs that are over,
// have nobody to hear it. The session is 0 where nobody is left.
func (e *Engine) requester(tx *store.Tx, run core.Run) (recipient, error) {
	r, chain := run, run.RequesterTurn
	for {
		live, _, err := tx.SessionLive(r.Requester)
		if err != nil {
			return recipient{}, err
		}
		above, known, err := e.asked(tx, r)
		switch {
		case err != nil:
			return recipient{}, err
		case live && r.RequesterRun == "":
			return recipient{r.Requester, "", chain, r.Origin, r.Anchor}, nil
		case live && known && above.Status.Live():
			return recipient{r.Requester, above.ID, chain, r.Origin, r.Anchor}, nil
		case !known:
			return e.top(tx, run)
		}
		r, chain = above, 0
	}
}

// asked returns the run that asked for r: the one whose turn did, or where a
// person's turn did in a sub-agent's session, the latest one of that session.
func (e *Engine) asked(tx *store.Tx, r core.Run) (above core.Run, known bool, err error) {
	if r.RequesterRun != "" {
		above, err = tx.RunByID(r.RequesterRun)
	} else {
		above, err = tx.LatestRunOfSession(r.Requester)
	}
	if errors.Is(err, store.ErrNotFound) {
		return core.Run{}, false, nil
	}
	return above, err == nil && above.ID != r.ID, err
}

// top is the chat at the root of a tree in which the way up is lost.
func (e *Engine) top(tx *store.Tx, run core.Run) (recipient, error) {
	s, live, err := e.root(tx, run)
	if err != nil || !live {
		return recipient{}, err
	}
	to, anchor, err := e.tellAt(tx, run)
	return recipient{s.ID, "", 0, to, anchor}, err
}

// root is the session at the root of a tree, and whether it can hear.
func (e *Engine) root(tx *store.Tx, run core.Run) (s store.Session, live bool, err error) {
	var id int64
	if n, err := fmt.Sscanf(run.Root, "session:%d", &id); n != 1 || err != nil {
		return s, false, nil //nolint:nilerr // a root of another kind is no chat
	}
	s, err = tx.SessionByID(id)
	if errors.Is(err, store.ErrNotFound) {
		return store.Session{}, false, nil
	}
	return s, err == nil && s.ArchivedAt == 0, err
}
