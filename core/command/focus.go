package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/target"
	"github.com/skein-bot/skein/core/words"
)

// intentKind is the kind of an intent that /focus leaves while it opens a
// thread.
const intentKind = "focus"

// focusIntent is what a /focus keeps to be continued after a crash.
type focusIntent struct {
	Binding string                `json:"binding"`
	At      core.Address          `json:"at"` // where the command was written
	Anchor  string                `json:"anchor,omitempty"`
	Kind    core.ConversationKind `json:"kind"`
	Label   string                `json:"label"`
}

// focus is /focus.
func (s Set) focus(tx *store.Tx, r Request) (Reply, error) {
	if r.Args == "" {
		return Reply{}, words.RefuseUsageFocus(CodeUsage)
	}
	key := intentKey(r.Message)
	if again, reply, err := s.again(tx, key); again || err != nil {
		return reply, err
	}
	t, err := s.resolve(tx, r, r.Args, true)
	if err != nil {
		return Reply{}, err
	}
	made := false
	if t.Agent != "" {
		if t.Session, made, err = s.agentSession(tx, r, t); err != nil {
			return Reply{}, err
		}
	}
	res, err := s.o.Bindings.Focus(tx, FocusRequest{
		At: r.Message.Address, Kind: r.Message.Kind, Session: t.Session, Label: t.Label, Actor: actor(r), Intent: intentMark(key), Text: t.Label,
	})
	if err != nil {
		if made && core.ErrorCode(err) != "" { // a refusal leaves nothing behind
			err = errors.Join(err, tx.DeleteSession(t.Session.ID))
		}
		return Reply{}, err
	}
	if res.Child == nil {
		return Reply{Silent: true}, nil // the intro is the answer
	}
	in := focusIntent{Binding: res.Binding.ID, At: r.Message.Address, Anchor: r.Message.ID, Kind: r.Message.Kind, Label: t.Label}
	body, err := json.Marshal(in)
	if err != nil {
		return Reply{}, err
	}
	err = tx.InsertIntent(store.Intent{Turn: key, Kind: intentKind, Ref: in.Binding, Body: string(body), At: r.Now})
	return Reply{Silent: true, After: func(ctx context.Context) { s.open(ctx, key, in, res, false) }}, err
}

func actor(r Request) Actor { return Actor{User: r.Actor, Operator: r.Operator} }

// intentKey names the intent of a message for ever. Intents of turns have
// positive keys, these negative ones.
func intentKey(m core.Message) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.Address.String() + " " + m.ID)) // never fails
	return -1 - int64(h.Sum64()>>1)                         // 63 bits fit
}

// intentMark is the mark of an intent for the adapter.
func intentMark(key int64) string { return fmt.Sprintf("focus.%d", -key) }

// again continues what a message that was taken before began.
func (s Set) again(tx *store.Tx, key int64) (bool, Reply, error) {
	in, err := tx.IntentAt(key, 0)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, Reply{}, nil
	case err != nil || in.State != "open":
		return err == nil, Reply{Silent: true}, err
	}
	return true, Reply{Silent: true, After: func(ctx context.Context) { s.proceed(ctx, in) }}, nil
}

// agentSession returns the session of an agent for the place of the command,
// and whether it had to be made.
func (s Set) agentSession(tx *store.Tx, r Request, t target.Target) (session store.Session, made bool, err error) {
	m := r.Message
	key := core.GroupKey(t.Agent, m.Address)
	if m.Kind == core.Direct {
		key = core.DirectKey(t.Agent, s.o.Config.DirectScope(), m.Address, m.Author.ID)
	}
	if _, err = tx.SessionByKey(key.String()); errors.Is(err, store.ErrNotFound) {
		made = true
	} else if err != nil {
		return session, false, err
	}
	session, err = tx.EnsureSession(store.Session{
		Key: key.String(), Agent: t.Agent, Kind: key.Kind, Address: m.Address, Title: m.Title, CreatedAt: r.Now, UsedAt: r.Now,
	})
	return session, made, err
}

// open is the second phase: the thread, then the transaction that binds it and
// answers, or the one that takes everything back and says why. It runs as work
// of its caller's, Reply.After or Recover.
func (s Set) open(ctx context.Context, key int64, in focusIntent, res subagent.Reservation, resumed bool) {
	if s.o.Presence != nil {
		s.o.Presence.Typing(ctx, in.At)
	}
	commit := func(o subagent.Opened) error {
		return s.o.DB.Write(ctx, func(tx *store.Tx) error {
			b, err := s.o.Bindings.Activate(tx, in.Binding, o, 0, "")
			if err != nil {
				return err
			}
			title := in.Label
			if res.Child != nil {
				title = res.Child.Title
			}
			return s.close(tx, key, in, focusedText(s.o.Config.Language(), b.Label, title))
		})
	}
	abort := func(cause error) (aborted bool, err error) {
		err = s.o.DB.Write(context.WithoutCancel(ctx), func(tx *store.Tx) (err error) {
			if aborted, err = s.o.Bindings.Abort(tx, in.Binding); err != nil || !aborted {
				return err
			}
			return s.close(tx, key, in, failureText(s.o.Config.Language(), cause))
		})
		return aborted, err
	}
	if err := s.o.Bindings.Open(ctx, res, resumed, commit, abort); err != nil && s.o.World.Err() == nil {
		s.o.Log.Warn("a /focus opened no thread", "address", in.At.String(), "binding", in.Binding, "error", err)
	}
}

// close ends an intent with the reply to its command.
func (s Set) close(tx *store.Tx, key int64, in focusIntent, text string) error {
	if err := tx.CloseIntent(key, 0, ""); err != nil {
		return err
	}
	_, _, err := s.o.Poster.Post(tx, store.Outbox{
		OnceKey: "focus/" + in.Binding, Kind: store.OutCommand, Address: in.At, Anchor: in.Anchor, Text: Fit(text), At: s.o.World.Now(),
	})
	return err
}

// failureText is what the person is told about a thread that did not open.
func failureText(w words.Language, cause error) string {
	var refusal *core.Error
	if errors.As(cause, &refusal) {
		return w.Refusal(refusal)
	}
	return w.FocusFailed()
}

// proceed continues what comes after the transaction of a stored intent.
func (s Set) proceed(ctx context.Context, stored store.Intent) {
	switch stored.Kind {
	case intentKind:
		s.proceedFocus(ctx, stored)
	case spawnKind:
		s.proceedSpawn(ctx, stored)
	}
}

// proceedFocus continues the second phase of a /focus.
func (s Set) proceedFocus(ctx context.Context, stored store.Intent) {
	var in focusIntent
	var res subagent.Reservation
	pending := false
	err := json.Unmarshal([]byte(stored.Body), &in)
	if err == nil {
		err = s.o.DB.Write(ctx, func(tx *store.Tx) error {
			current, err := tx.IntentAt(stored.Turn, stored.Seq)
			if err != nil || current.State != "open" {
				return err
			}
			res, pending, err = s.o.Bindings.Restore(tx, in.Binding, subagent.BindRequest{
				At: in.At, Kind: in.Kind, Text: in.Label, Intent: intentMark(stored.Turn),
			})
			if err != nil || pending {
				return err
			}
			return s.close(tx, stored.Turn, in, s.o.Config.Language().FocusFailed()) // it was given up meanwhile
		})
	}
	switch {
	case err != nil:
		if s.o.World.Err() == nil {
			s.o.Log.Error("a /focus could not be continued", "binding", stored.Ref, "error", err)
		}
	case pending:
		s.open(ctx, stored.Turn, in, res, true)
	}
}

// Recover continues every /focus and /subagents spawn whose thread a crash left
// half opened. Call it
// after the start, and now and then where other nodes may crash, when the adapters can be asked; it blocks for as long as
// they take, at most ten seconds each.
func (s Set) Recover(ctx context.Context) error {
	var open []store.Intent
	err := s.o.DB.Read(ctx, func(tx *store.Tx) (err error) {
		open, err = tx.OpenIntents(s.o.World.Now().Add(-s.o.Settle), recoverLimit)
		return err
	})
	if err != nil {
		return err
	}
	for _, in := range open {
		if ctx.Err() == nil {
			s.proceed(ctx, in)
		}
	}
	return nil
}

// recoverLimit bounds how many open intents are looked at.
const recoverLimit = 1000

// unfocus is /unfocus.
func (s Set) unfocus(tx *store.Tx, r Request) (Reply, error) {
	text, err := s.o.Bindings.Unfocus(tx, r.Message.Address, actor(r))
	return Reply{Text: text, Silent: text == ""}, err
}

// session is /session.
func (s Set) session(tx *store.Tx, r Request) (Reply, error) {
	word, value := cutWord(r.Args)
	limit := Limit(word)
	if limit != LimitIdle && limit != LimitMaxAge {
		return Reply{}, words.RefuseUsageSession(CodeUsage)
	}
	if value == "" {
		text, err := s.o.Bindings.Limit(tx, r.Message.Address, limit)
		return Reply{Text: text}, err
	}
	text, err := s.o.Bindings.SetLimit(tx, r.Message.Address, limit, value, actor(r))
	return Reply{Text: text, Silent: text == ""}, err
}
