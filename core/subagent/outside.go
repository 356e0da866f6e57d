package subagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/tool"
	"github.com/skein-bot/skein/core/words"
	"github.com/skein-bot/skein/core/world"
)

// intentBody is what a two-phase spawn keeps to be continued or undone.
type intentBody struct {
	Run     string   `json:"run"`
	Session int64    `json:"session"`
	Binding string   `json:"binding"`
	Warn    []string `json:"warnings,omitempty"`
	Note    string   `json:"note,omitempty"`
}

// outside spawns a child that has something outside the store, in two phases:
// reserve it, make it, then record. A crash in between is found by the intent,
// and the call goes on or everything is undone.
func (s *spawn) outside(ctx context.Context, steps tool.Steps) error {
	resumed, err := s.reserve(ctx, steps)
	if err != nil {
		return s.answer(ctx, steps, err)
	}
	if s.again != "" {
		return steps.Finish(ctx, func(*store.Tx) (tool.Result, error) { return s.repeated(), nil })
	}
	if err := s.e.World.Crash(world.SpawnAfterReserve); err != nil {
		return err
	}
	if err := s.furnish(ctx, resumed); err != nil {
		return s.undone(ctx, steps, err)
	}
	if s.bound.Binding.ID == "" { // it was asked for no thread, or the plan is to run unbound
		err := steps.Finish(ctx, func(tx *store.Tx) (tool.Result, error) {
			if err := s.stillLives(tx); err != nil {
				return tool.Result{}, err
			}
			if err := tx.CloseIntent(s.scope.Turn, s.scope.Seq, ""); err != nil {
				return tool.Result{}, err
			}
			return s.start(tx, core.Binding{})
		})
		if err != nil {
			return s.undone(ctx, steps, err)
		}
		return s.e.World.Crash(world.SpawnAfterCommit)
	}
	return s.openThread(ctx, steps, resumed)
}

// openThread is the second phase of a spawn with a thread.
func (s *spawn) openThread(ctx context.Context, steps tool.Steps, resumed bool) error {
	commit := func(o Opened) error {
		if err := s.e.World.Crash(world.SpawnAfterOpen); err != nil {
			return err
		}
		return steps.Finish(ctx, func(tx *store.Tx) (tool.Result, error) {
			if err := s.stillLives(tx); err != nil {
				return tool.Result{}, err
			}
			b, err := s.e.Bindings.Activate(tx, s.bound.Binding.ID, o, s.run.Session, s.run.SessionKey)
			if err != nil {
				return tool.Result{}, err
			}
			if err := tx.CloseIntent(s.scope.Turn, s.scope.Seq, ""); err != nil {
				return tool.Result{}, err
			}
			return s.start(tx, b)
		})
	}
	abort := func(error) (bool, error) { return s.e.undo(s.e.World.Context(), s.scope.Turn, s.scope.Seq) }
	if err := s.e.Bindings.Open(ctx, s.bound, resumed, commit, abort); err != nil {
		if killed := s.e.World.Err(); killed != nil {
			return killed
		}
		return s.answer(ctx, steps, err)
	}
	return s.e.World.Crash(world.SpawnAfterCommit)
}

// stillLives refuses to start a run that was stopped while its thread was opened.
func (s *spawn) stillLives(tx *store.Tx) error {
	if err := tx.LockSession(s.run.Session); err != nil {
		return err
	}
	run, err := tx.RunByID(s.run.ID)
	if err == nil && !run.Status.Live() {
		err = words.RefuseSpawnStopped("spawn_stopped")
	}
	return err
}

// undone takes back what was reserved and made, and answers the call with what
// it failed of.
func (s *spawn) undone(ctx context.Context, steps tool.Steps, err error) error {
	if killed := s.e.World.Err(); killed != nil {
		return killed
	}
	if _, undo := s.e.undo(s.e.World.Context(), s.scope.Turn, s.scope.Seq); undo != nil {
		return errors.Join(err, undo)
	}
	return s.answer(ctx, steps, err)
}

// reserve is the first transaction of such a spawn, or finds what an earlier
// claim of this turn reserved.
func (s *spawn) reserve(ctx context.Context, steps tool.Steps) (resumed bool, err error) {
	if found, err := s.continued(ctx, steps); found || err != nil {
		return found, err
	}
	if err := s.askHooks(ctx); err != nil {
		return false, err
	}
	return false, steps.Do(ctx, func(tx *store.Tx) error {
		s.bound, s.tree = Reservation{}, store.Worktree{}
		if err := s.load(tx); err != nil || s.again != "" {
			return err
		}
		if err := s.admit(tx); err != nil {
			return err
		}
		if err := s.noteFiles(tx); err != nil {
			return err
		}
		if err := s.reserveWorktree(tx); err != nil {
			return err
		}
		if err := s.reserveThread(tx); err != nil {
			return err
		}
		if err := s.roomInTree(tx); err != nil {
			return err
		}
		body, err := json.Marshal(intentBody{Run: s.run.ID, Session: s.run.Session, Binding: s.bound.Binding.ID, Warn: s.warn, Note: s.note})
		if err != nil {
			return err
		}
		return tx.InsertIntent(store.Intent{
			Turn: s.scope.Turn, Seq: s.scope.Seq, Kind: "spawn", Ref: s.run.ID, Body: string(body), At: s.e.World.Now(),
		})
	})
}

// askHooks asks the extensions about a spawn with a thread.
func (s *spawn) askHooks(ctx context.Context) (err error) {
	if !s.p.Thread {
		return nil
	}
	probe := core.Run{Agent: s.scope.Agent, Task: s.p.Task, TaskName: s.p.TaskName, Label: s.p.Label, Origin: s.scope.Reply, Requester: s.scope.Session}
	s.place, err = s.e.Bindings.Spawning(ctx, probe)
	return err
}

// reserveThread reserves the place of the child's thread, or finds that it runs
// without one.
func (s *spawn) reserveThread(tx *store.Tx) (err error) {
	if !s.p.Thread {
		return nil
	}
	if s.bound, err = s.e.Bindings.Reserve(tx, s.bindRequest()); err != nil || s.bound.Unbound == "" {
		return err
	}
	s.run.Spec.Mode = modeRun
	s.note += fmt.Sprintf("It runs without a thread: %s; a person can write /focus %s to talk to it. ", s.bound.Unbound, focusName(s.run))
	return tx.SetRunSpec(s.run.ID, s.run.Spec)
}

func focusName(r core.Run) string {
	if r.TaskName != "" {
		return r.TaskName
	}
	if r.Label != "" {
		return r.Label
	}
	return fmt.Sprint(r.Ordinal)
}

// continued loads an open intent of this very call.
func (s *spawn) continued(ctx context.Context, steps tool.Steps) (found bool, err error) {
	err = steps.Do(ctx, func(tx *store.Tx) error {
		found = false
		in, err := tx.IntentAt(s.scope.Turn, s.scope.Seq)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil || in.State != "open" {
			return err
		}
		var body intentBody
		if err := json.Unmarshal([]byte(in.Body), &body); err != nil {
			return err
		}
		if err := s.who(tx); err != nil {
			return err
		}
		if s.run, err = tx.RunByID(body.Run); err != nil {
			return err
		}
		s.warn, s.note, found = body.Warn, body.Note, true
		if s.tree, err = tx.WorktreeOf(body.Session); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if s.folder, err = tx.AttachmentOf(body.Session); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if body.Binding == "" {
			return nil
		}
		req := s.bindRequest()
		req.ID = body.Binding
		s.bound, _, err = s.e.Bindings.Restore(tx, body.Binding, req)
		return err
	})
	return found, err
}

func (s *spawn) bindRequest() BindRequest {
	kind := core.Group
	if s.parent.Kind == core.SessionDirect || s.parent.Kind == core.SessionMain {
		kind = core.Direct
	}
	if s.asked != nil {
		kind = s.asked.Kind
	}
	return BindRequest{
		At: s.turn.ReplyTo, Kind: kind, Session: s.run.Session, SessionKey: s.run.SessionKey, Agent: s.run.Agent, Label: s.run.Name(),
		Owner: s.run.Owner, RunID: s.run.ID, Intent: fmt.Sprintf("%d.%d", s.scope.Turn, s.scope.Seq), Text: s.run.Task, Place: s.place,
	}
}

// undo takes back what the first transaction of a spawn reserved and what was
// made since. It reports whether there was something to take back for people.
func (e *Engine) undo(ctx context.Context, turn int64, seq int) (undone bool, err error) {
	var made store.Attachment
	var tree store.Worktree
	err = e.DB.Read(ctx, func(tx *store.Tx) error {
		made, tree = store.Attachment{}, store.Worktree{}
		body, open, err := openIntent(tx, turn, seq)
		if err != nil || !open {
			return err
		}
		if made, err = tx.AttachmentOf(body.Session); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		tree, err = tx.WorktreeOf(body.Session)
		return orNothing(err)
	})
	if err != nil {
		return false, err
	}
	cleared, pruned := e.removeFiles(made), e.removeReserved(ctx, tree)
	err = e.DB.Write(ctx, func(tx *store.Tx) error {
		undone = false
		body, open, err := openIntent(tx, turn, seq)
		if err != nil || !open {
			return err
		}
		if body.Binding != "" {
			if undone, err = e.Bindings.Abort(tx, body.Binding); err != nil {
				return err
			}
		}
		if err := e.forgetWorktree(tx, tree, pruned); err != nil {
			return err
		}
		if err := e.forgetFiles(tx, body.Session, cleared); err != nil {
			return err
		}
		if err := tx.DeleteRun(body.Run); err != nil {
			return err
		}
		if err := tx.DeleteSession(body.Session); err != nil {
			return err
		}
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		return tx.CloseIntent(turn, seq, string(raw))
	})
	return undone, err
}

// openIntent returns what a spawn in progress has reserved.
func openIntent(tx *store.Tx, turn int64, seq int) (body intentBody, open bool, err error) {
	in, err := tx.IntentAt(turn, seq)
	if errors.Is(err, store.ErrNotFound) || err == nil && in.State != "open" {
		return body, false, nil
	}
	if err != nil {
		return body, false, err
	}
	err = json.Unmarshal([]byte(in.Body), &body)
	return body, true, err
}

// orNothing takes what is not there for nothing.
func orNothing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
