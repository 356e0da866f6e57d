package store

import (
	"errors"

	"github.com/skein-bot/skein/core"
)

// Descendants returns the live runs below a session, at every depth and oldest
// first: those it asked for, and those that sessions below it asked for, also
// where the run in between has ended. Of a session that was sent a message only
// what it started for that message is below. It locks nothing: a unit that acts
// on what it finds locks their sessions and looks again until nothing is new.
func (tx *Tx) Descendants(session int64) ([]core.Run, error) {
	trees, err := all(tx, func(s scanner) (root string, err error) {
		err = s.Scan(&root)
		return root, err
	}, // From one root to the next: there are few, of however many runs.
		`WITH RECURSIVE roots (root) AS (SELECT MIN(root_run_id) FROM run WHERE requester_id = $1
			UNION ALL SELECT (SELECT MIN(root_run_id) FROM run WHERE requester_id = $1 AND root_run_id > roots.root) FROM roots WHERE roots.root IS NOT NULL)
		SELECT root FROM roots WHERE root IS NOT NULL`, session)
	if err != nil {
		return nil, err
	}
	below := lineage{tx: tx, top: session, sessions: map[int64]bool{}, runs: map[string]bool{}}
	var out []core.Run
	for _, root := range trees {
		live, err := all(tx, scanRun, `SELECT `+runColumns+` FROM run WHERE root_run_id = $1 AND status IN `+liveStatuses+` ORDER BY id`, root)
		if err != nil {
			return nil, err
		}
		for _, r := range live {
			if ok, err := below.run(r); err != nil {
				return nil, err
			} else if ok {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// lineage tells what is below a session, and remembers it.
type lineage struct {
	tx       *Tx
	top      int64
	sessions map[int64]bool
	runs     map[string]bool
}

// run reports whether a run descends from the top.
func (l lineage) run(r core.Run) (bool, error) {
	if below, err := l.session(r.Requester); below || err != nil || r.RequesterRun == "" {
		return below, err
	}
	if below, known := l.runs[r.RequesterRun]; known {
		return below, nil
	}
	l.runs[r.RequesterRun] = false
	above, err := l.tx.RunByID(r.RequesterRun)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	below := false
	if above.Kind == core.RunSend {
		below, err = l.run(above)
	}
	l.runs[r.RequesterRun] = below
	return below, err
}

// session reports whether a session is one that the top, or a session below it,
// asked for.
func (l lineage) session(id int64) (bool, error) {
	if id == l.top {
		return true, nil
	}
	if below, known := l.sessions[id]; known {
		return below, nil
	}
	l.sessions[id] = false // until it is known: a circle ends here
	var above int64
	err := l.tx.one(`SELECT requester_id FROM run WHERE session_id = $1 AND kind <> 'send' ORDER BY id DESC LIMIT 1`, []any{id}, &above)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	below, err := l.session(above)
	l.sessions[id] = below
	return below, err
}
